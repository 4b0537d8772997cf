package world_test

import (
	"net/http"
	"strings"
	"testing"

	"stayledger/test/world"
)

// The counts are the cost of reads whose answers come from many rows: they may fall, and whoever raises one says why.
// The begin of the transaction and the setting of its team are two of the statements.
func TestReadsSendFewStatements(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	villa := w.Listing("Villa", w.Contact("owner", "Ada"))
	w.Stay(villa, "2026-01-09", 100_000)

	bank := w.Account("1000")

	record := w.Call(http.MethodPost, "/bank-records/batch", world.Object{"data": world.Array{world.Object{
		"accountId": bank, "date": "2026-01-12", "description": "Payout", "amount": 100_000,
	}}})
	if record.Status >= 300 {
		t.Fatalf("a bank record: %s", record.Body)
	}

	for _, c := range []struct {
		path                   string
		statements, roundTrips int
	}{
		{"/reports/trust-reconciliation", 23, 3},
		{"/reports/trust-reconciliation/by-listing", 11, 3},
		{"/reports/guest-balances", 6, 3},
		{"/bank-records/suggestions", 6, 3},
		{"/bank-records/" + record.String("data.0.id"), 4, 1},
		{"/bank-records", 4, 1},
		{"/bank-records?includeMatchingRules=true&includeMatchingTransactions=true&includeDuplicates=true", 7, 2},
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
			t.Errorf("GET %s sent statements twice in a transaction: %s", c.path, strings.Join(r.Sent.Twice, "\n"))
		}
	}
}
