package accountconnection_test

import (
	"context"
	"maps"
	"testing"

	"stayledger/domain/banking/accountconnection"
	"stayledger/domain/banking/rule"
	"stayledger/domain/books/account"
	"stayledger/domain/books/bank"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

func TestMain(m *testing.M) { apitest.Main(m) }

type (
	object = map[string]any
	array  = []any
)

// book is a team with a chart of accounts and accounts at banks.
type book struct {
	*apitest.Team
	t *testing.T
}

func newBook(t *testing.T) *book {
	t.Helper()

	all := parts.Join(account.Part(nil), bank.Part(rule.OfBank), accountconnection.Part())

	return &book{apitest.New(t, apitest.Config{Endpoints: all.Endpoints}), t}
}

// account makes an account of the chart of a type, with last digits or "" for none.
func (b *book) account(kind, last4 string) id.ID {
	b.t.Helper()
	name := id.New(b.DB.Now()).String()

	body := object{"name": name, "type": kind, "categoryId": b.Post("/account-categories", object{"name": name, "classification": "asset"}).Want(201).ID("id")}
	if kind == "bank" {
		banking := object{"category": "trust"}
		if last4 != "" {
			banking["last4"] = last4
		}

		body["banking"] = banking
	}

	return b.Post("/accounts", body).Want(201).ID("id")
}

func (b *book) bank(last4 string) id.ID { return b.account("bank", last4) }

// add makes an account connection with last digits, or "" for none, and more fields.
func (b *book) add(digits string, more object) id.ID {
	b.t.Helper()

	item := object{"name": "Checking " + digits}
	if digits != "" {
		item["lastDigits"] = digits
	}

	maps.Copy(item, more)

	return b.Post("/account-connections/batch", object{"data": array{item}}).Want(200).ID("data.0.id")
}

// attached is an account connection that is attached to a bank account without digits of its own.
func (b *book) attached(digits string) (connection, account id.ID) {
	b.t.Helper()
	account = b.bank("")

	return b.add(digits, object{"accountId": account}), account
}

func path(connection id.ID) string { return "/account-connections/" + connection.String() }

func (b *book) attach(connection, account id.ID) *apitest.Response {
	return b.Put(path(connection), object{"accountId": account})
}

// want holds fields of an answer to what they should be.
func want(t *testing.T, r *apitest.Response, fields map[string]string) {
	t.Helper()

	for field, want := range fields {
		if got := r.String(field); got != want {
			t.Errorf("%s is %s, want %s: %s", field, got, want, r.Body)
		}
	}
}

// record makes a movement of 1.00 that a feed read from an account at a bank, on an account of the chart or, for the
// zero id, on none.
func (b *book) record(connection, account id.ID, day string) id.ID {
	made := id.New(b.DB.Now())
	b.Exec(`insert into bank_record (team_id, id, bank_account_id, account_id, date, amount, currency, source, created_at, updated_at)
		values (@team, @id, @connection, @account, @day::text::date, 100, case when @account::uuid is null then 'usd' end, 'bankfeed', '2026-02-01', '2026-02-01')`,
		db.Args{"id": made, "connection": connection, "account": account, "day": day})

	return made
}

// reconcile makes a transaction a part of a bank record.
func (b *book) reconcile(record, account id.ID) {
	made := id.New(b.DB.Now())
	b.Exec(`insert into transaction (team_id, id, short_ref, type, date, currency, account_id, total, created_at, updated_at)
		values (@team, @id::uuid, @id::uuid::text, 'deposit', '2026-02-01', 'usd', @account, 40, now(), now())`, db.Args{"id": made, "account": account})
	b.Exec(`insert into bank_reconciliation (team_id, bank_record_id, transaction_id, account_id, cent_total, created_at)
		values (@team, @record, @transaction, @account, 40, now())`, db.Args{"record": record, "transaction": made, "account": account})
}

// stored counts rows of the team.
func (b *book) stored(sql string, args db.Args) (n int64) {
	b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		all := db.Args{"team": tx.Team}
		maps.Copy(all, args)
		n, err = db.Get[int64](ctx, tx, sql, all)

		return err
	})

	return n
}

// gone lets the bank not show an account any more, which a feed would notice.
func (b *book) gone(connection id.ID) {
	b.Exec(`update account_connection set status = 'gone' where team_id = @team and id = @id`, db.Args{"id": connection})
}
