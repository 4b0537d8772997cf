package world_test

import (
	"net/http"
	"strings"
	"testing"

	"stayledger/test/world"
)

// The counts are the cost of the writes of a day: they may fall, and whoever raises one says why.
func TestWritesSendFewStatements(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	ada, ben := w.Contact("owner", "Ada"), w.Contact("owner", "Ben")
	villa, mill := w.Listing("Villa", ada, ben), w.Listing("Mill", ben)
	w.Stay(villa, "2026-01-09", 100_000)
	fee := world.Object{
		"name": "Management", "type": "managementFee", "formula": "rent", "rateType": "percentage", "defaultRate": 20_000, "creditParty": "manager",
		"debitParty": "owners", "creditAccountId": w.Account("4100"), "debitAccountId": w.Account("5200"),
		"listingSubscriptions": world.Array{world.Object{"listingId": villa.ID}},
	}

	path := map[string]string{}
	for _, c := range []struct {
		method, path           string
		body                   world.Object
		statements, roundTrips int
	}{
		{"POST", "/recurring-fees", fee, 24, 10},
		{"PUT", "/recurring-fees", world.Object{"icon": "broom"}, 16, 7},
		{"POST", "/reservations", world.Object{
			"listingId": villa.ID, "checkIn": "2026-02-20", "checkOut": "2026-02-22", "lines": world.Array{world.Object{"type": "rent", "amount": 1_000}},
		}, 12, 4},
		{"POST", "/reservations", world.Object{
			"listingId": villa.ID, "checkIn": "2026-02-10", "checkOut": "2026-02-14", "confirmationCode": "HM1",
			"lines": world.Array{world.Object{"type": "rent", "amount": 40_000}, world.Object{"type": "cleaningFee", "amount": 5_000}},
		}, 13, 4}, // One reads what is left out of the books; a change also keeps it.
		{"PUT", "/reservations", world.Object{"lines": world.Array{world.Object{"type": "rent", "amount": 50_000}}}, 22, 5},
		{"PUT", "/reservations", world.Object{"listingId": mill.ID}, 23, 6},
		{"POST", "/transactions", world.Object{
			"type": "expense", "date": "2026-01-20", "accountId": w.Account("1000"),
			"lines": world.Array{world.Object{"accountId": w.Account("5200"), "amount": 25_000, "listingId": villa.ID}},
		}, 12, 4}, // The last one looks at what the owners of the listing have.
		{"PUT", "/transactions", world.Object{"date": "2026-01-21"}, 19, 6},
		{"POST", "/general-ledger/journals", world.Object{
			"date": "2026-01-22", "lines": world.Array{
				world.Object{"accountId": w.Account("1000"), "centTotal": 1_000}, world.Object{"accountId": w.Account("5200"), "centTotal": -1_000, "listingId": villa.ID},
			},
		}, 12, 4},
		{"PUT", "/general-ledger/journals", world.Object{"description": "By hand"}, 18, 6},
		{"POST", "/contacts", world.Object{"type": "owner", "name": "Cleo"}, 6, 3},
		{"PUT", "/contacts", world.Object{"name": "Cleopatra"}, 7, 4},
		{"POST", "/listings", world.Object{"name": "Barn", "initialOwnership": world.Object{"members": world.Array{world.Object{"contactId": ada, "split": 100_000}}}}, 12, 7},
		{"PUT", "/listings", world.Object{"name": "Barn by the lake"}, 7, 4},
	} {
		to := c.path
		if c.method == http.MethodPut {
			to += "/" + path[c.path]
		}

		r := w.Call(c.method, to, c.body)
		if r.Status >= 300 {
			t.Fatalf("%s %s: %s", c.method, c.path, r.Body)
		}

		path[c.path] = r.String("id")

		w.Work() // what a change has queued would be looked for by the next one

		if n, trips := len(r.Sent.Statements), r.Sent.RoundTrips; n != c.statements || trips != c.roundTrips {
			t.Errorf("%s %s sent %d statements in %d round trips, want %d in %d", c.method, c.path, n, trips, c.statements, c.roundTrips)
			t.Log(strings.Join(r.Sent.Statements, "\n"))
		}

		if len(r.Sent.Twice) > 0 {
			t.Errorf("%s %s sent statements twice in a transaction; pass on what they gave: %s", c.method, c.path, strings.Join(r.Sent.Twice, "\n"))
		}
	}
}
