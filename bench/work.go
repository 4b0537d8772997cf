package main

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/db"
	"stayledger/platform/job"
)

// workers is how many jobs the service works on at the same time, and on how many connections the bare loop
// completes rows.
const workers = 16

// The kinds of jobs of the benchmark.
var (
	noopTask  = job.NewKind("bench.noop")
	startTask = job.NewKind("bench.start")
	// A startRenderingTask is a startTask in the lane of exports.
	startRenderingTask = job.NewKind("bench.start-rendering")
)

// none are the arguments of a task that needs none.
type none struct{}

// noop returns an operation with one task that does nothing.
func noop() operation.New {
	return operation.New{Type: operation.TeamInitialize, Tasks: []operation.Task{{Kind: noopTask, Args: none{}}}}
}

// initiatingInput is the input of the endpoint that starts an operation.
type initiatingInput struct {
	Body struct {
		Note string `json:"note" maxLength:"100"`
	}
}

// startEndpoint returns an endpoint that does no more than every endpoint that starts an operation.
func startEndpoint() api.Endpoint {
	return api.Write(api.Endpoint{
		Method:  "POST",
		Path:    "/bench/operations",
		ID:      "startNoop",
		Tag:     "Bench",
		Summary: "Start an operation that does nothing",
		Status:  202,
		Scopes:  []string{"operations:read"},
	}, func(ctx context.Context, tx *db.Tx, _ *initiatingInput) (*operation.Acknowledgement, error) {
		return operation.Start(ctx, tx, noop())
	})
}

// handlers returns the handlers of the service and those of the benchmark, which count committed work.
func (b *bed) handlers() map[job.Kind]job.Handler {
	plain := operation.Work(0, func(context.Context, *db.Tx, operation.Run, none) error { return nil })

	// Count a no-op only after its commit, since an operation completes with it.
	counting := plain
	counting.Do = func(ctx context.Context, d *db.DB, j job.Job) error {
		err := plain.Do(ctx, d, j)
		if err == nil {
			b.settled.Add(1)
		}

		return err
	}

	// A start task reports the time at which its handler was entered, and then does nothing.
	start := job.Handler{Do: func(ctx context.Context, d *db.DB, j job.Job) error {
		entered := startedJob{at: time.Now()}
		if err := json.Unmarshal(j.Args, &entered.number); err != nil {
			return job.Permanent(err)
		}

		b.started <- entered

		return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error { return job.Done(ctx, tx, j) })
	}}
	// The service's own handlers run too, as in production.
	handlers := maps.Clone(b.parts.Handlers)
	maps.Copy(handlers, map[job.Kind]job.Handler{
		noopTask:           counting,
		lastingTask:        lastingHandler(),
		startTask:          start,
		startRenderingTask: start.In(job.Rendering),
	})

	return handlers
}
