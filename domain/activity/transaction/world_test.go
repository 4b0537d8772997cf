package transaction_test

import (
	"slices"
	"testing"
	"time"

	openings "stayledger/domain/activity/opening"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/banking/rule"
	"stayledger/domain/record/operation"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

// world is a team with the standard chart, a villa that somebody owns, a stay in it, and contacts.
type world struct {
	*apitest.Team
	accounts                                map[string]id.ID // by code
	villa, period, stay, owner, vendor, tax id.ID
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	x := apitest.New(tb, apitest.Config{
		Endpoints: slices.Concat(transaction.Part().Endpoints, openings.Part(rule.OfBank).Endpoints, operation.Part(time.Hour).Endpoints), Handlers: transaction.Part().Handlers,
	})
	w := &world{Team: x, accounts: fixture.StandardChart(x)}
	w.owner, w.vendor = fixture.Contact(x, "owner", "Ann Owner"), fixture.Contact(x, "vendor", "Fix-It")
	w.villa = fixture.Listing(x, "Villa")
	w.period = w.ownership(w.villa, "", "")
	w.stay, w.tax = fixture.Stay(x, w.villa, "booked", "2026-02-10", "2026-02-15"), fixture.TaxRate(x, "Sales tax", 15_000)

	return w
}

func (w *world) id() id.ID { return id.New(w.DB.Now()) }

func (w *world) ownership(listing id.ID, start, end string) id.ID {
	return fixture.Period(w.Team, listing, start, end, w.owner)
}

// statement saves an owner statement of the villa's period over some days and attaches its entries when asked to.
func (w *world) statement(status, first, last string, attach bool) id.ID {
	s := fixture.Statement(w.Team, w.period, status, first, last)
	if attach {
		fixture.Attach(w.Team, s)
	}

	return s
}

// fees charges the processor's fee on to the owner.
func (w *world) fees() {
	fee := w.id()
	w.Exec(`insert into fee (team_id, id, name, type, formula, rate_type, default_rate, credit_party, debit_party, credit_account_id, debit_account_id, created_at, updated_at)
		values (@team, @id, 'Card fees', 'merchantFee', 'merchantFee', 'percentage', 100000, 'manager', 'owners', @credit, @debit, now(), now())`,
		db.Args{"id": fee, "credit": w.accounts["4120"], "debit": w.accounts["5120"]})
	w.Exec(`insert into fee_listing_period (team_id, id, fee_id, listing_id, created_at, updated_at) values (@team, @id, @fee, @listing, now(), now())`,
		db.Args{"id": w.id(), "fee": fee, "listing": w.villa})
}

// guestPays is a card payment for the stay; the processor keeps a part of it.
func (w *world) guestPays(date string, cents, kept int64) object {
	return fixture.With(w.deposit(date, cents), "lines", list{
		object{"assignment": "accountsReceivable", "amount": cents, "reservationId": w.stay},
		object{"assignment": "deposit_merchantFee", "amount": -kept, "reservationId": w.stay},
	})
}

type (
	object = fixture.Object
	list   = fixture.Array
)

func (w *world) deposit(date string, cents int64) object {
	return object{"type": "deposit", "date": date, "lines": list{object{"assignment": "accountsReceivable", "amount": cents, "reservationId": w.stay}}}
}

func (w *world) expense(date string, cents int64) object {
	return object{
		"type": "expense", "date": date, "accountId": w.accounts["1000"],
		"lines": list{object{"accountId": w.accounts["5200"], "amount": cents, "listingId": w.villa}},
	}
}
