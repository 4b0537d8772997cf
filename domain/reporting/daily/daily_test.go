package daily_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/books/ledger"
	"stayledger/domain/reporting/daily"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
	"stayledger/test/posted"
)

// Proves: RSN-17.
func TestTheDailySummaryIsForTeamsThatUseIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Exec(`update team set daily_gl_summary = false where id = @team`, nil)

	w.Get(path+"?dateRange=2026-01").WantError(apierr.CodeBadRequest, apierr.ReasonDailyGlSummaryDisabled)
	w.Post(taken, object{"dateRange": "2026-01-01"}).WantError(apierr.CodeBadRequest, apierr.ReasonDailyGlSummaryDisabled)

	w.Exec(`update team set daily_gl_summary = true where id = @team`, nil)
	w.Get(path + "?dateRange=2026-01").Want(200)
}

func TestMalformedSummariesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	next := w.today().AddDays(1).String()

	for query, code := range map[string]string{
		"period=day": "required", "dateRange=2026-01-02...2026-01-01": "dateRange", "dateRange=2026-01-01&isDateRangeEndInclusive=false": "dateOrder",
		"dateRange=2026-01-02...2026-01-31&period=month": "contradiction", "dateRange=2026-01&period=week": "enum", "dateRange=2026-01&by=contact": "enum",
		"dateRange=2026-01&ledger=historical": "enum",
	} {
		r := w.Get(path+"?"+query).WantError(apierr.CodeBadRequest, "")
		if got := r.String("issues.0.code"); got != code || r.Len("issues") != 1 {
			t.Errorf("%s: %s", query, r.Body)
		}
	}

	for text, body := range map[string]object{
		"required dateRange": {}, "range dateRange": {"dateRange": "2024-01-01...2025-01-01"}, "contradiction dateRange": {"dateRange": "2026-01-05", "period": "month"},
		"dateInFuture dateRange": {"dateRange": w.today().String() + "..." + next},
	} {
		code, field, _ := strings.Cut(text, " ")

		r := w.Post(taken, body).WantError(apierr.CodeBadRequest, "").WantIssue(code, field)
		if r.Len("issues") != 1 {
			t.Errorf("%s: %s", text, r.Body)
		}
	}

	w.As([]string{"general-ledger:read"}, nil).Post(taken, object{"dateRange": "2026-01-01"}).WantError(apierr.CodeForbidden, "")
	w.As([]string{"journals:post"}, nil).Get(path+"?dateRange=2026-01").WantError(apierr.CodeForbidden, "")
}

// The summary has exactly what is in the books, whatever it is split by: each period balances, the days come to the
// trial balance, a month to its days, and every row to the entries behind it.
func TestTheSummaryIsTheBooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	all := w.scatter(random, 60)

	// What was taken back is in no sum, and kept sums count as those that are not folded yet.
	for _, p := range all[:10] {
		w.replace(p.SourceID)
	}

	w.Exec(`select ledger_fold(@team, 100000)`, nil)

	w.scatter(random, 20)

	for _, by := range []string{"account", "listing", "party"} {
		first := random.IntN(60)
		from, to := date("2026-01-01").AddDays(first), date("2026-01-01").AddDays(first+random.IntN(30))
		days := w.read(t, "limit=7&by="+by+"&dateRange="+from.String()+"..."+to.String())

		if len(days) != from.DaysUntil(to)+1 {
			t.Fatalf("%s: %d days", by, len(days))
		}

		for _, currency := range []string{"usd", "eur"} {
			if got, want := byAccount(days, currency), w.trial(from.String(), to.String(), currency); !maps.Equal(got, want) {
				t.Errorf("by %s, %s...%s, %s: got %v, want %v", by, from, to, currency, got, want)
			}
		}

		all := w.read(t, "by="+by+"&dateRange=2026-01-01...2026-03-31")
		for i := range all {
			checkBalanced(t, &all[i])
			w.checkDrilldown(t, all[i].Rows, random)
		}

		months := w.read(t, "limit=2&period=month&by="+by+"&dateRange=2026-01-01...2026-03-31")
		if len(months) != 3 {
			t.Fatalf("%d months", len(months))
		}

		for i := range months {
			checkBalanced(t, &months[i])
			w.checkDrilldown(t, months[i].Rows, random)

			in := slices.Clone(all)
			in = slices.DeleteFunc(in, func(s summary) bool { return s.StartDate[:7] != months[i].StartDate[:7] })

			if got, want := byRow(months[i:i+1]), byRow(in); !maps.Equal(got, want) {
				t.Errorf("by %s, month %s:\ngot  %v\nwant %v", by, months[i].StartDate, got, want)
			}
		}
	}

	// One ledger has its part of both.
	both := byRow(w.read(t, "period=month&dateRange=2026-01-01...2026-03-31"))

	parts := byRow(w.read(t, "period=month&ledger=trust&dateRange=2026-01-01...2026-03-31"))
	maps.Copy(parts, byRow(w.read(t, "period=month&ledger=operating&dateRange=2026-01-01...2026-03-31")))

	if !maps.Equal(both, parts) {
		t.Errorf("both ledgers have %v, each of them %v", both, parts)
	}
}

