package bank_test

import (
	"context"
	"strings"
	"testing"

	"stayledger/platform/db"
)

func TestZY(t *testing.T) {
	o := newWorld(t)
	o.thousands(1, 8000)
	for _, table := range []string{"bank_record", "bank_reconciliation", "ledger_entry", "account", "team", "transaction"} {
		o.Tx(func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, "analyze "+table, nil)
			return err
		})
	}
	w := newWorld(t)
	w.thousands(1, 8000)
	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		for _, sql := range []string{
			"select * from bank_record where team_id = @team and id = (select id from bank_record where team_id = @team and amount = 1002)",
			"select * from bank_record where team_id = @team and id = any(array(select id from bank_record where team_id = @team and amount between 1002 and 1022))",
			"select * from bank_reconciliation where team_id = @team and transaction_id = (select id from bank_record where team_id = @team and amount = 1002)",
			"select * from bank_reconciliation where team_id = @team and bank_record_id = (select id from bank_record where team_id = @team and amount = 1002)",
		} {
			plan, err := db.Select[string](ctx, tx, "explain (analyze, buffers, timing off, summary on) "+sql, db.Args{"team": tx.Team})
			if err != nil {
				return err
			}
			t.Log(sql, "\n", strings.Join(plan, "\n"))
		}
		return nil
	})
}
