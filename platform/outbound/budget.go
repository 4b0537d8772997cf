package outbound

import (
	"cmp"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Limit is how many calls a host takes within a time, whenever that begins. The zero value is no limit.
type Limit struct {
	Calls  int
	Within time.Duration
	// Burst is how many of them can come at once; zero is a fifth.
	Burst int
}

// Pace returns the time between calls at a steady pace, and how many calls can come at once: Burst, else a
// fifth, at least one.
func (l Limit) Pace() (every time.Duration, burst int) {
	burst = cmp.Or(l.Burst, max(l.Calls/5, 1))

	// The burst is taken off the steady calls, so that a burst and steady calls for all of the time stay within the limit.
	return l.Within / time.Duration(max(l.Calls-burst, 1)), burst
}

// LimitedError refuses a call beyond a limit.
type LimitedError struct {
	// Until is when the call can be tried again.
	Until time.Time
}

func (e *LimitedError) Error() string { return "the limit of calls is reached" }

// HostName returns the host of an address as the name that its calls are counted under: in lower case, with a port that
// is not the usual one, and without a dot at the end.
func HostName(u *url.URL) string {
	// Many ways to write an address must not give a caller many limits.
	host, port := strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), u.Port()
	if port == "" || port == map[string]string{"https": "443", "http": "80"}[u.Scheme] {
		return host
	}

	return net.JoinHostPort(host, port)
}

// Budget keeps the calls of one process within a limit.
type Budget struct {
	mu    sync.Mutex
	every time.Duration // between calls
	burst time.Duration // how far calls can run ahead
	next  time.Time     // when the next call would be due
}

// NewBudget returns the budget of a limit.
func NewBudget(l Limit) *Budget {
	every, burst := l.Pace()

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