// byAccount adds up the rows of a currency by account.
func byAccount(summaries []summary, currency string) map[string]amounts {
	out := map[string]amounts{}

	for i := range summaries {
		for k := range summaries[i].Rows {
			if r := &summaries[i].Rows[k]; r.Currency == currency {
				sum := out[r.Account.ID]
				out[r.Account.ID] = amounts{sum.Debit + r.Debit, sum.Credit + r.Credit}
			}
		}
	}

	return out
}

// byRow adds up the rows of the same books, account, party and listing.
func byRow(summaries []summary) map[string]amounts {
	out := map[string]amounts{}
	text := func(s *string) string {
		if s == nil {
			return ""
		}

		return *s
	}

	for i := range summaries {
		for k := range summaries[i].Rows {
			r := &summaries[i].Rows[k]
			key := strings.Join([]string{r.Ledger, r.Currency, r.Account.ID, text(r.Party), text(r.ListingID)}, " ")
			out[key] = amounts{out[key].Debit + r.Debit, out[key].Credit + r.Credit}
		}
	}

	return out
}

// trial returns the movements of the trial balance by account.
func (w *world) trial(from, to, currency string) map[string]amounts {
	var report struct {
		Data []struct {
			Account struct{ ID string }
			amounts
		}
	}

	w.Get("/reports/trial-balance?startDate=" + from + "&endDate=" + to + "&currency=" + currency).Want(200).Into(&report)

	out := map[string]amounts{}

	for i := range report.Data {
		if d := &report.Data[i]; d.amounts != (amounts{}) {
			out[d.Account.ID] = d.amounts
		}
	}

	return out
}

// checkDrilldown compares a row with the sums of its entries.
func (w *world) checkDrilldown(t testing.TB, rows []row, random *rand.Rand) {
	t.Helper()

	if len(rows) == 0 || random.IntN(4) > 0 {
		return
	}

	r := &rows[random.IntN(len(rows))]

	behind := w.Get("/reports/journal-entries?limit=1&" + posted.AsQuery(r.Drilldown.Filter)).Want(200)
	if behind.Int("totals.debit") != r.Debit || behind.Int("totals.credit") != r.Credit || behind.Int("pagination.total") != r.Entries {
		t.Errorf("%+v has the entries %s", r, behind.Body)
	}
}

