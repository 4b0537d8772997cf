package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Handler does the jobs of one kind.
type Handler struct {
	// Timeout bounds one attempt; zero means a minute.
	Timeout time.Duration
	// Bulk marks work that fills the machine by itself: a few such jobs run at a time, in a lane of their own that other work never waits for.
	Bulk bool
	// Do does the work and must call Done in the transaction that keeps the outcome. It runs at least once.
	Do func(ctx context.Context, d *db.DB, j Job) error
	// Exhausted runs in the transaction that gives the job up, after its last attempt or a permanent failure. It may be nil.
	Exhausted func(ctx context.Context, tx *db.Tx, j Job, cause error) error
}

// InBulk is the handler for bulk work.
func (h Handler) InBulk() Handler {
	h.Bulk = true
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
	// Workers is how many jobs run at a time, bulk work aside; BulkWorkers is how many of bulk work do, zero means one for each processor.
	Workers     int
	BulkWorkers int
	Handlers    map[string]Handler
	Every       []Every
	// Poll is how long work can stay unseen when a wake-up is lost; zero means half a second.
	Poll time.Duration
	// Only, unless zero, is the one team whose jobs are taken: for a worker dedicated to it, and for tests that share a database.
	Only id.ID
	// Started is told, a moment after the claim, which jobs are still being worked on.
	Started func(ctx context.Context, jobs []Job, at time.Time) error
}

// Worker claims and runs jobs. Any number of workers, in any number of processes, share one database.
type Worker struct {
	Config
	id      id.ID
	lanes   []*lane
	mu      sync.Mutex
	running map[id.ID]Job
	busy    sync.WaitGroup
}

// lane is a part of the work that has its own places: jobs of some kinds.
type lane struct {
	kinds []string
	slots chan struct{}
	wake  chan struct{}
}

const channel = "stayledger_job"

// startedDelay is how long work must last to be marked as begun: a mark on work that ends at once would cost as much as its end.
const startedDelay = 50 * time.Millisecond

// stopDelay is how long jobs that were told to stop may take to let go of their rows.
const stopDelay = time.Second

// NewWorker prepares a worker; Run starts it.
func NewWorker(c Config) *Worker {
	if c.Poll == 0 {
		c.Poll = 500 * time.Millisecond
	}
	if c.BulkWorkers == 0 {
		c.BulkWorkers = runtime.GOMAXPROCS(0)
	}
	quick := &lane{slots: make(chan struct{}, c.Workers), wake: make(chan struct{}, 1)}
	bulk := &lane{slots: make(chan struct{}, c.BulkWorkers), wake: make(chan struct{}, 1)}
	for kind, h := range c.Handlers {
		l := quick
		if h.Bulk {
			l = bulk
		}
		l.kinds = append(l.kinds, kind)
	}
	w := &Worker{Config: c, id: id.New(c.DB.Now()), running: map[id.ID]Job{}}
	for _, l := range []*lane{quick, bulk} {
		if l.kinds != nil {
			w.lanes = append(w.lanes, l)
		}
	}
	return w
}

