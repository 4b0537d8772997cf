package outbound

import (
	"sync"
	"time"
)

// Budget limits calls to a number within a time. A fifth of them can come at once.
type Budget struct {
	mu    sync.Mutex
	every time.Duration // between calls
	burst time.Duration // how far calls can run ahead
	next  time.Time     // when the next call would be due
}

// NewBudget returns a budget for so many calls per minute.
func NewBudget(perMinute int) *Budget { return NewBudgetWithin(perMinute, time.Minute) }

// NewBudgetWithin returns a budget for so many calls within a time, whenever that begins.
func NewBudgetWithin(calls int, within time.Duration) *Budget {
	burst := max(calls/5, 1)

	// The burst is taken off the steady calls, so that a burst and steady calls for all of the time stay within the limit.
	every := within / time.Duration(max(calls-burst, 1))

	return &Budget{every: every, burst: time.Duration(burst) * every}
}

// Take counts a call and returns true if it may go out now. Otherwise it counts nothing and returns when the call
// may go out.
func (b *Budget) Take(now time.Time) (time.Time, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()

	// Calls that were not made are not saved up for later, beyond the burst.
	if b.next.Before(now) {
		b.next = now
	}

	if due := b.next.Add(b.every); due.Sub(now) > b.burst {
		return due.Add(-b.burst), false
	}

	b.next = b.next.Add(b.every)

	return now, true
}
