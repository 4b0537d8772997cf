package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Handler does the jobs of one kind.
type Handler struct {
	// Timeout bounds one attempt; zero means a minute.
	Timeout time.Duration
	// Lane is where the jobs find a place; the zero value is Quick.
	Lane Lane
	// TryFor is how long failed attempts are followed by others, counted from the first failure, however many they are;
	// then it takes the place of the job's MaxAttempts, which only bound how often the worker may die in a row.
	TryFor time.Duration
	// Exclusive marks work that changes data from which many journals are derived: no other write of the team runs at
	// the same time as its transactions.
	Exclusive bool
	// Ungated marks work that takes minutes in one transaction and relies on nothing that exclusive work changes:
	// neither waits for the other.
	Ungated bool
	// Do does the work and must call Done in the transaction that keeps the outcome. It runs at least once.
	Do func(ctx context.Context, d *db.DB, j Job) error
	// Exhausted runs in the transaction that gives the job up, after its last attempt or a permanent failure. It may be
	// nil.
	Exhausted func(ctx context.Context, tx *db.Tx, j Job, cause error) error
}

// Lane is a part of the work that has its own places, so that the other parts never wait for it.
type Lane string

// The lanes. Jobs of Bulk and Rendering fill the machine by themselves, so a few of them run at a time: a refresh of
// journals does not wait for exports, nor they for it.
const (
	Quick     Lane = "quick"
	Bulk      Lane = "bulk"
	Rendering Lane = "rendering"
)

// In returns the handler with its jobs in a lane.
func (h Handler) In(l Lane) Handler {
	h.Lane = l
	return h
}

// InBulk returns the handler for bulk work.
func (h Handler) InBulk() Handler { return h.In(Bulk) }

// OnOutside returns the handler for work with the outside world that no request waits for: it is tried for
// OutsideTime.
func (h Handler) OnOutside() Handler {
	h.TryFor = OutsideTime
	return h
}

// spent reports that a failed attempt is the last one.
func (h *Handler) spent(j *Job) bool {
	if h.TryFor > 0 {
		return j.Trying >= h.TryFor && j.Attempt >= DefaultMaxAttempts
	}

	return j.Attempt >= j.MaxAttempts
}

// Exclusively returns the handler for work that excludes all other writes of the team.
func (h Handler) Exclusively() Handler {
	h.Exclusive = true
	return h
}

// WithoutGate returns the handler for work that neither waits for exclusive work nor keeps it waiting.
func (h Handler) WithoutGate() Handler {
	h.Ungated = true
	return h
}

// Every is a job that the service repeats by itself; one worker among all processes runs it.
type Every struct {
	Name     string
	Interval time.Duration
	Do       func(ctx context.Context, d *db.DB) error
}

// Config of a worker process.
type Config struct {
	DB  *db.DB
	Log *slog.Logger
	// Workers is how many jobs of one team run at a time in the lane of quick work; BulkWorkers is how many do in each
	// of the others, zero means one for each processor. A quarter more, rounded up, is kept for other teams: see
	// package fair.
	Workers     int
	BulkWorkers int
	Handlers    map[Kind]Handler
	Every       []Every
	// GiveUp, unless nil, runs in the transaction that gives up a job of a kind that has no handler, after a quarter of
	// an hour.
	GiveUp func(ctx context.Context, tx *db.Tx, j Job, cause error) error
	// Poll is how long work can stay unseen when a wake-up is lost; zero means half a second.
	Poll time.Duration
	// Only, unless zero, is the only team that jobs are taken of: for a worker dedicated to it, and for tests that
	// share a database.
	Only id.ID
	// Started is called, a moment after the claim, with the jobs that still run.
	Started func(ctx context.Context, jobs []Job, at time.Time) error
	// Attempt, unless nil, is called for every attempt. The context that it returns is the attempt's; the function that
	// it returns is called with the error of the attempt, nil when the work is done.
	Attempt func(ctx context.Context, j Job) (context.Context, func(error))
}

