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

// Await returns the first event after a sequence number that is of the point (of any point if p is empty). It waits
// for it as long as ctx lasts.
func (s *Server) Await(ctx context.Context, p Point, after int) (Event, error) {
	return s.log.Await(ctx, p, after) //nolint:wrapcheck // The reason to stop waiting is the caller's own.
}

// Last returns the sequence number of the newest event, 0 if there was none.
func (s *Server) Last() int { return s.log.Last() }

// Fault is a failure that requests of one kind meet.
type Fault struct {
	Mode Mode `json:"mode"`
	// On is the kind of request that meets it; Submit if empty.
	On On `json:"on,omitempty"`
	// Times is how many requests meet it; all until Reset if 0.
	Times int `json:"times,omitempty"`
	// DelayMS is how long requests are held, in milliseconds; until Release if 0.
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
		string(DelayBefore), string(DelayAfter), string(Fail), string(Unavailable), string(DropBefore),
		string(DropAfter), string(PayTwice), string(IgnoreKeys), string(Garbage), string(Credentials),
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

// Break makes requests fail from now on. Faults of one kind of request take turns in the order in which they were
// added.
func (s *Server) Break(f Fault) {
	// Without a kind the fault is for orders to pay.
	if f.On == "" {
		f.On = Submit
	}

	s.faults.Add(f.On, f.Times, f)
}

// Release lets all requests continue that are held now.
func (s *Server) Release() { s.log.Release() }

// Reset removes all faults and lets held requests continue. Payments and refused keys stay.
func (s *Server) Reset() {
	s.faults.Clear()
	s.Release()
}

// hold keeps a request waiting at a point. Its caller may have given up long before.
func (s *Server) hold(f Fault, p Point, key string) {
	s.log.Hold(stage.HoldTime(f.DelayMS), p, f.On, key)
}
