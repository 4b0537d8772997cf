package job_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/job"
)

// greeting is a kind of work: its name is kept with the jobs that wait.
var greeting = job.NewKind("greet")

// A handler ends its job in the transaction that keeps the outcome, and says which failures another attempt cannot
// mend.
func Example() {
	greet := job.Handler{Timeout: time.Minute, Do: func(ctx context.Context, d *db.DB, j job.Job) error {
		var args struct{ Name string }
		if err := json.Unmarshal(j.Args, &args); err != nil {
			return job.Permanent(fmt.Errorf("arguments: %w", err))
		}

		return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
			if _, err := tx.Exec(ctx, `update team set name = @name where id = @team`, db.Args{"name": args.Name, "team": tx.Team}); err != nil {
				return err
			}

			return job.Done(ctx, tx, j)
		})
	}}
	work := func(ctx context.Context, d *db.DB, log *slog.Logger) {
		w := job.NewWorker(job.Config{DB: d, Log: log, Workers: 8, Handlers: map[job.Kind]job.Handler{greeting: greet}})
		w.Run(ctx, 25*time.Second)
	}
	_ = work // needs a database

	err := greet.Do(context.Background(), nil, job.Job{Args: json.RawMessage(`{`)})
	fmt.Println(job.IsPermanent(err), errors.Is(err, job.ErrLeaseLost))
	fmt.Println(job.Backoff(1), job.Backoff(3))
	// Output:
	// true false
	// 250ms 1s
}
