package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stayledger/platform/day"
	"stayledger/provider/pms"
	"stayledger/provider/pms/protocol"
	sandbox "stayledger/provider/sandbox/pms"
	"stayledger/provider/sandbox/stage"
)

const (
	secret  = "a text of at least 16 characters"
	blockID = "blk_0123456789012345678901234567890123456789"
)

// calls are all calls of the client. Those that write do not read what their answer says.
var calls = []struct {
	on     sandbox.On
	writes bool
	run    func(ctx context.Context, c *protocol.Client) error
}{
	{sandbox.OnAccount, false, func(ctx context.Context, c *protocol.Client) error {
		_, err := c.Account(ctx)
		return err
	}},
	{sandbox.OnListings, false, func(ctx context.Context, c *protocol.Client) error {
		_, err := c.Listings(ctx, "")
		return err
	}},
	{sandbox.OnReservations, false, func(ctx context.Context, c *protocol.Client) error {
		_, err := c.Reservations(ctx, &pms.Query{})
		return err
	}},
	{sandbox.OnLookup, false, func(ctx context.Context, c *protocol.Client) error {
		_, _, err := c.Lookup(ctx, []string{"res_1"})
		return err
	}},
	{sandbox.OnSubscription, true, func(ctx context.Context, c *protocol.Client) error {
		return c.Subscribe(ctx, "http://127.0.0.1:1/messages/of/a/connection", secret)
	}},
	{sandbox.OnBlocks, true, func(ctx context.Context, c *protocol.Client) error {
		_, err := c.Block(ctx, &pms.Block{ID: blockID, ListingID: "lst_1_000001", StartAt: date("2026-03-01"), EndAt: date("2026-03-04")})

		return err
	}},
}

// faults lists everything that can go wrong with a call, and the error that its caller sees.
var faults = []struct {
	mode      sandbox.Mode
	kind      error
	says      string
	hasty     bool // the caller does not wait long
	unnoticed bool // by calls that do not read their answer
	effect    bool // the call takes effect
}{
	{mode: sandbox.HangBefore, kind: pms.ErrTimeout, hasty: true},
	{mode: sandbox.HangAfter, kind: pms.ErrTimeout, hasty: true, effect: true},
	{mode: sandbox.SlowBody, kind: pms.ErrTimeout, hasty: true, effect: true},
	{mode: sandbox.Page500, kind: pms.ErrUnavailable, says: "status 500"},
	{mode: sandbox.TooMany, kind: pms.ErrLimited},
	{mode: sandbox.Refused, kind: pms.ErrCredentials},
	{mode: sandbox.DropBefore, kind: pms.ErrUnavailable},
	{mode: sandbox.DropAfter, kind: pms.ErrUnavailable, effect: true},
	{mode: sandbox.HugeBody, kind: pms.ErrUnavailable, says: "too large", effect: true},
	{mode: sandbox.GzipBomb, kind: pms.ErrUnavailable, says: "too large", effect: true},
	{mode: sandbox.WrongType, kind: pms.ErrUnavailable, says: "not JSON", unnoticed: true, effect: true},
	{mode: sandbox.InvalidUTF8, kind: pms.ErrUnavailable, says: "not UTF-8", unnoticed: true, effect: true},
	{mode: sandbox.Truncated, kind: pms.ErrUnavailable, effect: true},
	{mode: sandbox.Redirect, kind: pms.ErrUnavailable, says: "status 307"}, // and is not followed
	{mode: sandbox.CursorLost, kind: pms.ErrCursor},
}

