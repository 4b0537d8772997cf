package intake

import (
	"context"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/job"
)

// turn is a part of a sync that one job takes in.
type turn struct {
	job  job.Job
	sync *Sync
	// over is closed when others have their turn, which is at an instant at the latest.
	over <-chan struct{}
	ends time.Time
	// took is how long the last step was, and kind what it read: empty for none.
	took time.Duration
	kind string
	// ahead is the next page, which is pulled while the present one is taken in; nil for none.
	ahead *ahead
}

// ahead is a page that is pulled before its step.
type ahead struct {
	at   progress      // where a sync has to go on to need it
	done chan struct{} // closed at the end of the call
	// next is what was pulled, with the error of the call; nil if the call has panicked.
	next *fetched
	err  error
}

// isOver returns true when others have their turn.
func (t *turn) isOver() bool {
	select {
	case <-t.over:
		return true
	default:
		return false
	}
}

// clock notes how long a step was that read a kind, when the returned function is called.
func (t *turn) clock() func(kind string) {
	began := time.Now() //nolint:forbidigo // how long a step is, outside any transaction

	return func(kind string) { t.took, t.kind = time.Since(began), kind }
}

// hasTime returns true if two more steps like the last one, which read a kind, end before the turn does. A page that is
// pulled and not needed is a call too many.
func (t *turn) hasTime(kind string) bool {
	return t.kind == kind && !t.isOver() && 2*t.took < time.Until(t.ends)
}

// pullAhead begins to pull the page after the one that is to be taken in, if that page is of the same kind and will be
// needed in this turn.
func (r *runner) pullAhead(ctx context.Context, d *db.DB, t *turn, f *fetched) {
	if f.kind == "" || f.page.Next == "" || !t.hasTime(f.kind) {
		return
	}

	// The sync as it will be: of the place only the page differs.
	s := *t.sync
	s.Progress.Page = f.page.Next

	a := &ahead{at: s.Progress, done: make(chan struct{})}
	t.ahead = a

	go func() {
		defer close(a.done)

		// A panic would end the process here. The page is pulled again in its step, where the worker takes note of it.
		defer func() {
			if recover() != nil {
				a.next = nil
			}
		}()

		a.next, a.err = r.fetch(ctx, d, t.job.Scope(), &s)
	}()
}

// drop waits for the page that is pulled ahead and returns it, nil for none. Its call is not broken off: it could be the
// one that renews a token.
func (t *turn) drop() *ahead {
	a := t.ahead
	if a == nil {
		return nil
	}

	<-a.done

	t.ahead = nil

	return a
}

// get gets what the next step of a turn takes in: what was pulled ahead, if the sync goes on exactly there. An error of
// that call is one of this step.
func (r *runner) get(ctx context.Context, d *db.DB, t *turn) (*fetched, error) {
	if a := t.drop(); a != nil && a.next != nil && a.at.equal(&t.sync.Progress) {
		return a.next, a.err
	}

	return r.fetch(ctx, d, t.job.Scope(), t.sync)
}
