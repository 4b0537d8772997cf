package bank_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"


	"stayledger/domain/bank"
	"stayledger/platform/db"
)

func (w *world) thousands(from, to int) {
	w.Exec(`insert into bank_record (team_id, id, account_id, date, amount, description, created_at, updated_at)
		select @team, gen_random_uuid(), @account, date '2026-01-01' + (n / 50), 1000 + n, 'r' || n, now(), now() from generate_series(@from::int, @to::int) n`,
		db.Args{"account": w.accounts["1000"], "from": from, "to": to})
	w.Exec(`insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, txn_at, account_id, cent_total, currency, transaction_id, trigger_type, created_at)
		select @team, gen_random_uuid(), s.source, 't' || n, side.ref, 'trust', date '2026-01-01' + (n / 50), side.account, side.sign * (1000 + n), 'usd', s.id, 'manual', now()
		from (select n, gen_random_uuid() as id, gen_random_uuid() as source from generate_series(@from::int, @to::int) n where n % 2 = 0 offset 0) s,
			(values ('d', @account::uuid, 1), ('c', @other::uuid, -1)) side (ref, account, sign)`,
		db.Args{"account": w.accounts["1000"], "other": w.accounts["1100"], "from": from, "to": to})
	w.Exec(`insert into transaction (team_id, id, short_ref, type, date, account_id, description, total, currency, created_at, updated_at)
		select team_id, transaction_id, transaction_id::text, 'deposit', txn_at, account_id, 'x', cent_total, 'usd', now(), now() from ledger_entry
		where team_id = @team and cent_total between 1000 + @from::int and 1000 + @to::int`, db.Args{"from": from, "to": to})
	w.Exec(`with r as materialized (select id, amount from bank_record where team_id = @team order by amount),
		e as materialized (select transaction_id, account_id, cent_total from ledger_entry where team_id = @team order by cent_total)
		insert into bank_reconciliation (team_id, bank_record_id, transaction_id, account_id, cent_total, created_at)
		select @team, r.id, e.transaction_id, e.account_id, r.amount, now() from r full join e on e.cent_total = r.amount
		where r.amount % 4 = 0 and r.id is not null and e.account_id is not null`, nil)
}

func TestZZ(t *testing.T) {
	o := newWorld(t)
	a := time.Now()
	o.thousands(1, 8000)
	t.Log("seed", time.Since(a))
	if os.Getenv("ANALYZE") != "" {
		for _, table := range []string{"bank_record", "bank_reconciliation", "ledger_entry", "account", "team", "transaction"} {
			o.Tx(func(ctx context.Context, tx *db.Tx) error {
				_, err := tx.Exec(ctx, "analyze " + table, nil)
				return err
			})
		}
	}
	w := newWorld(t)
	w.thousands(1, 16000)
	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		for _, yes := range []bool{true, false} {
		q := bank.ListQuery(tx, &bank.Filter{HasMatchingTransactions: &yes})
		q.Args["team"] = tx.Team
		for title, sql := range map[string]string{"list": q.SQL("-date") + " limit 100", "count": "select count(*) from " + q.From + " where " + strings.Join(q.Where, " and ")} {
			begun := time.Now()
			plan, err := db.Select[string](ctx, tx, "explain (analyze, timing off, summary on) "+sql, q.Args)
			if err != nil { return err }
			t.Log(title, yes, time.Since(begun))
			if time.Since(begun) > time.Second || os.Getenv("PLAN") != "" {
				t.Log(strings.Join(plan, "\n"))
			}
		}
		}
		return nil
	})
}
