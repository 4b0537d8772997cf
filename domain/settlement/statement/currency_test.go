package statement_test

import (
	"strconv"
	"testing"

	whole "stayledger/test/world"
)

// A reserve, a flat fee and the condition of a fee are amounts in the listing's currency: what is in another currency
// knows none of them.
func TestAmountsWithoutACurrencyAreInThatOfTheListing(t *testing.T) {
	t.Parallel()
	w := whole.New(t)
	house := w.Post("/listings", whole.Object{
		"name": "Casa", "defaultCurrency": "eur",
		"initialOwnership": whole.Object{"reserve": 20000, "members": whole.Array{whole.Object{"contactId": w.Contact("owner", "Ann"), "split": 100000}}},
	}).Want(201).ID("id")
	fee := whole.Object{
		"name": "Flat", "type": "managementFee", "rateType": "flat", "defaultRate": 700, "debitParty": "owners", "creditParty": "manager",
		"debitAccountId": w.Account("5100"), "creditAccountId": w.Account("4100"), "listingSubscriptions": whole.Array{whole.Object{"listingId": house}},
	}
	w.Post("/recurring-fees", fee).Want(201)
	w.Work()

	for _, currency := range []string{"eur", "usd"} {
		w.Post("/reservations", whole.Object{
			"listingId": house, "checkIn": "2026-01-10", "checkOut": "2026-01-11", "bookedAt": "2026-01-10", "currency": currency,
			"lines": whole.Array{whole.Object{"type": "rent", "amount": 50000}},
		}).Want(201)
	}

	w.Post("/transactions", whole.Object{
		"type": "expense", "date": "2026-02-10", "currency": "usd", "lines": whole.Array{whole.Object{"accountId": w.Account("5200"), "amount": 10000, "listingId": house}},
	}).Want(201)
	w.Work()

	for month, want := range map[string]map[string][3]int64{ // net income, reserve, available
		"2026-01": {"eur": {49300, 20000, 29300}, "usd": {50000, 0, 50000}},
		"2026-02": {"usd": {-10000, 0, 40000}},
	} {
		got := w.Get("/statements?month=" + month + "&listingIds=" + house.String()).Want(200)
		for i := range got.Len("data") {
			at := "data." + strconv.Itoa(i)

			figures, known := want[got.String(at+".currency")]
			if !known {
				continue
			}

			got.WantFields(at+".financials", whole.Object{"netIncome": figures[0], "reserve": figures[1], "available": figures[2]})
			delete(want, got.String(at+".currency"))
		}

		if len(want) > 0 {
			t.Errorf("%s: no statement in %v: %s", month, want, got.Body)
		}
	}
}