func TestEveryFaultOfEveryCall(t *testing.T) {
	t.Parallel()

	for _, f := range faults {
		t.Run(string(f.mode), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.generate(1, 3)

			// Calls that wait for their time to pass do so together; the others move much data and go one by one.
			client, atOnce := w.client, 1
			if f.hasty {
				client, atOnce = w.open(pms.Options{Within: time.Second}), len(calls)
			}

			for _, call := range calls {
				w.Break(sandbox.Fault{Mode: f.mode, On: call.on, Times: 1})
			}

			errs, free := make([]error, len(calls)), make(chan struct{}, atOnce)

			var group sync.WaitGroup

			for i, call := range calls {
				free <- struct{}{}

				group.Go(func() {
					defer func() { <-free }()

					errs[i] = call.run(t.Context(), client)
				})
			}

			group.Wait()

			for i, call := range calls {
				if got := w.Counts().Calls[call.on]; got != 1 {
					t.Errorf("%s was asked %d times, want once: nobody repeats but the caller", call.on, got)
				}

				if call.writes && f.unnoticed {
					if errs[i] != nil {
						t.Errorf("%s: %v", call.on, errs[i])
					}

					continue
				}

				w.wantFailure(string(call.on), errs[i], f.kind, f.says)
			}

			if took := len(w.Blocks()) == 1; took != f.effect {
				t.Errorf("the block took effect: %t", took)
			}

			if took := w.Subscription().URL != ""; took != f.effect {
				t.Errorf("the subscription took effect: %t", took)
			}

			// What failed works when it is asked again.
			for _, call := range calls {
				if err := call.run(t.Context(), w.client); err != nil {
					t.Errorf("%s afterwards: %v", call.on, err)
				}
			}
		})
	}
}

// wantFailure checks that an error is of a kind and says something, but neither the token nor an address.
func (w *world) wantFailure(what string, err, kind error, says string) {
	w.t.Helper()

	e, is := errors.AsType[*pms.Error](err)
	if !is || !errors.Is(err, kind) {
		w.t.Errorf("%s: %v, want %v", what, err, kind)
		return
	}

	if !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "127.0.0.1") {
		w.t.Errorf("%s: it says %q", what, err)
	}

	if wait := time.Until(e.Until); errors.Is(err, pms.ErrLimited) && (wait <= 0 || wait > time.Minute) {
		w.t.Errorf("%s: limited for %s", what, wait)
	}
}

// outcome is what a reading of three pages with 25 reservations becomes.
type outcome struct {
	Rows, Distinct, Pages int
	Unreadable            int
	Complete              bool
}

func TestEveryFaultOfPages(t *testing.T) {
	t.Parallel()

	whole := outcome{Rows: 25, Distinct: 25, Pages: 3, Complete: true}

	for name, c := range map[string]struct {
		mode  sandbox.Mode
		times int
		want  outcome
		kind  error
		says  string
	}{
		"nothing":                        {want: whole},
		"rows come twice on a page":      {mode: sandbox.DuplicateIDs, times: 3, want: whole},
		"a row changes behind the page":  {mode: sandbox.Shift, times: 1, want: outcome{26, 25, 3, 0, true}},
		"rows change behind every page":  {mode: sandbox.Shift, times: 3, want: outcome{28, 25, 4, 0, true}},
		"a page repeats once":            {mode: sandbox.SamePage, times: 1, want: outcome{35, 25, 4, 0, true}},
		"a page repeats without end":     {mode: sandbox.SamePage, kind: pms.ErrUnavailable, says: "itself"},
		"a row cannot be read":           {mode: sandbox.Unreadable, times: 1, want: outcome{24, 24, 3, 1, true}},
		"a complete reading lacks a row": {mode: sandbox.Lacking, times: 1, want: outcome{24, 24, 3, 0, true}},
		"no reading is complete":         {mode: sandbox.Incomplete, want: outcome{25, 25, 3, 0, false}},
		"the page is not known any more": {mode: sandbox.CursorLost, times: 1, kind: pms.ErrCursor},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.generate(4, 25)

			if c.mode != "" {
				w.Break(sandbox.Fault{Mode: c.mode, On: sandbox.OnReservations, Times: c.times})
			}

			got, err := w.read(pms.Query{})
			if c.kind != nil {
				w.wantFailure(name, err, c.kind, c.says)
				return
			}

			if err != nil {
				t.Fatal(err)
			}

			distinct := map[string]bool{}
			for _, r := range got.rows {
				distinct[r.ID] = true
			}

			if is := (outcome{len(got.rows), len(distinct), got.pages, len(got.unreadable), got.complete}); is != c.want {
				t.Errorf("%+v, want %+v", is, c.want)
			}
		})
	}
}

