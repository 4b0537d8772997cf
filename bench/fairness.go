package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/job"
)

const (
	// The jobs that wait for one team while another team is measured.
	backlog     = 10_000
	lastingTime = 100 * time.Millisecond
)

// A lastingTask takes its place for lastingTime without using the machine, as work does that waits for the world
// outside.
var lastingTask = job.NewKind("bench.lasting")

// exportTask returns the kind of the task that exports a team's chart of accounts.
func exportTask() job.Kind {
	kinds := job.Kinds()
	return kinds[slices.IndexFunc(kinds, func(k job.Kind) bool { return k.String() == "export-accounts-csv" })]
}

// lastingHandler returns the handler of lastingTask.
func lastingHandler() job.Handler {
	return operation.External(
		0,
		func(ctx context.Context, _ *db.DB, _ db.Scope, _ operation.Run, _ none) (db.Work, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(lastingTime):
				return nil, nil
			}
		},
	)
}

// fairness compares, in the lane of the backlog, how long a job of one team waits for its start on an idle service
// and behind ten thousand jobs of another team: once of work that lasts, once of exports.
func fairness(ctx context.Context, b *bed) ([]Metric, error) {
	var metrics []Metric

	for _, c := range []struct {
		name           string
		kind, measured job.Kind
	}{
		{"other_team_start", lastingTask, startTask}, {"other_team_start_exports", exportTask(), startRenderingTask},
	} {
		if err := b.waitDrained(ctx); err != nil {
			return nil, err
		}

		// First the wait on an idle service.
		idle, err := b.startDelays(ctx, c.measured)
		if err != nil {
			return nil, err
		}

		// Then behind the backlog, which must last until the end of the measurement.
		if err := b.pile(ctx, c.kind); err != nil {
			return nil, err
		}

		loaded, err := b.startDelays(ctx, c.measured)
		if err != nil {
			return nil, err
		}

		// Last, remove the rest of the backlog for the next measurement.
		waiting, err := b.clear(ctx, c.kind)
		if err != nil {
			return nil, err
		}

		metrics = append(metrics, atMost(c.name, median(loaded)/median(idle), 3, map[string]any{
			"queued":       backlog,
			"stillWaiting": waiting,
			"idleMs":       median(idle),
			"loadedMs":     median(loaded),
			"loadedP99Ms":  quantile(loaded, 0.99),
		}))
	}

	return metrics, nil
}

// pile queues the backlog of the large team, an operation for each job.
func (b *bed) pile(ctx context.Context, kind job.Kind) error {
	return b.db.Write(ctx, b.large.scope(b.db), func(ctx context.Context, tx *db.Tx) error {
		for range backlog {
			// Each job belongs to an operation of its own, as in production.
			n := operation.New{Type: operation.Export, Tasks: []operation.Task{{Kind: kind, Args: none{}}}}
			if _, err := operation.Start(ctx, tx, n); err != nil {
				return err
			}
		}

		return nil
	})
}

// clear removes the waiting jobs of a backlog and returns their number. It fails if none was left, because then
// nothing was measured.
func (b *bed) clear(ctx context.Context, kind job.Kind) (waiting int64, err error) {
	err = b.db.Write(ctx, b.large.scope(b.db), func(ctx context.Context, tx *db.Tx) (err error) {
		waiting, err = tx.Exec(ctx, `delete from job where team_id = @team and kind = @kind and worker_id is null`, db.Args{"team": tx.Team, "kind": kind.String()})
		return err
	})
	if err == nil && waiting == 0 {
		err = fmt.Errorf("all of %s was done before the measurement ended", kind)
	}

	return waiting, err
}
