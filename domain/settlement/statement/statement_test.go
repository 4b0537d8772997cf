package statement_test

import (
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

func wantInts(t *testing.T, r *apitest.Response, want map[string]int64) {
	t.Helper()

	for path, cents := range want {
		if got := r.Int(path); got != cents {
			t.Errorf("%s is %d, want %d", path, got, cents)
		}
	}
}

var exampleJ = map[string]int64{
	"total": 63554, "financials.balanceStart": 30000, "financials.netRevenue": 76204, "financials.expenses": -12650, "financials.netIncome": 63554,
	"financials.payouts": -10000, "financials.balanceEnd": 83554, "financials.reserve": 20000, "financials.available": 63554,
	"shares.0.amount": 38132, "shares.1.amount": 25422, "payment.expected": 63554, "payment.received": 0,
}

// The figures are those of the worked example of a January, as a draft and as every saved state.
// Proves: STM-01.
func TestWorkedExample(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.january()
	statement := b.at("2026-01")
	draft := b.Get("/statements/" + statement).Want(200)
	wantInts(t, draft, exampleJ)

	if got := draft.String("status") + draft.String("startAt") + draft.String("endAt") + draft.String("payment.status"); got != "draft2026-01-012026-01-31unpaid" {
		t.Error(got)
	}

	if filter := draft.String("drilldown.filter"); !strings.Contains(filter, "2026-01-01...2026-01-31") || !strings.Contains(filter, b.period.String()) {
		t.Errorf("drilldown: %s", filter)
	}

	for i, name := range strings.Fields("balanceStart payouts balanceForward netRevenue expenses balanceEnd reserve available") {
		if got := draft.String("summary." + string(rune('0'+i)) + ".name"); got != name {
			t.Errorf("summary line %d is %s, want %s", i, got, name)
		}
	}

	sections := map[string]int64{}

	for i := range draft.Len("lines") {
		at := "lines." + string(rune('0'+i)) + "."
		sections[draft.String(at+"section")] += draft.Int(at + "total")
	}

	if sections["netRevenue"] != 76204 || sections["expenses"] != -12650 || sections["payouts"] != -10000 || len(sections) != 3 {
		t.Errorf("the lines come to %v", sections)
	}

	if draft.Len("reservations") != 1 || draft.Len("reservations.0.revenue") != 2 {
		t.Fatalf("reservations: %s", draft.Body)
	}

	wantInts(t, draft, map[string]int64{
		"reservations.0.revenue.0.total": 100000, "reservations.0.revenue.1.total": 15000, "reservations.0.fees": -38796, "reservations.0.net": 76204,
		"reservations.0.nights": 5,
	})

	for _, status := range []string{"inReview", "published"} {
		changed := b.Put("/statements/"+statement, map[string]any{"status": status}).Want(200)
		if changed.String("id") != statement || changed.String("status") != status {
			t.Errorf("changed into %s", changed.Body)
		}

		saved := b.Get("/statements/" + statement).Want(200)
		wantInts(t, saved, exampleJ)

		if saved.Len("lines") != draft.Len("lines") || saved.String("shortRef") != draft.String("shortRef") {
			t.Errorf("saved as %s the statement is told otherwise: %s", status, saved.Body)
		}
	}

	back := b.Put("/statements/"+statement, map[string]any{"status": "draft"}).Want(200)
	wantInts(t, back, exampleJ)

	if back.String("status") != "draft" || back.String("id") != statement {
		t.Errorf("returned to draft: %s", back.Body)
	}
}

func TestPaidStatement(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.january()
	january := b.save("2026-01", "published")

	v, err := id.Parse(january)
	if err != nil {
		t.Fatal(err)
	}

	payout := b.payout("2026-02-05", 63554, v)
	paid := b.Get("/statements/" + january).Want(200)
	wantInts(t, paid, map[string]int64{"payment.received": 63554, "payouts.0.total": -63554, "financials.payouts": -10000})

	if paid.String("payment.status") != "paid" || paid.ID("payouts.0.id") != payout || paid.String("payouts.0.totalFormatted") != "-$635.54" {
		t.Errorf("payment: %s", paid.Body)
	}

	wantInts(t, b.Get("/statements/"+b.at("2026-02")), map[string]int64{
		"financials.balanceStart": 83554, "financials.payouts": -63554, "financials.balanceEnd": 20000, "financials.available": 0,
	})

	// Proves: RSN-60.
	for _, refused := range []*apitest.Response{
		b.Put("/statements/"+january, map[string]any{"status": "draft"}),
		b.Put("/statements/"+january, map[string]any{"status": "inReview"}),
		b.Delete("/statements/" + january + "?onLocked=unlockAndDelete"),
	} {
		refused.WantError(apierr.CodeConflict, apierr.ReasonStatementHasPayouts)

		if refused.ID("context.statementIds.0").String() != january || refused.ID("context.transactionIds.0") != payout {
			t.Errorf("the payout is not named in %s", refused.Body)
		}
	}
}

// Proves: OPEN-85.
func TestSavingLocksAndDraftFrees(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	source := id.New(b.DB.Now())

	entry := func(cents int64) error {
		return b.tryPost(event{at: "2026-01-15", source: source}, side{account: "2000", cents: 100}, side{account: "4000", cents: -100, o: true})
	}
	if err := entry(100); err != nil {
		t.Fatal(err)
	}

	january := b.save("2026-01", "inReview")

	changed := func() error {
		return b.tryPost(event{at: "2026-01-15", source: source}, side{account: "2000", cents: 200}, side{account: "4000", cents: -200, o: true})
	}
	if err := changed(); err == nil {
		t.Error("an attached entry was replaced")
	}

	b.Delete("/statements/" + january).Want(204)

	if err := changed(); err != nil {
		t.Errorf("an entry of a draft is locked: %v", err)
	}

	wantInts(t, b.Get("/statements/"+january), map[string]int64{"financials.netRevenue": 200})
	b.Delete("/statements/"+january).WantError(apierr.CodeNotFound, "")
}

// A later saved statement of the same ownership period refuses every change of an earlier one, and says which and what
// to do.
// Proves: STM-02, STM-03, STM-04, STM-05, STM-07, STM-08, STM-09, STM-10, RSN-58, ERR-32, ERR-78, OPEN-14, OPEN-58.
func TestOrderRule(t *testing.T) {
	t.Parallel()

	for _, status := range []string{"inReview", "published"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			b := newBooks(t)
			january, february := b.at("2026-01"), b.at("2026-02")
			refused := func(r *apitest.Response) {
				t.Helper()
				r.WantError(apierr.CodeConflict, apierr.ReasonStatementFutureExists)

				got := []string{r.String("context.blockingStatementId"), r.String("context.blockingStatementStartAt"), r.String("context.blockingStatementStatus"), r.String("context.nextAction")}
				if want := february + " 2026-02-01 " + status + " returnStatementsToDraft"; strings.Join(got, " ") != want {
					t.Errorf("context %v, want %s", got, want)
				}
			}
			put := func(statement, status string) *apitest.Response {
				t.Helper()
				return b.Put("/statements/"+statement, map[string]any{"status": status})
			}
			put(february, status).Want(200)
			refused(b.Post("/statements", map[string]any{"month": "2026-01"}))
			refused(put(january, "inReview"))
			refused(put(january, "published"))
			put(february, "draft").Want(200)
			put(january, "published").Want(200)
			put(february, status).Want(200)
			refused(put(january, "draft"))
			refused(put(january, "inReview"))
			refused(b.Delete("/statements/" + january + "?onLocked=unlockAndDelete"))
			put(february, "draft").Want(200)
			put(january, "inReview").Want(200)
			put(february, "inReview").Want(200)
			r := put(january, "published")
			r.WantError(apierr.CodeConflict, apierr.ReasonStatementFutureExists)
			put(february, "draft").Want(200)
			put(january, "published").Want(200)
			put(january, "published").Want(200)
			put(january, "inReview").Want(200)
			put(january, "draft").Want(200)
			b.Post("/statements", map[string]any{"month": "2026-01"}).Want(201)
		})
	}
}

