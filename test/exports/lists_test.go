package exports_test

import (
	"context"
	"fmt"
	"testing"

	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/world"
)

// furnish gives the team what lists show besides names and rent: addresses, references, a group of listings, a reserve,
// a bank's opening balance, stays of every status with every kind of line, and mappings of an app and a channel.
func (g *goldenTeam) furnish(t *testing.T) {
	t.Helper()

	address := world.Object{
		"full": "1 Beach Road, Miami, FL 33139", "line1": "1 Beach Road", "line2": "@Suite; 2", "city": "Miami", "state": "Florida", "stateCode": "FL",
		"postalCode": "01239", "countryCode": "US",
	}
	g.Put("/contacts/"+g.ann.String(), world.Object{
		"uniqueRef": "OWN-1", "firstName": "Ann", "email": "ann@example.com", "phone": "+1 555 0100", "taxIdentifier": "123-45-6789",
		"companyType": "s_corporation", "payoutAccountId": g.Account("1000"), "address": address,
	}).Want(200)
	g.Put("/contacts/"+g.fix.String(), world.Object{"status": "inactive"}).Want(200)
	g.Put("/listings/"+g.villa.ID.String(), world.Object{"uniqueRef": "-villa", "address": address}).Want(200)
	g.Exec(`update listing set parent_id = @group where team_id = @team and id = @id`, db.Args{"group": g.villa.ID, "id": g.hut.ID})
	g.Exec(`update listing_ownership_period set reserve = 50000 where team_id = @team and listing_id = @id`, db.Args{"id": g.villa.ID})
	g.Exec(`update account set banking_opening_at = '2026-01-01', banking_opening = -1250, banking_last4 = '0042', banking_type = 'deposit'
		where team_id = @team and id = @id`, db.Args{"id": g.Account("1000")})
	g.Post("/reservations/line-mappings", world.Object{
		"lineType": "rent", "appId": "guesty", "channel": "=Airbnb", "accountId": g.Account("4010"), "party": "manager", "revenueRecognition": "checkOut",
	}).Want(201)
	g.Post("/reservations/line-mappings", world.Object{"lineType": "bond", "status": "excluded"}).Want(201)
	g.stays(t)
}

// stays adds a stay with every kind of line, one that was canceled with a fee, one that is inactive and an owner's.
func (g *goldenTeam) stays(t *testing.T) {
	t.Helper()

	stay := func(body world.Object) id.ID {
		t.Helper()

		body["listingId"], body["checkIn"], body["checkOut"] = g.villa.ID, "2026-03-05", "2026-03-08"

		return g.Post("/reservations", body).Want(201).ID("id")
	}
	line := func(kind string, amount int64) world.Object { return world.Object{"type": kind, "amount": amount} }
	stay(world.Object{
		"uniqueRef": "+every", "guestName": "=Every Line", "bookerName": "A; Booker", "guests": 4, "bookingPlatform": "direct", "pmsReferenceCode": "PMS-1",
		"bookedAt": "2026-02-28", "lines": world.Array{
			line("rent", 30000), line("rent", 1), line("cleaningFee", 5000), line("guestFee", 700), line("tax", 3600), line("discount", -2000),
			line("damage", 1100), line("petFee", 2500), line("bond", 90000),
		},
	})
	canceled := stay(world.Object{"guestName": "Canceled", "bookedAt": "2026-02-01", "lines": world.Array{line("rent", 10000)}})
	g.Post("/reservations/"+canceled.String()+"/adjustments", world.Object{
		"type": "financial", "amount": 1500, "description": "Cancellation fee", "accountId": g.Account("4090"), "party": "owners",
	}).Want(201)
	g.Put("/reservations/"+canceled.String(), world.Object{"status": "canceled", "cancelledAt": "2026-02-20"}).Want(200)

	inactive := stay(world.Object{"guestName": "Inactive", "lines": world.Array{line("rent", 20000)}})
	g.Put("/reservations/"+inactive.String(), world.Object{"status": "inactive"}).Want(200)
	stay(world.Object{"type": "ownerStay", "guestName": "Ann Owner", "lines": world.Array{}})
}

