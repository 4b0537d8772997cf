package intake_test

import (
	"testing"

	"stayledger/domain/record/intake"
)

// pagesAhead is how many pages of two stays the source has in the tests of pages that are pulled ahead.
const pagesAhead = 30

// newAheadScene returns a scene with pages that say nothing new.
func newAheadScene(t *testing.T) *scene {
	t.Helper()

	s := newScene(t)
	s.source.pageSize = 2
	s.fill(2 * pagesAhead)
	s.sync(intake.Full)

	return s
}

// syncUntilAhead runs syncs until one has pulled a page ahead, and returns that one and its calls. A busy machine has no
// time for that in a few. At the first page that is pulled ahead the source does what is given, nil for nothing.
func (s *scene) syncUntilAhead(do func() error) (status string, calls int) {
	s.T.Helper()

	met := false
	s.source.lie = func(_ int, ask intake.Request, _ *intake.Page) error {
		// What has been taken in reaches up to the page, unless the page is pulled ahead.
		taken := int64(0)
		if got := s.latest(); got.Has("counts.reservation.skipped") {
			taken = got.Int("counts.reservation.skipped")
		}

		if met || jsonText(taken) == ask.Page || ask.Page == "" {
			return nil
		}

		if met = true; do == nil {
			return nil
		}

		return do()
	}

	for range 10 {
		before := s.source.calls

		if status = s.sync(intake.Full).String("status"); met {
			s.source.lie = nil
			return status, s.source.calls - before
		}
	}

	s.T.Fatal("no page is pulled ahead")

	return "", 0
}

// A page is pulled while the one before it is taken in, and not a second time when its turn comes.
func TestPagesArePulledAhead(t *testing.T) {
	t.Parallel()
	s := newAheadScene(t)

	status, calls := s.syncUntilAhead(nil)
	if got := s.latest(); status != "completed" || got.Int("counts.reservation.skipped") != 2*pagesAhead {
		t.Errorf("the sync is %s", got.Body)
	}

	// A turn can end while a page is pulled.
	if calls < pagesAhead || calls > pagesAhead+5 {
		t.Errorf("%d calls for %d pages", calls, pagesAhead)
	}

	s.same()
}

// A sync that is cancelled while a page is pulled ahead does not take that page in. It goes on with the first page that
// was not taken in.
func TestACancelledSyncDropsThePageAhead(t *testing.T) {
	t.Parallel()
	s := newAheadScene(t)

	path := ""
	status, _ := s.syncUntilAhead(func() error {
		path = "/syncs/" + s.latest().String("id")
		s.source.records["HM59"].guest = "Changed"
		s.Post(path+"/cancel", nil).Want(200)

		return nil
	})

	if status != "failed" || s.latest().Int("counts.reservation.skipped") >= 2*pagesAhead {
		t.Errorf("the cancelled sync is %s", s.latest().Body)
	}

	next := jsonText(s.latest().Int("counts.reservation.skipped"))

	var first string

	s.source.lie = func(_ int, ask intake.Request, _ *intake.Page) error {
		if first == "" {
			first = ask.Page
		}

		return nil
	}

	s.Put(path, object{"status": "queued"}).Want(200)
	s.Outlast(nil)

	got := s.Get(path).Want(200)
	if first != next || got.String("status") != "completed" || got.Int("counts.reservation.skipped") != 2*pagesAhead-1 ||
		got.Int("counts.reservation.completed") != 1 {
		t.Errorf("the sync goes on at %s, want %s, and is %s", first, next, got.Body)
	}

	s.same()
}

// A source that has lost its cursor when a page is pulled ahead is read anew after the page before it.
func TestACursorIsLostOnThePageAhead(t *testing.T) {
	t.Parallel()
	s := newAheadScene(t)

	status, _ := s.syncUntilAhead(func() error { return intake.ErrCursorLost })

	got := s.latest()
	taken := got.Int("counts.reservation.skipped") - 2*pagesAhead

	// The pages before it were taken in, then all.
	if status != "completed" || taken < 4 || taken%2 != 0 {
		t.Errorf("the sync is %s", got.Body)
	}

	s.same()
}
