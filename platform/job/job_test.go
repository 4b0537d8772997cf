package job_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

var errOurs = errors.New("not this time")

// Proves: DRY-17.
func TestAJobIsPartOfItsTransaction(t *testing.T) {
	t.Parallel()
	x := apitest.New(t, apitest.Config{Silent: true})

	queue := func(ctx context.Context, tx *db.Tx) error {
		err := job.Insert(ctx, tx, job.New{Kind: kind("k")})
		if !tx.HasQueued() {
			t.Error("the transaction does not count as having left work")
		}

		return err
	}
	if err := x.DB.DryRun(t.Context(), x.Scope(), queue); err != nil {
		t.Error(err)
	}

	if err := x.DB.Write(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error { return errors.Join(queue(ctx, tx), errOurs) }); !errors.Is(err, errOurs) {
		t.Error(err)
	}

	if got := rows(t, x); len(got) != 0 {
		t.Errorf("%d jobs outlived their transactions", len(got))
	}

	x.Tx(queue)

	if got := rows(t, x); len(got) != 1 || got[0].Wait > 0 {
		t.Errorf("a committed job: %+v", got)
	}
}

func TestAJobRunsOnceForItsTeamAndUser(t *testing.T) {
	t.Parallel()
	x := apitest.New(t, apitest.Config{Silent: true})
	operation := id.New(x.DB.Now())
	made := insert(t, x, job.New{Kind: kind("k"), Args: map[string]int{"n": 7}, OperationID: operation, Priority: 3})
	ran := make(chan job.Job, 10)
	_, stop := run(t, x, job.Config{Handlers: map[job.Kind]job.Handler{kind("k"): {Do: func(ctx context.Context, d *db.DB, j job.Job) error {
		ran <- j
		return finish(ctx, d, j)
	}}}}, time.Second)
	j := apitest.Receive(t, ran)
	eventually(t, "the end of the job", func() bool { return len(rows(t, x)) == 0 })
	stop()

	var args struct{ N int }
	if err := json.Unmarshal(j.Args, &args); err != nil || args.N != 7 {
		t.Errorf("arguments %s: %v", j.Args, err)
	}

	if s := j.Scope(); j.ID != made || s.Team != x.ID || s.Actor.User != x.User || j.OperationID != operation || j.Priority != 3 || j.Attempt != 1 || j.StartedAt.IsZero() {
		t.Errorf("the job came as %+v", j)
	}

	if len(ran) != 0 {
		t.Error("the job ran again")
	}
}

func TestTwoWorkersNeverRunTheSameJob(t *testing.T) {
	t.Parallel()
	x := apitest.New(t, apitest.Config{Silent: true})

	const jobs = 60

	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		for range jobs {
			if err := job.Insert(ctx, tx, job.New{Kind: kind("k")}); err != nil {
				return err
			}
		}

		return nil
	})

	var mu sync.Mutex

	running, total := map[id.ID]bool{}, 0
	handlers := map[job.Kind]job.Handler{kind("k"): {Do: func(ctx context.Context, d *db.DB, j job.Job) error {
		mu.Lock()
		if running[j.ID] {
			t.Errorf("job %s runs twice", j.ID)
		}

		running[j.ID] = true
		total++
		mu.Unlock()

		return finish(ctx, d, j)
	}}}
	_, stop := run(t, x, job.Config{Handlers: handlers, Workers: 3}, time.Second)
	_, stopOther := run(t, x, job.Config{Handlers: handlers, Workers: 3}, time.Second)
	eventually(t, "the end of all jobs", func() bool { return len(rows(t, x)) == 0 })
	stop()
	stopOther()

	if total != jobs {
		t.Errorf("%d runs of %d jobs", total, jobs)
	}
}

