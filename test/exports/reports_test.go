package exports_test

import (
	"testing"

	"stayledger/platform/db"
	"stayledger/test/world"
)

// The exports of reports as CSV.
//
// Proves: EXP-P13, EXP-P14, EXP-P15, EXP-P16, EXP-P17, EXP-P18, EXP-P19, EXP-P22, EXP-P23, EXP-P24, EXP-P32.
func TestReportPaths(t *testing.T) {
	t.Parallel()
	g := newGoldenTeam(t)
	rent := world.Array{g.Account("4000")}
	g.ask(t, []pathCase{
		{name: "guest-balances", path: "/reports/guest-balances/csv", selector: world.Object{"date": "2026-01-31", "includeSettled": true}},
		{name: "profit-and-loss", path: "/reports/profit-and-loss/csv", selector: world.Object{"startDate": "2026-01", "endDate": "2026-02"}},
		{
			name: "profit-and-loss-by-month", path: "/reports/profit-and-loss/csv",
			selector: world.Object{"startDate": "2026-01", "endDate": "2026-02-15", "view": "month"},
		},
		{
			name: "profit-and-loss-by-listing", path: "/reports/profit-and-loss/csv",
			selector: world.Object{"startDate": "2026", "endDate": "2026", "view": "listing", "party": "owners", "columns": world.Array{"accountCode", "account", "values", "currency"}},
		},
		{name: "balance-sheet", path: "/reports/balance-sheet/csv", selector: world.Object{"date": "2026-02", "view": "ledger"}},
		{name: "trial-balance", path: "/reports/trial-balance/csv", selector: world.Object{"startDate": "2026-02", "endDate": "2026-02"}},
		{
			// Entries of one day and one posting come by their ids, which are random: these are of several.
			name: "journal-entries", path: "/reports/journal-entries/csv",
			selector: world.Object{"startDate": "2026-01-11", "endDate": "2026-01-15", "accountIds": world.Array{g.Account("1000"), g.Account("4000")}},
		},
		{
			name: "journal-entries-chosen", path: "/reports/journal-entries/csv",
			selector: world.Object{"dateRange": "2026-02", "party": "owners", "sort": "-amount", "columns": world.Array{"txnAt", "account", "listing", "amount", "currency"}},
		},
		{name: "manager-statements", path: "/reports/manager-statements/csv", selector: world.Object{"currency": "usd"}, today: true},
		{name: "manager-statement", path: "/reports/manager-statements/detail/csv", selector: world.Object{"startAt": "2026-01", "endAt": "2026-01"}},
		{
			name: "manager-statement-entries", path: "/reports/manager-statements/detail/journal-entries/csv",
			selector: world.Object{"startAt": "2026-01", "endAt": "2026-01"},
		},
		{name: "trust-reconciliation", path: "/reports/trust-reconciliation/csv", selector: world.Object{"date": "2026-01-31"}},
		{name: "trust-by-listing", path: "/reports/trust-reconciliation/by-listing/csv", selector: world.Object{"date": "2026-01-31"}},
		{name: "trust-reconciliation-agreed", path: "/reports/trust-reconciliation/pdf", selector: world.Object{"date": "2026-01-31", "locale": "de-DE"}},
		{
			name: "sales-tax-liability", path: "/reports/sales-tax-liability/csv",
			selector: world.Object{"startDate": "2026-01", "endDate": "2026-01", "taxableLineIds": rent},
		},
	})
}

// The exports of reports as PDF.
//
// Proves: EXP-P20, EXP-P21, EXP-P25, EXP-P26.
func TestReportDocuments(t *testing.T) {
	t.Parallel()
	g := newGoldenTeam(t)
	g.trouble(t)
	g.ask(t, []pathCase{
		{name: "manager-statement", path: "/reports/manager-statements/detail/pdf", selector: world.Object{"startAt": "2026-01", "endAt": "2026-02"}},
		{name: "manager-statements", path: "/reports/manager-statements/pdf", selector: world.Object{"locale": "en-GB"}, today: true},
		{name: "trust-reconciliation", path: "/reports/trust-reconciliation/pdf", selector: world.Object{"date": "2026-02-28"}},
		{name: "trust-by-listing", path: "/reports/trust-reconciliation/by-listing/pdf", selector: world.Object{"date": "2026-02-28", "locale": "el-GR"}},
	})
}

// trouble gives the trust something to look at: a bank that differs from the books, a deposit that names no stay, an
// owner who drew too much, a manager who drew some, a guest who stays over the end of February and has paid half, and
// one who cancelled and has paid.
func (g *goldenTeam) trouble(t *testing.T) {
	t.Helper()
	g.Exec(`insert into bank_record (team_id, id, account_id, date, type, amount, balance, description, created_at, updated_at)
		select @team, gen_random_uuid(), @account, day::date, kind, amount, balance, text, now(), now()
		from (values ('2026-01-31', 'balance', 0, 238778, 'Statement'), ('2026-02-05', 'transaction', 90500, null, 'PAYOUT 0205'),
			('2026-02-11', 'transaction', -1999, null, 'BANK FEE')) v (day, kind, amount, balance, text)`, db.Args{"account": g.Account("1000")})

	for i, stay := range []struct {
		in, out string
		paid    int64
	}{{"2026-02-26", "2026-03-02", 30000}, {"2026-02-18", "2026-02-20", 15000}} {
		made := g.Post("/reservations", world.Object{
			"listingId": g.flat.ID, "checkIn": stay.in, "checkOut": stay.out, "bookedAt": "2026-02-01", "guestName": []string{"Søren Half", "Carla Cancel"}[i],
			"bookingPlatform": "direct", "confirmationCode": []string{"HM0101", "HM0102"}[i],
			"lines": world.Array{world.Object{"type": "rent", "amount": 60000}},
		}).Want(201)
		g.Post("/transactions", world.Object{
			"type": "deposit", "date": "2026-02-12", "description": "Prepayment", "lines": world.Array{
				world.Object{"assignment": "accountsReceivable", "amount": stay.paid, "reservationId": made.ID("id")},
			},
		}).Want(201)

		if i == 1 {
			g.Put("/reservations/"+made.ID("id").String(), world.Object{"status": "canceled", "cancelledAt": "2026-02-15"}).Want(200)
		}
	}

	g.Post("/transactions", world.Object{
		"type": "deposit", "date": "2026-02-13", "description": "Unknown sender", "lines": world.Array{world.Object{"assignment": "accountsReceivable", "amount": 7700}},
	}).Want(201)

	for _, payout := range []world.Object{
		{"amount": 95000, "listingId": g.hut.ID, "contactId": g.ben}, {"amount": 20000, "listingId": g.villa.ID, "contactId": g.ann},
	} {
		g.Post("/transactions", world.Object{"type": "payout", "date": "2026-02-20", "description": "Payout", "lines": world.Array{payout}}).Want(201)
	}

	g.Work()
}