// Proves: STM-06.
func TestOrderRuleLooksAtOnePeriod(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	other := b.newPeriod(b.newListing("Cabin"), nil)
	b.Post("/statements", map[string]any{"month": "2026-02", "status": "published", "listingPeriodIds": []id.ID{other}}).Want(201)
	b.save("2026-01", "inReview")
	// A later period of the same listing has an order of its own.
	b.Exec(`update listing_ownership_period set end_at = '2026-03-01' where team_id = @team and id = @id`, db.Args{"id": b.period})
	later := b.newPeriod(b.listing, map[string]any{"start": "2026-03-01"})
	b.Post("/statements", map[string]any{"month": "2026-04", "status": "published", "listingPeriodIds": []id.ID{later}}).Want(201)
	b.save("2026-02", "inReview")
}

// Proves: RSN-43.
func TestPreviousStatementsOpen(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.income("2025-11-11", 700) // before the team's statements begin: does not count
	b.income("2026-02-03", 500)
	b.income("2026-04-03", 500)
	april := b.at("2026-04")
	refused := func(month, status string) {
		t.Helper()

		r := b.Put("/statements/"+april, map[string]any{"status": "published"}).WantError(apierr.CodeConflict, apierr.ReasonPreviousStatementsOpen)
		if r.String("context.blockingStatementId") != b.at(month) || r.String("context.blockingStatementStartAt") != month+"-01" || r.String("context.blockingStatementStatus") != status {
			t.Errorf("blocked by %s", r.Body)
		}
	}

	b.Put("/statements/"+april, map[string]any{"status": "inReview"}).Want(200)
	refused("2026-02", "draft")
	b.Put("/statements/"+april, map[string]any{"status": "draft"}).Want(200)
	b.save("2026-01", "inReview") // no entries, but in review
	refused("2026-01", "inReview")
	b.Put("/statements/"+b.at("2026-01"), map[string]any{"status": "draft"}).Want(200)
	b.save("2026-02", "published")
	b.Put("/statements/"+april, map[string]any{"status": "published"}).Want(200) // January and March have no entries
}

