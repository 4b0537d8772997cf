package report_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/test/posted"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// books is a team with the standard chart and with postings that a test writes.
type books struct{ *posted.Books }

func newBooks(tb testing.TB) *books {
	tb.Helper()
	return &books{posted.New(tb)}
}

var date = posted.Date

func query(path string, pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}

	return path + "?" + q.Encode()
}

func TestTrialBalance(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.Post(ledger.Trust, "2025-12-31", "1000", "2000", 10000)
	b.Post(ledger.Trust, "2026-01-31", "2000", "4000", 4000)
	b.Post(ledger.Operating, "2026-02-10", "5200", "1010", 500)
	r := b.Get(query("/reports/trial-balance", "startDate", "2026-01-15", "endDate", "2026-02-10")).Want(200)

	want := "1000 asset 10000 0 0 10000; 1010 asset 0 0 500 -500; 2000 liability -10000 4000 0 -6000; 4000 revenue 0 0 4000 -4000; 5200 expense 0 500 0 500"
	if got := rows(r); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	for path, want := range map[string]string{
		"currency": "usd", "startDate": "2026-01-15", "endDate": "2026-02-10",
		"totals.beginning": "0", "totals.debit": "4500", "totals.credit": "4500", "totals.ending": "0", "data.0.drilldown.type": "journalEntryReport",
	} {
		if got := r.String(path); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}

	operating := b.Get(query("/reports/trial-balance", "startDate", "2026", "endDate", "2026", "ledger", "operating")).Want(200)
	if got := rows(operating); got != "1010 asset 0 0 500 -500; 5200 expense 0 500 0 500" {
		t.Errorf("operating: %s", got)
	}

	if b.Get(query("/reports/trial-balance", "startDate", "2026", "endDate", "2026", "currency", "EUR")).Want(200).Len("data") != 0 {
		t.Error("euros")
	}
}

func rows(r *apitest.Response) string {
	var out []string

	for i := range r.Len("data") {
		at := func(field string) string { return r.String(fmt.Sprintf("data.%d.%s", i, field)) }
		out = append(out, strings.Join([]string{
			at("account.code"), at("classification"), at("beginning"), at("debit"), at("credit"), at("ending"),
		}, " "))
	}

	return strings.Join(out, "; ")
}

// Months from balances and broken months from entries give what all entries give, on any pair of days.
func TestTrialBalanceEqualsTheSumOfEntries(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	random := rand.New(rand.NewPCG(1, 2))
	codes := []string{"1000", "1010", "2000", "4000", "5200"}
	first := date("2025-11-20")

	for range 60 {
		n := random.Perm(len(codes))
		in := []ledger.Ledger{ledger.Trust, ledger.Operating}[random.IntN(2)]
		b.Post(in, first.AddDays(random.IntN(120)).String(), codes[n[0]], codes[n[1]], money.Cents(1+random.Int64N(100000)))
	}

	for range 12 {
		start := first.AddDays(random.IntN(120))
		end := start.AddDays(random.IntN(60))
		got := rows(b.Get(query("/reports/trial-balance", "startDate", start.String(), "endDate", end.String())).Want(200))

		var want []string

		b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
			want, err = db.Select[string](ctx, tx, `
				select a.code || ' ' || c.classification || ' ' || s.beginning || ' ' || s.debit || ' ' || s.credit || ' ' || s.beginning + s.debit - s.credit
				from (select account_id, coalesce(sum(cent_total) filter (where txn_at < @start), 0) as beginning,
						coalesce(sum(cent_total) filter (where txn_at >= @start and cent_total > 0), 0) as debit,
						coalesce(-sum(cent_total) filter (where txn_at >= @start and cent_total < 0), 0) as credit
					from ledger_entry where team_id = @team and txn_at <= @end group by 1) s
				join account a on a.team_id = @team and a.id = s.account_id join account_category c on c.team_id = a.team_id and c.id = a.category_id
				where s.beginning <> 0 or s.debit <> 0 or s.credit <> 0 order by a.code`,
				db.Args{"team": tx.Team, "start": start, "end": end})

			return err
		})

		if joined := strings.Join(want, "; "); got != joined {
			t.Errorf("%s...%s\ngot  %s\nwant %s", start, end, got, joined)
		}
	}
}

