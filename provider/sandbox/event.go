package sandbox

import (
	"context"
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
type Event struct {
	Sequence int    `json:"sequence"` // from 1
	Point    Point  `json:"point"`
	On       On     `json:"on,omitempty"`
	Key      string `json:"key,omitempty"`
}

func (s *Server) reach(p Point, on On, key string) {
	s.mu.Lock()
	e := Event{Sequence: len(s.events) + 1, Point: p, On: on, Key: key}
	s.events = append(s.events, e)
	close(s.news)
	s.news = make(chan struct{})
	s.mu.Unlock()
	if s.config.Seen != nil {
		s.config.Seen(e)
	}
}

// Await gives the first event after a sequence that is of the point (of any when empty), waiting for it as long as ctx lasts.
func (s *Server) Await(ctx context.Context, p Point, after int) (Event, error) {
	for {
		s.mu.Lock()
		news := s.news
		for _, e := range s.events[min(max(after, 0), len(s.events)):] {
			if p == "" || e.Point == p {
				s.mu.Unlock()
				return e, nil
			}
		}
		after = len(s.events)
		s.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
			return Event{}, ctx.Err()
		case <-s.ctx.Done():
			return Event{}, s.ctx.Err()
		}
	}
}

// Last is the sequence of the newest event, 0 when there was none.
func (s *Server) Last() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.events)
}

// Fault is what goes wrong with requests.
type Fault struct {
	Mode Mode `json:"mode"`
	// On is what kind of requests; Submit when empty.
	On On `json:"on,omitempty"`
	// Times is how many requests it meets; all until Reset when 0.
	Times int `json:"times,omitempty"`
	// DelayMS is how long requests are held, in milliseconds; until Release when 0.
	DelayMS int `json:"delayMs,omitempty"`
	// Code is the reason of refusals.
	Code string `json:"code,omitempty"`

	left int
}

func (f *Fault) delay() time.Duration {
	if f.DelayMS <= 0 {
		return 24 * time.Hour
	}
	return time.Duration(f.DelayMS) * time.Millisecond
}

// Mode is a kind of fault.
type Mode string

// The modes.
const (
	DelayBefore Mode = "delayBefore" // held before it is recorded
	DelayAfter  Mode = "delayAfter"  // recorded, its answer is held
	Fail        Mode = "fail"        // refused with the code
	Unavailable Mode = "unavailable" // 503, nothing recorded
	DropBefore  Mode = "dropBefore"  // the connection ends, nothing recorded
	DropAfter   Mode = "dropAfter"   // recorded, the connection ends
	PayTwice    Mode = "payTwice"    // one request makes two payments
	IgnoreKeys  Mode = "ignoreKeys"  // every request makes a payment, whatever its key
	Garbage     Mode = "garbage"     // recorded, the answer is not of the protocol
	Credentials Mode = "credentials" // 401
)

// Enum lists the modes.
func (Mode) Enum() []string {
	return []string{
		string(DelayBefore), string(DelayAfter), string(Fail), string(Unavailable), string(DropBefore), string(DropAfter),
		string(PayTwice), string(IgnoreKeys), string(Garbage), string(Credentials),
	}
}

// On is a kind of request.
type On string

// The kinds.
const (
	Submit On = "submit"
	Find   On = "find"
	Cancel On = "cancel"
	Verify On = "verify"
	Status On = "status"
)

// Enum lists the kinds.
func (On) Enum() []string {
	return []string{string(Submit), string(Find), string(Cancel), string(Verify), string(Status)}
}

// Break makes requests fail from now on; faults of one kind of request take turns in the order in which they were made.
func (s *Server) Break(f Fault) {
	if f.On == "" {
		f.On = Submit
	}
	f.left = f.Times
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// Release lets go of all requests that are held now.
func (s *Server) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.release)
	s.release = make(chan struct{})
}

// Reset forgets all faults and lets go of what is held. Payments and what was refused stay.
func (s *Server) Reset() {
	s.mu.Lock()
	s.faults = nil
	s.mu.Unlock()
	s.Release()
}

// fault is what goes wrong with a request of this kind, or nothing.
func (s *Server) fault(on On) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.faults {
		if f.On != on {
			continue
		}
		out := *f
		if f.Times > 0 {
			if f.left--; f.left == 0 {
				s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
			}
		}
		return out
	}
	return Fault{}
}

// hold keeps a request waiting; its caller may be long gone.
func (s *Server) hold(f Fault, p Point, key string) {
	s.mu.Lock()
	letGo := s.release
	s.mu.Unlock()
	s.reach(p, f.On, key)
	s.pause(f.delay(), letGo)
}
