package world_test

import (
	"net/http"
	"strings"
	"testing"

	"stayledger/test/world"
)

// The counts are the cost of reading each noun, by itself and as a page, and of the reports whose answers come from many
// rows. They may fall, and whoever raises one says why. The begin of a transaction and the setting of its team are
// among the statements; a read of one round trip has no begin.
func TestReadsSendFewStatements(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	ada := w.Contact("owner", "Ada")
	villa := w.Listing("Villa", ada)

	id := func(path string, body world.Object) string {
		t.Helper()

		r := w.Call(http.MethodPost, path, body)
		if r.Status >= 300 {
			t.Fatalf("POST %s: %s", path, r.Body)
		}

		return r.String("id")
	}

	bank, repairs := w.Account("1000"), w.Account("5200")
	fee := id("/recurring-fees", world.Object{
		"name": "Management", "type": "managementFee", "formula": "rent", "rateType": "percentage", "defaultRate": 20_000, "creditParty": "manager",
		"debitParty": "owners", "creditAccountId": w.Account("4100"), "debitAccountId": repairs,
		"accountTotalConditions": world.Array{world.Object{"accountId": w.Account("4100"), "operator": ">=", "centValue": 0}},
		"listingSubscriptions":   world.Array{world.Object{"listingId": villa.ID}},
	})
	stay := id("/reservations", world.Object{
		"listingId": villa.ID, "checkIn": "2026-01-09", "checkOut": "2026-01-12", "lines": world.Array{world.Object{"type": "rent", "amount": 100_000}},
	})
	deposit := id("/transactions", world.Object{
		"type": "deposit", "date": "2026-01-10", "accountId": bank,
		"lines": world.Array{world.Object{"assignment": "accountsReceivable", "amount": 60_000, "reservationId": stay}},
	})
	journal := id("/general-ledger/journals", world.Object{"date": "2026-01-22", "lines": world.Array{
		world.Object{"accountId": bank, "centTotal": 1_000}, world.Object{"accountId": repairs, "centTotal": -1_000, "listingId": villa.ID},
	}})
	record := w.Call(http.MethodPost, "/bank-records/batch", world.Object{"data": world.Array{world.Object{
		"accountId": bank, "date": "2026-01-12", "description": "Payout", "amount": 100_000,
	}}}).String("data.0.id")

	w.Work()

	saved := w.Call(http.MethodPost, "/statements", world.Object{"month": "2026-01", "status": "published"})
	if saved.Status >= 300 {
		t.Fatalf("a statement: %s", saved.Body)
	}

	statement := w.Call(http.MethodGet, "/statements?month=2026-01", nil).String("data.0.id")
	draft := w.Call(http.MethodGet, "/statements?month=2026-02", nil).String("data.0.id")
	period := w.Call(http.MethodGet, "/listings/ownership-periods", nil).String("data.0.id")
	entry := w.Call(http.MethodGet, "/reports/journal-entries?limit=1", nil).String("data.0.id")

	for _, c := range []struct {
		path                   string
		statements, roundTrips int
	}{
		{"/team", 2, 1},
		{"/teams", 2, 1},
		{"/contacts/" + ada.String(), 2, 1},
		{"/contacts", 2, 1},
		{"/contacts?status=active", 3, 1},
		{"/listings/" + villa.ID.String(), 2, 1},
		{"/listings", 2, 1},
		{"/listings/ownership-periods/" + period, 2, 1},
		{"/listings/ownership-periods", 2, 1},
		{"/accounts/" + bank.String(), 2, 1},
		{"/accounts", 2, 1},
		{"/recurring-fees/" + fee, 3, 1},
		{"/recurring-fees", 5, 2},
		{"/reservations/" + stay, 3, 1},
		{"/reservations", 4, 2},
		{"/transactions/" + deposit, 2, 1},
		{"/transactions", 2, 1},
		{"/general-ledger/journals/" + journal, 2, 1},
		{"/general-ledger/journals", 2, 1},
		{"/reports/journal-entries?ids=" + entry, 3, 1},
		{"/reports/journal-entries?limit=50", 3, 1},
		{"/bank-records/" + record, 3, 1},
		{"/bank-records", 2, 1},
		{"/bank-records?includeMatchingRules=true&includeMatchingTransactions=true&includeDuplicates=true", 6, 2},
		{"/payments", 2, 1},
		{"/statements/" + statement, 12, 2},
		{"/statements/" + draft, 17, 3},
		{"/statements?month=2026-01", 11, 2},
		{"/statements", 16, 2},
		{"/reports/trust-reconciliation", 23, 3},
		{"/reports/trust-reconciliation/by-listing", 11, 3},
		{"/reports/guest-balances", 6, 3},
		{"/bank-records/suggestions", 6, 3},
		{"/accounts/" + bank.String() + "/summary", 6, 2},
	} {
		r := w.Call(http.MethodGet, c.path, nil)
		if r.Status != http.StatusOK {
			t.Fatalf("GET %s: %s", c.path, r.Body)
		}

		if n, trips := len(r.Sent.Statements), r.Sent.RoundTrips; n != c.statements || trips != c.roundTrips {
			t.Errorf("GET %s sent %d statements in %d round trips, want %d in %d", c.path, n, trips, c.statements, c.roundTrips)
			t.Log(strings.Join(r.Sent.Statements, "\n"))
		}

		if len(r.Sent.Twice) > 0 {
			t.Errorf("GET %s sent statements twice in a transaction; pass on what they gave: %s", c.path, strings.Join(r.Sent.Twice, "\n"))
		}
	}
}