// Proves: RSN-57.
func TestStatementExists(t *testing.T) {
	t.Parallel()
	b := newBooks(t)

	january := b.save("2026-01", "inReview")
	for _, body := range []map[string]any{
		{"month": "2026-01", "listingPeriodIds": []id.ID{b.period}}, {"month": "2026-01"}, {"month": "2026-01", "currency": "USD"},
	} {
		r := b.Post("/statements", body).WantError(apierr.CodeConflict, apierr.ReasonStatementExists)
		if r.String("context.statementIds.0") != january {
			t.Errorf("context of %s", r.Body)
		}
	}

	cabin := b.newPeriod(b.newListing("Cabin"), nil)

	named := b.Post("/statements", map[string]any{"month": "2026-01", "listingPeriodIds": []id.ID{cabin, b.period}}).
		WantError(apierr.CodeConflict, apierr.ReasonStatementExists)
	if got := named.String("context.statementIds"); got != `["`+january+`"]` {
		t.Errorf("a period that is named beside a draft is refused for %s", got)
	}

	if n := b.Post("/statements", map[string]any{"month": "2026-01"}).Want(201).Len("data"); n != 1 {
		t.Errorf("saved %d statements, want the one that was a draft", n)
	}
}

// Proves: RSN-64.
func TestDeletePublished(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	january := b.save("2026-01", "published")

	r := b.Delete("/statements/"+january).WantError(apierr.CodeForbidden, apierr.ReasonStatementPublished)
	if r.String("context.lockReason") != "statement" || r.String("context.statementIds.0") != january {
		t.Errorf("context of %s", r.Body)
	}

	b.Delete("/statements/" + january + "?onLocked=unlockAndDelete").Want(204)

	if status := b.Get("/statements/" + january).Want(200).String("status"); status != "draft" {
		t.Errorf("deleted and still %s", status)
	}
}