// A row that comes again says what it is now.
func TestARowThatChangesWhileItIsReadComesAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.generate(4, 25)

	first, err := w.client.Reservations(t.Context(), &pms.Query{})
	if err != nil {
		t.Fatal(err)
	}

	w.change(first.Reservations[3].ID, func(r *sandbox.Reservation) { r.Status = "canceled" })

	rest, err := w.read(pms.Query{Page: first.Next})
	if err != nil || len(rest.rows) != 16 {
		t.Fatalf("%d rows, %v", len(rest.rows), err)
	}

	if last := rest.rows[15]; last.ID != first.Reservations[3].ID || last.Status != pms.Canceled || !last.ChangedAt.After(first.Reservations[3].ChangedAt) {
		t.Errorf("%+v", last)
	}
}

func TestAReadingSinceAMarkHasWhatHasChanged(t *testing.T) {
	t.Parallel()

	// The clock of the system can be off: the marks are its own.
	for _, seconds := range []int{0, 600, -600} {
		t.Run(fmt.Sprintf("a clock that is %d s ahead", seconds), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Set(sandbox.Settings{ClockSeconds: &seconds})
			w.generate(4, 25)

			all := w.mustRead(pms.Query{})
			if again := w.mustRead(pms.Query{Since: all.mark}); len(again.rows) != 0 || again.complete || again.mark == "" {
				t.Errorf("nothing has changed: %+v", again)
			}

			w.change(all.rows[0].ID, func(r *sandbox.Reservation) { r.Total = "1.00" })

			changed := w.mustRead(pms.Query{Since: all.mark})
			if len(changed.rows) != 1 || changed.rows[0].ID != all.rows[0].ID || *changed.rows[0].Total != 100 {
				t.Errorf("%+v", changed)
			}

			// Within the overlap it comes once more, and then not any more.
			if again := w.mustRead(pms.Query{Since: changed.mark}); len(again.rows) != 1 {
				t.Errorf("%d rows within the overlap", len(again.rows))
			}

			w.Advance(11 * time.Minute)

			later := w.mustRead(pms.Query{Since: changed.mark})
			if again := w.mustRead(pms.Query{Since: later.mark}); len(again.rows) != 0 {
				t.Errorf("%d rows after the overlap", len(again.rows))
			}
		})
	}
}

// What is older than the mark when it comes is found by a reading of everything only.
func TestALateRowIsFoundByAFullReading(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.generate(4, 25)

	all := w.mustRead(pms.Query{})

	late := stay("res_late")
	late.ChangedAt = time.Now().Add(-time.Hour)
	w.SetReservation(late)

	if got := w.mustRead(pms.Query{Since: all.mark}); len(got.rows) != 0 {
		t.Errorf("since the mark: %+v", got.rows)
	}

	if got := w.mustRead(pms.Query{}); len(got.rows) != 26 || !slices.Contains(ids(got.rows), "res_late") {
		t.Errorf("everything: %d rows", len(got.rows))
	}
}

func TestAMarkThatIsNotKnownAnyMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.generate(4, 25)
	all := w.mustRead(pms.Query{})
	w.Forget()

	_, err := w.read(pms.Query{Since: all.mark})
	w.wantFailure("an old mark", err, pms.ErrCursor, "")

	if again := w.mustRead(pms.Query{}); len(again.rows) != 25 {
		t.Errorf("%d rows from the beginning", len(again.rows))
	}
}

