package ledger_test

import (
	"context"
	"errors"
	"testing"

	"stayledger/domain/books/ledger"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/test/fixture"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// books is a team with accounts, a listing and an ownership period to post to.
type books struct {
	*apitest.Team
	t               testing.TB
	accounts        []id.ID
	listing, period id.ID
}

func newBooks(t testing.TB) *books {
	t.Helper()

	return newBooksIn(t, nil)
}

// newBooksIn returns books in a database of the test's own; nil is the package's.
func newBooksIn(t testing.TB, d *db.DB) *books {
	t.Helper()
	b := &books{Team: apitest.New(t, apitest.Config{DB: d}), t: t}
	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		category := tx.NewID()

		stmts := []db.Stmt{{
			SQL:  `insert into account_category (team_id, id, name, classification, position, created_at) values (@team, @id, 'All', 'revenue', 1, @now)`,
			Args: db.Args{"team": tx.Team, "id": category, "now": tx.Now},
		}}
		for _, name := range []string{"One", "Two", "Three", "Four"} {
			account := tx.NewID()
			b.accounts = append(b.accounts, account)
			stmts = append(stmts, db.Stmt{
				SQL: `insert into account (team_id, id, name, type, category_id, created_at, updated_at)
				values (@team, @id, @name, 'ledger', @category, @now, @now)`,
				Args: db.Args{"team": tx.Team, "id": account, "name": name, "category": category, "now": tx.Now},
			})
		}

		return tx.Pipeline(ctx, stmts...)
	})
	b.listing = fixture.Listing(b.Team, "Villa")
	b.period = fixture.Period(b.Team, b.listing, "", "")

	return b
}

// posting moves an amount from the second account to the first; the credit is the owners'.
func (b *books) posting(source id.ID, code string, at day.Day, amount money.Cents) ledger.Posting {
	return ledger.Posting{
		SourceID: source, TxnCode: code, Ledger: ledger.Trust, Status: ledger.Active, TxnAt: at, Currency: "usd",
		Lines: []ledger.Line{
			{Ref: "debit", AccountID: b.accounts[0], CentTotal: amount, ListingID: b.listing, Trigger: ledger.TriggerManual},
			{Ref: "credit", AccountID: b.accounts[1], CentTotal: -amount, Party: ledger.Owners, ListingID: b.listing, OwnershipPeriodID: b.period, Trigger: ledger.TriggerManual},
		},
	}
}

func (b *books) try(l ledger.Lenience, sources []id.ID, wanted ...ledger.Posting) (change ledger.Change, err error) {
	err = b.DB.Write(b.t.Context(), b.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
		change, err = ledger.Replace(ctx, tx, sources, wanted, l)
		return err
	})

	return change, err
}

func (b *books) replace(sources []id.ID, wanted ...ledger.Posting) ledger.Change {
	b.t.Helper()

	change, err := b.try(ledger.Lenience{}, sources, wanted...)
	if err != nil {
		b.t.Fatal(err)
	}

	return change
}

// statement saves a statement over January 2026 without attaching anything.
func (b *books) statement(status string) id.ID {
	return fixture.Statement(b.Team, b.period, status, "2026-01-01", "2026-01-31")
}

// unbalanced counts the rows in which the balances that are read differ from the sums of the entries.
func (b *books) unbalanced() (n int64) {
	b.t.Helper()
	b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int64](ctx, tx, `
			select sum(n.count)::bigint from (
			select count(*) from (
				select ledger, currency, account_id, coalesce(party, '') as party, coalesce(listing_id, '00000000-0000-0000-0000-000000000000') as listing_id,
					date_trunc('month', txn_at)::date as month, coalesce(sum(cent_total) filter (where cent_total > 0), 0) as debit,
					coalesce(-sum(cent_total) filter (where cent_total < 0), 0) as credit
				from ledger_entry where team_id = @team and status = 'active' and ledger <> 'historical' group by 1, 2, 3, 4, 5, 6
			) e full join (
				select ledger, currency, account_id, party, listing_id, month, sum(debit) as debit, sum(credit) as credit from ledger_balance
				where team_id = @team group by 1, 2, 3, 4, 5, 6 having sum(debit) <> 0 or sum(credit) <> 0
			) k using (ledger, currency, account_id, party, listing_id, month)
			where (e.debit, e.credit) is distinct from (k.debit, k.credit)
			union all
			select count(*) from (
				select ledger, currency, account_id, party, month, sum(debit) as debit, sum(credit) as credit from ledger_balance
				where team_id = @team group by 1, 2, 3, 4, 5
			) e full join (
				select ledger, currency, account_id, party, month, sum(debit) as debit, sum(credit) as credit from ledger_month
				where team_id = @team group by 1, 2, 3, 4, 5
			) k using (ledger, currency, account_id, party, month)
			where (e.debit, e.credit) is distinct from (k.debit, k.credit)
			union all
			select count(*) from (
				select ledger, currency, account_id, party, month, sum(debit) as debit, sum(credit) as credit from ledger_month
				where team_id = @team group by 1, 2, 3, 4, 5
			) e full join (
				select ledger, currency, account_id, party, date_trunc('month', day)::date as month, sum(debit) as debit, sum(credit) as credit
				from ledger_day where team_id = @team group by 1, 2, 3, 4, 5
			) k using (ledger, currency, account_id, party, month)
			where (e.debit, e.credit) is distinct from (k.debit, k.credit)
			) n`, db.Args{"team": tx.Team})

		return err
	})

	return n
}

// reconcile has a bank record stand for a transaction, and makes the account that it was paid from a bank account.
func (b *books) reconcile(record, transaction, account id.ID) {
	b.t.Helper()
	args := db.Args{"record": record, "transaction": transaction, "account": account, "now": b.DB.Now()}
	b.Exec(`update account set type = 'bank', banking_category = 'trust' where team_id = @team and id = @account`, db.Args{"account": account})
	b.Exec(`insert into transaction (team_id, id, short_ref, type, date, currency, account_id, total, created_at, updated_at)
		values (@team, @transaction, 't1', 'deposit', '2026-01-15', 'usd', @account, 100, @now, @now)`,
		db.Args{"transaction": transaction, "account": account, "now": b.DB.Now()})
	b.Exec(`with record as (
			insert into bank_record (team_id, id, account_id, date, amount, created_at, updated_at)
			values (@team, @record, @account, '2026-01-15', 100, @now, @now) returning id
		) insert into bank_reconciliation (team_id, bank_record_id, transaction_id, account_id, cent_total, created_at)
		select @team, id, @transaction, @account, 100, @now from record`, args)
}

// rows identifies every stored entry with its money, so that two equal answers mean untouched rows.
func (b *books) rows() (rows []string) {
	b.t.Helper()
	b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		rows, err = db.Select[string](ctx, tx, `select e::text from ledger_entry e where team_id = @team order by id`, db.Args{"team": tx.Team})
		return err
	})

	return rows
}

func date(t testing.TB, s string) day.Day {
	t.Helper()

	d, err := day.Parse(s)
	if err != nil {
		t.Fatal(err)
	}

	return d
}

func wantErr(t *testing.T, got, want error) {
	t.Helper()

	if !errors.Is(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
}