func TestAWorkerTakesNoMoreThanItHasRoomFor(t *testing.T) {
	t.Parallel()

	x := apitest.New(t, apitest.Config{Silent: true})
	for range 5 {
		insert(t, x, job.New{Kind: kind("k")})
	}

	var now, most atomic.Int32

	release := make(chan struct{})
	_, _ = run(t, x, job.Config{Workers: 2, Handlers: map[job.Kind]job.Handler{kind("k"): {Do: func(ctx context.Context, d *db.DB, j job.Job) error {
		most.Store(max(most.Load(), now.Add(1)))
		<-release
		now.Add(-1)

		return finish(ctx, d, j)
	}}}}, time.Second)
	eventually(t, "work on two jobs", func() bool { return now.Load() == 2 })

	leased := 0

	for _, r := range rows(t, x) {
		if !r.WorkerID.IsZero() {
			leased++
		}
	}

	if leased != 2 {
		t.Errorf("%d jobs are taken", leased)
	}

	close(release)
	eventually(t, "the end of all jobs", func() bool { return len(rows(t, x)) == 0 })

	if most.Load() > 2 {
		t.Errorf("%d jobs ran at once", most.Load())
	}
}

func TestDueJobsRunInTheirOrder(t *testing.T) {
	t.Parallel()
	x := apitest.New(t, apitest.Config{Silent: true})
	now := x.DB.Now()
	insert(t, x, job.New{Kind: kind("bulk"), Priority: 5, DueAt: now.Add(-time.Hour)})
	insert(t, x, job.New{Kind: kind("second")})
	insert(t, x, job.New{Kind: kind("first"), DueAt: now.Add(-time.Minute)})
	insert(t, x, job.New{Kind: kind("later"), DueAt: now.Add(time.Hour)})

	order := make(chan string, 10)
	h := job.Handler{Do: func(ctx context.Context, d *db.DB, j job.Job) error {
		order <- j.Kind
		return finish(ctx, d, j)
	}}
	_, _ = run(t, x, job.Config{Workers: 1, Handlers: map[job.Kind]job.Handler{kind("bulk"): h, kind("first"): h, kind("second"): h, kind("later"): h}}, time.Second)
	eventually(t, "the end of the due jobs", func() bool { return len(rows(t, x)) == 1 })

	if got := <-order + " " + <-order + " " + <-order; got != "first second bulk" {
		t.Errorf("ran %s", got)
	}
}

// The first attempt hangs, as in a process that stopped, and its lease ends.
//
// Proves: OPEN-06.
func TestASilentWorkerLosesItsJob(t *testing.T) {
	t.Parallel()
	x := apitest.New(t, apitest.Config{Silent: true})
	insert(t, x, job.New{Kind: kind("k")})

	began, resume, lost := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	_, stop := run(t, x, job.Config{Workers: 1, Handlers: map[job.Kind]job.Handler{kind("k"): {Do: func(ctx context.Context, d *db.DB, j job.Job) error {
		close(began)
		<-resume

		err := d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
			if _, err := tx.Exec(ctx, `update team set company_name = 'kept by the silent worker' where id = @team`, db.Args{"team": tx.Team}); err != nil {
				return err
			}

			return job.Done(ctx, tx, j)
		})
		lost <- err

		return err
	}}}}, time.Second)
	apitest.Receive(t, began)

	if r := rows(t, x)[0]; r.Wait > 55 {
		t.Errorf("a dead worker would keep its job for %v s", r.Wait)
	}

	expire(x)

	attempts := make(chan int16, 10)

	_, _ = run(t, x, job.Config{Workers: 1, Handlers: map[job.Kind]job.Handler{kind("k"): {Do: func(ctx context.Context, d *db.DB, j job.Job) error {
		attempts <- j.Attempt

		close(resume)

		if err := apitest.Receive(t, lost); !errors.Is(err, job.ErrLeaseLost) {
			t.Errorf("the silent worker ended with %v", err)
		}

		return finish(ctx, d, j)
	}}}}, time.Second)
	if n := apitest.Receive(t, attempts); n != 2 {
		t.Errorf("taken again as attempt %d", n)
	}

	eventually(t, "the end of the job", func() bool { return len(rows(t, x)) == 0 })
	stop()
	x.Tx(func(ctx context.Context, tx *db.Tx) error {
		kept, err := db.Get[*string](ctx, tx, `select company_name from team where id = @team`, db.Args{"team": tx.Team})
		if kept != nil {
			t.Error("a worker without a lease has committed")
		}

		return err
	})
}

