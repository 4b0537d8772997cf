package job_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// The job has much to do when the worker is told to stop, and does all of it.
func TestAStoppingWorkerFinishesWhatItCan(t *testing.T) {
	t.Parallel()
	x := apitest.New(t, apitest.Config{Silent: true})
	began, watching, told := make(chan struct{}), make(chan struct{}), make(chan struct{})
	every := job.Every{Name: "until told to stop", Interval: time.Millisecond, Do: func(ctx context.Context, _ *db.DB) error {
		close(watching)
		<-ctx.Done()
		close(told)

		return nil
	}}
	_, stop := run(t, x, job.Config{Workers: 1, Every: []job.Every{every}, Handlers: map[job.Kind]job.Handler{kind("k"): {Do: func(ctx context.Context, d *db.DB, j job.Job) error {
		close(began)
		<-told

		for range 100 {
			if err := d.ReadOne(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error { _, err := tx.Exec(ctx, `select 1`, nil); return err }); err != nil {
				return err
			}
		}

		return finish(ctx, d, j)
	}}}}, patience)
	insert(t, x, job.New{Kind: kind("k")})
	apitest.Receive(t, began)
	apitest.Receive(t, watching)
	stop()

	if got := rows(t, x); len(got) != 0 {
		t.Errorf("left behind: %+v", got)
	}
}

// Handlers that obey and handlers that do not notice: both jobs are back after the grace and no sooner, and the attempt
// does not count.
func TestAStoppingWorkerGivesTheRestBack(t *testing.T) {
	t.Parallel()

	const grace = 10 * time.Millisecond

	for name, c := range map[string]func(ctx context.Context, hold <-chan struct{}) error{
		"obedient": func(ctx context.Context, _ <-chan struct{}) error { <-ctx.Done(); return ctx.Err() },
		"deaf":     func(_ context.Context, hold <-chan struct{}) error { <-hold; return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := apitest.New(t, apitest.Config{Silent: true})
			began, hold, stopped := make(chan struct{}, 5), make(chan struct{}), make(chan time.Time, 5)

			t.Cleanup(func() { close(hold) })

			_, stop := run(t, x, job.Config{Handlers: map[job.Kind]job.Handler{kind("k"): {Do: func(ctx context.Context, _ *db.DB, _ job.Job) error {
				began <- struct{}{}

				context.AfterFunc(ctx, func() { stopped <- time.Now() })

				return c(ctx, hold)
			}}}}, grace)
			for range 3 {
				insert(t, x, job.New{Kind: kind("k")})
			}

			for range 3 {
				apitest.Receive(t, began)
			}

			asked := time.Now()

			stop()

			for range 3 {
				if waited := apitest.Receive(t, stopped).Sub(asked); waited < grace {
					t.Errorf("stopped after %v of grace", waited)
				}
			}

			got := rows(t, x)
			for _, r := range got {
				if r.Attempt != 0 || !r.WorkerID.IsZero() || r.Wait > 0 {
					t.Errorf("given back as %+v", r)
				}
			}

			if len(got) != 3 {
				t.Errorf("%d jobs are left", len(got))
			}
		})
	}
}

// A job with a row that its own long transaction locks must not keep the other jobs from being given back.
func TestALockedJobDoesNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	x := apitest.New(t, apitest.Config{Silent: true})
	locked, began, hold := make(chan struct{}), make(chan struct{}), make(chan struct{})
	ended := make(chan struct{})
	_, stop := run(t, x, job.Config{Handlers: map[job.Kind]job.Handler{
		kind("locks"): {Do: func(_ context.Context, d *db.DB, j job.Job) error {
			defer close(ended)

			return d.Write(context.Background(), j.Scope(), func(ctx context.Context, tx *db.Tx) error {
				err := job.Done(ctx, tx, j)

				close(locked)
				<-hold

				return err
			})
		}},
		kind("k"): {Do: func(ctx context.Context, _ *db.DB, _ job.Job) error { close(began); <-ctx.Done(); return ctx.Err() }},
	}}, 10*time.Millisecond)
	insert(t, x, job.New{Kind: kind("locks")})
	free := insert(t, x, job.New{Kind: kind("k")})
	apitest.Receive(t, locked)
	apitest.Receive(t, began)
	stop()

	err := x.DB.ReadOne(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
		worker, err := db.Get[id.ID](ctx, tx, `select worker_id from job where id = @id`, db.Args{"id": free})
		if !worker.IsZero() {
			t.Error("the other job was not given back")
		}

		return err
	})
	if err != nil {
		t.Error(err)
	}

	close(hold)
	apitest.Receive(t, ended)
}