func TestReadingsAreBoundByNights(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	for id, nights := range map[string][2]string{
		"before": {"2026-02-20", "2026-03-01"}, "into": {"2026-02-20", "2026-03-02"}, "within": {"2026-03-10", "2026-03-12"},
		"out": {"2026-03-31", "2026-04-02"}, "after": {"2026-04-01", "2026-04-02"},
	} {
		r := stay(id)
		r.CheckIn, r.CheckOut = nights[0], nights[1]
		w.SetReservation(r)
	}

	from, to := date("2026-03-01"), date("2026-03-31")

	got := w.mustRead(pms.Query{From: &from, To: &to})
	if have := ids(got.rows); !slices.Equal(slices.Sorted(slices.Values(have)), []string{"into", "out", "within"}) || !got.complete {
		t.Errorf("%v, complete %t", have, got.complete)
	}
}

func TestWhatIsDeletedIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.generate(4, 25)
	all := w.mustRead(pms.Query{})

	if err := w.DeleteReservation(all.rows[0].ID); err != nil {
		t.Fatal(err)
	}

	if got := w.mustRead(pms.Query{Since: all.mark}); len(got.rows) != 0 {
		t.Errorf("%+v", got.rows)
	}

	on := true
	w.Set(sandbox.Settings{Tombstones: &on})

	got := w.mustRead(pms.Query{Since: all.mark})
	if len(got.rows) != 1 || got.rows[0].ID != all.rows[0].ID || !got.rows[0].Gone {
		t.Errorf("with tombstones: %+v", got.rows)
	}

	if got := w.mustRead(pms.Query{}); len(got.rows) != 24 {
		t.Errorf("%d rows of everything", len(got.rows))
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.generate(4, 250)

	broken := stay("res_broken")
	broken.Total = "many"
	w.SetReservation(broken)

	all := w.mustRead(pms.Query{})
	asked := append(ids(all.rows), "res_never", "res_broken", all.rows[0].ID)

	got, unreadable, err := w.client.Lookup(t.Context(), asked)
	if err != nil || w.Counts().Calls[sandbox.OnLookup] != 3 {
		t.Fatalf("%v after %d calls", err, w.Counts().Calls[sandbox.OnLookup])
	}

	if len(unreadable) != 1 || unreadable[0] != (pms.Unreadable{ID: "res_broken", FormError: pms.FormError{Field: "total", Fault: pms.NotAmount}}) {
		t.Errorf("unreadable are %+v", unreadable)
	}

	// 250 that there are, one that is gone, none for the broken one, and the first again in another slice.
	if len(got) != 252 || !got[250].Gone || got[250].ID != "res_never" || got[251].ID != all.rows[0].ID || got[7].Guest != all.rows[7].Guest {
		t.Errorf("%d reservations, the last are %+v", len(got), got[max(0, len(got)-2):])
	}

	// An id of which the system says nothing is gone, too.
	w.Break(sandbox.Fault{Mode: sandbox.Lacking, On: sandbox.OnLookup, Times: 1})

	if got, _, err := w.client.Lookup(t.Context(), ids(all.rows)[:2]); err != nil || len(got) != 2 || got[0].Gone || !got[1].Gone {
		t.Errorf("%+v, %v", got, err)
	}

	if got, _, err := w.client.Lookup(t.Context(), nil); err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.generate(1, 0)

	b := pms.Block{ID: blockID, ListingID: "lst_1_000001", StartAt: date("2026-03-01"), EndAt: date("2026-03-04"), Note: "Roof"}
	for range 2 {
		if _, err := w.client.Block(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}

	if got := w.Blocks(); len(got) != 1 || got[blockID] != (sandbox.Block{ListingID: "lst_1_000001", StartAt: "2026-03-01", EndAt: "2026-03-04", Note: "Roof"}) {
		t.Errorf("%+v", got)
	}

	for range 2 {
		if err := w.client.Unblock(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}

	if got := w.Blocks(); len(got) != 0 {
		t.Errorf("%+v", got)
	}

	// Nights that a guest or another block has are refused, and so is a listing that there is not.
	w.SetReservation(sandbox.Reservation{
		ID: "r", ListingID: b.ListingID, Status: "booked", CheckIn: "2026-03-03", CheckOut: "2026-03-05", Currency: "usd",
	})

	_, err := w.client.Block(t.Context(), &b)
	w.wantFailure("nights of a guest", err, pms.ErrRefused, "status 422")

	first, second := b, b
	first.EndAt, second.ID, second.EndAt = date("2026-03-02"), "another", date("2026-03-03")

	if _, err := w.client.Block(t.Context(), &first); err != nil {
		t.Fatal(err)
	}

	_, err = w.client.Block(t.Context(), &second)
	w.wantFailure("nights of another block", err, pms.ErrRefused, "status 422")

	b.ListingID = "lst_none"
	_, err = w.client.Block(t.Context(), &b)
	w.wantFailure("a listing that there is not", err, pms.ErrRefused, "status 422")
}

// The pause that the system asks for is kept.
func TestLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seconds := 40
	w.Break(sandbox.Fault{Mode: sandbox.TooMany, On: sandbox.OnAccount, Times: 1, RetryAfter: &seconds})

	_, err := w.client.Account(t.Context())
	w.wantFailure("an account", err, pms.ErrLimited, "")

	if e, _ := errors.AsType[*pms.Error](err); time.Until(e.Until) < 30*time.Second {
		t.Errorf("until %s", e.Until)
	}
}

// A request that its sender has given up takes effect all the same.
func TestABlockThatWasGivenUpTakesEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.generate(1, 0)
	w.Break(sandbox.Fault{Mode: sandbox.HangBefore, On: sandbox.OnBlocks, Times: 1})

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)

	go func() {
		_, err := w.client.Block(ctx, &pms.Block{ID: blockID, ListingID: "lst_1_000001", StartAt: date("2026-03-01"), EndAt: date("2026-03-04")})
		ended <- err
	}()

	if _, err := w.Await(t.Context(), stage.HeldBefore, 0); err != nil {
		t.Fatal(err)
	}

	stop()

	if err := <-ended; !errors.Is(err, context.Canceled) || len(w.Blocks()) != 0 {
		t.Errorf("%v with %d blocks", err, len(w.Blocks()))
	}

	held := w.Last()
	w.Release()

	if _, err := w.Await(t.Context(), stage.Recorded, held); err != nil || len(w.Blocks()) != 1 {
		t.Errorf("%v with %d blocks", err, len(w.Blocks()))
	}
}

