package sandbox

import (
	"context"

	"stayledger/provider/sandbox/stage"
)

// Point is a place on the way of a request.
type Point = stage.Point

// The points, in their order. Held requests wait before they are recorded or before they are answered.
const (
	Received   = stage.Received
	HeldBefore = stage.HeldBefore
	Recorded   = stage.Recorded
	HeldAfter  = stage.HeldAfter
	Answering  = stage.Answering
	Answered   = stage.Answered
	Dropped    = stage.Dropped
	CalledBack = stage.CalledBack
)

// Event says that a request, or a callback, has reached a point.
type Event = stage.Event[On]

// Await gives the first event after a sequence that is of the point (of any when empty), waiting for it as long as ctx
// lasts.
func (s *Server) Await(ctx context.Context, p Point, after int) (Event, error) {
	return s.log.Await(ctx, p, after) //nolint:wrapcheck // The reason to stop waiting is the caller's own.
}

// Last is the sequence of the newest event, 0 when there was none.
func (s *Server) Last() int { return s.log.Last() }

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

	s.faults.Add(f.On, f.Times, f)
}

// Release lets go of all requests that are held now.
func (s *Server) Release() { s.log.Release() }

// Reset forgets all faults and lets go of what is held. Payments and what was refused stay.
func (s *Server) Reset() {
	s.faults.Clear()
	s.Release()
}

// hold keeps a request waiting; its caller may be long gone.
func (s *Server) hold(f Fault, p Point, key string) {
	s.log.Hold(stage.HoldTime(f.DelayMS), p, f.On, key)
}