// The filters behind the figures of a trial balance select exactly the entries that add up to them, whatever was asked
// for.
func TestTrialBalanceAddsUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 5, 120)
	listings := []string{"", "&listingIds=null", "&listingIds=" + w.listings[0].String() + ",null", "&listingIds=" + w.listings[1].String()}

	rapid.Check(t, func(rt *rapid.T) {
		start := worldStart.AddDays(rapid.IntRange(-5, worldDays).Draw(rt, "start"))
		end := start.AddDays(rapid.IntRange(0, 70).Draw(rt, "days"))
		party := rapid.SampledFrom([]string{"", "&party=owners", "&party=manager", "&party=null"}).Draw(rt, "party")
		in := rapid.SampledFrom([]string{"", "&ledger=trust", "&ledger=operating"}).Draw(rt, "ledger")
		narrow := rapid.SampledFrom(listings).Draw(rt, "listings")
		r := w.Get("/reports/trial-balance?startDate=" + start.String() + "&endDate=" + end.String() + party + in + narrow).Want(200)
		w.checkDrilldowns(t, r, "", 12)

		sums := map[string]int64{}

		for i := range r.Len("data") {
			for _, name := range []string{"beginning", "debit", "credit", "ending"} {
				sums[name] += r.Int(fmt.Sprintf("data.%d.%s", i, name))
			}
		}

		for name, sum := range sums {
			if got := r.Int("totals." + name); got != sum {
				rt.Fatalf("%s of all accounts is %d, the total %d", name, sum, got)
			}
		}

		if party+narrow == "" && (r.Int("totals.debit") != r.Int("totals.credit") || r.Int("totals.beginning") != 0 || r.Int("totals.ending") != 0) {
			rt.Fatalf("the books do not balance: %s", r.Body)
		}
	})

	first := w.Get("/reports/trial-balance?startDate=1990&endDate=2026").Want(200)
	if first.String("totals.beginningDrilldown") != "null" {
		t.Errorf("before the first date that is accepted: %s", first.String("totals.beginningDrilldown"))
	}
}

func TestJournalEntries(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	first := b.Post(ledger.Trust, "2026-01-31", "1000", "2000", 300)
	b.Post(ledger.Operating, "2026-02-10", "5200", "1010", 100)
	past := ledger.Posting{SourceID: b.Listing, TxnCode: "historical:1", Ledger: ledger.Historical, Status: ledger.Inactive, TxnAt: date("2025-06-01"), Currency: "eur"}
	past.Lines = []ledger.Line{
		{Ref: "a", AccountID: b.Accounts["1000"], CentTotal: 5, Trigger: ledger.TriggerManual},
		{Ref: "b", AccountID: b.Accounts["2900"], CentTotal: -5, Trigger: ledger.TriggerManual},
	}
	b.Replace([]id.ID{b.Listing}, past)

	all := b.Get("/reports/journal-entries?sort=amount&limit=1").Want(200)
	for path, want := range map[string]string{
		"data.0.txnCode": "test:" + first.String(), "data.0.uniqueRef": "credit", "data.0.ledger": "trust", "data.0.status": "active",
		"data.0.txnAt": "2026-01-31", "data.0.account.code": "2000", "data.0.centTotal": "-300", "data.0.debit": "0", "data.0.credit": "300",
		"data.0.currency": "usd", "data.0.party": "owners", "data.0.listingId": b.Listing.String(), "data.0.ownershipPeriodId": "null",
		"data.0.contactId": "null", "data.0.reservationId": "null", "data.0.transactionId": first.String(), "data.0.recurringFeeId": "null",
		"data.0.ownerStatementId": "null", "data.0.triggerType": "manual", "data.0.description": "credit side",
		"pagination.total": "4", "pagination.nextPage": "2", "totals.debit": "400", "totals.credit": "400",
	} {
		if got := all.String(path); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}

	counts := map[string]int{
		"accountIds=" + b.Accounts["1000"].String() + "," + b.Accounts["1010"].String(): 2, "transactionIds=" + first.String(): 2,
		"listingIds=" + b.Listing.String(): 2, "party=owners": 2, "party=manager": 0, "ledger=operating": 2, "ledger=historical": 0,
		"status=inactive": 0, "status=inactive&ledger=historical": 2, "currency=EUR": 0, "currency=USD": 4, "txnCode=test:" + first.String(): 2,
		"contactIds=" + first.String(): 0, "reservationIds=" + first.String(): 0, "ownershipPeriodIds=" + first.String(): 0,
		"statementIds=" + first.String(): 0, "recurringFeeIds=" + first.String(): 0, "startDate=2026-02": 2, "endDate=2026-01": 2, "startDate=2025&endDate=2026": 4,
	}
	for filter, want := range counts {
		if got := b.Get("/reports/journal-entries?" + filter).Want(200).Len("data"); got != want {
			t.Errorf("%s: %d entries, want %d", filter, got, want)
		}
	}

	if got := b.Get("/reports/journal-entries?sort=-txnAt").String("data.0.txnAt"); got != "2026-02-10" {
		t.Errorf("newest first: %s", got)
	}

	b.Get("/reports/journal-entries?dateRange=2026&startDate=2026").WantError(apierr.CodeBadRequest, "").WantIssue("contradiction", "dateRange")
	b.Get("/reports/journal-entries?currency=xxx").WantIssue("currency", "currency")
	b.As(nil, nil).Get("/reports/journal-entries").WantError(apierr.CodeForbidden, "")
	b.As(nil, nil).Get("/reports/trial-balance?startDate=2026&endDate=2026").WantError(apierr.CodeForbidden, "")
}