// generate adds generated rows of the seed 1.
func (w *world) generate(listings, reservations int) {
	w.t.Helper()

	if err := w.Generate(sandbox.Plan{Seed: 1, Listings: listings, Reservations: reservations}); err != nil {
		w.t.Fatal(err)
	}
}

// change changes a reservation that there is.
func (w *world) change(id string, change func(*sandbox.Reservation)) {
	w.t.Helper()

	if err := w.ChangeReservation(id, change); err != nil {
		w.t.Fatal(err)
	}
}

// mustRead reads all pages.
func (w *world) mustRead(q pms.Query) reading {
	w.t.Helper()

	got, err := w.read(q)
	if err != nil {
		w.t.Fatal(err)
	}

	return got
}

// stay returns a reservation that can be read.
func stay(id string) sandbox.Reservation {
	return sandbox.Reservation{
		ID: id, ListingID: "lst_1", Status: "booked", CheckIn: "2026-03-10", CheckOut: "2026-03-12", Currency: "usd", Total: "10.00",
		Lines: []sandbox.Line{{Type: "rent", Amount: "10.00"}},
	}
}

func ids(rows []pms.Reservation) []string {
	out := make([]string, len(rows))
	for i := range rows {
		out[i] = rows[i].ID
	}

	return out
}

func date(text string) day.Day {
	d, err := day.Parse(text)
	if err != nil {
		panic(err)
	}

	return d
}
