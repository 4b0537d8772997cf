package pms_test

import (
	"sync"
	"testing"

	"stayledger/platform/apitest"
	sandbox "stayledger/provider/sandbox/pms"
	"stayledger/test/fixture"
)

// quarrel has a person and the system change a stay, and returns the id of the conflict that a reading finds.
func (s *scene) quarrel(name string, ours object, theirs func(r *sandbox.Reservation)) string {
	s.T.Helper()
	s.Put("/reservations/"+s.stay("C-"+name).String("id"), ours).Want(200)
	s.change(name, theirs)
	s.sync("incremental")

	found := s.Get("/sync-conflicts?connectionIds=" + s.connection.String() + "&entityId=" + s.stay("C-"+name).String("id")).Want(200)
	if found.Len("data") != 1 || found.String("data.0.externalId") != name {
		s.T.Fatalf("the conflicts of %s are %s", name, found.Body)
	}

	return found.String("data.0.id")
}

// change changes a reservation at the system.
func (s *scene) change(name string, f func(r *sandbox.Reservation)) {
	s.T.Helper()

	if err := s.system.ChangeReservation(name, f); err != nil {
		s.T.Fatal(err)
	}
}

// settle settles a conflict.
func (s *scene) settle(conflict, take string) *apitest.Response {
	return s.Post("/sync-conflicts/settle", object{"data": array{object{"id": conflict, "take": take}}})
}

// settled fails unless no conflict is open and the guest of a stay has a name.
func (s *scene) settled(name, guest string) {
	s.T.Helper()

	if got := s.stay("C-" + name); got.String("guestName") != guest {
		s.T.Errorf("the guest of %s is %q, want %q", name, got.String("guestName"), guest)
	}

	if open := s.Get("/sync-conflicts").Want(200); open.Len("data") != 0 {
		s.T.Errorf("still open: %s", open.Body)
	}
}

// rename returns a change of the guest's name.
func rename(to string) func(r *sandbox.Reservation) {
	return func(r *sandbox.Reservation) { r.Guest.Name = to }
}

// A conflict shows both names, is settled either way, and readings that follow keep to that.
func TestConflictsAreSettled(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(3)
	s.connect()
	s.sync("full")

	one := s.quarrel("r000", object{"guestName": "Ours"}, rename("Theirs"))
	if got := s.Get("/sync-conflicts?ids=" + one).Want(200); got.String("data.0.ours") != "Ours" || got.String("data.0.theirs") != "Theirs" ||
		got.String("data.0.field") != "guestName" || got.String("data.0.connectionId") != s.connection.String() {
		t.Errorf("the conflict is %s", got.Body)
	}

	// Ours: only another value of the system asks again.
	if got := s.settle(one, "ours").Want(200); got.Len("data") != 1 {
		t.Errorf("settling is answered with %s", got.Body)
	}

	s.sync("full")
	s.change("r000", func(r *sandbox.Reservation) { r.Channel = "vrbo" })
	s.sync("incremental")
	s.settled("r000", "Ours")

	if got := s.stay("C-r000"); got.String("bookingPlatform") != "vrbo" {
		t.Errorf("the stay does not follow the system any more: %s", got.Body)
	}

	// Theirs: the field follows the system again.
	two := s.quarrel("r001", object{"guestName": "Ours"}, rename("Theirs"))
	if got := s.settle(two, "theirs").Want(200); got.Len("data") != 1 {
		t.Errorf("settling is answered with %s", got.Body)
	}

	s.settled("r001", "Theirs")
	s.sync("full")
	s.change("r001", rename("Later"))
	s.sync("incremental")
	s.settled("r001", "Later")

	// Another team has no such conflict, and one that is settled is not there any more.
	three := s.quarrel("r002", object{"guestName": "Ours"}, rename("Theirs"))

	other := newScene(t)
	for name, got := range map[string]*apitest.Response{
		"another team": other.settle(three, "theirs"), "settled before": s.settle(two, "ours"),
	} {
		if got.Want(200).Len("data") != 0 || got.String("issues.0.code") != "NOT_FOUND" {
			t.Errorf("%s: %s", name, got.Body)
		}
	}

	if got := other.Get("/sync-conflicts").Want(200); got.Len("data") != 0 {
		t.Errorf("another team sees %s", got.Body)
	}

	s.settle(three, "theirs").Want(200)
	s.settled("r002", "Theirs")
}