// Worker claims and runs jobs. Any number of workers, in any number of processes, share one database.
type Worker struct {
	Config
	id       id.ID
	lanes    []*lane
	handlers map[string]Handler // by the names of their kinds
	mu       sync.Mutex
	running  map[id.ID]Job
	busy     sync.WaitGroup
}

const channel = "stayledger_job"

// startedDelay is how long work must last to be marked as begun: a mark on work that ends at once would cost as much as
// its end.
const startedDelay = 50 * time.Millisecond

// stopDelay is how long stopped jobs may take to let go of their rows.
const stopDelay = time.Second

// NewWorker returns a worker; Run starts it.
func NewWorker(c Config) *Worker {
	if c.Poll == 0 {
		c.Poll = 500 * time.Millisecond
	}

	if c.BulkWorkers == 0 {
		c.BulkWorkers = runtime.GOMAXPROCS(0)
	}

	// Each lane knows the kinds of its jobs; a handler without a lane is quick.
	w := &Worker{Config: c, id: id.New(c.DB.Now()), handlers: map[string]Handler{}, running: map[id.ID]Job{}}
	kinds := map[Lane][]string{}

	for kind, h := range c.Handlers {
		l := cmp.Or(h.Lane, Quick)
		kinds[l] = append(kinds[l], kind.name)
		w.handlers[kind.name] = h
	}

	// Each lane has places of its own, so that long work does not keep quick work waiting.
	for l, kinds := range kinds {
		places := c.BulkWorkers
		if l == Quick {
			places = c.Workers
		}

		w.lanes = append(w.lanes, newLane(kinds, places))
	}

	return w
}

// Wake makes the worker look for work of some kinds at once, or of all without any.
func (w *Worker) Wake(kinds ...string) {
	for _, l := range w.lanes {
		if len(kinds) == 0 || slices.ContainsFunc(kinds, l.does) {
			l.look()
		}
	}
}

// NewWaker returns the waker that announces new work to the workers of all processes. If local is not nil, it wakes
// this process's own worker directly; such a process waits a moment before it notifies others, so that a busy
// process does not notify for every request.
func NewWaker(d *db.DB, local func(kinds ...string)) *db.Waker {
	pause := time.Millisecond
	if local != nil {
		pause = 20 * time.Millisecond
	}

	return db.NewWaker(d, channel, pause, local)
}

// Run works until the context ends, then waits up to grace for the jobs in hand and gives the rest back.
func (w *Worker) Run(ctx context.Context, grace time.Duration) {
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()

	// What runs next to the lanes: it goes on until the lanes have stopped claiming.
	var helpers sync.WaitGroup
	helpers.Go(func() { w.listen(ctx) })
	helpers.Go(func() { w.heartbeat(working) })
	helpers.Go(func() { w.watchStrays(ctx) })

	for _, e := range w.Every {
		helpers.Go(func() { w.repeat(ctx, e) })
	}

	// The lanes claim jobs until the context ends.
	var claiming sync.WaitGroup
	for _, l := range w.lanes {
		claiming.Go(func() { w.claimLoop(ctx, working, l) })
	}

	claiming.Wait()
	<-ctx.Done()

	// The context has ended: no new jobs; let those in hand finish.
	done := make(chan struct{})

	go func() { w.busy.Wait(); close(done) }()

	select {
	case <-done:
	case <-time.After(grace):
	}

	// Stop jobs that run longer than the grace, and return them to the queue.
	unfinished := w.inHand() // ask before they are stopped: a job that ends because of that is not done

	stop()

	select {
	case <-done:
	case <-time.After(stopDelay):
	}

	w.giveBack(unfinished)
	helpers.Wait()
}

// claimLoop claims jobs of a lane and starts them until ctx is done.
func (w *Worker) claimLoop(ctx, working context.Context, l *lane) {
	for ctx.Err() == nil {
		// Not with ctx: a claim that commits while the worker is stopped would leave jobs with a lease but no worker.
		jobs, more, err := w.claim(working, l)
		if err != nil && ctx.Err() == nil {
			w.Log.Error("claim jobs", "error", err)
		}

		if len(jobs) > 0 {
			w.start(working, l, jobs)
		}

		// A claim takes all that is due and has a place, unless it met too many teams to ask each of them.
		if more {
			continue
		}

		// Wait for a notification, for a place that somebody may wait for, or until the next poll.
		select {
		case <-ctx.Done():
		case <-l.wake:
		case <-time.After(w.Poll):
		}
	}
}

