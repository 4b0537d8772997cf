package apitest

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/job"
)

// patience is how long transactions of the tests wait for a row: nearly as long as a statement of the service may take.
const patience = 25 * time.Second

// stalled is how long no job of a test is run before that is taken for a failure. A job that is being run takes as long
// as it takes, on whatever machine; only the time limit of the whole run of tests ends one that never does.
const stalled = time.Minute

// UntilWaiting returns when so many transactions wait for tx, directly or one behind the other, and fails when that
// takes longer than they can wait. No other test of the package may wait for tx then.
func UntilWaiting(ctx context.Context, tx *db.Tx, many int64) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		// The statement follows the locks from this transaction to all that wait behind it.
		waiting, err := db.Get[int64](ctx, tx, `
			with recursive behind as (
				select pg_backend_pid() as pid
				union
				select l.pid from pg_locks l join behind b on b.pid = any(pg_blocking_pids(l.pid)) where not l.granted)
			select count(*) - 1 from behind`, nil)
		if err != nil || waiting >= many {
			return err
		}

		if time.Now().After(deadline) {
			return fmt.Errorf("%d transactions wait, not %d", waiting, many)
		}
	}
}

// Receive returns the next value of a channel. It fails the test if none comes in time.
func Receive[T any](t testing.TB, c <-chan T) T {
	t.Helper()

	select {
	case v := <-c:
		return v
	case <-time.After(5 * time.Minute):
		t.Fatal("nothing happens")
		panic("unreachable")
	}
}

// Outlast works as Work, but lets the pauses between attempts pass at once: it moves waiting jobs towards now
// whenever no other work is left. After each pause it calls tell, unless that is nil, with the sum of all pauses,
// which it also returns when no job is left. Like Work it looks at the operations that have failed.
func (x *Team) Outlast(tell func(passed time.Duration)) (passed time.Duration) {
	x.t.Helper()

	ctx, stop := context.WithCancel(x.t.Context())
	defer stop()

	// Errors are expected: attempts fail until the pauses are over.
	w := job.NewWorker(job.Config{
		DB: x.DB, Log: x.workerLog(),
		Workers: 4, Handlers: x.config.Handlers, Poll: 5 * time.Millisecond, Only: x.ID,
	})

	// The worker runs next to the loop that looks at the queue.
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx, time.Second) }()

	type pausing struct {
		Left    int64
		Running bool
		Pause   *float64 // seconds; nil while there is something to do
	}

	left := int64(0)

	// Look until no job is left; fail if nothing has moved for a while.
	for deadline := time.Now(); ; time.Sleep(2 * time.Millisecond) {
		var q pausing

		x.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
			q, err = db.Get[pausing](ctx, tx, `
				select count(*) as left, coalesce(bool_or(worker_id is not null), false) as running,
					case when bool_and(worker_id is null and due_at > clock_timestamp()) then
					extract(epoch from min(due_at) - clock_timestamp())::float8 end as pause
				from job where team_id = @team`, db.Args{"team": tx.Team})

			return err
		})

		if q.Left == 0 {
			break
		}

		if q.Pause != nil || q.Running || q.Left != left {
			left, deadline = q.Left, time.Now().Add(stalled) // it goes on
		}

		if time.Now().After(deadline) {
			x.t.Fatalf("%d jobs are still waiting after pauses of %v", q.Left, passed)
		}

		if q.Pause == nil {
			continue
		}

		// All jobs wait: move them forward by the shortest pause.
		pause := time.Duration(*q.Pause * float64(time.Second))
		if passed += pause; tell != nil {
			tell(passed)
		}

		x.Exec(`update job set due_at = due_at - @pause::interval, tried_at = tried_at - @pause::interval where team_id = @team and worker_id is null`,
			db.Args{"pause": pause})
	}

	stop()
	<-done

	x.checkFailed()

	return passed
}

// Work runs the team's jobs until none is left that runs or is due soon. It waits for retries, not for
// appointments. It fails the test for operations that have failed without a reason that a person can see (ExpectInternal).
func (x *Team) Work() {
	x.t.Helper()

	// A worker takes longer to start than most work takes.
	if x.look().Left == 0 {
		x.checkFailed()
		return
	}

	ctx, stop := context.WithCancel(x.t.Context())
	defer stop()

	// It is woken when there is work; polling is for what is due later, and in a test's own database for everything.
	poll := 50 * time.Millisecond
	if x.config.DB != nil {
		poll = 10 * time.Millisecond
	}

	w := job.NewWorker(job.Config{
		DB: x.DB, Log: x.workerLog(),
		Workers: 4, Handlers: x.config.Handlers, Poll: poll, Only: x.ID,
	})
	defer workers.add(w)()

	// The worker runs next to the loop that looks at the queue.
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx, time.Second) }()

	// Look until the queue is empty; fail if nothing has moved for a while.
	for before, deadline := int64(0), time.Now(); ; time.Sleep(5 * time.Millisecond) {
		q := x.look()
		if q.Left == 0 {
			break
		}

		if q.Running > 0 || q.Left != before {
			before, deadline = q.Left, time.Now().Add(stalled) // it goes on
		}

		if time.Now().After(deadline) {
			x.t.Fatalf("%d jobs are still waiting", q.Left)
		}
	}

	stop()
	<-done

	x.checkFailed()
}

// workerLog returns the log of a worker, which also notes what operations fail for.
func (x *Team) workerLog() *slog.Logger {
	return slog.New(failureLog{slog.NewTextHandler(x.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}), x.failures})
}

// queue counts the jobs of a team that run or are due soon.
type queue struct{ Left, Running int64 }

// look returns what the queue holds for the team.
func (x *Team) look() (q queue) {
	x.t.Helper()

	x.readOne(func(ctx context.Context, tx *db.Tx) (err error) {
		q, err = db.Get[queue](ctx, tx, `
			select count(*) as left, count(worker_id) as running
			from job where team_id = @team and (worker_id is not null or due_at < clock_timestamp() + interval '20 seconds')`,
			db.Args{"team": tx.Team})

		return err
	})

	return q
}

// workers are those that run in the package's database, which wakes them when work is queued.
var workers = waking{all: map[*job.Worker]struct{}{}}

type waking struct {
	mu  sync.Mutex
	all map[*job.Worker]struct{}
}

// add has a worker woken until the function that it returns is called.
func (k *waking) add(w *job.Worker) (remove func()) {
	k.mu.Lock()
	defer k.mu.Unlock()

	k.all[w] = struct{}{}

	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()

		delete(k.all, w)
	}
}

// wake has all of them look for work of any kind.
func (k *waking) wake(...string) {
	k.mu.Lock()
	defer k.mu.Unlock()

	for w := range k.all {
		w.Wake()
	}
}