// A day that was taken keeps its sums: what is posted, moved or taken away later is shown next to them, and it balances.
func TestLateChangesAreShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.post(ledger.Trust, "2026-01-10", "1000", "4000", 5000)
	w.post(ledger.Operating, "2026-01-11", "1010", "5200", 700)

	r := w.Post(taken, object{"dateRange": "2026-01-10...2026-01-11"}).Want(200)
	if r.Int("days") != 2 || r.Int("alreadyTaken") != 0 {
		t.Errorf("taken: %s", r.Body)
	}

	for _, s := range w.read(t, "dateRange=2026-01-10...2026-01-12") {
		if (s.Taken != nil) != (s.StartDate != "2026-01-12") || s.IsChanged {
			t.Errorf("%+v", s)
		}

		for i := range s.Rows {
			if r := &s.Rows[i]; *r.Taken != (amounts{r.Debit, r.Credit}) || r.Change != nil {
				t.Errorf("%s: %+v", s.StartDate, r)
			}
		}
	}

	// One posting goes to another day, another one comes: of the taken day both are changes.
	w.replace(first)
	w.post(ledger.Trust, "2026-01-10", "1100", "4000", 1200)

	wantChanges := func(query string) {
		t.Helper()

		days := w.read(t, query)
		if !days[0].IsChanged || days[1].IsChanged {
			t.Errorf("%+v", days)
		}

		changes := map[string]amounts{}

		var sum amounts

		for i := range days[0].Rows {
			r := &days[0].Rows[i]
			if r.Change != nil {
				was := changes[r.Account.Code]
				changes[r.Account.Code] = amounts{was.Debit + r.Change.Debit, was.Credit + r.Change.Credit}
				sum = amounts{sum.Debit + r.Change.Debit, sum.Credit + r.Change.Credit}
			}
		}

		want := map[string]amounts{"1000": {-5000, 0}, "1100": {1200, 0}, "4000": {0, -3800}}
		if !maps.Equal(changes, want) || sum.Debit != sum.Credit {
			t.Errorf("%s: changes %v, want %v", query, changes, want)
		}

		checkBalanced(t, &days[0])
	}

	for _, by := range []string{"account", "listing", "party"} {
		wantChanges("by=" + by + "&dateRange=2026-01-10...2026-01-12")
	}

	// Taking again changes nothing of what was taken.
	if again := w.Post(taken, object{"dateRange": "2026-01-10...2026-01-12"}).Want(200); again.Int("days") != 1 || again.Int("alreadyTaken") != 2 {
		t.Errorf("taken again: %s", again.Body)
	}

	wantChanges("by=account&dateRange=2026-01-10...2026-01-12")
}

// Amounts that only go to another listing or party are changes by listing or party.
func TestAChangeOfListingIsAChangeByListing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.post(ledger.Trust, "2026-02-03", "1000", "4000", 900)
	w.Post(taken, object{"dateRange": "2026-02", "period": "month"}).Want(200)
	w.replace(source, posting(source, ledger.Trust, "2026-02-03", "usd",
		ledger.Line{AccountID: w.accounts["1000"], CentTotal: 900},
		ledger.Line{AccountID: w.accounts["4000"], CentTotal: -900, Party: ledger.Manager, ListingID: w.listings[1]},
	))

	for by, want := range map[string]bool{"account": false, "listing": true, "party": true} {
		if got := w.read(t, "period=month&dateRange=2026-02&by="+by)[0]; got.IsChanged != want || got.Taken.Days != 28 {
			t.Errorf("by %s: %+v", by, got)
		}

		if got := w.read(t, "dateRange=2026-02-03&by="+by)[0]; got.IsChanged != want || got.Taken.Period != "month" {
			t.Errorf("by %s, by day: %+v", by, got)
		}
	}
}

// A day is taken by one period: a month does not take days again, nor a day a month, also when both come at once.
func TestADayIsTakenByOnePeriod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.post(ledger.Trust, "2026-01-10", "1000", "4000", 5000)

	w.Post(taken, object{"dateRange": "2026-01-10"}).Want(200)

	r := w.Post(taken, object{"dateRange": "2026-01", "period": "month"}).WantError(apierr.CodeConflict, "")
	if r.String("context.date") != "2026-01-10" || r.String("context.period") != "day" {
		t.Errorf("refused: %s", r.Body)
	}

	if s := w.read(t, "dateRange=2026-01&period=month")[0]; s.Taken == nil || s.Taken.Period != "day" || s.Taken.Days != 1 || s.Rows[0].Taken != nil {
		t.Errorf("a month of which one day was taken: %+v", s)
	}

	// An account that has lost its entries since is shown where all days were taken.
	w.replace(source)

	if s := w.read(t, "dateRange=2026-01&period=month")[0]; len(s.Rows) != 0 || len(s.Totals) != 0 || s.IsChanged {
		t.Errorf("a month without entries: %+v", s)
	}

	if s := w.read(t, "dateRange=2026-01-10")[0]; len(s.Rows) != 2 || len(s.Totals) != 0 || !s.IsChanged {
		t.Errorf("a day without entries: %+v", s)
	}

	w.Post(taken, object{"dateRange": "2026-02-01...2026-03-31", "period": "month"}).Want(200)
	w.Post(taken, object{"dateRange": "2026-03-31"}).WantError(apierr.CodeConflict, "")
	w.Post(taken, object{"dateRange": "2026-02", "period": "month"}).Want(200)

	// Of two that come at once one takes the month, and the other one is refused.
	answers := make(chan int, 2)
	bodies := []object{{"dateRange": "2026-04", "period": "month"}, {"dateRange": "2026-04", "period": "day"}}

	for _, body := range bodies {
		go func() { answers <- w.Post(taken+"?dryRun=false", body).Status }()
	}

	if got := []int{<-answers, <-answers}; !slices.Contains(got, 200) || !slices.Contains(got, 409) {
		t.Errorf("two at once: %v", got)
	}
}