// A dry run answers as the real call does and keeps nothing; the harness compares all rows of the team for every other
// test.
// Proves: DRY-44.
func TestDryRun(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.january()
	before := b.Fingerprint()
	dry := b.Post("/statements?dryRun=true", map[string]any{"month": "2026-01", "status": "published"}).Want(201)
	wantInts(t, dry, map[string]int64{"data.0.financials.balanceEnd": 83554})

	if b.Fingerprint() != before || dry.String("data.0.status") != "published" {
		t.Errorf("the dry run kept something or answered otherwise: %s", dry.Body)
	}

	statement := dry.String("data.0.id")
	b.Put("/statements/"+statement+"?dryRun=true", map[string]any{"status": "inReview"}).Want(200)
	b.Put("/statements/"+statement, map[string]any{"status": "inReview"}).Want(200)
	b.Delete("/statements/" + statement + "?dryRun=true").Want(204)

	if status := b.Get("/statements/" + statement).String("status"); status != "inReview" {
		t.Errorf("after the dry runs the statement is %s", status)
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	january := b.at("2026-01")

	writer := b.As([]string{"statements:read", "statements:write"}, nil)
	for _, r := range []*apitest.Response{
		writer.Post("/statements", map[string]any{"month": "2026-01", "status": "published"}),
		writer.Put("/statements/"+january, map[string]any{"status": "published"}),
	} {
		r.WantError(apierr.CodeForbidden, "")

		if r.String("context.requiredScopes.0") != "statements:publish" {
			t.Errorf("context of %s", r.Body)
		}
	}

	writer.Put("/statements/"+january, map[string]any{"status": "inReview"}).Want(200)
	writer.Delete("/statements/"+january).WantError(apierr.CodeForbidden, "")
}

func TestRefusedInput(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	ended := b.newPeriod(b.newListing("Cabin"), map[string]any{"end": "2026-03-01"})
	b.Post("/statements", map[string]any{"month": "2026-01", "status": "draft"}).Want(400).WantIssue("notStorable", "status")
	b.Post("/statements", map[string]any{"month": "2026-13"}).Want(400).WantIssue("malformed", "month")
	b.Post("/statements", map[string]any{"month": "2035-01"}).Want(400).WantIssue("dateInFuture", "month")
	b.Post("/statements", map[string]any{"month": "2025-12"}).WantError(apierr.CodeBadRequest, apierr.ReasonBeforeStatementStartDate)
	b.Post("/statements", map[string]any{"month": "2026-03", "listingPeriodIds": []id.ID{b.period, ended, id.New(b.DB.Now())}}).Want(400).
		WantIssue("outsidePeriod", "listingPeriodIds.1").WantIssue("notFound", "listingPeriodIds.2")
	b.Get("/statements?dateRange=January").Want(400).WantIssue("dateRange", "dateRange")
	b.Get("/statements/"+id.New(b.DB.Now()).String()).WantError(apierr.CodeNotFound, "")
	b.Put("/statements/"+id.New(b.DB.Now()).String(), map[string]any{"status": "draft"}).WantError(apierr.CodeNotFound, "")
}

func TestOtherTeamsStatementIsNotFound(t *testing.T) {
	t.Parallel()

	b, other := newBooks(t), newBooks(t)
	for _, statement := range []string{b.at("2026-02"), b.save("2026-01", "inReview")} {
		other.Get("/statements/"+statement).WantError(apierr.CodeNotFound, "")
		other.Put("/statements/"+statement, map[string]any{"status": "draft"}).WantError(apierr.CodeNotFound, "")
		other.Delete("/statements/"+statement).WantError(apierr.CodeNotFound, "")

		if n := other.Get("/statements?statementIds=" + statement).Want(200).Len("data"); n != 0 {
			t.Errorf("another team's statement is listed")
		}
	}
}

func TestOwnersSeeTheirPublishedStatements(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	january, february := b.save("2026-01", "published"), b.at("2026-02")
	march := b.save("2026-03", "inReview")
	stranger := b.contact("Sam")
	b.newPeriod(b.newListing("Cabin"), nil)
	ada, sam := b.As([]string{"statements:read"}, &b.a), b.As([]string{"statements:read"}, &stranger)

	list := ada.Get("/statements").Want(200)
	if list.Len("data") != 1 || list.String("data.0.id") != january || list.String("data.0.drilldown") != "null" {
		t.Errorf("the owner sees %s", list.Body)
	}

	ada.Get("/statements/" + january + "?viewAs=manager").Want(200)

	for _, hidden := range []string{february, march} {
		ada.Get("/statements/"+hidden).WantError(apierr.CodeNotFound, "")
	}

	sam.Get("/statements/"+january).WantError(apierr.CodeNotFound, "")

	if n := sam.Get("/statements").Want(200).Len("data"); n != 0 {
		t.Errorf("a stranger sees %d statements", n)
	}

	b.Exec(`update team set owner_portal_show_draft_statements = true where id = @team`, nil)
	ada.Get("/statements/" + february).Want(200)
	ada.Get("/statements/"+march).WantError(apierr.CodeNotFound, "")
	sam.Get("/statements/"+february).WantError(apierr.CodeNotFound, "")

	if b.Get("/statements/"+january+"?viewAs=owner").Want(200).String("drilldowns") != "null" {
		t.Error("the owner's view leads into the journal")
	}
}
