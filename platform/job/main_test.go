package job_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// kind is a kind of work of a test.
var kind = apitest.Kind

// patience is how long a test waits for what must happen; nothing is measured by it.
const patience = 2 * time.Minute

// insert queues a job of the team and returns its id.
func insert(t *testing.T, x *apitest.Team, n job.New) id.ID {
	t.Helper()

	var made id.ID

	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		if err := job.Insert(ctx, tx, n); err != nil {
			return err
		}

		var err error

		made, err = db.Get[id.ID](ctx, tx, `select id from job where team_id = @team and xmin = pg_current_xact_id()::xid`, db.Args{"team": tx.Team})

		return err
	})

	return made
}

// row has the fields of a waiting job that a test looks at.
type row struct {
	Attempt  int16
	WorkerID id.ID
	Wait     float64
}

func rows(t *testing.T, x *apitest.Team) []row {
	t.Helper()

	var found []row

	err := x.DB.ReadOne(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = db.Select[row](ctx, tx, `
			select attempt, worker_id, extract(epoch from due_at - clock_timestamp())::double precision as wait from job where team_id = @team order by id`,
			db.Args{"team": tx.Team})

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return found
}

// run starts a worker for the team alone and returns what stops it and waits for its end.
func run(t *testing.T, x *apitest.Team, c job.Config, grace time.Duration) (w *job.Worker, stop func()) {
	t.Helper()
	return runFor(t, x.DB, x.ID, c, grace)
}

// runFor is run for one team, or for all when that is the zero id.
func runFor(t *testing.T, d *db.DB, only id.ID, c job.Config, grace time.Duration) (w *job.Worker, stop func()) {
	t.Helper()

	c.DB, c.Only = d, only
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}

	if c.Workers == 0 {
		c.Workers = 4
	}

	if c.Poll == 0 {
		c.Poll = 10 * time.Millisecond
	}

	w = job.NewWorker(c)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))

	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx, grace) }()

	stop = sync.OnceFunc(func() {
		cancel()

		select {
		case <-done:
		case <-time.After(patience):
			t.Error("the worker does not end")
		}
	})
	t.Cleanup(stop)

	return w, stop
}

// finish ends a job and does nothing else.
func finish(ctx context.Context, d *db.DB, j job.Job) error {
	return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error { return job.Done(ctx, tx, j) })
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()

	for deadline := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not happen", what)
		}
	}
}

// expire makes a team's leases end now, as silence of their worker would in time.
func expire(x *apitest.Team) {
	x.Exec(`update job set due_at = clock_timestamp() - interval '1 second' where team_id = @team`, nil)
}