// Proves: RSN-36.
func TestTheOperatingSummaryNeedsOperationsAccounting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Exec(`update team set operations_accounting = false where id = @team`, nil)

	w.Get(path+"?dateRange=2026-01&ledger=operating").WantError(apierr.CodeBadRequest, apierr.ReasonOperationsAccountingDisabled)
	w.Get(path + "?dateRange=2026-01&ledger=trust").Want(200)
	w.Get(path + "?dateRange=2026-01").Want(200)
}

// Rows of another team are in no summary, and its days stay as they are.
func TestSummariesAreOfOneTeam(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	other.post(ledger.Trust, "2026-01-10", "1000", "4000", 5000)
	other.Post(taken, object{"dateRange": "2026-01", "period": "month"}).Want(200)
	w.post(ledger.Trust, "2026-01-10", "1000", "4000", 300)

	seen := func() []summary { return w.read(t, "by=listing&dateRange=2026-01-10") }
	if s := seen()[0]; s.Taken != nil || byAccount([]summary{s}, "usd")[w.accounts["1000"].String()].Debit != 300 || len(s.Rows) != 2 {
		t.Errorf("%+v", s)
	}

	w.Post(taken, object{"dateRange": "2026-01-10"}).Want(200)

	if s := seen()[0]; s.Taken == nil || s.Rows[0].Taken.Debit != 300 {
		t.Errorf("%+v", s)
	}

	// A transaction that sees both teams, as a partner's does, reads one of them.
	scope := w.Scope()
	scope.Managed = []id.ID{other.ID}

	for _, by := range []daily.Split{daily.ByAccount, daily.ByListing, daily.ByParty} {
		for _, period := range []daily.Period{daily.ByDay, daily.ByMonth} {
			in := &daily.Input{Params: page.Params{Limit: 31}, By: by}
			in.Period, in.DateRange = period, day.Span{First: date("2026-01-01"), Last: date("2026-01-31")}

			err := w.DB.Read(t.Context(), scope, func(ctx context.Context, tx *db.Tx) error {
				teams, err := db.Get[int](ctx, tx, `select count(*) from team`, nil)
				if err != nil || teams != 2 {
					t.Errorf("%d teams are in sight, %v", teams, err)
				}

				out, err := daily.ReadSummaries(ctx, tx, in)
				if err != nil {
					return err
				}

				for i := range out.Data {
					s := &out.Data[i]
					if s.Taken != nil && s.Taken.Days != 1 || s.IsChanged || len(s.Rows) > 2 || len(s.Totals) > 0 && s.Totals[0].Debit != 300 {
						t.Errorf("by %s and %s: %+v", period, by, s)
					}
				}

				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	}

	w.System(func(ctx context.Context, tx *db.Tx) error {
		sum, err := db.Get[money.Cents](ctx, tx, `select sum(debit)::bigint from gl_summary_sum where team_id = any(@teams)`,
			db.Args{"teams": []id.ID{w.ID, other.ID}})
		if sum != 5300 {
			t.Errorf("sums of %d were kept", sum)
		}

		return err
	})
}
