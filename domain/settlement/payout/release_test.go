package payout_test

import (
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
)

// A stay of December that is booked and paid in January is recognised then. The team's fundsRelease keeps half of it until
// the check-in: what is collected, the suggestion and what a provider may pay follow, and the preview names the rule and
// the day from which the rest is free.
func TestFundsAreReleasedWithTheStay(t *testing.T) {
	t.Parallel()
	h, c := newPayingHouse(t, nil)
	h.Put("/team", object{"defaultRevenueRecognition": "bookedAt"}).Want(200)
	h.Work()
	h.Put("/listings/ownership-periods/"+h.villa.Period.String(), object{"reserve": nil})
	h.Work()

	stay := h.Post("/reservations", object{
		"listingId": h.villa.ID, "checkIn": "2026-12-20", "checkOut": "2026-12-27", "bookedAt": "2026-01-10",
		"lines": array{object{"type": "rent", "amount": 280001}},
	}).Want(201).ID("id")
	h.Post("/transactions", object{
		"type": "deposit", "date": "2026-01-10", "lines": array{object{"assignment": "accountsReceivable", "amount": 280001, "reservationId": stay}},
	}).Want(201)
	h.Put("/team", object{"fundsRelease": object{"beforeStay": 101}}).Want(400)
	h.Put("/team", object{"fundsRelease": object{"beforeStay": 50}}).Want(200).WantFields("fundsRelease", object{"beforeStay": 50, "depositsAfterStay": true})
	h.Publish("2026-01", h.villa)
	january := h.Statement(h.villa, "2026-01")
	h.Get("/statements/"+january.String()).WantFields("financials", object{"available": 280001, "collected": 140000, "collectedToday": 140000})

	// Half of 2,800.01 is 1,400.00: not a cent more.
	r := h.preview(body("2026-04-05", january))
	wantEntry(t, r, "results.0", canBeMade, 84000, 56000)
	r.WantFields("results.0.issues.0", object{"code": "fundsNotReleased", "context.rule": "fundsRelease", "context.amount": 140001, "context.freeAt": "2026-12-20"})

	// By books, too.
	h.Put("/team", object{"payoutBasis": "books"}).Want(200)
	wantEntry(t, h.preview(body("2026-04-05", january)), "results.0", canBeMade, 84000, 56000)

	ask := func(cents int64) object {
		return with(body(h.today(), january), object{"connectionId": c, "amounts": array{object{"statementId": january, "contactId": h.ada, "centTotal": cents}}})
	}
	r = h.Post("/statements/pay", ask(140001)).WantError(apierr.CodeConflict, "")
	r.WantFields("context", object{"reason": "fundsNotReleased", "requested": 140001, "released": 140000, "freeAt": "2026-12-20"})
	h.Post("/statements/pay", ask(140000)).Want(202)
	h.Work()
	wantEntry(t, h.preview(body("2026-04-05", january)), "results.0", "skipped: What is available is kept until the guests' stays")

	// A provider that pays on the day of the check-in pays the rest.
	ahead := with(body("2026-12-20", january), object{"connectionId": c})
	if h.today() <= "2026-12-20" && h.today() >= "2026-10-25" {
		wantEntry(t, h.preview(ahead), "results.0", canBeMade, 28001, 112000)
	}

	// On the day of the check-in the rest is free: 2,800.01 less what has been paid, which was all Ada's.
	wantEntry(t, h.preview(body("2026-12-19", january)), "results.0", "skipped: What is available is kept until the guests' stays")
	wantEntry(t, h.preview(body("2026-12-20", january)), "results.0", canBeMade, 28001, 112000)
}

// Deposits that owners have are kept until the check-out, unless the team says otherwise.
func TestDepositsAreReleasedAfterTheStay(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.Put("/listings/ownership-periods/"+h.villa.Period.String(), object{"reserve": nil})
	h.Work()

	h.Exec(`update reservation_line_mapping set account_id = @account, party = 'owners' where team_id = @team and line_type = 'securityDeposit'`,
		db.Args{"account": h.Account("4010")})

	stay := h.Post("/reservations", object{
		"listingId": h.villa.ID, "checkIn": "2026-01-10", "checkOut": "2026-12-27", "bookedAt": "2026-01-10",
		"lines": array{object{"type": "rent", "amount": 50000}, object{"type": "securityDeposit", "amount": 10000, "accountId": h.Account("4010")}},
	}).Want(201).ID("id")
	h.Post("/transactions", object{
		"type": "deposit", "date": "2026-01-10", "lines": array{object{"assignment": "accountsReceivable", "amount": 60000, "reservationId": stay}},
	}).Want(201)
	h.Publish("2026-01", h.villa)
	january := h.Statement(h.villa, "2026-01")
	h.Get("/statements/"+january.String()).WantFields("financials", object{"available": 60000, "collected": 50000})
	wantEntry(t, h.preview(body("2026-04-05", january)), "results.0", canBeMade, 30000, 20000)
	wantEntry(t, h.preview(body("2026-12-27", january)), "results.0", canBeMade, 36000, 24000)
	h.Put("/team", object{"fundsRelease": object{"depositsAfterStay": false}}).Want(200)
	wantEntry(t, h.preview(body("2026-04-05", january)), "results.0", canBeMade, 36000, 24000)
}