// A reservation in closed books keeps its conflict, which can be settled when they are open again.
func TestALockedReservationKeepsItsConflict(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(1)
	s.connect()
	s.sync("full")

	conflict := s.quarrel("r000", object{"lines": array{object{"type": "rent", "amount": 10_000}, object{"type": "cleaningFee", "amount": 5_000}}},
		func(r *sandbox.Reservation) { r.Lines[0].Amount, r.Total = "300", "350" })
	s.Post("/team/books-closing", object{"booksClosedAt": "2026-03-01", "reason": "Done"}).Want(201)

	if got := s.settle(conflict, "theirs").Want(200); got.Len("data") != 0 || got.String("issues.0.reason") != "reservationLocked" {
		t.Errorf("settling a locked stay is answered with %s", got.Body)
	}

	if got := s.stay("C-r000"); got.Int("financials.total") != 15_000 || s.Get("/sync-conflicts").Want(200).Len("data") != 1 {
		t.Errorf("the locked stay is %s", got.Body)
	}

	s.Post("/team/books-closing", object{"booksClosedAt": nil, "reason": "Not done"}).Want(201)
	s.Outlast(nil)
	s.settle(conflict, "theirs").Want(200)
	s.settled("r000", "Ada")

	if got := s.stay("C-r000"); got.Int("financials.total") != 35_000 {
		t.Errorf("the settled stay is %s", got.Body)
	}
}

// Nothing comes over an archived connection any more: its conflicts are over, and those of others are not.
func TestConflictsOfAnArchivedConnectionEnd(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(1)
	s.connect()
	s.sync("full")

	conflict := s.quarrel("r000", object{"guestName": "Ours"}, rename("Theirs"))
	other := fixture.Connection(s.Team, "hostaway")
	s.Delete("/connections/" + other.String() + "?outcome=archive").Want(202)
	s.Outlast(nil)

	if open := s.Get("/sync-conflicts").Want(200); open.Len("data") != 1 {
		t.Errorf("archiving another connection leaves %s", open.Body)
	}

	s.Delete(s.path("?outcome=archive")).Want(202)
	s.Outlast(nil)
	s.settled("r000", "Ours")

	if got := s.settle(conflict, "theirs").Want(200); got.Len("data") != 0 || got.String("issues.0.code") != "NOT_FOUND" {
		t.Errorf("settling is answered with %s", got.Body)
	}
}

// Of several who settle a conflict while a sync reads the record, one does, and that is how it is.
func TestOneSettles(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	names := s.fill(4)
	s.connect()
	s.sync("full")

	for i, name := range names {
		conflict := s.quarrel(name, object{"guestName": "Ours"}, rename("Theirs"))

		for _, other := range names {
			s.change(other, func(r *sandbox.Reservation) { r.Guests = new(i + 2) })
		}

		operation := s.Post(s.path("/sync"), object{"mode": "full"}).Want(202).String("operationId")

		var (
			wait    sync.WaitGroup
			answers [8]*apitest.Response
		)

		takes := []string{"ours", "theirs"}

		for n := range answers {
			wait.Go(func() { answers[n] = s.settle(conflict, takes[n%2]) })
		}

		s.Outlast(nil)
		wait.Wait()

		done := []string{}

		for n, got := range answers {
			switch {
			case got.Want(200).Len("data") == 1:
				done = append(done, takes[n%2])
			case got.String("issues.0.code") != "NOT_FOUND":
				t.Errorf("settling is answered with %s", got.Body)
			}
		}

		if len(done) != 1 || s.Get("/operations/"+operation).Want(200).String("status") != "completed" {
			t.Fatalf("%d have settled: %q", len(done), done)
		}

		s.sync("full")
		s.settled(name, map[string]string{"ours": "Ours", "theirs": "Theirs"}[done[0]])

		if got := s.stay("C-" + name); got.Int("guests") != int64(i)+2 {
			t.Errorf("the stay does not follow the system: %s", got.Body)
		}
	}
}

// What a system says of the parent of a listing is kept apart from it, and nothing that people could settle.
func TestTheParentOfAListingIsNoConflict(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Currency: "usd", ParentID: "P1", Unit: "A"})
	s.connect()
	s.sync("full")
	s.system.SetListing(sandbox.Listing{ID: "L1", Name: "House One", Currency: "usd", ParentID: "P2", Unit: "B"})
	s.sync("full")

	if got := s.Get("/sync-conflicts").Want(200); got.Len("data") != 0 {
		t.Errorf("the conflicts are %s", got.Body)
	}

	if got := s.Get("/listings").Want(200); got.String("data.0.name") != "House One" {
		t.Errorf("the listing is %s", got.Body)
	}
}
