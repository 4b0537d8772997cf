package statement_test

import (
	"fmt"
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/test/fixture"
	"stayledger/test/world"
)

// issuesAt are the codes and severities of the issues in an answer.
func issuesAt(r *apitest.Response, path string) string {
	var out []string

	for i := range r.Len(path) {
		at := fmt.Sprintf("%s.%d.", path, i)
		out = append(out, r.String(at+"code")+" "+r.String(at+"severity"))
	}

	return strings.Join(out, ", ")
}

// What a layout leaves out of the net revenue, and columns of no account, keep a statement from being saved or
// published until the layout is put right. Details, lists and refusals say the same.
// Proves: RSN-59, ERR-114.
func TestALayoutThatLeavesAccountsOut(t *testing.T) {
	t.Parallel()
	w := world.New(t)

	villa, barn := w.Listing("Villa", w.Contact("owner", "Ada")), w.Listing("Barn", w.Contact("owner", "Ben"))
	for _, l := range []world.Listing{villa, barn} {
		w.Stay(l, "2026-01-09", 100_000)
	}

	layout := w.Post("/statement-layouts", fixture.With(design(w, "Poor", "4010"), "listingIds", world.Array{villa.ID})).Want(201).ID("id").String()
	january := w.Statement(villa, "2026-01").String()

	const want = "netRevenueLayoutMismatch error, line_unassignedAccount error"

	detail := w.Get("/statements/" + january).Want(200)
	if got := issuesAt(detail, "issues"); got != want {
		t.Fatalf("issues %s", got)
	}

	wantInts(t, detail, map[string]int64{
		"issues.0.context.netRevenue": 100_000, "issues.0.context.layoutNetRevenue": 0, "issues.0.context.difference": -100_000,
	})

	if got := detail.ID("issues.1.context.accountIds.0"); got != w.Account("4000") {
		t.Errorf("unassigned is %s", got)
	}

	listed := w.Get("/statements?month=2026-01&sort=-listing").Want(200)
	if got := issuesAt(listed, "data.0.issues"); got != want || listed.Len("data.1.issues") != 0 {
		t.Errorf("listed with %s: %s", got, listed.Body)
	}

	if owner := w.Get("/statements/" + january + "?viewAs=owner").Want(200); owner.Len("issues") != 0 {
		t.Errorf("the owner is told %s", owner.Value("issues"))
	}

	for _, status := range []string{"inReview", "published"} {
		for _, refused := range []*apitest.Response{
			w.Put("/statements/"+january, world.Object{"status": status}),
			w.Post("/statements", world.Object{"month": "2026-01", "status": status}),
		} {
			refused.WantError(apierr.CodeBadRequest, apierr.ReasonStatementHasBlockingIssues)

			if got := issuesAt(refused, "context.issues"); got != want || refused.String("context.statementIds.0") != january || refused.Len("context.statementIds") != 1 {
				t.Errorf("refused with %s", refused.Body)
			}
		}
	}

	empty := design(w, "Poor", "4000")
	columns := empty["netRevenueSections"].(world.Array)[0].(world.Object)["columns"].(world.Array)
	empty["netRevenueSections"].(world.Array)[0].(world.Object)["columns"] = append(columns, world.Object{
		"name": "Nothing", "type": "accounts", "value": world.Object{"accountIds": world.Array{}},
	})
	w.Put("/statement-layouts/"+layout, empty).Want(200)

	if got := w.Get("/statements/" + january).Want(200); issuesAt(got, "issues") != "emptyJournalEntryAccountIds error" || got.Len("issues.0.context.affected") != 1 {
		t.Errorf("issues of an empty column: %s", got.Value("issues"))
	}

	w.Put("/statements/"+january, world.Object{"status": "inReview"}).WantError(apierr.CodeBadRequest, apierr.ReasonStatementHasBlockingIssues)
	w.Put("/statement-layouts/"+layout, design(w, "Poor", "4000")).Want(200)
	w.Put("/statements/"+january, world.Object{"status": "published"}).Want(200)
}

// span is the first and the last day of an imported statement.
type span struct{ start, end string }

// imported is a statement that comes from another system with one line of rent.
func imported(w *world.World, l world.Listing, over span, rent int64, rest ...any) string {
	w.T.Helper()

	return w.Post("/statements/historic", fixture.With(world.Object{
		"uniqueRef": l.ID.String() + over.start, "listingId": l.ID, "startAt": over.start, "endAt": over.end, "currency": "usd", "status": "published", "centBalanceStart": 0,
		"lines": world.Array{world.Object{"uniqueRef": "rent", "type": "line", "accountId": w.Account("4000"), "centTotal": rent}},
	}, rest...)).Want(201).ID("id").String()
}

