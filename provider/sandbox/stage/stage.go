// Package stage has the parts that all sandboxes share: points that requests pass and that tests wait for, requests
// that are held until they are released, faults that a number of requests meet, and the calls that control all that.
package stage

import (
	"context"
	"sync"
	"time"
)

// Point is a place on the way of a request.
type Point string

// The points, in their order. Held requests wait before they are recorded or before they are answered.
const (
	Received   Point = "received"
	HeldBefore Point = "heldBefore"
	Recorded   Point = "recorded"
	HeldAfter  Point = "heldAfter"
	Answering  Point = "answering"
	Answered   Point = "answered"
	Dropped    Point = "dropped"
	CalledBack Point = "calledBack"
)

// Event says that a request, or a callback, has reached a point.
type Event[On ~string] struct {
	Sequence int    `json:"sequence"` // from 1
	Point    Point  `json:"point"`
	On       On     `json:"on,omitempty"` // the kind of request
	Key      string `json:"key,omitempty"`
}

// Log keeps the events of a sandbox with requests of the kinds On, and holds requests at points. The end of its context
// releases them for good.
type Log[On ~string] struct {
	ctx  context.Context //nolint:containedctx // The life of the sandbox, which outlasts its requests.
	seen func(Event[On])

	mu      sync.Mutex
	events  []Event[On]
	news    chan struct{} // closed when an event is added
	release chan struct{} // closed to let held requests continue
}

// NewLog makes a log that lasts as long as ctx. It calls seen with every event, unless it is nil, from the
// goroutine in which the event happens.
func NewLog[On ~string](ctx context.Context, seen func(Event[On])) *Log[On] {
	return &Log[On]{ctx: ctx, seen: seen, news: make(chan struct{}), release: make(chan struct{})}
}

// Reach notes that a request has arrived at a point.
func (l *Log[On]) Reach(p Point, on On, key string) {
	l.mu.Lock()
	e := Event[On]{Sequence: len(l.events) + 1, Point: p, On: on, Key: key}
	l.events = append(l.events, e)

	// Closing wakes everybody who waits; the next event needs a new channel.
	close(l.news)
	l.news = make(chan struct{})
	l.mu.Unlock()

	// Called without the lock, so that seen may ask the log.
	if l.seen != nil {
		l.seen(e)
	}
}

// Await returns the first event after a sequence number that is of the point (of any point if p is empty). It waits
// for it as long as ctx and the sandbox last.
func (l *Log[On]) Await(ctx context.Context, p Point, after int) (Event[On], error) {
	for {
		l.mu.Lock()

		// First, search the events that are there. The channel is read under the same lock, so no event is lost
		// between the search and the wait.
		news := l.news
		for _, e := range l.events[min(max(after, 0), len(l.events)):] {
			if p == "" || e.Point == p {
				l.mu.Unlock()
				return e, nil
			}
		}

		// Nothing fits so far: the next round looks at new events only.
		after = len(l.events)
		l.mu.Unlock()

		select {
		case <-news:
		case <-ctx.Done():
			return Event[On]{}, ctx.Err()
		case <-l.ctx.Done():
			return Event[On]{}, l.ctx.Err()
		}
	}
}

// Last returns the sequence number of the newest event, 0 if there was none.
func (l *Log[On]) Last() int {
	l.mu.Lock()
	defer l.mu.Unlock()

	return len(l.events)
}

// Hold keeps a request at a point for the time d, or until Release. Its caller may have given up long before.
func (l *Log[On]) Hold(d time.Duration, p Point, on On, key string) {
	// The channel is read before the event is noted: a test that sees the event and then calls Release ends this
	// wait too.
	l.mu.Lock()
	letGo := l.release
	l.mu.Unlock()
	l.Reach(p, on, key)
	l.pause(d, letGo)
}

// Release lets all requests continue that are held now.
func (l *Log[On]) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()

	close(l.release)
	l.release = make(chan struct{})
}

// Pause waits for the time d. It returns false if the sandbox ends first.
func (l *Log[On]) Pause(d time.Duration) bool { return l.pause(d, nil) }

// pause waits for the time d, or until letGo is closed. It returns false if the sandbox ends first.
func (l *Log[On]) pause(d time.Duration, letGo <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-timer.C:
	case <-letGo:
	case <-l.ctx.Done():
		return false
	}

	return true
}

// HoldTime returns how long a fault holds a request: its milliseconds, or a day if it has none, which is until
// Release.
func HoldTime(ms int) time.Duration {
	if ms <= 0 {
		return 24 * time.Hour
	}

	return time.Duration(ms) * time.Millisecond
}

// Faults is a queue of faults for requests of the kinds On. Those of one kind take turns in the order in which they
// were added.
type Faults[On ~string, F any] struct {
	mu    sync.Mutex
	queue []*queued[On, F]
}

type queued[On ~string, F any] struct {
	on    On
	left  int // requests that it still meets; for ever when 0
	fault F
}

// Add makes the next times requests of a kind fail, or all of them until Clear if times is 0.
func (q *Faults[On, F]) Add(on On, times int, f F) {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.queue = append(q.queue, &queued[On, F]{on: on, left: times, fault: f})
}

// Take returns the fault that a request meets, which is of one of the kinds, and counts it. It returns the zero
// fault if there is none.
func (q *Faults[On, F]) Take(kinds ...On) F {
	q.mu.Lock()
	defer q.mu.Unlock()

	for i, entry := range q.queue {
		for _, on := range kinds {
			if entry.on != on {
				continue
			}

			// A fault for a number of requests leaves the queue with the last of them; one with 0 stays.
			if entry.left == 1 {
				q.queue = append(q.queue[:i:i], q.queue[i+1:]...)
			} else if entry.left > 1 {
				entry.left--
			}

			return entry.fault
		}
	}

	var none F

	return none
}

// Clear removes all faults.
func (q *Faults[On, F]) Clear() {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.queue = nil
}