// A worker can take its own job again after its heartbeat failed; the earlier run must lose it all the same.
func TestAWorkerThatTakesItsOwnJobAgainLosesTheFirstRun(t *testing.T) {
	t.Parallel()
	x := apitest.New(t, apitest.Config{Silent: true})
	insert(t, x, job.New{Kind: kind("k")})

	began, second := make(chan struct{}), make(chan struct{})
	ends := make(chan error, 2)
	_, _ = run(t, x, job.Config{Workers: 2, Handlers: map[job.Kind]job.Handler{kind("k"): {Do: func(ctx context.Context, d *db.DB, j job.Job) error {
		if j.Attempt == 1 {
			close(began)
			apitest.Receive(t, second)

			err := finish(ctx, d, j)
			ends <- err

			return err
		}

		close(second)

		if err := apitest.Receive(t, ends); !errors.Is(err, job.ErrLeaseLost) {
			t.Errorf("the first run ended with %v", err)
		}

		return finish(ctx, d, j)
	}}}}, time.Second)
	apitest.Receive(t, began)
	expire(x)
	eventually(t, "the end of the job", func() bool { return len(rows(t, x)) == 0 })
}

func TestFailuresAreTriedAgainAndThenGivenUp(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		do   func() error
		runs int32
		says string
	}{
		"fails":     {func() error { return errOurs }, 2, "not this time"},
		"panics":    {func() error { panic("out of cheese") }, 2, "out of cheese"},
		"permanent": {func() error { return fmt.Errorf("wrapped: %w", job.Permanent(errOurs)) }, 1, "not this time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := apitest.New(t, apitest.Config{Silent: true})

			var runs atomic.Int32

			causes := make(chan error, 10)
			_, _ = run(t, x, job.Config{Handlers: map[job.Kind]job.Handler{kind("k"): {
				Do: func(context.Context, *db.DB, job.Job) error { runs.Add(1); return c.do() },
				Exhausted: func(ctx context.Context, tx *db.Tx, j job.Job, cause error) error {
					causes <- cause

					_, err := tx.Exec(ctx, `update team set company_name = 'given up' where id = @team`, db.Args{"team": j.TeamID})

					return err
				},
			}}}, time.Second)
			insert(t, x, job.New{Kind: kind("k"), MaxAttempts: 2})
			cause := apitest.Receive(t, causes)
			eventually(t, "the end of the job", func() bool { return len(rows(t, x)) == 0 })

			if runs.Load() != c.runs || !strings.Contains(cause.Error(), c.says) {
				t.Errorf("%d runs, then %v", runs.Load(), cause)
			}

			if job.IsPermanent(cause) != (name == "permanent") {
				t.Errorf("permanent: %v", cause)
			}
		})
	}
}

// lag is how much the real clock may add to the time that Outlast lets pass, on a machine that is busy.
const lag = 10 * time.Minute

// Work on the outside is tried for a day, not for a number of attempts, unless the failure is final or the worker dies
// of it.
func TestWorkOnTheOutsideIsTriedForADay(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		until       time.Duration
		err         error
		died        int
		least, most time.Duration
		gone        bool
	}{
		"away for four seconds": {until: 4 * time.Second, least: 4 * time.Second, most: 10 * time.Second},
		"away for hours":        {until: 23 * time.Hour, least: 23 * time.Hour, most: 24 * time.Hour},
		"away for days":         {until: 72 * time.Hour, least: 24*time.Hour - lag, most: 24*time.Hour + 5*time.Minute, gone: true},
		"final":                 {until: time.Hour, err: job.Permanent(errOurs), gone: true},
		"four deaths":           {until: time.Minute, died: 4, least: time.Minute, most: 3 * time.Minute},
		"five deaths":           {until: time.Minute, died: 5, most: time.Minute, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var (
				passed, runs atomic.Int64
				gone         atomic.Bool
			)

			h := job.Handler{
				Do: func(ctx context.Context, d *db.DB, j job.Job) error {
					runs.Add(1)

					if time.Duration(passed.Load()) >= c.until {
						return finish(ctx, d, j)
					}

					return cmp.Or(c.err, errOurs)
				},
				Exhausted: func(_ context.Context, _ *db.Tx, _ job.Job, cause error) error {
					gone.Store(true)

					if c.died > 0 && !errors.Is(cause, job.ErrWorkerDied) {
						t.Error(cause)
					}

					return nil
				},
			}.OnOutside()
			x := apitest.New(t, apitest.Config{Silent: true, Handlers: map[job.Kind]job.Handler{kind("k"): h}})
			insert(t, x, job.New{Kind: kind("k")})

			total := x.Outlast(func(now time.Duration) {
				if passed.Swap(int64(now)) == 0 && c.died > 0 {
					x.Exec(`update job set attempt = attempt + @died where team_id = @team`, db.Args{"died": c.died})
				}
			})
			if gone.Load() != c.gone || total < c.least || total > c.most {
				t.Errorf("given up: %t, after %v and %d attempts", gone.Load(), total, runs.Load())
			}

			if runs.Load() > 500 {
				t.Errorf("%d attempts", runs.Load())
			}
		})
	}
}