// The first statement after imported ones starts with the balance of the books. It is saved once the imported ones
// ended with the same; an opening balance brings it into the books, however late. Imported statements get issues for
// their mismatches and keep them.
// Proves: ERR-112, ERR-113, RSN-59.
func TestBalancesThatDoNotFollow(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	villa := w.Listing("Villa", w.Contact("owner", "Ada"))
	imported(w, villa, span{"2025-11-01", "2025-11-30"}, 500)

	december := w.Get("/statements/" + imported(w, villa, span{"2025-12-01", "2025-12-31"}, 300, "centBalanceStart", 400, "centBalanceEnd", 900)).Want(200)
	if got := issuesAt(december, "issues"); got != "balanceMismatch_end warning, balanceMismatch_start warning" {
		t.Errorf("december has %s", got)
	}

	wantInts(t, december, map[string]int64{
		"issues.0.context.balanceEnd": 900, "issues.0.context.expectedBalanceEnd": 700, "issues.0.context.difference": 200,
		"issues.1.context.balanceStart": 400, "issues.1.context.expectedBalanceStart": 500, "issues.1.context.difference": -100,
		"financials.balanceEnd": 900, "financials.available": 900,
	})
	w.Stay(villa, "2026-02-09", 10_000)

	january, february := "/statements/"+w.Statement(villa, "2026-01").String(), "/statements/"+w.Statement(villa, "2026-02").String()
	for _, statement := range []string{january, february} {
		r := w.Put(statement, world.Object{"status": "inReview"}).WantError(apierr.CodeBadRequest, apierr.ReasonStatementHasBlockingIssues)
		if got := issuesAt(r, "context.issues"); got != "balanceMismatch_start error" || r.Int("context.issues.0.context.difference") != -900 {
			t.Errorf("%s", r.Body)
		}
	}

	opening(w, villa, "2026-01-01", 900)

	for i, statement := range []string{january, february} {
		r := w.Get(statement).Want(200)
		if r.Len("issues") != 0 || r.Int("financials.balanceStart") != 900 {
			t.Errorf("after the opening balance %d starts with %d: %s", i, r.Int("financials.balanceStart"), r.Value("issues"))
		}

		w.Put(statement, world.Object{"status": "published"}).Want(200)
	}
	// Nothing of the API can change what a saved statement is built on; what was changed past it shows.
	w.Exec(`update statement set balance_end = balance_end + 1, payouts = payouts + 1 where team_id = @team and start_at = '2026-01-01'`, nil)

	if r := w.Get(february).Want(200); issuesAt(r, "issues") != "balanceMismatch_start error" || r.Int("issues.0.context.difference") != -1 {
		t.Errorf("february: %s", r.Value("issues"))
	}

	march := "/statements/" + w.Statement(villa, "2026-03").String()
	w.Put(march, world.Object{"status": "published"}).Want(200)
}

// opening posts an opening balance of the owners.
func opening(w *world.World, l world.Listing, date string, cents int64) {
	w.T.Helper()

	line := func(account string, cents int64, rest ...any) world.Object {
		return fixture.With(world.Object{"accountId": w.Account(account), "centTotal": cents}, rest...)
	}
	w.Post("/general-ledger/journals", world.Object{"date": date, "lines": world.Array{
		line("1000", cents), line("2900", -cents, "party", "owners", "listingId", l.ID),
	}}).Want(201)
}

// A month that an imported statement reaches into has no draft, and what was booked in it waits for the next statement.
func TestImportedMonthsHaveNoDrafts(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	villa := w.Listing("Villa", w.Contact("owner", "Ada"))
	w.Exec(`update team set statement_start_at = '2025-11-01' where id = @team`, nil)
	w.Stay(villa, "2026-01-20", 700)
	imported(w, villa, span{"2025-11-01", "2026-01-10"}, 600)

	list := w.Get("/statements?sort=startAt&dateRange=2025-01-01...2026-02-28&listingIds=" + villa.ID.String()).Want(200)
	if list.Len("data") != 2 || list.String("data.0.source.type") != "import" || list.String("data.1.startAt") != "2026-02-01" || list.Int("data.1.financials.balanceStart") != 700 {
		t.Errorf("listed: %s", list.Body)
	}

	w.Post("/statements", world.Object{"month": "2025-11"}).WantError(apierr.CodeConflict, apierr.ReasonStatementExists)
	w.Post("/statements", world.Object{"month": "2026-01", "listingPeriodIds": world.Array{villa.Period}}).WantIssue("outsidePeriod", "listingPeriodIds.0")
	// The books have 100 more than the import said.
	w.Post("/statements", world.Object{"month": "2026-02", "status": "published"}).WantError(apierr.CodeBadRequest, apierr.ReasonStatementHasBlockingIssues)
}

// An unfinished import of statements keeps others from being published.
// Proves: RSN-23.
func TestNothingIsPublishedDuringAnImport(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	villa := w.Listing("Villa", w.Contact("owner", "Ada"))
	january := "/statements/" + w.Statement(villa, "2026-01").String()
	w.Exec(`insert into operation (team_id, id, type, status, initiated_by, tasks_open, created_at)
		values (@team, @id, 'historical-statement-import', 'queued', @id, 1, @now)`, db.Args{"id": villa.ID, "now": w.DB.Now()})
	w.Put(january, world.Object{"status": "inReview"}).Want(200)

	r := w.Put(january, world.Object{"status": "published"}).WantError(apierr.CodeConflict, apierr.ReasonHistoricalImportPending)
	if r.ID("context.operationIds.0") != villa.ID {
		t.Errorf("waits for %s", r.Body)
	}

	w.Exec(`update operation set status = 'completed', tasks_open = 0, finished_at = @now where team_id = @team and id = @id`, db.Args{"id": villa.ID, "now": w.DB.Now()})
	w.Put(january, world.Object{"status": "published"}).Want(200)
}
