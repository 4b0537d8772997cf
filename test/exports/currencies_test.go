package exports_test

import (
	"testing"

	"stayledger/test/world"
)

// newCurrencyTeam makes a team with its trust bank and only listing in one currency, with a stay, an expense, a
// reserve and a published January.
func newCurrencyTeam(t *testing.T, currency string) *goldenTeam {
	t.Helper()
	g := &goldenTeam{World: world.New(t)}
	g.ann = g.Contact("owner", "Ann Owner")
	g.Put("/accounts/"+g.Account("1000").String(), world.Object{"banking": world.Object{"currency": currency}}).Want(200)
	listing := g.Post("/listings", world.Object{
		"name": "House in " + currency, "defaultCurrency": currency,
		"initialOwnership": world.Object{
			"reserve": 1050, "members": world.Array{world.Object{"contactId": g.ann, "split": 100000}},
		},
	}).Want(201).ID("id")
	stay := g.Post("/reservations", world.Object{
		"listingId": listing, "checkIn": "2026-01-05", "checkOut": "2026-01-06", "bookedAt": "2026-01-02",
		"guestName": "Grace Guest",
		"lines":     world.Array{world.Object{"type": "rent", "amount": 1112327}},
	}).Want(201).ID("id")
	g.Post("/transactions", world.Object{
		"type": "deposit", "date": "2026-01-05", "currency": currency, "description": "Stay",
		"lines": world.Array{world.Object{"assignment": "accountsReceivable", "amount": 1112327, "reservationId": stay}},
	}).Want(201)
	g.Post("/transactions", world.Object{
		"type": "expense", "date": "2026-01-15", "currency": currency, "accountId": g.Account("1000"), "description": "Soap",
		"lines": world.Array{world.Object{"accountId": g.Account("5200"), "amount": 5, "listingId": listing}},
	}).Want(201)
	g.Publish("2026-01")
	g.Work()

	return g
}

// An amount has as many decimals as its currency, in files of rows from the database and of computed ones, whether the
// currency is among the columns or not, and in documents. It is the decision of 2026-11-25 on the places of amounts.
func TestAmountsHaveThePlacesOfTheirCurrency(t *testing.T) {
	t.Parallel()

	const summaries = "/reports/owner-statement-summaries-per-layout"

	for _, currency := range []string{"jpy", "kwd"} {
		g := newCurrencyTeam(t, currency)
		period := func(columns ...any) world.Object {
			s := world.Object{"startDate": "2026-01", "endDate": "2026-01", "currency": currency}
			if len(columns) > 0 {
				s["columns"] = columns
			}

			return s
		}
		months := world.Object{"startAt": "2026-01", "endAt": "2026-01", "currency": currency}
		january := world.Object{"dateRange": "2026-01-01...2026-01-31"}
		columns := func(names ...any) world.Object { return world.Object{"columns": names} }
		g.ask(t, []pathCase{
			{name: currency + "-statements", path: "/statements/csv", selector: january},
			{name: currency + "-statements-chosen", path: "/statements/csv", selector: world.Object{
				"month": "2026-01", "columns": world.Array{"listing", "balanceEnd"},
			}},
			{name: currency + "-statement-lines", path: "/statements/detail/csv", selector: january},
			{name: currency + "-statements-pdf", path: "/statements/pdf", selector: january},
			{
				name: currency + "-reservations", path: "/reservations/csv",
				selector: columns("guestName", "rent", "total", "paid", "balance", "currency"),
			},
			{name: currency + "-reservations-chosen", path: "/reservations/csv", selector: columns("total", "guestName")},
			{name: currency + "-transactions", path: "/transactions/csv", selector: world.Object{
				"sort": "date", "columns": world.Array{"date", "description", "amount", "total"},
			}},
			{name: currency + "-journal-entries", path: "/reports/journal-entries/csv", selector: world.Object{
				"dateRange": "2026-01", "accountIds": world.Array{g.Account("5200")},
				"columns": world.Array{"account", "debit", "credit", "amount"},
			}},
			{name: currency + "-listings", path: "/listings/csv", selector: columns("name", "reserve")},
			{name: currency + "-trial-balance", path: "/reports/trial-balance/csv", selector: period()},
			{
				name: currency + "-profit-and-loss", path: "/reports/profit-and-loss/csv",
				selector: period("account", "values", "total"),
			},
			{name: currency + "-owner-summaries", path: summaries + "/csv", selector: months},
			{name: currency + "-owner-summary", path: summaries + "/details/" + g.ann.String() + "/csv", selector: world.Object{
				"startAt": "2026-01", "endAt": "2026-01", "currency": currency,
				"columns": world.Array{"listing", "netRevenue", "balanceEnd", "layoutColumns"},
			}},
		})
	}
}