// Proves: PAG-33, PAG-34, PAG-35.
func TestEntryDateRanges(t *testing.T) {
	t.Parallel()

	b := newBooks(t)
	for _, at := range []string{"2025-12-31", "2026-01-01", "2026-01-31", "2026-02-01", "2026-12-31", "2027-01-01"} {
		b.Post(ledger.Trust, at, "1000", "2000", 1)
	}

	for filter, want := range map[string]int64{
		"2026": 4, "2026-01-01...2026-12-31": 4, "2026&isDateRangeEndInclusive=true": 4, "2026&isDateRangeEndInclusive=false": 3, "2026-01": 2,
		"2026-01-31": 1, "2026-01-31...2026-02-01": 2, "2026-01-31...2026-02-01&isDateRangeEndInclusive=false": 1,
	} {
		if got := b.Get("/reports/journal-entries?dateRange=" + filter).Want(200).Int("totals.debit"); got != want {
			t.Errorf("%s: %d, want %d", filter, got, want)
		}
	}

	for _, bad := range []string{"26", "2026-13", "2026-02-30", "2026-01...2026-02", "2026-02-01...2026-01-01", "x"} {
		b.Get("/reports/journal-entries?dateRange="+bad).WantError(apierr.CodeBadRequest, "").WantIssue("dateRange", "dateRange")
	}
}

// Proves: PAG-36.
func TestBoundaries(t *testing.T) {
	t.Parallel()

	b := newBooks(t)
	for _, at := range []string{"2025-12-31", "2026-01-01", "2026-01-31", "2026-02-01", "2026-12-31", "2027-01-01"} {
		b.Post(ledger.Trust, at, "1000", "2000", 1)
	}

	for period, want := range map[string]int64{
		"startDate=2026&endDate=2026": 4, "startDate=2026-01&endDate=2026-01": 2, "startDate=2026-01-31&endDate=2026-02-01": 2,
		"startDate=2026-01-31&endDate=2026-02": 2, "startDate=2025-12&endDate=2026-01-01": 2, "startDate=2026-01&endDate=2027": 5,
	} {
		for _, path := range []string{"/reports/trial-balance?", "/reports/journal-entries?"} {
			if got := b.Get(path + period).Want(200).Int("totals.debit"); got != want {
				t.Errorf("%s%s: %d, want %d", path, period, got, want)
			}
		}
	}

	for _, path := range []string{"/reports/trial-balance?", "/reports/journal-entries?"} {
		for _, bad := range []string{"26", "2026-13", "2026-02-30", "2026-W01", "2026-01-01...2026-02-01", "20260101"} {
			b.Get(path+"startDate="+bad+"&endDate=2026").WantError(apierr.CodeBadRequest, "")
			b.Get(path+"startDate=2026&endDate="+bad).WantError(apierr.CodeBadRequest, "")
		}

		b.Get(path+"startDate=2026-02&endDate=2026-01").WantError(apierr.CodeBadRequest, "").WantIssue("dateOrder", "endDate")
	}

	b.Get("/reports/trial-balance?startDate=2026").WantError(apierr.CodeBadRequest, "").WantIssue("required", "endDate")
	b.Get("/reports/trial-balance?startDate=2026&endDate=2026&ledger=historical").Want(400)
}