// freeze selects the freeze of the team of a job c that the job must wait for.
const freeze = `select from team t where t.id = c.team_id and t.freeze_reason is not null and t.freeze_operation_id is distinct from c.operation_id`

// Jobs of a kind that this process does not know are left alone (see watchStrays).
const claimJobs = `
	select id, team_id, coalesce((select t.time_zone from team t where t.id = c.team_id), '') as zone, kind, args, actor_id, actor_type, action_id, operation_id, priority, attempt, max_attempts, due_at, created_at,
		coalesce(clock_timestamp() - tried_at, interval '0') as trying,
		exists (` + freeze + `) as is_frozen
	from job_claim(@worker, @lease, @kinds, @only, @after, @places, @busy::uuid[], @held::int[]) c`

// claim takes due jobs for the free places of a lane. It reports whether more may be due that have a place.
func (w *Worker) claim(ctx context.Context, l *lane) (jobs []Job, more bool, err error) {
	free, busy, held := l.state()
	if free == 0 {
		return nil, false, nil
	}

	err = w.DB.WriteLazily(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		jobs, err = db.Select[Job](ctx, tx, claimJobs, db.Args{
			"worker": w.id, "lease": Lease, "kinds": l.kinds, "only": w.Only, "after": l.after, "places": free, "busy": busy, "held": held,
		})

		return err
	})
	if err != nil {
		return nil, false, err
	}

	// The places are taken only after the claim is committed. A claim asks as many teams as there are places.
	l.occupy(jobs)

	return jobs, len(jobs) > 0 && l.teams() >= free, nil
}

// start runs claimed jobs, each in a goroutine.
func (w *Worker) start(ctx context.Context, l *lane, jobs []Job) {
	at := w.DB.Now()

	// Registered before it runs, so that the heartbeat renews its lease.
	w.mu.Lock()
	for i := range jobs {
		jobs[i].worker, jobs[i].StartedAt = w.id, at
		w.running[jobs[i].ID] = jobs[i]
	}
	w.mu.Unlock()
	w.busy.Add(len(jobs))

	for _, j := range jobs {
		go w.do(ctx, l, j)
	}

	// Most jobs end before the delay is over; only the others are worth an update.
	if w.Started != nil {
		w.busy.Add(1)
		time.AfterFunc(startedDelay, func() { defer w.busy.Done(); w.tellStarted(ctx, jobs, at) })
	}
}

// tellStarted calls Started for those of jobs that still run.
func (w *Worker) tellStarted(ctx context.Context, jobs []Job, at time.Time) {
	still := make([]Job, 0, len(jobs))

	// Jobs that have ended meanwhile, and those without an operation, need no mark.
	w.mu.Lock()
	for _, j := range jobs {
		if _, ok := w.running[j.ID]; ok && !j.OperationID.IsZero() {
			still = append(still, j)
		}
	}
	w.mu.Unlock()

	if len(still) == 0 {
		return
	}

	if err := protect(ctx, func(ctx context.Context) error { return w.Started(ctx, still, at) }); err != nil {
		w.Log.Warn("mark operations as running", "error", err)
	}
}

