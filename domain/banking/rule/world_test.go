package rule_test

import (
	"context"
	"testing"

	"stayledger/domain/banking/rule"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
	whole "stayledger/test/world"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type (
	object = whole.Object
	list   = whole.Array
)

const rules = "/bank-rules"

// world is a team with two bank accounts, a villa, a vendor and a tax rate.
type world struct {
	*whole.World

	trust, operating, repairs, rent, receivable id.ID
	villa, vendor, tax                          id.ID
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	w := &world{World: whole.New(tb)}
	w.trust, w.operating, w.repairs, w.rent, w.receivable = w.Account("1000"), w.Account("1010"), w.Account("5200"), w.Account("4000"), w.Account("1100")
	w.villa, w.vendor = w.Listing("Villa", w.Contact("owner", "Ann Owner")).ID, w.Contact("vendor", "Fix-It")
	w.tax = w.Post("/tax-rates", object{"name": "Sales tax", "basisPoints": 15000}).Want(201).ID("id")

	return w
}

func (w *world) id() id.ID { return id.New(w.DB.Now()) }

// cost is a new account besides that of repairs.
func (w *world) cost(name string) id.ID {
	w.T.Helper()
	category := w.Get("/accounts/" + w.repairs.String()).Want(200).String("category.id")

	return w.Post("/accounts", object{"name": name, "code": name, "type": "ledger", "categoryId": category}).Want(201).ID("id")
}

// depot is a rule that books what was spent at a depot on repairs.
func (w *world) depot(pairs ...any) object {
	return fixture.With(object{
		"name": "Depot", "transactionType": "expense", "conditions": list{having("description", "contains", "depot")},
		"lines": list{object{"splitMode": "remainder", "accountId": w.repairs}},
	}, pairs...)
}

func having(field, operator, value string) object {
	return object{"type": field, "operator": operator, "value": value}
}

// made stores a rule and gives its path.
func (w *world) made(body object) string {
	w.T.Helper()
	return rules + "/" + w.Post(rules, body).Want(201).String("id")
}

// record is a movement on an account. All of them came together, so none is another one again.
func (w *world) record(account id.ID, date string, cents int64, description string) id.ID {
	r := w.id()
	w.Exec(`insert into bank_record (team_id, id, account_id, date, amount, description, created_at, updated_at)
		values (@team, @id, @account, @date::text::date, @cents, @text, '2026-01-01', '2026-01-01')`,
		db.Args{"id": r, "account": account, "date": date, "cents": cents, "text": description})

	return r
}

// stored are the rules of the team, as the engine takes them.
func (w *world) stored() []rule.Rule {
	w.T.Helper()

	var found []rule.Rule

	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = db.Select[rule.Rule](ctx, tx, `select id, version, name, status, priority, transaction_type, mode, match_mode, conditions,
			description_override, use_prior_month_end, vendor_contact_id, account_ids, lines from bank_rule where team_id = @team`, db.Args{"team": tx.Team})

		return err
	})

	return found
}

// records are the bank records of the team, as the engine takes them.
func (w *world) records() []rule.Record {
	w.T.Helper()

	var found []rule.Record

	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = db.Select[rule.Record](ctx, tx, `
			select id, coalesce(account_id, '00000000-0000-0000-0000-000000000000') as account_id, coalesce(currency, 'usd') as currency, date, amount,
				description, coalesce(unique_ref, '') as reference, status, type,
				'usd' as team_currency, false as open_duplicate, false as explained,
				exists (select from bank_reconciliation n where n.team_id = r.team_id and n.bank_record_id = r.id) as reconciled
			from bank_record r where team_id = @team order by date desc, arrival desc, id desc`, db.Args{"team": tx.Team})

		return err
	})

	return found
}
