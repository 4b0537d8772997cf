package intake_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"stayledger/domain/record/intake"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
)

// fill gives the source some stays.
func (s *scene) fill(n int) {
	for i := range n {
		s.source.set(fmt.Sprintf("HM%02d", i), func(r *record) { r.checkIn = fmt.Sprintf("2026-02-%02d", 1+i%28) })
	}
}

// same fails unless the stays here are those of the source.
func (s *scene) same() {
	s.T.Helper()

	if differences := s.source.compare(s.stays()); len(differences) > 0 {
		s.T.Errorf("differs from the source:\n%s", strings.Join(differences, "\n"))
	}
}

// want fails unless records of the latest sync ended so.
func (s *scene) want(outcomes map[string]string) {
	s.T.Helper()

	got := s.outcomes()
	for name, want := range outcomes {
		if got[name] != want {
			s.T.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}

// Proves: AUD-04, AUD-05.
func TestAFirstSyncTakesInEverything(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(12)

	got := s.sync(intake.Incremental)
	if got.String("status") != "completed" || got.Int("counts.reservation.completed") != 12 {
		t.Fatalf("the sync is %s", got.Body)
	}

	s.same()

	// The operation is that of the connection (OPS-09).
	op := s.Get("/operations/" + got.String("operationId")).Want(200)
	if op.String("status") != "completed" || op.String("type") != "connection-sync" || op.String("resource.id") != s.connection.String() {
		t.Errorf("the operation is %s", op.Body)
	}

	// Events name the connection, and the sync.
	events := s.Get("/audit/events?entityType=reservation&sourceType=integration&connectionId=" + s.connection.String()).Want(200)
	if events.Len("data") != 12 {
		t.Errorf("%d reservations have events of the connection", events.Len("data"))
	}

	for i := range events.Len("data") {
		if by := events.String(fmt.Sprintf("data.%d.source.syncId", i)); by != got.String("id") {
			t.Errorf("an event names the sync %s, want %s", by, got.String("id"))
		}
	}

	// A second one asks only for what has changed, a full one finds nothing new.
	if got = s.sync(intake.Incremental); got.Has("counts.reservation.completed") {
		t.Errorf("a second sync is %s", got.Body)
	}

	if got = s.sync(intake.Full); got.Int("counts.reservation.skipped") != 12 || got.Has("counts.reservation.completed") {
		t.Errorf("a full sync is %s", got.Body)
	}

	s.want(map[string]string{"HM03": ""}) // What has not changed is counted only.
}

func TestChangesFollowTheSource(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(3)
	s.sync(intake.Incremental)

	s.source.set("HM00", func(r *record) { r.guest, r.lines = "Grace", []line{{"rent", 41_000}, {"cleaningFee", 5_000}} })
	s.source.set("HM01", func(r *record) { r.status = "canceled" })
	s.source.remove("HM02")
	s.sync(intake.Incremental)
	s.same()
	s.want(map[string]string{"HM00": "completed", "HM01": "completed", "HM02": "completed"})

	// What comes back is active again.
	s.source.set("HM02", func(r *record) { r.guest = "Back again" })
	s.sync(intake.Incremental)
	s.same()
}

// What a person has changed stays, and the conflict is known; everything else follows.
func TestEditsOfPeopleStay(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(2)
	s.sync(intake.Incremental)

	path := "/reservations/" + s.stays()["HM00"].ID.String()
	s.Put(path, object{"guestName": "Renamed here", "lines": array{
		object{"type": "rent", "amount": 30_000}, object{"type": "petFee", "amount": 2_500},
	}}).Want(200)

	// The source changes other fields, and the amount of its own line.
	s.source.set("HM00", func(r *record) { r.nights, r.lines = 5, []line{{"rent", 50_000}} })
	s.sync(intake.Incremental)

	got := s.stays()["HM00"]
	if got.GuestName != "Renamed here" || got.CheckOut != "2026-02-06" || jsonText(got.Lines) != jsonText([]line{{"rent", 50_000}, {"petFee", 2_500}}) {
		t.Errorf("the stay is %s", jsonText(got))
	}

	// Now both change the name: that of the person stays.
	s.source.set("HM00", func(r *record) { r.guest = "Renamed there" })
	s.sync(intake.Incremental)

	s.want(map[string]string{"HM00": "skipped conflict"})

	if got = s.stays()["HM00"]; got.GuestName != "Renamed here" {
		t.Errorf("the edit of a person was overwritten: %s", jsonText(got))
	}

	s.open("HM00 guestName Renamed here/Renamed there")

	// The source says it again: nothing is overwritten, and nothing is asked again.
	s.sync(intake.Full)

	if got = s.stays()["HM00"]; got.GuestName != "Renamed here" {
		t.Errorf("the edit of a person was overwritten by a full sync: %s", jsonText(got))
	}

	// A person takes over what the source says: with the next change the conflict is over.
	s.Put(path, object{"guestName": "Renamed there"}).Want(200)
	s.source.set("HM00", func(r *record) { r.nights = 4 })
	s.sync(intake.Incremental)
	s.open()
}

// A lock holds a change back; it lands when the lock goes, without the source.
func TestALockedRecordIsTakenInWhenTheLockGoes(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(2)
	s.sync(intake.Incremental)

	s.Post("/team/books-closing", object{"booksClosedAt": "2026-03-01", "reason": "Done"}).Want(201)
	s.source.set("HM00", func(r *record) { r.lines = []line{{"rent", 77_000}} })
	s.source.set("HM09", func(r *record) { r.checkIn = "2026-02-20" })
	s.sync(intake.Incremental)
	s.want(map[string]string{"HM00": "skipped locked", "HM09": "skipped locked"})

	if got := s.stays()["HM00"].Lines[0].Amount; got != 30_000 {
		t.Errorf("a locked stay has a line of %d", got)
	}

	// The source is away: what waits is here.
	s.source.lie = func(int, intake.Request, *intake.Page) error { return errDown }
	s.Post("/team/books-closing", object{"booksClosedAt": nil, "reason": "Not done"}).Want(201)
	s.Outlast(nil)
	s.same()

	if got := s.latest(); got.String("trigger") != "unlocked" || got.String("status") != "completed" {
		t.Errorf("the sync is %s", got.Body)
	}
}

// A change that waits for a lock and is taken back at the source before the lock goes waits no more.
func TestAChangeThatIsTakenBackWaitsForNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(1)
	s.sync(intake.Incremental)
	s.Post("/team/books-closing", object{"booksClosedAt": "2026-03-01", "reason": "Done"}).Want(201)

	for _, amount := range []int64{77_000, 30_000} {
		s.source.set("HM00", func(r *record) { r.lines = []line{{"rent", amount}} })
		s.sync(intake.Incremental)
	}

	s.Post("/team/books-closing", object{"booksClosedAt": nil, "reason": "Not done"}).Want(201)
	s.Outlast(nil)
	s.same()

	if got := s.stays()["HM00"].Lines[0].Amount; got != 30_000 {
		t.Errorf("the stay has a line of %d", got)
	}
}

func TestOneBadRecordFailsAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(7)
	s.source.set("HM03", func(r *record) { r.bad = true })
	s.source.set("HM04", func(r *record) { r.listing = "unknown" })
	s.source.set("HM05", func(r *record) { r.skip = "pending" })

	if got := s.sync(intake.Incremental); got.String("status") != "completed" || got.Int("counts.reservation.completed") != 4 {
		t.Errorf("the sync is %s", got.Body)
	}

	s.want(map[string]string{"HM03": "failed date", "HM04": "skipped unmapped", "HM05": "skipped pending", "HM06": "completed"})
}