func TestBackoffGrowsToFiveMinutes(t *testing.T) {
	t.Parallel()

	for attempt, want := range map[int]time.Duration{
		-1: 250 * time.Millisecond, 0: 250 * time.Millisecond, 1: 250 * time.Millisecond, 2: 500 * time.Millisecond, 5: 4 * time.Second,
		10: 128 * time.Second, 11: 256 * time.Second, 12: 5 * time.Minute, 1000: 5 * time.Minute,
	} {
		if got := job.Backoff(attempt); got != want {
			t.Errorf("attempt %d waits %v, want %v", attempt, got, want)
		}
	}
}

func TestAFailedJobWaitsBeforeItIsTriedAgain(t *testing.T) {
	t.Parallel()
	x := apitest.New(t, apitest.Config{Silent: true})
	insert(t, x, job.New{Kind: kind("k")})
	x.Exec(`update job set attempt = 3 where team_id = @team`, nil)

	ran := make(chan struct{}, 10)
	_, stop := run(t, x, job.Config{Handlers: map[job.Kind]job.Handler{kind("k"): {Do: func(context.Context, *db.DB, job.Job) error {
		ran <- struct{}{}
		return errOurs
	}}}}, time.Second)
	apitest.Receive(t, ran)
	stop()

	if got := rows(t, x); len(got) != 1 || got[0].Attempt != 4 || !got[0].WorkerID.IsZero() || got[0].Wait <= 0 || got[0].Wait > 2.1 {
		t.Errorf("a failed job waits as %+v", got)
	}
}

// A job that kills its worker every time is given up without being run once more.
func TestAPoisonJobIsGivenUp(t *testing.T) {
	t.Parallel()

	for name, attempts := range map[string]int{"after its attempts": 5, "however often it was tried": 32767} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := apitest.New(t, apitest.Config{Silent: true})
			insert(t, x, job.New{Kind: kind("k")})
			x.Exec(`update job set attempt = @attempts where team_id = @team`, db.Args{"attempts": attempts})

			given := make(chan error, 1)

			_, _ = run(t, x, job.Config{Handlers: map[job.Kind]job.Handler{kind("k"): {
				Do:        func(context.Context, *db.DB, job.Job) error { t.Error("it runs"); return nil },
				Exhausted: func(_ context.Context, _ *db.Tx, _ job.Job, cause error) error { given <- cause; return nil },
			}}}, time.Second)
			if cause := apitest.Receive(t, given); !job.IsPermanent(cause) {
				t.Errorf("given up for %v", cause)
			}

			eventually(t, "the end of the job", func() bool { return len(rows(t, x)) == 0 })
		})
	}
}

func TestGivingUpCanFailWithoutHarm(t *testing.T) {
	t.Parallel()

	for name, end := range map[string]func() error{"error": func() error { return errOurs }, "panic": func() error { panic("twice") }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := apitest.New(t, apitest.Config{Silent: true})
			ended := make(chan struct{}, 10)
			_, _ = run(t, x, job.Config{Handlers: map[job.Kind]job.Handler{
				kind("k"): {
					Do:        func(context.Context, *db.DB, job.Job) error { return job.Permanent(errOurs) },
					Exhausted: func(context.Context, *db.Tx, job.Job, error) error { ended <- struct{}{}; return end() },
				},
				kind("other"): {Do: finish},
			}}, time.Second)
			insert(t, x, job.New{Kind: kind("k")})
			apitest.Receive(t, ended)
			insert(t, x, job.New{Kind: kind("other")})
			eventually(t, "the end of the other job", func() bool { return len(rows(t, x)) == 1 })
		})
	}
}