// Wake makes the worker look for work at once.
func (w *Worker) Wake() {
	for _, l := range w.lanes {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// Waker tells the workers of all processes about new work. Wake never blocks and many calls become one notification.
type Waker struct {
	db    *db.DB
	local func()
	ring  chan struct{}
}

// NewWaker makes a waker; local, which may be nil, wakes this process's own worker directly.
func NewWaker(d *db.DB, local func()) *Waker {
	return &Waker{db: d, local: local, ring: make(chan struct{}, 1)}
}

// Wake announces new work.
func (k *Waker) Wake() {
	if k.local != nil {
		k.local()
	}
	select {
	case k.ring <- struct{}{}:
	default:
	}
}

// Run sends the notifications until the context ends. A process whose own worker hears of new work directly leaves others to it for
// a moment, so that a busy process does not notify for every request.
func (k *Waker) Run(ctx context.Context) {
	pause := time.Millisecond
	if k.local != nil {
		pause = 20 * time.Millisecond
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.ring:
			_ = k.db.Notify(ctx, channel) // workers poll as well
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
		}
	}
}

// Run works until the context ends, then waits for the jobs in hand up to grace and gives the rest back.
func (w *Worker) Run(ctx context.Context, grace time.Duration) {
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var helpers sync.WaitGroup
	helpers.Go(func() { w.listen(ctx) })
	helpers.Go(func() { w.heartbeat(working) })
	for _, e := range w.Every {
		helpers.Go(func() { w.repeat(ctx, e) })
	}
	var claiming sync.WaitGroup
	for _, l := range w.lanes {
		claiming.Go(func() { w.claimLoop(ctx, working, l) })
	}
	claiming.Wait()
	<-ctx.Done()
	done := make(chan struct{})
	go func() { w.busy.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(grace):
	}
	unfinished := w.inHand() // before they are stopped: a job that ends by that is no longer in hand, yet not done
	stop()
	select {
	case <-done:
	case <-time.After(stopDelay):
	}
	w.giveBack(unfinished)
	helpers.Wait()
}

func (w *Worker) claimLoop(ctx, working context.Context, l *lane) {
	for ctx.Err() == nil {
		free := l.takeSlots(ctx)
		if free == 0 {
			return
		}
		// Not with ctx: a claim that commits while the worker is told to stop would leave jobs leased to nobody.
		jobs, err := w.claim(working, l, free)
		if err != nil && ctx.Err() == nil {
			w.Log.Error("claim jobs", "error", err)
		}
		for range free - len(jobs) {
			<-l.slots
		}
		if len(jobs) > 0 {
			w.start(working, l, jobs)
			continue
		}
		select {
		case <-ctx.Done():
		case <-l.wake:
		case <-time.After(w.Poll):
		}
	}
}

// takeSlots waits for one free slot and takes all that are free.
func (l *lane) takeSlots(ctx context.Context) int {
	select {
	case <-ctx.Done():
		return 0
	case l.slots <- struct{}{}:
	}
	n := 1
	for {
		select {
		case l.slots <- struct{}{}:
			n++
		default:
			return n
		}
	}
}

// claimJobs takes the due jobs. The selection stands in a WITH because a plan may run a subquery with a limit more than once and so lock,
// and take, more rows than there are free slots. The attempt saturates: an overflow would fail the claims of all jobs. Jobs of a kind that
// this process does not know are left alone: a newer version of the service, running beside it, knows them.
const claimJobs = `
	with due as materialized (
		select id from job where due_at <= clock_timestamp() and kind = any(@kinds) and (@only::uuid is null or team_id = @only)
		order by priority, due_at, id limit @n for update skip locked)
	update job j set worker_id = @worker, due_at = clock_timestamp() + @lease::interval, attempt = least(j.attempt + 1, 32767)
	from due where j.id = due.id
	returning j.id, j.team_id, j.kind, j.args, j.actor_id, j.operation_id, j.priority, j.attempt, j.max_attempts, j.due_at, j.created_at`

func (w *Worker) claim(ctx context.Context, l *lane, n int) ([]Job, error) {
	var jobs []Job
	err := w.DB.WriteLazily(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		jobs, err = db.Select[Job](ctx, tx, claimJobs, db.Args{
			"worker": w.id, "lease": Lease, "n": n, "only": w.Only, "kinds": l.kinds,
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return jobs, nil
}

func (w *Worker) start(ctx context.Context, l *lane, jobs []Job) {
	at := w.DB.Now()
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
	if w.Started != nil {
		w.busy.Add(1)
		time.AfterFunc(startedDelay, func() { defer w.busy.Done(); w.tellStarted(ctx, jobs, at) })
	}
}

func (w *Worker) tellStarted(ctx context.Context, jobs []Job, at time.Time) {
	still := make([]Job, 0, len(jobs))
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

func (w *Worker) do(ctx context.Context, l *lane, j Job) {
	defer w.busy.Done()
	defer func() {
		w.mu.Lock()
		if w.running[j.ID].Attempt == j.Attempt { // else this worker lost the lease and took the job again
			delete(w.running, j.ID)
		}
		w.mu.Unlock()
		<-l.slots
	}()
	h := w.Handlers[j.Kind]
	if h.Timeout == 0 {
		h.Timeout = time.Minute
	}
	if j.Attempt > j.MaxAttempts {
		w.finish(ctx, j, h, Permanent(errors.New("the worker died during every attempt")))
		return
	}
	attempt, cancel := context.WithTimeout(ctx, h.Timeout)
	err := protect(attempt, func(ctx context.Context) error { return h.Do(ctx, w.DB, j) })
	cancel()
	if err != nil && !LeaseLost(err) {
		w.finish(ctx, j, h, err)
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
	final := IsPermanent(cause) || j.Attempt >= j.MaxAttempts
	w.Log.Error("job failed", "kind", j.Kind, "job", j.ID, "operation", j.OperationID, "attempt", j.Attempt, "final", final, "error", cause)
	scope := j.Scope()
	if !final {
		scope = db.AcrossTeams()
	}
	record := func(ctx context.Context, tx *db.Tx) error {
		if !final {
			_, err := tx.Exec(ctx, `update job set worker_id = null, due_at = clock_timestamp() + @wait::interval
				where id = @id and worker_id = @worker and attempt = @attempt`,
				db.Args{"wait": Backoff(int(j.Attempt)), "id": j.ID, "worker": w.id, "attempt": j.Attempt})
			return err
		}
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

// Backoff is the wait before the next attempt: a quarter of a second, doubled each time, at most five minutes.
func Backoff(attempt int) time.Duration {
	return min(250*time.Millisecond<<min(max(attempt-1, 0), 20), 5*time.Minute)
}

// mine selects the jobs that a worker holds, save those whose row is locked: they are about to end, nobody can claim them meanwhile, and
// waiting for one would let the leases of all the others run out.
const mine = `select id from job where id = any(@ids) and worker_id = @worker for update skip locked`

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

func (w *Worker) inHand() []id.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := make([]id.ID, 0, len(w.running))
	for v := range w.running {
		ids = append(ids, v)
	}
	return ids
}

// giveBack returns unfinished jobs to the queue without counting the attempt, so that another worker takes them at once.
func (w *Worker) giveBack(ids []id.ID) {
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := w.DB.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		tx.MarkQueued()
		_, err := tx.Exec(ctx, `update job set worker_id = null, due_at = clock_timestamp(), attempt = attempt - 1 where id in (`+mine+`)`,
			db.Args{"ids": ids, "worker": w.id})
		return err
	})
	if err != nil {
		w.Log.Error("give jobs back", "error", err)
	}
}

func (w *Worker) listen(ctx context.Context) {
	for ctx.Err() == nil {
		err := w.DB.Listen(ctx, channel, w.Wake)
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

func (w *Worker) once(ctx context.Context, e Every) error {
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