func TestHintsAreLookedUp(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(8)
	s.sync(intake.Incremental)
	s.source.set("HM05", func(r *record) { r.guest = "Hinted" })
	s.source.set("HM06", func(r *record) { r.guest = "Not hinted" })

	calls := s.source.calls

	s.Tx(func(ctx context.Context, tx *db.Tx) error {
		return intake.Hint(ctx, tx, s.connection, "reservation", []string{"HM05", "HM05", "HM77"})
	})
	s.Outlast(nil)

	if got := s.stays(); got["HM05"].GuestName != "Hinted" || got["HM06"].GuestName == "Not hinted" || s.source.calls != calls {
		t.Errorf("after a hint: %s, %s, %d calls", jsonText(got["HM05"]), jsonText(got["HM06"]), s.source.calls-calls)
	}

	s.want(map[string]string{"HM05": "completed", "HM77": "skipped unknown"})
}

// Proves: OPS-91, OPS-92, OPEN-78.
func TestSyncsAreControlled(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(12)

	// A sync stops between two pages; what it has taken in stays.
	stop := func(call int, _ intake.Request, _ *intake.Page) error {
		if call == 2 {
			s.Post("/syncs/"+s.latest().String("id")+"/cancel", nil).Want(200)
		}

		return nil
	}
	s.source.lie = stop

	got := s.sync(intake.Incremental)
	if got.String("status") != "failed" || got.Value("error") != nil || len(s.stays()) != 5 {
		t.Errorf("a cancelled sync is %s, with %d stays", got.Body, len(s.stays()))
	}

	op := s.Get("/operations/" + got.String("operationId")).Want(200)
	if op.String("status") != "failed" || op.Value("failure") != nil {
		t.Errorf("the operation of a cancelled sync is %s", op.Body)
	}

	// It goes on from its last page, in a new operation.
	var pages []string

	s.source.lie = func(_ int, ask intake.Request, _ *intake.Page) error {
		pages = append(pages, ask.Page)
		return nil
	}
	path := "/syncs/" + got.String("id")
	again := s.Put(path, object{"status": "queued"}).Want(200)
	s.Outlast(nil)
	s.same()

	if len(pages) != 2 || pages[0] != "5" || pages[1] != "10" {
		t.Errorf("a sync that goes on after its first page reads the pages %q", pages)
	}

	if again.String("operationId") == op.String("id") || s.Get(path).String("status") != "completed" {
		t.Errorf("a sync that was queued again is %s", s.Get(path).Body)
	}

	for _, status := range []string{"started", "completed", "failed", "queued"} {
		s.Put(path, object{"status": status}).Want(200)
	}

	s.Put(path, object{"status": "done"}).WantError(apierr.CodeBadRequest, "")
	s.Outlast(nil)

	// Unknown ones, and those of other teams, do not exist.
	s.Put("/syncs/"+s.connection.String(), object{"status": "queued"}).WantError(apierr.CodeNotFound, "")
	newScene(t).Post(path+"/cancel", nil).WantError(apierr.CodeNotFound, "")
}

