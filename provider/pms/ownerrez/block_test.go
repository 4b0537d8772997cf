package ownerrez_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"stayledger/platform/day"
	"stayledger/provider/pms"
	sandbox "stayledger/provider/sandbox/ownerrez"
)

// newBlock returns a block of three nights at a property of the sandbox.
func newBlock(w *world, from string) *pms.Block {
	w.t.Helper()

	w.SetProperty(sandbox.Object{"id": 40001, "name": "House", "active": true})

	start, err := day.Parse(from)
	if err != nil {
		w.t.Fatal(err)
	}

	return &pms.Block{ID: "blk-" + from, ListingID: "40001", StartAt: start, EndAt: start.AddDays(3), Note: "Roof", MadeAt: time.Now()}
}

// A request whose answer is lost is sent again, and there is one block, which is taken away once.
func TestABlockIsMadeOnceWhateverFails(t *testing.T) {
	t.Parallel()

	for mode, want := range map[sandbox.Mode]error{
		sandbox.Page500: pms.ErrUnavailable, sandbox.DropBefore: pms.ErrUnavailable, sandbox.DropAfter: pms.ErrUnavailable,
		sandbox.Truncated: pms.ErrUnavailable, sandbox.TooMany: pms.ErrLimited, sandbox.Refused: pms.ErrCredentials,
		sandbox.NotAllowed: pms.ErrRefused,
	} {
		w := newWorld(t)
		b := newBlock(w, "2026-05-01")

		w.Break(sandbox.Fault{Mode: mode, On: sandbox.OnBlocks, Times: 1})

		if _, err := w.client.Block(t.Context(), b); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", mode, err, want)
		}

		name, err := w.client.Block(t.Context(), b)
		if made := w.Blocks("40001"); err != nil || len(made) != 1 || name != fmt.Sprint(made[0]["id"]) || made[0]["departure"] != "2026-05-04" {
			t.Errorf("%s: %q, %v, blocks %v", mode, name, err, made)
		}

		// It comes back as what takes nights and is no reservation.
		if got, err := w.read(pms.Query{}); err != nil || !got.rows[name].Block {
			t.Errorf("%s: read as %+v, %v", mode, got.rows[name], err)
		}

		w.Break(sandbox.Fault{Mode: mode, On: sandbox.OnBlocks, Times: 1})

		// What is done without an answer that can be read is done.
		if err := w.client.Unblock(t.Context(), b); !errors.Is(err, want) && mode != sandbox.Truncated {
			t.Errorf("%s: %v, want %v", mode, err, want)
		}

		if err := w.client.Unblock(t.Context(), b); err != nil || len(w.Blocks("40001")) != 0 {
			t.Errorf("%s: %v, blocks %v", mode, err, w.Blocks("40001"))
		}
	}
}

func TestOnlyOurBlockIsTakenAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, other := newBlock(w, "2026-05-01"), newBlock(w, "2026-06-01")

	for _, v := range []*pms.Block{b, other} {
		if _, err := w.client.Block(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}

	// Nights that are taken are refused.
	late := newBlock(w, "2026-05-02")
	if _, err := w.client.Block(t.Context(), late); !errors.Is(err, pms.ErrRefused) {
		t.Errorf("nights that are taken: %v", err)
	}

	if err := w.client.Unblock(t.Context(), late); err != nil || len(w.Blocks("40001")) != 2 {
		t.Errorf("%v, blocks %v", err, w.Blocks("40001"))
	}

	// A block whose notes somebody has changed is known by its id; one that has become a booking is not ours any more.
	b.RemoteID, other.RemoteID = fmt.Sprint(w.Blocks("40001")[0]["id"]), fmt.Sprint(w.Blocks("40001")[1]["id"])

	for _, v := range []*pms.Block{b, other} {
		if err := w.ChangeBooking(v.RemoteID, func(o sandbox.Object) { o["notes"] = "" }); err != nil {
			t.Fatal(err)
		}
	}

	if err := w.ConvertHold(other.RemoteID); err != nil {
		t.Fatal(err)
	}

	for _, v := range []*pms.Block{b, other} {
		if err := w.client.Unblock(t.Context(), v); err != nil {
			t.Error(err)
		}
	}

	if _, err := w.Booking(other.RemoteID); err != nil || len(w.Blocks("40001")) != 0 {
		t.Errorf("%v, blocks %v", err, w.Blocks("40001"))
	}
}
