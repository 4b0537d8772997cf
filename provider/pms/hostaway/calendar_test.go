package hostaway_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"stayledger/platform/day"
	"stayledger/provider/pms"
	sandbox "stayledger/provider/sandbox/hostaway"
)

// block blocks nights.
func (w *world) block(b *pms.Block) error {
	_, err := w.client.Block(w.t.Context(), b)

	return err
}

// fault is one that calls of the calendar meet, and whether the request before which it comes takes effect.
type fault struct {
	mode sandbox.Mode
	want error
}

// faults are those after which it is not known whether nights were closed, and refusals.
var faults = []fault{
	{sandbox.Page500, pms.ErrUnavailable},
	{sandbox.DropBefore, pms.ErrUnavailable},
	{sandbox.DropAfter, pms.ErrUnavailable},
	{sandbox.Truncated, pms.ErrUnavailable},
	{sandbox.WrongType, pms.ErrUnavailable},
	{sandbox.Fails, pms.ErrUnavailable},
	{sandbox.TooMany, pms.ErrLimited},
}

// A request whose answer is lost is sent again, and closes and opens the same nights: no more, and none of anybody else.
func TestNightsAreClosedOnceWhateverFails(t *testing.T) {
	t.Parallel()

	start, _ := day.Parse("2026-05-02")
	b := &pms.Block{ID: "b", ListingID: "40160", StartAt: start, EndAt: start.AddDays(2), Note: "Roof"}

	for _, f := range faults {
		w := newWorld(t)
		w.SetListing(sandbox.Object{"id": 40160, "name": "House"})

		// A neighbour's nights before and behind stay closed throughout.
		for _, at := range []day.Day{start.AddDays(-1), b.EndAt} {
			if err := w.block(&pms.Block{ID: "o" + at.String(), ListingID: "40160", StartAt: at, EndAt: at.AddDays(1)}); err != nil {
				t.Fatal(err)
			}
		}

		for _, do := range []func() error{func() error { return w.block(b) }, func() error { return w.client.Unblock(t.Context(), b) }} {
			// The change is the second call.
			w.Break(sandbox.Fault{Mode: "none", On: sandbox.OnCalendar, Times: 1})
			w.Break(sandbox.Fault{Mode: f.mode, On: sandbox.OnCalendar, Times: 1})

			if err := do(); !errors.Is(err, f.want) {
				t.Errorf("%s: %v, want %v", f.mode, err, f.want)
			}

			if err := do(); err != nil {
				t.Errorf("%s again: %v", f.mode, err)
			}
		}

		if got := w.Blocked("40160"); !slices.Equal(got, []string{"2026-05-01", "2026-05-04"}) {
			t.Errorf("%s: closed %v", f.mode, got)
		}
	}
}

// Nights that are taken are refused before anything is changed, and a day too many of a request whose answer was lost is
// opened again.
func TestNightsOfOthersStay(t *testing.T) {
	t.Parallel()

	start, _ := day.Parse("2026-05-01")
	b := &pms.Block{ID: "b", ListingID: "40160", StartAt: start, EndAt: start.AddDays(2), MadeAt: time.Now()}
	other := &pms.Block{ID: "o", ListingID: "40160", StartAt: start.AddDays(1), EndAt: start.AddDays(2)}

	w := newWorld(t)
	w.SetListing(sandbox.Object{"id": 40160, "name": "House"})

	if err := w.block(other); err != nil {
		t.Fatal(err)
	}

	if err := w.block(b); !errors.Is(err, pms.ErrRefused) || len(w.Blocked("40160")) != 1 {
		t.Errorf("nights that are taken: %v, closed %v", err, w.Blocked("40160"))
	}

	if err := w.client.Unblock(t.Context(), b); err != nil || len(w.Blocked("40160")) != 1 {
		t.Errorf("nights of another block: %v, closed %v", err, w.Blocked("40160"))
	}

	if err := w.client.Unblock(t.Context(), other); err != nil || len(w.Blocked("40160")) != 0 {
		t.Errorf("nights of the block: %v, closed %v", err, w.Blocked("40160"))
	}

	// The system closes a day more, and the call that puts it back does not arrive.
	w.Break(sandbox.Fault{Mode: "none", On: sandbox.OnCalendar, Times: 1})
	w.Break(sandbox.Fault{Mode: sandbox.SurplusDay, On: sandbox.OnCalendar, Times: 1})
	w.Break(sandbox.Fault{Mode: sandbox.Page500, On: sandbox.OnCalendar, Times: 1})

	if err := w.block(b); !errors.Is(err, pms.ErrUnavailable) || len(w.Blocked("40160")) != 3 {
		t.Errorf("a day too many: %v, closed %v", err, w.Blocked("40160"))
	}

	if err := w.block(b); err != nil || len(w.Blocked("40160")) != 2 {
		t.Errorf("a day too many, again: %v, closed %v", err, w.Blocked("40160"))
	}
}