// A complete sync that is queued again reads anew: what was deleted in silence since then is gone.
func TestACompleteSyncReadsAnew(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(3)
	s.source.silent = true
	path := "/syncs/" + s.sync(intake.Full).String("id")
	s.source.remove("HM01")
	s.Put(path, object{"status": "queued"}).Want(200)
	s.Outlast(nil)
	s.same()
}

// A stay that waits for a lock and is deleted at the source before the lock goes is not taken in any more.
func TestWhatIsGoneWaitsForNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Post("/team/books-closing", object{"booksClosedAt": "2026-03-01", "reason": "Done"}).Want(201)
	s.fill(1)
	s.sync(intake.Incremental)
	s.want(map[string]string{"HM00": "skipped locked"})
	s.source.remove("HM00")
	s.sync(intake.Incremental)
	s.want(map[string]string{"HM00": "skipped unknown"})
	s.Post("/team/books-closing", object{"booksClosedAt": nil, "reason": "Not done"}).Want(201)
	s.Outlast(nil)

	if here := s.stays(); len(here) != 0 {
		t.Errorf("a stay that is gone at the source is here: %s", jsonText(here))
	}
}

// One sync runs and one waits; a third joins the one that waits.
func TestSyncsOfASourceTakeTurns(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(6)

	start := func() (operation string) {
		s.Tx(func(ctx context.Context, tx *db.Tx) error {
			ack, err := intake.Start(ctx, tx, intake.New{ConnectionID: s.connection, View: intake.Automate, Mode: intake.Full, Trigger: intake.Manual})
			if err == nil {
				operation = ack.OperationID.String()
			}

			return err
		})

		return operation
	}

	var second, third string

	s.source.lie = func(call int, _ intake.Request, _ *intake.Page) error {
		if call == 1 {
			second, third = start(), start()
		}

		return nil
	}

	first := s.sync(intake.Full)
	if second == "" || second != third || first.String("operationId") != second {
		t.Errorf("operations of the second and third sync: %s, %s; the latest is %s", second, third, first.Body)
	}

	var all struct {
		Data  []struct{ Status string }
		Total int
	}

	s.Get("/syncs").Want(200).Into(&all)

	if len(all.Data) != 2 || all.Data[0].Status != "completed" || all.Data[1].Status != "completed" {
		t.Errorf("the syncs are %v", all)
	}

	s.same()
}

// A reading with a page that is not one of a complete reading says of no record that it is gone.
func TestAReadingWithAPartialPageRemovesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.source.pageSize = 2
	s.fill(6)
	s.sync(intake.Full)

	active := func() (n int) {
		for _, stay := range s.stays() {
			if stay.Status == "booked" {
				n++
			}
		}

		return n
	}

	s.source.silent = true
	s.source.remove("HM05")
	s.source.lie = func(_ int, ask intake.Request, p *intake.Page) error {
		p.Complete = ask.Page != ""
		return nil
	}

	if s.sync(intake.Full); active() != 6 {
		t.Errorf("%d stays are booked after a partial reading", active())
	}

	s.source.lie = nil
	s.sync(intake.Full)

	if active() != 5 {
		t.Errorf("%d stays are booked after a complete reading", active())
	}

	s.same()
}

// A reading that lacks most of many records is a fault of the source, not their end.
func TestAnEmptyReadingRemovesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.source.pageSize = 100
	s.fill(60)
	s.sync(intake.Full)

	s.source.lie = func(_ int, _ intake.Request, p *intake.Page) error {
		p.Changes, p.Next, p.Complete = nil, "", true
		return nil
	}

	if got := s.sync(intake.Full); got.String("status") != "failed" || got.String("error.code") != "incompleteRead" {
		t.Errorf("the sync is %s", got.Body)
	}

	s.source.lie = nil
	s.same()
}

