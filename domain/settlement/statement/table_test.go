package statement_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/test/world"
)

// behind adds up, owner-facing, the journal entries that a drill-down leads to.
func behind(w *world.World, drilldown any) int64 {
	w.T.Helper()

	d, ok := drilldown.(world.Object)
	if !ok {
		return 0 // of no account
	}

	query := url.Values{"limit": {"250"}}

	for name, value := range d["filter"].(world.Object) { //nolint:forcetypeassert // as described
		if list, many := value.([]any); many {
			texts := make([]string, len(list))
			for i := range list {
				texts[i] = fmt.Sprint(list[i])
			}

			query.Set(name, strings.Join(texts, ","))
		} else {
			query.Set(name, fmt.Sprint(value))
		}
	}

	var found struct{ Data []struct{ CentTotal int64 } }
	w.Get("/reports/journal-entries?" + query.Encode()).Want(200).Into(&found)

	total := int64(0)
	for _, e := range found.Data {
		total -= e.CentTotal
	}

	return total
}

// leads fails unless every amount of a statement is the sum of the entries behind its drill-down; it counts the
// amounts.
func leads(w *world.World, s *apitest.Response) (amounts int) {
	w.T.Helper()

	check := func(what string, want int64, drilldown any) {
		w.T.Helper()

		amounts++

		if got := behind(w, drilldown); got != want {
			w.T.Errorf("%s is %d, the entries behind it are %d: %v", what, want, got, drilldown)
		}
	}
	for _, figure := range []string{"netRevenue", "expenses", "payouts"} {
		check(figure, s.Int("financials."+figure), s.Value("drilldowns."+figure))
	}

	for i := range s.Len("tables") {
		table := fmt.Sprintf("tables.%d.", i)
		check(table+"total", s.Int(table+"total"), s.Value(table+"drilldown"))

		cells := func(at string) {
			w.T.Helper()

			for k := range s.Len(at) {
				cell := fmt.Sprintf("%s.%d.", at, k)
				if s.Has(cell + "amount") {
					check(cell, s.Int(cell+"amount"), s.Value(cell+"drilldown"))
				}
			}
		}
		cells(table + "totals")

		for k := range s.Len(table + "rows") {
			cells(fmt.Sprintf("%srows.%d.cells", table, k))
		}
	}

	return amounts
}

// Every amount of a statement leads to exactly the journal entries that it adds up, drafts, saved and imported ones
// alike; owners are shown no way into the books.
func TestEveryAmountLeadsToItsEntries(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	ada := w.Contact("owner", "Ada")
	villa := w.Listing("Villa", ada)
	w.Stay(villa, "2026-01-09", 100_000)
	w.Stay(villa, "2026-01-12", 50_000)
	w.Expense(villa, "2026-01-20", 25_000)
	w.Expense(villa, "2026-01-21", 5_000)
	w.Post("/transactions", world.Object{"type": "payout", "date": "2026-01-25", "accountId": w.Account("1000"), "lines": world.Array{world.Object{
		"amount": 7_000, "listingId": villa.ID, "contactId": ada,
	}}}).Want(201)
	statement := "/statements/" + w.Statement(villa, "2026-01").String()

	draft := w.Get(statement).Want(200)
	if n := leads(w, draft); n < 15 || draft.Int("tables.0.total") != 150_000 || draft.Int("tables.1.total") != -30_000 || draft.Int("financials.payouts") != -7_000 {
		t.Errorf("%d amounts: %s", n, draft.Body)
	}

	w.Publish("2026-01", villa)
	leads(w, w.Get(statement).Want(200))

	owner := w.Get(statement + "?viewAs=owner").Want(200)
	if strings.Contains(string(owner.Body), "journalEntryReport") || owner.Len("tables.0.columns.0.accountIds") != 0 {
		t.Errorf("the owner is led into the books: %s", owner.Body)
	}
}