// do runs one attempt of a job.
func (w *Worker) do(ctx context.Context, l *lane, j Job) {
	var failure error

	defer w.busy.Done()
	defer func() {
		w.mu.Lock()
		if w.running[j.ID].Attempt == j.Attempt { // else this worker lost the lease and took the job again
			delete(w.running, j.ID)
		}
		w.mu.Unlock()
		l.release(j.TeamID)
	}()

	h := w.handlers[j.Kind]

	j.exclusive, j.ungated = h.Exclusive, h.Ungated
	if h.Timeout == 0 {
		h.Timeout = time.Minute
	}

	// Trace the attempt, whatever becomes of it.
	if w.Attempt != nil {
		var ended func(error)

		ctx, ended = w.Attempt(ctx, j)
		defer func() { ended(failure) }()
	}

	// A frozen team waits, and so does what reaches the world outside for it.
	if j.IsFrozen {
		w.postpone(ctx, j)
		return
	}

	// The last attempt ended with its worker, so it is over.
	if j.Attempt > j.MaxAttempts {
		failure = Permanent(ErrWorkerDied)
		w.finish(ctx, j, h, failure)

		return
	}

	// A job that has settled itself succeeds, and so does a job with a lease that another worker has by now.
	attempt, cancel := context.WithTimeout(ctx, h.Timeout)
	failure = protect(attempt, func(ctx context.Context) error { return h.Do(ctx, w.DB, j) })

	cancel()

	switch {
	case failure == nil || LeaseLost(failure):
	case db.FreezeReason(failure) != "":
		w.postpone(ctx, j)
	default:
		w.finish(ctx, j, h, failure)
	}
}

// freezePause is how long the work of a frozen team waits until it is looked at again.
const freezePause = 10 * time.Second

// postpone gives a job of a frozen team back for later. It is no attempt.
func (w *Worker) postpone(ctx context.Context, j Job) {
	if ctx.Err() != nil {
		return // shutting down: giveBack returns it
	}

	err := w.DB.WriteLazily(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `update job set worker_id = null, due_at = clock_timestamp() + @wait::interval, attempt = attempt - 1
			where id = @id and worker_id = @worker and attempt = @attempt`,
			db.Args{"wait": freezePause, "id": j.ID, "worker": w.id, "attempt": j.Attempt})

		return err
	})
	if err != nil {
		w.Log.Error("postpone a job of a frozen team", "job", j.ID, "error", err)
	}
}

func protect(ctx context.Context, f func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()

	return f(ctx)
}

// finish gives a failed job back for another attempt, or gives it up.
func (w *Worker) finish(ctx context.Context, j Job, h Handler, cause error) {
	if ctx.Err() != nil {
		return // shutting down: giveBack returns it without counting the attempt
	}

	final := IsPermanent(cause) || h.spent(&j)
	w.Log.ErrorContext(ctx, "job failed", "kind", j.Kind, "job", j.ID, "operation", j.OperationID, "attempt", j.Attempt, "final", final, "error", cause)

	// Giving up works for the team; returning a job is work of the queue.
	scope := j.Scope()
	if !final {
		scope = db.AcrossTeams()
	}

	record := func(ctx context.Context, tx *db.Tx) error {
		if !final {
			_, err := tx.Exec(ctx, `update job set worker_id = null, due_at = clock_timestamp() + @wait::interval,
				tried_at = coalesce(tried_at, clock_timestamp()),
				max_attempts = case when @outlasts then least(attempt::integer + @deaths, 32767) else max_attempts end
				where id = @id and worker_id = @worker and attempt = @attempt`, db.Args{
				"wait": max(pause(int(j.Attempt)), untilReady(cause, w.DB.Now())), "outlasts": h.TryFor > 0, "deaths": DefaultMaxAttempts,
				"id": j.ID, "worker": w.id, "attempt": j.Attempt,
			})

			return err
		}

		// The handler writes the final failure in the transaction that ends the job.
		if h.Exhausted != nil {
			if err := h.Exhausted(ctx, tx, j, cause); err != nil {
				return err
			}
		}

		return Done(ctx, tx, j)
	}

	err := protect(ctx, func(ctx context.Context) error { return w.DB.Write(ctx, scope, record) })
	if err != nil && !LeaseLost(err) {
		w.Log.Error("record job failure", "job", j.ID, "error", err)
	}
}

// Backoff returns the wait before the next attempt: a quarter of a second, doubled each time, at most five minutes.
func Backoff(attempt int) time.Duration {
	return min(250*time.Millisecond<<min(max(attempt-1, 0), 20), 5*time.Minute)
}

// mostReady bounds how long work waits for somebody who says until when.
const mostReady = time.Hour

