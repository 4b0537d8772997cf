package db

import (
	"context"
	"fmt"
)

// plans are the settings with which PostgreSQL plans statements. It plans one once for whatever its parameters are, and
// keeps the plan: left alone it plans nearly every statement each time, which takes several times as long as running
// it. The plan must therefore be good for the empty team and the large one, so it walks indexes even where a table is
// so small that reading all of it looks cheaper, and never asks parallel workers to help with what takes a millisecond.
var plans = map[string]string{"plan_cache_mode": keptPlans, "enable_seqscan": "off", "max_parallel_workers_per_gather": "0"}

const (
	keptPlans = "force_generic_plan" // one plan for a statement
	newPlans  = "force_custom_plan"  // one for each run of it
)

// Fence ends a subquery that PostgreSQL runs on its own, as it stands. It would otherwise merge the subquery with the
// query around it, and for some numbers of rows turn a search for each row into a walk through a table.
const Fence = " offset 0"

// planSQL returns the statement that sets the way of planning for the rest of the transaction.
func planSQL(mode string) string { return `select set_config('plan_cache_mode', '` + mode + `', true)` }

// Afresh returns work whose statements, all sent at once, are planned for their actual parameters instead of with
// the cached plan (ADR 12). Use it if the right plan depends on how many rows the parameters select, and the
// statement takes far longer than its planning.
func Afresh(work Work) Work {
	return func(ctx context.Context, tx *Tx) error {
		return tx.Together(ctx, Send(Stmt{SQL: planSQL(newPlans)}), work, Send(Stmt{SQL: planSQL(keptPlans)}))
	}
}

// PlanAfresh makes PostgreSQL plan the statements of the rest of this transaction for their parameters and for the
// tables as they are now. A plan that was made when a table was empty would read all of it for every row.
func (tx *Tx) PlanAfresh(ctx context.Context) error {
	if _, err := tx.Exec(ctx, planSQL(newPlans), nil); err != nil {
		return fmt.Errorf("ask for new plans: %w", err)
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
