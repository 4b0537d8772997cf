package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

const (
	inserters      = 4
	operationsEach = 1500 // of an inserter in a round
	rounds         = 3
	startedJobs    = 500
	ackBlocks      = 15
	ackBlock       = 100
	patience       = 2 * time.Minute
)

// lifecycle compares no-op operations, from their start to completed, with a bare loop that commits the same two
// states of a row.
func lifecycle(ctx context.Context, b *bed) ([]Metric, error) {
	var service, bare, ratios []float64

	for range rounds {
		ours, err := b.serviceLifecycles(ctx)
		if err != nil {
			return nil, err
		}

		theirs, err := b.bareLifecycles(ctx)
		if err != nil {
			return nil, err
		}

		service, bare, ratios = append(service, ours), append(bare, theirs), append(ratios, ours/theirs)
	}

	return []Metric{atLeast("operation_lifecycle_ratio", median(ratios), 0.5, map[string]any{
		"roundRatios": ratios, "servicePerSecond": median(service), "barePerSecond": median(bare),
		"operations": inserters * operationsEach, "inserters": inserters, "workers": workers,
	})}, nil
}

// serviceLifecycles returns how many operations a second start and complete.
func (b *bed) serviceLifecycles(ctx context.Context) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	// Jobs of earlier measurements would take part of the workers.
	if err := b.waitDrained(ctx); err != nil {
		return 0, err
	}

	before, begin := b.settled.Load(), time.Now()

	if err := each(inserters, func(int) error {
		for range operationsEach {
			err := b.db.Write(ctx, b.small.scope(b.db), func(ctx context.Context, tx *db.Tx) error {
				_, err := operation.Start(ctx, tx, noop())
				return err
			})
			if err != nil {
				return err
			}
		}

		return nil
	}); err != nil {
		return 0, err
	}

	// Starting ends before the work does, so wait for the last completion.
	for b.settled.Load() < before+inserters*operationsEach {
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("%d operations completed: %w", b.settled.Load()-before, ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}

	return inserters * operationsEach / time.Since(begin).Seconds(), nil
}

// bareLifecycles returns how many rows a second are committed as queued and then as completed.
func (b *bed) bareLifecycles(ctx context.Context) (float64, error) {
	queued := make(chan id.ID, inserters*operationsEach)
	begin := time.Now()

	var inserting sync.WaitGroup

	inserting.Add(inserters)
	go func() { inserting.Wait(); close(queued) }()

	// As many goroutines as in the service: some insert, the others complete the inserted rows.
	err := each(inserters+workers, func(i int) error {
		if i < inserters {
			defer inserting.Done()

			for range operationsEach {
				v := id.New(b.db.Now())
				if _, err := b.bare.Exec(ctx, bareInsertOperation, b.small.team, v, b.small.user); err != nil {
					return err
				}

				queued <- v
			}

			return nil
		}

		for v := range queued {
			_, err := b.bare.Exec(ctx, `update bench_operation set status = 'completed', tasks_open = 0, started_at = now(), finished_at = now()
				where team_id = $1 and id = $2`, b.small.team, v)
			if err != nil {
				return err
			}
		}

		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("bare lifecycles: %w", err)
	}

	return inserters * operationsEach / time.Since(begin).Seconds(), nil
}

// each runs f in n goroutines and returns the first failure.
func each(n int, f func(i int) error) error {
	failures := make(chan error, n)
	for i := range n {
		go func() { failures <- f(i) }()
	}

	var first error
	for range n {
		if err := <-failures; err != nil && first == nil {
			first = err
		}
	}

	return first
}

// waitDrained waits until no job is left.
func (b *bed) waitDrained(ctx context.Context) error {
	for {
		var left int64

		err := b.db.ReadOne(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
			left, err = db.Get[int64](ctx, tx, "select count(*) from job", nil)
			return err
		})
		if err != nil || left == 0 {
			return err
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// startLatency measures how long an otherwise idle worker takes to begin a job, from the return of the commit.
func startLatency(ctx context.Context, b *bed) ([]Metric, error) {
	waits, err := b.startDelays(ctx, startTask)
	if err != nil {
		return nil, err
	}

	detail := map[string]any{"jobs": startedJobs, "maxMs": quantile(waits, 1)}

	return []Metric{
		atMost("job_start_p50_ms", median(waits), 3, detail),
		atMost("job_start_p99_ms", quantile(waits, 0.99), 10, detail),
	}, nil
}

// startDelays returns how long each of some jobs of a kind of the small team waits for its start, in milliseconds.
func (b *bed) startDelays(ctx context.Context, kind job.Kind) ([]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	committed := make([]time.Time, startedJobs)
	for n := range committed {
		err := b.db.Write(ctx, b.small.scope(b.db), func(ctx context.Context, tx *db.Tx) error {
			return job.Insert(ctx, tx, job.New{Kind: kind, Args: n})
		})
		if err != nil {
			return nil, err
		}

		// The pause lets the job start before the next one, so that none waits for another.
		committed[n] = time.Now()

		time.Sleep(10 * time.Millisecond)
	}

	var waits []float64

	// Jobs may start in any order, so each carries its number. One can even start before its commit returns.
	for range committed {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case s := <-b.started:
			waits = append(waits, max(0, float64(s.at.Sub(committed[s.number]).Nanoseconds())/1e6))
		}
	}

	return waits, nil
}

// acknowledgements compares how long one client waits for a queued operation and for a bare commit of two rows.
func acknowledgements(ctx context.Context, b *bed) ([]Metric, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	var (
		clients [2]*client
		waits   [2][]float64
	)

	request := func(c *client) []byte {
		return c.request(http.MethodPost, "/bench/operations", `{"note": "nothing to do"}`)
	}

	for i, address := range []string{b.ours, b.bareHTTP} {
		var err error
		if clients[i], err = dial(ctx, address, b.large.secret); err != nil {
			return nil, err
		}
		defer clients[i].close()

		if _, err := latencies(ctx, clients[i], request(clients[i]), 2*ackBlock, 0); err != nil {
			return nil, err
		}
	}

	// Both sides take turns in blocks, so that a busy moment of the machine meets both.
	for range ackBlocks {
		for i, c := range clients {
			if err := b.waitDrained(ctx); err != nil { // What the service left behind must not slow the bare server down.
				return nil, err
			}

			l, err := latencies(ctx, c, request(c), ackBlock, 0)
			if err != nil {
				return nil, err
			}

			waits[i] = append(waits[i], l...)
		}
	}

	service, bare := median(waits[0]), median(waits[1])

	return []Metric{atMost("ack_latency_ratio", service/bare, 2, map[string]any{
		"serviceMs":    service,
		"bareMs":       bare,
		"serviceP99Ms": quantile(waits[0], 0.99),
		"bareP99Ms":    quantile(waits[1], 0.99),
		"requests":     ackBlocks * ackBlock,
	})}, nil
}