// untilReady returns how long somebody outside wants not to be asked again, if the error of an attempt says so with a
// method RetryAt; zero otherwise.
func untilReady(cause error, now time.Time) time.Duration {
	var said interface{ RetryAt() time.Time }
	if !errors.As(cause, &said) || said.RetryAt().IsZero() {
		return 0
	}

	return min(max(said.RetryAt().Sub(now), 0), mostReady)
}

// pause returns the wait, or up to a quarter less, so that jobs that failed together do not come back together.
func pause(attempt int) time.Duration {
	wait := Backoff(attempt)
	return wait - rand.N(wait/4) //nolint:gosec // guessing it is of no use
}

// mine selects the jobs that a worker holds, except locked ones: they are about to end, no other worker can claim them
// meanwhile, and waiting for one would let the leases of all the others run out.
const mine = `select id from job where id = any(@ids) and worker_id = @worker for update skip locked`

// heartbeat renews the leases of the jobs in hand.
func (w *Worker) heartbeat(ctx context.Context) {
	tick := time.NewTicker(Lease / 3)
	defer tick.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}

		ids := w.inHand()
		if len(ids) == 0 {
			continue
		}

		// A failure is not final: the next beat comes before the leases end.
		err := w.DB.WriteLazily(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, `update job set due_at = clock_timestamp() + @lease::interval where id in (`+mine+`)`,
				db.Args{"lease": Lease, "ids": ids, "worker": w.id})

			return err
		})
		if err != nil && ctx.Err() == nil {
			w.Log.Error("renew job leases", "error", err)
		}
	}
}

// inHand returns the jobs that run here.
func (w *Worker) inHand() []id.ID {
	w.mu.Lock()
	defer w.mu.Unlock()

	ids := make([]id.ID, 0, len(w.running))
	for v := range w.running {
		ids = append(ids, v)
	}

	return ids
}

// giveBack returns unfinished jobs to the queue without counting the attempt, so that another worker takes them at
// once.
func (w *Worker) giveBack(ids []id.ID) {
	if len(ids) == 0 {
		return
	}

	// The context of the worker has ended by now, so this one is new.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	err := w.DB.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		tx.MarkQueued("") // this process claims no more, and others are woken whatever the kind
		_, err := tx.Exec(ctx, `update job set worker_id = null, due_at = clock_timestamp(), attempt = attempt - 1 where id in (`+mine+`)`,
			db.Args{"ids": ids, "worker": w.id})

		return err
	})
	if err != nil {
		w.Log.Error("give jobs back", "error", err)
	}
}

// listen wakes the worker when PostgreSQL notifies it of new jobs. A lost connection is opened again after a
// second.
func (w *Worker) listen(ctx context.Context) {
	for ctx.Err() == nil {
		err := w.DB.Listen(ctx, channel, func() { w.Wake() })
		if ctx.Err() != nil {
			return
		}

		w.Log.Warn("job notifications lost; polling meanwhile", "error", err)

		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// repeat runs a periodic task in whichever process gets to it first: the row of the task is the lock and the clock.
func (w *Worker) repeat(ctx context.Context, e Every) {
	tick := time.NewTicker(e.Interval)
	defer tick.Stop()

	for {
		if err := w.once(ctx, e); err != nil && ctx.Err() == nil {
			w.Log.Error("periodic task", "task", e.Name, "error", err)
		}

		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// once runs a periodic task if it is due and no other process has run it.
func (w *Worker) once(ctx context.Context, e Every) error {
	// Only the process that moves the clock of the task runs it. The interval is a tenth shorter, so that a tick
	// that comes a little early still counts.
	due := false

	err := w.DB.WriteLazily(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		n, err := tx.Exec(ctx, `
			insert into job_schedule as s (name, next_at) values (@name, clock_timestamp() + @interval::interval)
			on conflict (name) do update set next_at = excluded.next_at where s.next_at <= clock_timestamp()`,
			db.Args{"name": e.Name, "interval": e.Interval - e.Interval/10})
		due = n > 0

		return err
	})
	if err != nil || !due {
		return err
	}

	return protect(ctx, func(ctx context.Context) error { return e.Do(ctx, w.DB) })
}
