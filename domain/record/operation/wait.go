package operation

import (
	"context"
	"sync"
	"time"

	"stayledger/platform/api"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Channel is the PostgreSQL channel on which processes announce that operations have settled.
const Channel = "stayledger_operation"

const (
	// A settled operation stays unseen for waitPoll at most when its notification is lost.
	waitPoll = 500 * time.Millisecond
	// A waitPause lies between two notifications of a process, and at least between two looks at what has settled.
	waitPause = 10 * time.Millisecond
	// At most waitMost lies between two looks when one was slow.
	waitMost = time.Second
	// A process goes on listening for waitLinger after the last request that waited.
	waitLinger = time.Minute
)

// NewWaker returns the waker that wakes waiting requests of all processes when operations have settled. Pass its
// Wake to DB.SetOnSettled.
func NewWaker(d *db.DB) *db.Waker { return db.NewWaker(d, Channel, waitPause, nil) }

// awaited is an operation that requests wait for.
type awaited struct{ team, operation id.ID }

// waiting has the requests of a process that wait for operations to settle. They share one connection that listens and
// one statement that looks at all of their operations, however many there are.
type waiting struct {
	poll time.Duration
	wake chan struct{}

	mu       sync.Mutex
	open     map[awaited]*settlings
	watching bool
}

// settlings is one operation with the requests that wait for it; settled is closed when it has settled.
type settlings struct {
	requests int
	settled  chan struct{}
}

func newWaiting(poll time.Duration) *waiting {
	return &waiting{poll: poll, wake: make(chan struct{}, 1), open: map[awaited]*settlings{}}
}

// wait returns when the operation has settled, the time is over or the service is about to stop; it fails as the
// context does.
func (w *waiting) wait(ctx context.Context, d *db.DB, one awaited, limit time.Duration) error {
	settled := w.join(d, one)
	defer w.leave(one)

	over := time.NewTimer(limit)
	defer over.Stop()

	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-settled:
	case <-over.C:
	case <-api.Draining(ctx):
	}

	return nil
}

// join registers a request for an operation and starts the watch if none runs. The returned channel is closed when
// the operation has settled.
func (w *waiting) join(d *db.DB, one awaited) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()

	s := w.open[one]
	if s == nil {
		s = &settlings{settled: make(chan struct{})}
		w.open[one] = s
	}

	s.requests++

	if !w.watching {
		w.watching = true
		go w.watch(d)
	}

	w.look() // it can have settled since it was read

	return s.settled
}

// leave removes a request; every join is followed by one leave.
func (w *waiting) leave(one awaited) {
	w.mu.Lock()
	defer w.mu.Unlock()

	s := w.open[one]
	if s.requests--; s.requests == 0 {
		delete(w.open, one)
	}
}

// look wakes the watch, so that it looks at once.
func (w *waiting) look() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// watch looks at the awaited operations whenever one may have settled. It returns when no request has waited for a
// while.
func (w *waiting) watch(d *db.DB) {
	ctx, stop := context.WithCancel(context.Background())

	var listener sync.WaitGroup

	// The listener runs as long as the watch and wakes it on each notification.
	listener.Go(func() { w.listen(ctx, d) })
	defer listener.Wait()
	defer stop()

	for {
		began := time.Now() //nolint:forbidigo // how long a look takes, outside any transaction

		// Look, if there is a request. The time it took decides when the next look may begin at the earliest.
		pause, again := w.poll, waitPause
		if teams, ids := w.openIDs(); len(ids) == 0 {
			pause = waitLinger
		} else {
			w.notify(loadSettled(ctx, d, teams, ids))

			again = pauseAfter(time.Since(began))
		}

		// Sleep until a notification or a new request, or until the poll finds what a lost notification missed.
		select {
		case <-w.wake:
		case <-time.After(pause):
			if w.idle() {
				return
			}
		}

		time.Sleep(time.Until(began.Add(again)))
	}
}

// pauseAfter returns the shortest time from the begin of one look to the next. Looks take at most a tenth of the
// time of one connection, and a slow one delays the next by a second at most.
func pauseAfter(look time.Duration) time.Duration { return min(max(waitPause, 10*look), waitMost) }

// listen waits for notifications and connects again when the connection is lost.
func (w *waiting) listen(ctx context.Context, d *db.DB) {
	for ctx.Err() == nil {
		_ = d.Listen(ctx, Channel, w.look) // without notifications the poll is the bound
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// idle ends the watch if no request waits, and reports whether it did.
func (w *waiting) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.watching = len(w.open) > 0

	return !w.watching
}

// openIDs returns the operations that requests wait for, as parallel slices.
func (w *waiting) openIDs() (teams, ids []id.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()

	for one := range w.open {
		teams, ids = append(teams, one.team), append(ids, one.operation)
	}

	return teams, ids
}

// notify wakes the requests for operations that have settled.
func (w *waiting) notify(settled []awaitedRow) {
	w.mu.Lock()
	defer w.mu.Unlock()

	for _, r := range settled {
		s := w.open[awaited{r.TeamID, r.ID}]
		if s == nil {
			continue
		}

		select {
		case <-s.settled:
		default:
			close(s.settled)
		}
	}
}

type awaitedRow struct{ TeamID, ID id.ID }

// loadSettled returns which of the operations have settled. It looks across teams, at operations that their callers
// have read, and only their ids leave it. If the database does not answer, the next look finds them.
func loadSettled(ctx context.Context, d *db.DB, teams, ids []id.ID) (settled []awaitedRow) {
	_ = d.ReadOne(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		settled, err = db.Select[awaitedRow](ctx, tx, `
			select o.team_id, o.id from unnest(@teams::uuid[], @ids::uuid[]) as w (team_id, id)
			join operation o on o.team_id = w.team_id and o.id = w.id where o.finished_at is not null`, db.Args{"teams": teams, "ids": ids})

		return err
	})

	return settled
}
