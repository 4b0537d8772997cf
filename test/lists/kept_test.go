package lists_test

import (
	"context"
	"fmt"
	"testing"

	"stayledger/platform/db"
	"stayledger/platform/page"
)

// counted are the tables with counted rows, with the part of them that is.
var counted = map[string]string{
	"contact": "true", "listing": "true", "listing_ownership_period": "true", "account": "true", "fee": "true", "reservation": "true", "transaction": "true",
	"journal": "true", "bank_record": "type = 'transaction'", "payment": "true", "account_connection": "true", "bank_rule": "true", "sync_conflict": "true", "sync_issue": "true", "ledger_held": "true", "calendar_block": "true", "channel_payout": "true",
}

// The kept totals of lists equal the rows at any moment: after rows were added and removed, written again, tried in dry
// runs, and folded; and in the transaction that adds some.
func TestKeptTotalsEqualTheRows(t *testing.T) { //nolint:paralleltest // it folds the counts of all teams, which tests that compare tables must not see change
	b := newBooks(t)
	newBooks(t) // their rows are not counted here

	count := func(sql string) (n int64) {
		b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
			n, err = db.Get[int64](ctx, tx, sql, db.Args{"team": tx.Team})
			return err
		})

		return n
	}
	same := func(when string) {
		t.Helper()

		for table, part := range counted {
			rows := fmt.Sprintf("(select count(*) from %s where team_id = @team and %s)", table, part)

			kept := fmt.Sprintf("(select coalesce(sum(rows), 0) from list_count where team_id = @team and list = '%s')", table)
			if n := count("select (" + rows + " - " + kept + ")::bigint"); n != 0 {
				t.Errorf("%s: %s has %d rows more than are counted", when, table, n)
			}
		}
	}
	same("when they were made")
	b.Exec(`insert into contact (team_id, id, short_ref, type, name, created_at, updated_at) select team_id, gen_random_uuid(), id::text, type, name, created_at, updated_at
		from contact where team_id = @team`, nil)
	b.Exec(`insert into contact (team_id, id, short_ref, type, name, created_at, updated_at) select team_id, id, short_ref, type, 'Again', created_at, updated_at
		from contact where team_id = @team on conflict (team_id, id) do update set name = excluded.name`, nil)
	b.Exec(`insert into bank_record (team_id, id, account_id, date, amount, type, balance, currency, description, created_at, updated_at)
		select team_id, gen_random_uuid(), account_id, date, 0, 'balance', 1, currency, 'Balance', now(), now() from bank_record where team_id = @team and account_id is not null`, nil)
	same("when some were added and written again")

	if err := page.Counts.Fold(t.Context(), b.DB); err != nil {
		t.Fatal(err)
	}

	if n := count("select count(*) from list_delta where team_id = @team"); n != 0 {
		t.Errorf("%d notes are left", n)
	}

	same("when they were folded")
	b.Exec(`delete from contact where team_id = @team and name = 'Again' and short_ref = any(select id::text from contact where team_id = @team)`, nil)
	same("when some were removed")

	if err := page.Counts.Fold(t.Context(), b.DB); err != nil {
		t.Fatal(err)
	}

	same("when that was folded")
	b.Tx(func(ctx context.Context, tx *db.Tx) error {
		before, err := kept(ctx, tx)
		if err != nil {
			return err
		}

		if _, err := tx.Exec(ctx, `insert into contact (team_id, id, short_ref, type, name, created_at, updated_at)
			values (@team, gen_random_uuid(), 'one more', 'owner', 'One more', now(), now())`, db.Args{"team": tx.Team}); err != nil {
			return err
		}

		after, err := kept(ctx, tx)
		if after != before+1 {
			t.Errorf("a transaction that adds a contact counts %d of them, before %d", after, before)
		}

		return err
	})
}

func kept(ctx context.Context, tx *db.Tx) (int64, error) {
	return db.Get[int64](ctx, tx, `select sum(rows)::bigint from list_count where team_id = @team and list = 'contact'`, db.Args{"team": tx.Team})
}
