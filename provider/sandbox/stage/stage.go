// Package stage is what every sandbox is played on: points that requests pass and that tests wait for, requests that
// are held until they are let go, faults that are met so and so often, and the form of what controls all that.
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

// Log keeps the events of a sandbox, whose requests are of the kinds On, and holds what is to be held. Stop lets go of
// everything for good.
type Log[On ~string] struct {
	ctx  context.Context //nolint:containedctx // The life of the sandbox, which outlasts its requests.
	seen func(Event[On])

	mu      sync.Mutex
	events  []Event[On]
	news    chan struct{} // closed when an event is added
	release chan struct{} // closed to let go of what is held
}

// NewLog makes a log that lasts as long as ctx. Every event is told to seen, unless it is nil, from the goroutine that
// it happens in.
func NewLog[On ~string](ctx context.Context, seen func(Event[On])) *Log[On] {
	return &Log[On]{ctx: ctx, seen: seen, news: make(chan struct{}), release: make(chan struct{})}
}

// Reach notes that a request has come to a point.
func (l *Log[On]) Reach(p Point, on On, key string) {
	l.mu.Lock()
	e := Event[On]{Sequence: len(l.events) + 1, Point: p, On: on, Key: key}
	l.events = append(l.events, e)
	close(l.news)
	l.news = make(chan struct{})
	l.mu.Unlock()

	if l.seen != nil {
		l.seen(e)
	}
}

// Await gives the first event after a sequence that is of the point (of any when empty), waiting for it as long as ctx
// and the sandbox last.
func (l *Log[On]) Await(ctx context.Context, p Point, after int) (Event[On], error) {
	for {
		l.mu.Lock()

		news := l.news
		for _, e := range l.events[min(max(after, 0), len(l.events)):] {
			if p == "" || e.Point == p {
				l.mu.Unlock()
				return e, nil
			}
		}

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

// Last is the sequence of the newest event, 0 when there was none.
func (l *Log[On]) Last() int {
	l.mu.Lock()
	defer l.mu.Unlock()

	return len(l.events)
}

// Hold keeps a request at a point for as long as is said, or until it is let go; its caller may be long gone.
func (l *Log[On]) Hold(d time.Duration, p Point, on On, key string) {
	l.mu.Lock()
	letGo := l.release
	l.mu.Unlock()
	l.Reach(p, on, key)
	l.pause(d, letGo)
}

// Release lets go of all requests that are held now.
func (l *Log[On]) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()

	close(l.release)
	l.release = make(chan struct{})
}

// Pause waits; false when the sandbox ends first.
func (l *Log[On]) Pause(d time.Duration) bool { return l.pause(d, nil) }

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

// HoldTime is how long a fault holds requests: the milliseconds it says, until they are let go when it says none.
func HoldTime(ms int) time.Duration {
	if ms <= 0 {
		return 24 * time.Hour
	}

	return time.Duration(ms) * time.Millisecond
}

// Faults are what goes wrong with requests of the kinds On. Those of one kind take turns in the order in which they
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

// Add makes so many requests of a kind fail from now on, all of them until Clear when times is 0.
func (q *Faults[On, F]) Add(on On, times int, f F) {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.queue = append(q.queue, &queued[On, F]{on: on, left: times, fault: f})
}

// Take gives what goes wrong with a request that is of one of the kinds; the zero fault when nothing does.
func (q *Faults[On, F]) Take(kinds ...On) F {
	q.mu.Lock()
	defer q.mu.Unlock()

	for i, entry := range q.queue {
		for _, on := range kinds {
			if entry.on != on {
				continue
			}

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

// Clear forgets all faults.
func (q *Faults[On, F]) Clear() {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.queue = nil
}