// Proves: EXP-P01, EXP-P03, EXP-P04, EXP-P05, EXP-P06, EXP-P07.
func TestListPaths(t *testing.T) {
	t.Parallel()
	g := newGoldenTeam(t)
	g.furnish(t)
	g.ask(t, []pathCase{
		{name: "accounts", path: "/accounts/csv", selector: world.Object{}},
		{name: "accounts-chosen", path: "/accounts/csv", selector: world.Object{
			"type": world.Array{"bank"}, "sort": "-name", "columns": world.Array{"name", "last4", "opening", "currency", "assignments"},
		}},
		{name: "contacts", path: "/contacts/csv", selector: world.Object{"sort": "name"}},
		{name: "contacts-chosen", path: "/contacts/csv", selector: world.Object{
			"type": "owner", "search": "ann", "columns": world.Array{"name", "ownedListings", "email", "taxIdentifier"},
		}},
		{name: "listings", path: "/listings/csv", selector: world.Object{"sort": "name"}},
		{name: "listings-chosen", path: "/listings/csv", selector: world.Object{
			"contactId": g.ben, "parent": "null", "activeOwnership": true, "columns": world.Array{"owners", "name"},
		}},
		{name: "reservations", path: "/reservations/csv", selector: world.Object{"sort": "checkIn"}},
		{name: "reservations-chosen", path: "/reservations/csv", selector: world.Object{
			"date": "2026-01", "dateField": "intersection", "bookingChannel": world.Array{"Airbnb", "booking.com"}, "paidStatus": "paid", "sort": "guestName",
			"columns": world.Array{"guestName", "nights", "total", "paid", "balance", "currency"},
		}},
		{name: "line-mappings", path: "/reservations/line-mappings/csv", selector: world.Object{}},
		{name: "line-mappings-chosen", path: "/reservations/line-mappings/csv", selector: world.Object{
			"status": "mapped", "appId": world.Array{"guesty"}, "sort": "-createdAt", "columns": world.Array{"lineType", "accountCode", "channel"},
		}},
		{name: "transactions", path: "/transactions/csv", selector: world.Object{"sort": "date"}},
		{name: "transactions-chosen", path: "/transactions/csv", selector: world.Object{
			"type": world.Array{"expense"}, "dateRange": "2026-01", "listingIds": world.Array{g.villa.ID}, "sort": "-amount",
			"columns": world.Array{"lineAccountCode", "date", "description", "total", "currency"},
		}},
	})
}

// bankRecords are movements that are paid, underpaid, excluded and open, and balances that the bank stated.
func (g *goldenTeam) bankRecords(t *testing.T) {
	t.Helper()

	var deposits, expenses []id.ID
	for _, kind := range []struct {
		name string
		ids  *[]id.ID
	}{{"deposit", &deposits}, {"expense", &expenses}} {
		found := g.Get("/transactions?sort=date&type=" + kind.name).Want(200)
		for i := range found.Len("data") {
			*kind.ids = append(*kind.ids, found.ID(fmt.Sprintf("data.%d.id", i)))
		}
	}

	g.Tx(func(ctx context.Context, tx *db.Tx) error {
		var stmts []db.Stmt

		for _, r := range []struct {
			date, kind, status, text string
			amount, part             int64
			balance                  *int64
			of                       id.ID
		}{
			{date: "2026-01-06", text: "STRIPE PAYOUT; Grace", amount: 119500, part: 119500, of: deposits[0]},
			{date: "2026-01-12", text: "=HYPERLINK(\"x\")", amount: 100000, part: 74700, of: deposits[1]},
			{date: "2026-01-13", kind: "balance", text: "Ending balance", balance: new(int64(219499))},
			{date: "2026-01-16", text: "Fix-It, Inc.", amount: -12650, of: expenses[0]},
			{date: "2026-01-17", status: "inactive", text: "Duplicate", amount: -12650},
			{date: "2026-01-31", kind: "balance", text: "Ending balance", balance: new(int64(206850))},
		} {
			record := tx.NewID()

			stmts = append(stmts, db.Stmt{
				SQL: `insert into bank_record (team_id, id, account_id, date, status, type, amount, balance, description, source, unique_ref, created_at, updated_at)
					values (@team, @id, @account, @date::text::date, coalesce(nullif(@status, ''), 'active'), coalesce(nullif(@kind, ''), 'transaction'), @amount,
						@balance, @text, 'csv', '@FIT' || @date::text || @text, @now, @now)`,
				Args: db.Args{
					"team": tx.Team, "id": record, "account": g.Account("1000"), "date": r.date, "status": r.status, "kind": r.kind, "amount": r.amount,
					"balance": r.balance, "text": r.text, "now": tx.Now,
				},
			})
			if r.part != 0 {
				stmts = append(stmts, db.Stmt{
					SQL: `insert into bank_reconciliation (team_id, bank_record_id, transaction_id, account_id, cent_total, created_at)
						values (@team, @record, @of, @account, @part, @now)`,
					Args: db.Args{"team": tx.Team, "record": record, "of": r.of, "account": g.Account("1000"), "part": r.part, "now": tx.Now},
				})
			}
		}

		return tx.Pipeline(ctx, stmts...)
	})
}

// Proves: EXP-P02.
func TestBankRecordPaths(t *testing.T) {
	t.Parallel()
	g := newGoldenTeam(t)
	g.bankRecords(t)
	g.ask(t, []pathCase{
		{name: "bank-records", path: "/bank-records/csv", selector: world.Object{"sort": "date", "includeBalanceRecords": true}},
		{name: "bank-records-chosen", path: "/bank-records/csv", selector: world.Object{
			"reconcileStatus": world.Array{"unpaid", "underpaid"}, "status": "active", "dateRange": "2026-01", "sort": "amount",
			"columns": world.Array{"description", "open", "currency"},
		}},
		{name: "bank-records-matching", path: "/bank-records/csv", selector: world.Object{
			"hasMatchingTransactions": true, "columns": world.Array{"date", "description", "amount", "currency"},
		}},
	})
}
