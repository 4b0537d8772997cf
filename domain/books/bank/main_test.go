package bank_test

import (
	"slices"
	"strings"
	"testing"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/banking/rule"
	"stayledger/domain/books/bank"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// world is a team with the standard chart, in which 1000 and 1010 are bank accounts, and a stay in a villa.
type world struct {
	*apitest.Team
	t        testing.TB
	accounts map[string]id.ID // by code
	stay     id.ID
}

type (
	object = fixture.Object
	list   = fixture.Array
)

func newWorld(t testing.TB) *world {
	t.Helper()
	return worldIn(t, apitest.DB(t))
}

// worldIn is a world in another database than the package's.
func worldIn(t testing.TB, d *db.DB) *world {
	t.Helper()
	w := &world{t: t}
	w.Team = apitest.New(t, apitest.Config{
		DB: d, Endpoints: slices.Concat(bank.Part(rule.OfBank).Endpoints, transaction.Part().Endpoints), Handlers: transaction.Part().Handlers,
	})
	w.accounts = fixture.StandardChart(w.Team)
	w.stay = fixture.Stay(w.Team, fixture.Listing(w.Team, "Villa"), "booked", "2026-02-10", "2026-02-15")

	return w
}

func (w *world) id() id.ID { return id.New(w.DB.Now()) }

// record is a movement on an account; its description is its name in the tests.
func (w *world) record(name, code, date string, cents int64) id.ID {
	r := w.id()
	w.Exec(`insert into bank_record (team_id, id, account_id, date, amount, description, created_at, updated_at)
		values (@team, @id, @account, @date::text::date, @cents, @name, now(), now())`,
		db.Args{"id": r, "account": w.accounts[code], "date": date, "cents": cents, "name": name})

	return r
}

// stated is a balance of an account.
func (w *world) stated(name, code, date string, cents int64) id.ID {
	r := w.id()
	w.Exec(`insert into bank_record (team_id, id, account_id, date, type, amount, balance, description, created_at, updated_at)
		values (@team, @id, @account, @date::text::date, 'balance', 0, @cents, @name, now(), now())`,
		db.Args{"id": r, "account": w.accounts[code], "date": date, "cents": cents, "name": name})

	return r
}

// deposit is money into an account; its line is of the stay when asked for.
func (w *world) deposit(code, date string, cents int64, ofStay bool) id.ID {
	w.t.Helper()

	line := object{"accountId": w.accounts["1100"], "amount": cents}
	if ofStay {
		line = object{"assignment": "accountsReceivable", "amount": cents, "reservationId": w.stay}
	}

	return w.Post("/transactions", object{"type": "deposit", "date": date, "accountId": w.accounts[code], "description": date, "lines": list{line}}).Want(201).ID("id")
}

func (w *world) expense(code, date string, cents int64) id.ID {
	w.t.Helper()

	return w.Post("/transactions", object{
		"type": "expense", "date": date, "accountId": w.accounts[code], "lines": list{object{"accountId": w.accounts["5200"], "amount": cents}},
	}).Want(201).ID("id")
}

// reconcile says that a part of a record is a transaction.
func (w *world) reconcile(record, transaction id.ID, code string, cents int64) {
	w.Exec(`insert into bank_reconciliation (team_id, bank_record_id, transaction_id, account_id, cent_total, created_at)
		values (@team, @record, @transaction, @account, @cents, now())`,
		db.Args{"record": record, "transaction": transaction, "account": w.accounts[code], "cents": cents})
}

// names are the descriptions of the records in an answer, in its order.
func names(r *apitest.Response) string {
	out := make([]string, r.Len("data"))
	for i := range out {
		out[i] = r.String("data." + itoa(i) + ".description")
	}

	return strings.Join(out, " ")
}
