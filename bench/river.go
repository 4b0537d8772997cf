package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"stayledger/platform/id"
	"stayledger/platform/pgserver"
)

// riverWorkers is how many jobs River works on at a time. It is measured with each number, and its best rate
// counts.
var riverWorkers = []int{workers, 4 * workers}

// queue compares our queue with River's: operations of one task that do nothing, from their start to completed, per
// second. Both commit an operation with its job, and its completion with the job's. River's are bare rows without a
// trail, a policy or fairness between teams; ours have all of it. ADR 2 keeps our queue only while it does at least
// one and a half times as many.
func queue(ctx context.Context, b *bed) ([]Metric, error) {
	r, err := newRiverBed(ctx, b)
	if err != nil {
		return nil, err
	}
	defer r.pool.Close()

	var ours, best, ratios []float64

	// Both sides take turns, so that a busy moment of the machine meets both.
	for range rounds {
		service, err := b.serviceLifecycles(ctx)
		if err != nil {
			return nil, err
		}

		var theirs float64

		for _, workers := range riverWorkers {
			rate, err := r.lifecycles(ctx, workers)
			if err != nil {
				return nil, err
			}

			theirs = max(theirs, rate)
		}

		ours, best, ratios = append(ours, service), append(best, theirs), append(ratios, service/theirs)
	}

	return []Metric{atLeast("queue_river_ratio", median(ratios), 1.5, map[string]any{
		"roundRatios":      ratios,
		"servicePerSecond": median(ours),
		"riverPerSecond":   median(best),
		"operations":       inserters * operationsEach,
		"inserters":        inserters,
		"workers":          workers,
		"riverWorkers":     riverWorkers,
	})}, nil
}

// riverBed is a schema with River's tables.
type riverBed struct {
	*bed
	pool *pgxpool.Pool
}

// newRiverBed opens connections for River and creates its tables.
func newRiverBed(ctx context.Context, b *bed) (*riverBed, error) {
	config, err := pgxpool.ParseConfig(b.url(pgserver.Role))
	if err != nil {
		return nil, fmt.Errorf("pool of River: %w", err)
	}
	// As many connections as its most workers and the inserters can use, so that none waits for one.
	config.MaxConns = int32(connections)
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"

	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("pool of River: %w", err)
	}

	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	if err == nil {
		_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}

	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("tables of River: %w", err)
	}

	return &riverBed{bed: b, pool: pool}, nil
}

// riverArgs names the operation that a job completes.
type riverArgs struct {
	Operation id.ID `json:"operation"`
}

// Kind returns the kind of the job in River's tables.
func (riverArgs) Kind() string { return "noop" }

// riverWorker is River's handler of the jobs.
type riverWorker struct {
	river.WorkerDefaults[riverArgs]
	bed     *riverBed
	settled atomic.Int64
}

// Work completes the operation and the job in one transaction.
func (w *riverWorker) Work(ctx context.Context, j *river.Job[riverArgs]) error {
	err := pgx.BeginFunc(ctx, w.bed.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `update bench_operation set status = 'completed', tasks_open = 0, started_at = now(), finished_at = now()
			where team_id = $1 and id = $2`, w.bed.small.team, j.Args.Operation)
		if err != nil {
			return err
		}

		// One transaction, as in our queue: the job ends with its operation.
		_, err = river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, j)

		return err
	})
	if err == nil {
		w.settled.Add(1)
	}

	return err
}

// lifecycles returns how many operations a second start and complete.
func (r *riverBed) lifecycles(ctx context.Context, workers int) (perSecond float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	worker := &riverWorker{bed: r}
	registered := river.NewWorkers()
	river.AddWorker(registered, worker)

	// River polls as fast as it can, so that it does not lose by its defaults.
	client, err := river.NewClient(riverpgxv5.New(r.pool), &river.Config{
		Workers: registered, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
		FetchCooldown: time.Millisecond, FetchPollInterval: 5 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return 0, fmt.Errorf("client of River: %w", err)
	}

	if err := client.Start(ctx); err != nil {
		return 0, fmt.Errorf("start River: %w", err)
	}
	defer func() {
		if stopped := client.Stop(context.WithoutCancel(ctx)); err == nil {
			err = stopped
		}
	}()

	// Start the operations as the service does, from as many goroutines.
	begin := time.Now()

	if err := each(inserters, func(int) error {
		for range operationsEach {
			err := pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
				v := id.New(r.db.Now())
				if _, err := tx.Exec(ctx, bareInsertOperation, r.small.team, v, r.small.user); err != nil {
					return err
				}

				_, err := client.InsertTx(ctx, tx, riverArgs{Operation: v}, nil)

				return err
			})
			if err != nil {
				return err
			}
		}

		return nil
	}); err != nil {
		return 0, fmt.Errorf("insert into River: %w", err)
	}

	// Starting ends before the work does, so wait for the last completion.
	for worker.settled.Load() < inserters*operationsEach {
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("%d jobs of River completed: %w", worker.settled.Load(), ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}

	return inserters * operationsEach / time.Since(begin).Seconds(), nil
}