func TestAnAttemptIsBounded(t *testing.T) {
	t.Parallel()
	x := apitest.New(t, apitest.Config{Silent: true})
	causes := make(chan error, 1)
	_, _ = run(t, x, job.Config{Handlers: map[job.Kind]job.Handler{kind("k"): {
		Timeout:   10 * time.Millisecond,
		Do:        func(ctx context.Context, _ *db.DB, _ job.Job) error { <-ctx.Done(); return ctx.Err() },
		Exhausted: func(_ context.Context, _ *db.Tx, _ job.Job, cause error) error { causes <- cause; return nil },
	}}}, time.Second)
	insert(t, x, job.New{Kind: kind("k"), MaxAttempts: 1})

	if err := apitest.Receive(t, causes); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// The poll is too slow to be what starts the job.
func TestAWakeUpStartsWorkAtOnce(t *testing.T) {
	t.Parallel()

	for name, local := range map[string]bool{"in this process": true, "through the database": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			d, err := db.Open(t.Context(), db.Config{URL: apitest.Database(t)})
			if err != nil {
				t.Fatal(err)
			}

			t.Cleanup(d.Close)
			x := apitest.New(t, apitest.Config{Silent: true, DB: d})
			ran := make(chan struct{}, 100)
			w, stop := run(t, x, job.Config{Poll: time.Hour, Handlers: map[job.Kind]job.Handler{kind("k"): {Do: func(ctx context.Context, d *db.DB, j job.Job) error {
				ran <- struct{}{}
				return finish(ctx, d, j)
			}}}}, time.Second)

			var wake func(kinds ...string)
			if local {
				wake = w.Wake
			}

			waker := job.NewWaker(d, wake)
			ctx, cancel := context.WithCancel(t.Context())

			done := make(chan struct{})
			go func() { defer close(done); waker.Run(ctx) }()

			d.SetOnQueued(waker.Wake)

			deadline := time.After(patience)

			for heard := false; !heard; { // until the worker listens
				insert(t, x, job.New{Kind: kind("k")})

				select {
				case <-ran:
					heard = true
				case <-time.After(200 * time.Millisecond):
				case <-deadline:
					t.Fatal("nobody wakes")
				}
			}

			cancel()
			<-done
			stop()
		})
	}
}

func TestAPeriodicTaskRunsInOneWorker(t *testing.T) {
	t.Parallel()

	d, err := db.Open(t.Context(), db.Config{URL: apitest.Database(t)})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)
	x := apitest.New(t, apitest.Config{Silent: true, DB: d})

	var hourly, failing, panicking atomic.Int32

	every := []job.Every{
		{Name: "hourly", Interval: time.Hour, Do: func(context.Context, *db.DB) error { hourly.Add(1); return nil }},
		{Name: "failing", Interval: 20 * time.Millisecond, Do: func(context.Context, *db.DB) error { failing.Add(1); return errOurs }},
		{Name: "panicking", Interval: 20 * time.Millisecond, Do: func(context.Context, *db.DB) error { panicking.Add(1); panic("task") }},
	}
	_, stop := run(t, x, job.Config{Every: every}, time.Second)
	_, stopOther := run(t, x, job.Config{Every: every}, time.Second)
	eventually(t, "repetition", func() bool { return failing.Load() > 3 && panicking.Load() > 3 })
	stop()
	stopOther()

	_, _ = run(t, x, job.Config{Every: every}, time.Second) // a restart is no reason either
	before := failing.Load()

	eventually(t, "repetition", func() bool { return failing.Load() > before })

	if n := hourly.Load(); n != 1 {
		t.Errorf("the hourly task ran %d times", n)
	}
}

func TestOperationsUnderWayAreTold(t *testing.T) {
	t.Parallel()
	x := apitest.New(t, apitest.Config{Silent: true})
	operation := id.New(x.DB.Now())
	told := make(chan []job.Job, 10)
	hold := make(chan struct{})
	slow := job.Handler{Do: func(ctx context.Context, d *db.DB, j job.Job) error { <-hold; return finish(ctx, d, j) }}

	insert(t, x, job.New{Kind: kind("slow"), OperationID: operation})
	insert(t, x, job.New{Kind: kind("slow")})
	insert(t, x, job.New{Kind: kind("fast"), OperationID: operation})
	_, stop := run(t, x, job.Config{
		Handlers: map[job.Kind]job.Handler{kind("slow"): slow, kind("fast"): {Do: finish}},
		Started: func(_ context.Context, jobs []job.Job, at time.Time) error {
			if at.IsZero() {
				t.Error("no instant")
			}

			told <- jobs

			panic("a callback must not end the process")
		},
	}, time.Second)

	jobs := apitest.Receive(t, told)
	for _, j := range jobs {
		if j.OperationID != operation {
			t.Errorf("told of %s without an operation", j.Kind)
		}
	}

	if len(jobs) == 0 || jobs[0].Kind != "slow" && len(jobs) == 1 {
		t.Errorf("told of %d jobs", len(jobs))
	}

	close(hold)
	eventually(t, "the end of all jobs", func() bool { return len(rows(t, x)) == 0 })
	stop()
}