// An imported statement leads to its own entries in the historical ledger.
func TestImportedAmountsLeadToTheirEntries(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	villa := w.Listing("Villa", w.Contact("owner", "Ada"), w.Contact("owner", "Ben"))
	id := w.Post("/statements/historic", world.Object{
		"uniqueRef": "past", "listingId": villa.ID, "startAt": "2025-12-01", "endAt": "2025-12-15", "currency": "usd", "status": "published", "centBalanceStart": 0,
		"lines": world.Array{
			world.Object{"uniqueRef": "rent", "type": "line", "accountId": w.Account("4000"), "centTotal": 900, "description": "Rent"},
			world.Object{"uniqueRef": "boiler", "type": "line", "accountId": w.Account("5200"), "centTotal": -300, "description": "Boiler"},
			world.Object{"uniqueRef": "paid", "type": "payout", "centTotal": 601},
		},
	}).Want(201).ID("id")
	s := w.Get("/statements/" + id.String()).Want(200)
	leads(w, s)
	wantInts(t, s, map[string]int64{"financials.netRevenue": 900, "financials.expenses": -300, "financials.payouts": -601, "financials.balanceEnd": -1, "version": 1})

	if got := s.String("source.type") + s.String("endAt") + s.String("uniqueRef") + fmt.Sprint(s.Len("issues"), s.Len("lines")); got != "import2025-12-15past0 4" {
		t.Errorf("%s: %s", got, s.Body)
	}
	// It has no draft to return to, and goes only when that is meant.
	w.Put("/statements/"+id.String(), world.Object{"status": "draft"}).WantIssue("imported", "status")
	w.Delete("/statements/"+id.String()).WantError(apierr.CodeForbidden, apierr.ReasonStatementPublished)
	w.Put("/statements/"+id.String(), world.Object{"status": "inReview"}).Want(200)
	w.Put("/statements/"+id.String(), world.Object{"status": "published"}).Want(200)

	if again := w.Get("/statements/" + id.String()).Want(200); again.Int("version") != 2 {
		t.Errorf("republished: %s", again.Body)
	}
}

// design is a layout that adds up the given accounts of the net revenue and all expenses.
func design(w *world.World, name string, codes ...string) world.Object {
	accounts := world.Array{}
	for _, code := range codes {
		accounts = append(accounts, w.Account(code))
	}

	return world.Object{
		"name": name, "summaryType": "invoice", "netRevenueSections": world.Array{world.Object{"name": name, "columns": world.Array{
			world.Object{"name": "Guest", "type": "field", "value": world.Object{"field": "guestName"}},
			world.Object{"name": "Amount", "type": "accounts", "value": world.Object{"accountIds": accounts}},
			world.Object{"name": "Ours", "type": "subTotal", "visible": "manager", "value": world.Object{}},
		}}},
	}
}

// A saved statement keeps the layout that it was saved with; a draft has the one that its listing has now.
func TestASavedStatementKeepsItsLayout(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	villa := w.Listing("Villa", w.Contact("owner", "Ada"))
	w.Stay(villa, "2026-01-09", 100_000)
	w.Stay(villa, "2026-02-09", 100_000)
	first := w.Post("/statement-layouts", design(w, "Plain", "4000")).Want(201).ID("id").String()
	w.Put("/statement-layouts/"+first, world.Object{"listingIds": world.Array{villa.ID}}).Want(200)
	january, february := "/statements/"+w.Statement(villa, "2026-01").String(), "/statements/"+w.Statement(villa, "2026-02").String()
	w.Publish("2026-01", villa)

	before := w.Get(january).Want(200)
	if got := before.String("layout.name") + before.String("tables.0.name") + before.String("summary.0.name") + before.String("summary.7.text"); got != "PlainPlainnetRevenueAmount due" {
		t.Errorf("laid out as %s: %s", got, before.Body)
	}

	changed := design(w, "Fancy", "4000", "4010")
	changed["summaryType"] = "default"
	w.Put("/statement-layouts/"+first, changed).Want(200)

	saved, draft := w.Get(january).Want(200), w.Get(february).Want(200)
	for _, what := range []string{"layout", "tables", "summary", "financials", "lines"} {
		if fmt.Sprint(saved.Value(what)) != fmt.Sprint(before.Value(what)) {
			t.Errorf("%s of a saved statement changed:\n%v\n%v", what, before.Value(what), saved.Value(what))
		}
	}

	if got := draft.String("layout.name") + draft.String("tables.0.name") + draft.String("summary.0.name"); got != "FancyFancybalanceStart" {
		t.Errorf("the draft is laid out as %s", got)
	}

	w.Put(january, world.Object{"status": "draft"}).Want(200)

	if got := w.Get(january).Want(200).String("layout.name"); got != "Fancy" {
		t.Errorf("back in draft it is laid out as %s", got)
	}

	owner := w.Get(february + "?viewAs=owner").Want(200)
	if owner.Len("tables.0.columns") != 2 || owner.Len("layout.netRevenueSections.0.columns") != 2 || draft.Len("tables.0.columns") != 3 {
		t.Errorf("the owner sees what is the manager's: %s", owner.Body)
	}
}