// What changes behind the pages that were read comes with the next sync: the watermark is that of the first page.
func TestChangesWhileReadingComeNextTime(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(12)

	s.source.lie = func(call int, _ intake.Request, _ *intake.Page) error {
		if call == 2 {
			s.source.clock++

			r := *s.source.records["HM00"]
			r.guest, r.version = "Changed behind the reading", s.source.clock
			s.source.records["HM00"] = &r
		}

		return nil
	}

	s.sync(intake.Incremental)

	if got := s.stays()["HM00"].GuestName; got != "Guest HM00" {
		t.Errorf("the first page was read twice: %s", got)
	}

	s.sync(intake.Incremental)
	s.same()
}

// A source that does not know any more where it was is read from its beginning; one that never does is given up.
func TestALostCursorIsReadAnew(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(8)
	s.sync(intake.Incremental)
	s.source.set("HM05", func(r *record) { r.guest = "Changed" })
	s.source.lie = func(_ int, ask intake.Request, _ *intake.Page) error {
		if ask.Since != "" {
			return intake.ErrCursorLost
		}

		return nil
	}

	if got := s.sync(intake.Incremental); got.String("status") != "completed" || got.Int("counts.reservation.skipped") != 7 {
		t.Errorf("the sync is %s", got.Body)
	}

	s.same()

	s.source.lie = func(int, intake.Request, *intake.Page) error { return intake.ErrCursorLost }

	if got := s.sync(intake.Full); got.String("status") != "failed" || got.String("error.code") != "unavailable" {
		t.Errorf("a sync of a source that never knows is %s", got.Body)
	}

	// Refused credentials end a sync at once.
	calls := s.source.calls
	s.source.lie = func(int, intake.Request, *intake.Page) error { return intake.ErrRefused }

	if got := s.sync(intake.Full); got.String("error.code") != "reconnectRequired" || s.source.calls != calls+1 {
		t.Errorf("a sync that is refused is %s, after %d calls", got.Body, s.source.calls-calls)
	}
}

// Records that a complete reading lacks are looked up: those that were deleted in silence are gone, and those that moved
// to another page while it was read are not.
func TestMissingRecordsAreLookedUp(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(8)
	s.source.silent = true
	s.sync(intake.Incremental)
	s.source.remove("HM01")

	if s.sync(intake.Incremental); s.stays()["HM01"].Status != "booked" {
		t.Error("a deletion in silence was seen by an incremental sync")
	}

	s.source.lie = func(_ int, _ intake.Request, p *intake.Page) error {
		p.Changes = slices.DeleteFunc(p.Changes, func(c intake.Change) bool { return c.ExternalID == "HM04" })
		return nil
	}

	s.sync(intake.Full)
	s.same()
	s.want(map[string]string{"HM01": "completed", "HM04": "", "HM05": ""})
}

// What became of records is kept for a time, and the counts for good. A name that cannot be stored fails alone.
//
//nolint:paralleltest // it deletes the items of all teams
func TestItemsAreKeptForATime(t *testing.T) {
	s := newScene(t)
	s.fill(3)
	s.source.lie = func(_ int, _ intake.Request, p *intake.Page) error {
		for _, name := range []string{"", "nul\x00", "\xff", strings.Repeat("x", 501)} {
			c := p.Changes[0]
			c.ExternalID = name
			p.Changes = append(p.Changes, c)
		}

		c := p.Changes[0]
		c.ExternalID, c.Values = "HM98", maps.Clone(c.Values)
		c.Values["guestName"] = []byte(`"nul\u0000"`)
		p.Changes = append(p.Changes, c)

		// One that would wait for its listing must not be stored either.
		c.ExternalID, c.Refs = "HM97", map[string]intake.Reference{"listingId": {Kind: "listing", ExternalID: "unknown"}}
		p.Changes = append(p.Changes, c)

		return nil
	}

	if got := s.sync(intake.Full); got.Int("counts.reservation.failed") != 6 || got.Int("counts.reservation.completed") != 3 {
		t.Errorf("the sync is %s", got.Body)
	}

	path := "/syncs/" + s.latest().String("id")

	for _, c := range []struct {
		keep time.Duration
		left int
	}{{time.Hour, 9}, {-time.Hour, 0}} {
		if err := intake.Purge(t.Context(), s.DB, c.keep); err != nil {
			t.Fatal(err)
		}

		if got := s.Get(path + "/items").Want(200); got.Len("data") != c.left {
			t.Errorf("after %v: %s", c.keep, got.Body)
		}
	}

	if got := s.Get(path).Want(200); got.Int("counts.reservation.completed") != 3 {
		t.Errorf("the counts are gone with the items: %s", got.Body)
	}
}