func TestAnUnknownKindIsLeftToOthers(t *testing.T) {
	t.Parallel()
	x := apitest.New(t, apitest.Config{Silent: true})
	insert(t, x, job.New{Kind: kind("of a newer version")})
	insert(t, x, job.New{Kind: kind("known")})
	_, stop := run(t, x, job.Config{Handlers: map[job.Kind]job.Handler{kind("known"): {Do: finish}}}, time.Second)
	eventually(t, "the end of the known job", func() bool { return len(rows(t, x)) == 1 })
	stop()

	if r := rows(t, x)[0]; r.Attempt != 0 || !r.WorkerID.IsZero() {
		t.Errorf("the other job was taken: %+v", r)
	}
}

func TestBulkWorkHoldsNothingUp(t *testing.T) {
	t.Parallel()

	x := apitest.New(t, apitest.Config{Silent: true})
	for range 5 {
		insert(t, x, job.New{Kind: kind("bulk")})
	}

	release := make(chan struct{})

	var running, most atomic.Int64

	_, _ = run(t, x, job.Config{Workers: 1, BulkWorkers: 2, Handlers: map[job.Kind]job.Handler{
		kind("bulk"): {Lane: job.Bulk, Do: func(ctx context.Context, d *db.DB, j job.Job) error {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)

			<-release

			return finish(ctx, d, j)
		}},
		kind("quick"): {Do: finish},
	}}, time.Second)
	eventually(t, "the start of two", func() bool { return running.Load() == 2 })
	insert(t, x, job.New{Kind: kind("quick")})
	eventually(t, "the end of the quick job", func() bool { return len(rows(t, x)) == 5 })
	close(release)
	eventually(t, "the end of all", func() bool { return len(rows(t, x)) == 0 })

	if most.Load() != 2 {
		t.Errorf("%d bulk jobs ran at a time, want 2", most.Load())
	}
}

// The work of a frozen team waits, what reaches the world outside too, and it costs no attempt. The operation that froze
// the team goes on.
//
// Proves: OPEN-77.
func TestTheWorkOfAFrozenTeamWaits(t *testing.T) {
	t.Parallel()
	x := apitest.New(t, apitest.Config{Silent: true})
	freezing := id.New(x.DB.Now())
	waits := insert(t, x, job.New{Kind: kind("k"), MaxAttempts: 1})
	goesOn := insert(t, x, job.New{Kind: kind("k"), OperationID: freezing})
	x.Exec(`update team set freeze_reason = 'migration', freeze_operation_id = @operation where id = @team`, db.Args{"operation": freezing})

	var (
		mu  sync.Mutex
		ran []id.ID
	)

	run(t, x, job.Config{Handlers: map[job.Kind]job.Handler{kind("k"): {Do: func(ctx context.Context, d *db.DB, j job.Job) error {
		mu.Lock()
		defer mu.Unlock()

		ran = append(ran, j.ID)

		return finish(ctx, d, j)
	}}}}, time.Second)

	eventually(t, "the wait of the job", func() bool {
		left := rows(t, x)
		return len(left) == 1 && left[0].WorkerID.IsZero() && left[0].Wait > 0 && left[0].Attempt == 0
	})

	mu.Lock()
	if len(ran) != 1 || ran[0] != goesOn {
		t.Errorf("ran %v, not only the work of the operation", ran)
	}
	mu.Unlock()

	// After the thaw it is done as if nothing had been.
	x.Exec(`update team set freeze_reason = null, freeze_operation_id = null where id = @team`, nil)
	x.Exec(`update job set due_at = clock_timestamp() where id = @id`, db.Args{"id": waits})
	eventually(t, "the end of the job", func() bool { return len(rows(t, x)) == 0 })
}
