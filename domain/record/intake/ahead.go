package intake

import (
	"context"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/job"
)

// turn is the part of a sync that one job takes in.
type turn struct {
	job  job.Job
	sync *Sync
	// over is closed when other jobs get their turn, at ends at the latest.
	over <-chan struct{}
	ends time.Time
	// took is how long the last step took, and kind the kind it read; empty if it read none.
	took time.Duration
	kind string
	// ahead is the next page, pulled while the present page is taken in; nil without such a call.
	ahead *ahead
}

// ahead is a page that is pulled before its step.
type ahead struct {
	at   progress      // the place from which a sync would read this page
	done chan struct{} // closed at the end of the call
	// next is the pulled page, with the error of the call; nil if the call has panicked.
	next *fetched
	err  error
}

// isOver reports whether other jobs get their turn now.
func (t *turn) isOver() bool {
	select {
	case <-t.over:
		return true
	default:
		return false
	}
}

// clock starts measuring a step; calling the returned function with the kind that the step read ends it.
func (t *turn) clock() func(kind string) {
	began := time.Now() //nolint:forbidigo // how long a step is, outside any transaction

	return func(kind string) { t.took, t.kind = time.Since(began), kind }
}

// hasTime reports whether two more steps like the last one, which must have read this kind, end before the turn does.
// Otherwise the page might be pulled for nothing.
func (t *turn) hasTime(kind string) bool {
	return t.kind == kind && !t.isOver() && 2*t.took < time.Until(t.ends)
}

// pullAhead starts pulling the page after f, if it has the same kind and this turn will need it.
func (r *runner) pullAhead(ctx context.Context, d *db.DB, t *turn, f *fetched) {
	if f.kind == "" || f.page.Next == "" || !t.hasTime(f.kind) {
		return
	}

	// Where the sync will go on after f: only the page of its progress differs.
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

// drop waits for the page being pulled ahead and returns it, nil without such a call. It does not cancel the call: it
// could be renewing a token.
func (t *turn) drop() *ahead {
	a := t.ahead
	if a == nil {
		return nil
	}

	<-a.done

	t.ahead = nil

	return a
}

// nextPage returns the input of the next step: the page pulled ahead, if the sync goes on exactly there, else a page
// pulled now. An error of the earlier call counts as an error of this step.
func (r *runner) nextPage(ctx context.Context, d *db.DB, t *turn) (*fetched, error) {
	if a := t.drop(); a != nil && a.next != nil && a.at.equal(&t.sync.Progress) {
		return a.next, a.err
	}

	return r.fetch(ctx, d, t.job.Scope(), t.sync)
}
