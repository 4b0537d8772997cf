package db

import (
	"context"
	"fmt"
)

// plans are the settings with which PostgreSQL plans statements. It plans one once for whatever its parameters are, and
// keeps the plan: left alone it plans nearly every statement each time, which takes several times as long as running
// it. The plan must therefore be good for the empty team and the large one, so it walks indexes even where a table is
// so small that reading all of it looks cheaper, and never asks parallel workers to help with what takes a millisecond.
var plans = map[string]string{
	"plan_cache_mode": keptPlans, "enable_seqscan": "off",
	"max_parallel_workers_per_gather": "0",
}

const (
	keptPlans = "force_generic_plan" // one plan for a statement
	newPlans  = "force_custom_plan"  // one for each run of it
)

// Fence ends a subquery that PostgreSQL must run on its own, unchanged. It would otherwise merge the subquery with the
// query around it, and for some numbers of rows turn a search for each row into a walk through a table.
const Fence = " offset 0"

// planSQL returns the statement that sets the way of planning for the rest of the transaction.
func planSQL(mode string) string { return `select set_config('plan_cache_mode', '` + mode + `', true)` }

// Afresh returns work with statements, all sent at once, that are planned for their actual parameters instead of with
// the cached plan (ADR 12). Use it if the right plan depends on how many rows the parameters select, and the statement
// takes far longer than its planning.
func Afresh(work Work) Work { return setPlans(newPlans, work) }

// Kept returns work with statements, all sent at once, that use the cached plan in spite of PlanAfresh. Use it for
// those that insert many rows: the check of each foreign key of each row would be planned, too.
func Kept(work Work) Work { return setPlans(keptPlans, work) }

// setPlans returns work with statements, all sent at once, that are planned in the given mode.
func setPlans(mode string, work Work) Work {
	return func(ctx context.Context, tx *Tx) error {
		before := keptPlans
		if tx.afresh {
			before = newPlans
		}

		if mode == before {
			return work(ctx, tx)
		}

		return tx.Together(ctx, Send(Stmt{SQL: planSQL(mode)}), work, Send(Stmt{SQL: planSQL(before)}))
	}
}

// PlanAfresh runs work with statements that PostgreSQL plans for their parameters and for the tables in their present
// state. A plan that was made when a table was empty would read all of it for every row. Work can wait for what its
// statements return.
func (tx *Tx) PlanAfresh(ctx context.Context, work Work) error {
	if tx.afresh {
		return work(ctx, tx)
	}

	if _, err := tx.Exec(ctx, planSQL(newPlans), nil); err != nil {
		return fmt.Errorf("ask for new plans: %w", err)
	}

	tx.afresh = true
	defer func() { tx.afresh = false }()

	// After an error the transaction, or its savepoint, is undone together with the setting.
	if err := work(ctx, tx); err != nil {
		return err
	}

	if _, err := tx.Exec(ctx, planSQL(keptPlans), nil); err != nil {
		return fmt.Errorf("go back to kept plans: %w", err)
	}

	return nil
}

// Analyze has PostgreSQL count the rows of a table if the transaction has added more than a tenth of them, so that the
// statements after it are planned for what is there; autovacuum does not see them before the commit. It holds off
// autovacuum for the table until then. Use it in transactions that add thousands of rows.
func (tx *Tx) Analyze(ctx context.Context, table string, added int) error {
	if _, err := tx.Exec(ctx, `select stayledger_analyze(@table::text::regclass, @added)`, Args{"table": table, "added": added}); err != nil {
		return fmt.Errorf("analyze the table %s: %w", table, err)
	}

	return nil
}

// AnalyzeGrown has PostgreSQL count the rows of tables that have grown to three times their last count. It makes the
// kept plans of a table anew then. Autovacuum does the same, but not before a minute or more has passed: a first import
// would meanwhile go on with plans of empty tables, which read all rows of a team for each row that is added.
func AnalyzeGrown(ctx context.Context, d *DB) error {
	type grown struct {
		Name string
		Rows int
	}

	var tables []grown

	err := d.ReadOne(ctx, AcrossTeams(), func(ctx context.Context, tx *Tx) (err error) {
		tables, err = Select[grown](ctx, tx, `
			select c.oid::regclass::text as name, s.n_live_tup as rows from pg_stat_user_tables s join pg_class c on c.oid = s.relid
			where s.n_live_tup > 1000 + 3 * greatest(c.reltuples, 0) order by c.oid`, nil)

		return err
	})
	if err != nil {
		return fmt.Errorf("find tables that have grown: %w", err)
	}

	for _, t := range tables {
		err := d.Write(ctx, AcrossTeams(), func(ctx context.Context, tx *Tx) error {
			return tx.Analyze(ctx, t.Name,
				t.Rows)
		})
		if err != nil {
			return err
		}
	}

	return nil
}

// KeepIndexOrder keeps PostgreSQL, for the rest of this transaction, from sorting rows that an index has in order.
// Teams differ so much in size that its estimate for one of them can be wrong by any factor, and a sort that it takes
// for small does not fit into memory.
func (tx *Tx) KeepIndexOrder(ctx context.Context) error {
	const stmt = `select set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true)`
	if _, err := tx.Exec(ctx, stmt, nil); err != nil {
		return fmt.Errorf("ask for the order of an index: %w", err)
	}

	return nil
}
