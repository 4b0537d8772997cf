package intake_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"stayledger/app"
	"stayledger/domain/record/intake"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// open fails unless exactly these conflicts are open, each as its record, field and both values.
func (s *scene) open(want ...string) *apitest.Response {
	s.T.Helper()

	var page struct {
		Data []struct {
			ExternalID, Field string
			Ours, Theirs      any
		}
		Pagination struct{ Total int }
	}

	found := s.Get("/sync-conflicts?limit=250").Want(200)
	found.Into(&page)

	got := []string{}
	for _, c := range page.Data {
		got = append(got, fmt.Sprintf("%s %s %v/%v", c.ExternalID, c.Field, c.Ours, c.Theirs))
	}

	slices.Sort(got)
	slices.Sort(want)

	if !slices.Equal(got, want) || page.Pagination.Total != len(want) {
		s.T.Errorf("the conflicts are %q of %d, want %q", got, page.Pagination.Total, want)
	}

	return found
}

// conflict returns the id of the conflict about a field.
func (s *scene) conflict(externalID, field string) string {
	s.T.Helper()

	var page struct {
		Data []struct{ ID, ExternalID, Field string }
	}

	s.Get("/sync-conflicts?limit=250").Want(200).Into(&page)

	for _, c := range page.Data {
		if c.ExternalID == externalID && c.Field == field {
			return c.ID
		}
	}

	s.T.Fatalf("%s has no conflict about %s", externalID, field)

	return ""
}

// settle settles a conflict and fails if it is refused.
func (s *scene) settle(externalID, field, take string) {
	s.T.Helper()

	got := s.Post("/sync-conflicts/settle", object{"data": array{object{"id": s.conflict(externalID, field), "take": take}}}).Want(200)
	if got.Len("data") != 1 || got.Len("issues") != 0 {
		s.T.Errorf("settling is answered with %s", got.Body)
	}
}

// quarrel has a person and the source change the guest's name of a stay.
func (s *scene) quarrel(name string) {
	s.T.Helper()
	s.Put("/reservations/"+s.stays()[name].ID.String(), object{"guestName": "Ours"}).Want(200)
	s.source.set(name, func(r *record) { r.guest = "Theirs" })
	s.sync(intake.Incremental)
}

// One's own value stays for good: neither the same value again nor a full reading asks again, and a new one does.
func TestAConflictIsSettledForOurs(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(2)
	s.sync(intake.Incremental)
	s.quarrel("HM00")

	found := s.open("HM00 guestName Ours/Theirs")
	if found.String("data.0.entity.type") != "reservation" || found.String("data.0.entity.id") != s.stays()["HM00"].ID.String() ||
		found.String("data.0.connectionId") != s.connection.String() || found.String("data.0.kind") != "reservation" {
		t.Errorf("the conflict is %s", found.Body)
	}

	before := s.conflict("HM00", "guestName")
	s.settle("HM00", "guestName", "ours")
	s.open()
	s.sync(intake.Full)
	s.source.set("HM00", func(r *record) { r.nights = 6 })
	s.sync(intake.Incremental)
	s.open()

	if got := s.stays()["HM00"]; got.GuestName != "Ours" || got.CheckOut != "2026-02-07" {
		t.Errorf("the stay is %s", jsonText(got))
	}

	// It is settled once.
	again := s.Post("/sync-conflicts/settle", object{"data": array{object{"id": before, "take": "theirs"}}}).Want(200)
	if again.Len("data") != 0 || again.String("issues.0.code") != "NOT_FOUND" || s.stays()["HM00"].GuestName != "Ours" {
		t.Errorf("settling again is answered with %s", again.Body)
	}

	s.source.set("HM00", func(r *record) { r.guest = "Another" })
	s.sync(intake.Incremental)
	s.open("HM00 guestName Ours/Another")
}

// The value of the source is written by the person who takes it, and the field follows the source again.
func TestAConflictIsSettledForTheirs(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(1)
	s.sync(intake.Incremental)
	s.quarrel("HM00")
	s.settle("HM00", "guestName", "theirs")
	s.open()
	s.same()

	s.Tx(func(ctx context.Context, tx *db.Tx) error {
		by, err := db.Get[string](ctx, tx, `
			select source_type || ' ' || coalesce(connection_id::text, 'no connection') from audit_event where team_id = @team and entity_type = 'reservation'
			order by id desc limit 1`, db.Args{"team": tx.Team})
		if by != "user no connection" {
			t.Errorf("the event names %s", by)
		}

		return err
	})

	s.source.set("HM00", func(r *record) { r.guest = "Later" })
	s.sync(intake.Incremental)
	s.same()
	s.open()
}

// Both settle together; what of a list is settled leaves the rest of it as it is, and a line that is gone here comes back.
func TestConflictsAboutLinesAreSettled(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.source.set("HM00", func(r *record) { r.lines = []line{{"rent", 30_000}, {"cleaningFee", 5_000}, {"tax", 700}} })
	s.sync(intake.Incremental)

	s.Put("/reservations/"+s.stays()["HM00"].ID.String(), object{"guestName": "Ours", "lines": array{
		object{"type": "rent", "amount": 31_000}, object{"type": "petFee", "amount": 2_500}, object{"type": "tax", "amount": 800},
	}}).Want(200)
	s.source.set("HM00", func(r *record) {
		r.guest, r.lines = "Theirs", []line{{"rent", 32_000}, {"cleaningFee", 6_000}}
	})
	s.sync(intake.Incremental)
	s.open("HM00 guestName Ours/Theirs", "HM00 lines[rent].amount 31000/32000", "HM00 lines[cleaningFee].amount <nil>/6000", "HM00 lines[tax] true/<nil>")

	all := array{object{"id": s.conflict("HM00", "guestName"), "take": "ours"}}
	for _, field := range []string{"lines[rent].amount", "lines[cleaningFee].amount"} {
		all = append(all, object{"id": s.conflict("HM00", field), "take": "theirs"})
	}

	if got := s.Post("/sync-conflicts/settle", object{"data": all}).Want(200); got.Len("data") != 3 || got.Int("data.2.index") != 2 {
		t.Errorf("settling is answered with %s", got.Body)
	}

	s.open("HM00 lines[tax] true/<nil>")

	if got := s.stays()["HM00"]; got.GuestName != "Ours" ||
		jsonText(got.Lines) != jsonText([]line{{"rent", 32_000}, {"cleaningFee", 6_000}, {"petFee", 2_500}, {"tax", 800}}) {
		t.Errorf("the stay is %s", jsonText(got))
	}

	s.settle("HM00", "lines[tax]", "theirs")
	s.sync(intake.Full)
	s.open()

	if got := s.stays()["HM00"]; jsonText(got.Lines) != jsonText([]line{{"rent", 32_000}, {"cleaningFee", 6_000}, {"petFee", 2_500}}) {
		t.Errorf("the stay is %s", jsonText(got))
	}
}

// A conflict is over when both sides are the same, at the next reading of the record, and when the field follows the source
// again.
func TestPeopleEndConflicts(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(3)
	s.sync(intake.Incremental)
	s.quarrel("HM00")
	s.quarrel("HM01")
	s.quarrel("HM02")

	stays := s.stays()
	s.Put("/reservations/"+stays["HM00"].ID.String(), object{"guestName": "Theirs"}).Want(200)
	s.Put("/reservations/"+stays["HM01"].ID.String(), object{"guestName": "Theirs"}).Want(200)
	s.Put("/reservations/"+stays["HM02"].ID.String(), object{"guestName": "Ours again"}).Want(200)
	s.open("HM00 guestName Theirs/Theirs", "HM01 guestName Theirs/Theirs", "HM02 guestName Ours again/Theirs")

	// The source says nothing new of one, and of another it changes the field.
	s.source.set("HM01", func(r *record) { r.guest = "Later" })
	s.sync(intake.Full)
	s.open("HM02 guestName Ours again/Theirs")

	if got := s.stays(); got["HM00"].GuestName != "Theirs" || got["HM01"].GuestName != "Later" || got["HM02"].GuestName != "Ours again" {
		t.Errorf("the stays are %s", jsonText(got))
	}
}

// Whoever settles has seen what the source says: when it says something else, that is another conflict.
func TestAConflictIsAboutOneValue(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(1)
	s.sync(intake.Incremental)
	s.quarrel("HM00")
	seen := s.conflict("HM00", "guestName")
	s.source.set("HM00", func(r *record) { r.guest = "Another" })
	s.sync(intake.Incremental)

	got := s.Post("/sync-conflicts/settle", object{"data": array{object{"id": seen, "take": "theirs"}}}).Want(200)
	if got.String("issues.0.code") != "NOT_FOUND" || s.stays()["HM00"].GuestName != "Ours" {
		t.Errorf("settling is answered with %s", got.Body)
	}

	s.open("HM00 guestName Ours/Another")
}

// What is locked keeps its conflict, and the others are settled.
func TestALockedRecordKeepsItsConflict(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(2)
	s.source.set("HM01", func(r *record) { r.checkIn = "2026-03-10" })
	s.sync(intake.Incremental)

	for name, stay := range s.stays() {
		s.Put("/reservations/"+stay.ID.String(), object{"lines": array{object{"type": "rent", "amount": 1_000}}}).Want(200)
		s.source.set(name, func(r *record) { r.lines = []line{{"rent", 2_000}} })
	}

	s.sync(intake.Incremental)
	s.Post("/team/books-closing", object{"booksClosedAt": "2026-03-01", "reason": "Done"}).Want(201)

	const field = "lines[rent].amount"

	got := s.Post("/sync-conflicts/settle", object{"data": array{
		object{"id": s.conflict("HM00", field), "take": "theirs"}, object{"id": s.conflict("HM01", field), "take": "theirs"},
	}}).Want(200)

	// The code is that of a change of the reservation itself.
	refused := s.Put("/reservations/"+s.stays()["HM00"].ID.String(), object{"lines": array{object{"type": "rent", "amount": 2_000}}})
	if got.Len("data") != 1 || got.Int("data.0.index") != 1 || got.Len("issues") != 1 || got.Int("issues.0.index") != 0 ||
		got.String("issues.0.code") != refused.String("code") || got.String("issues.0.reason") != "reservationLocked" {
		t.Errorf("settling is answered with %s, a change with %s", got.Body, refused.Body)
	}

	s.open("HM00 lines[rent].amount 1000/2000")

	if stays := s.stays(); stays["HM00"].Lines[0].Amount != 1_000 || stays["HM01"].Lines[0].Amount != 2_000 {
		t.Errorf("the stays are %s", jsonText(stays))
	}
}

// Conflicts of other teams are not there, nor is a dry run.
//
// Proves: DRY-61.
func TestConflictsBelongToTheirTeam(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(1)
	s.sync(intake.Incremental)
	s.quarrel("HM00")

	body := object{"data": array{object{"id": s.conflict("HM00", "guestName"), "take": "theirs"}}}
	other := newScene(t)
	other.open()

	if got := other.Post("/sync-conflicts/settle", body).Want(200); got.Len("data") != 0 || got.String("issues.0.code") != "NOT_FOUND" {
		t.Errorf("settling of another team is answered with %s", got.Body)
	}

	s.Post("/sync-conflicts/settle?dryRun=true", body).WantError(apierr.CodeBadRequest, "")
	s.open("HM00 guestName Ours/Theirs")
}

// The filters find what they name.
func TestConflictsAreFiltered(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(2)
	s.sync(intake.Incremental)
	s.quarrel("HM00")
	s.quarrel("HM01")

	first, second := s.conflict("HM00", "guestName"), s.conflict("HM01", "guestName")
	for query, want := range map[string][]string{
		"": {second, first}, "sort=at": {first, second}, "sort=-at&limit=1": {second}, "ids=" + first: {first}, "ids=!" + first: {second},
		"connectionIds=" + s.connection.String(): {second, first}, "connectionIds=!" + s.connection.String(): {}, "connectionIds=null": {},
		"kind=reservation": {second, first}, "kind=contact": {}, "entityId=" + s.stays()["HM00"].ID.String(): {first}, "entityId=" + first: {},
	} {
		var page struct{ Data []struct{ ID string } }

		s.Get("/sync-conflicts?" + query).Want(200).Into(&page)

		got := []string{}
		for _, c := range page.Data {
			got = append(got, c.ID)
		}

		if !slices.Equal(got, want) {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
}

// What a source leaves out for a while is no change of it.
func TestAFieldThatIsLeftOutForAWhileAsksNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(1)
	s.sync(intake.Incremental)
	s.quarrel("HM00")
	s.settle("HM00", "guestName", "ours")

	s.source.lie = func(_ int, _ intake.Request, p *intake.Page) error {
		for i := range p.Changes {
			delete(p.Changes[i].Values, "guestName")
		}

		return nil
	}
	s.source.set("HM00", func(r *record) { r.nights = 4 })
	s.sync(intake.Incremental)

	s.source.lie = nil
	s.source.set("HM00", func(r *record) { r.nights = 5 })
	s.sync(intake.Incremental)
	s.open()

	if got := s.stays()["HM00"]; got.GuestName != "Ours" || got.CheckOut != "2026-02-06" {
		t.Errorf("the stay is %s", jsonText(got))
	}
}

// What a source says of a tax identifier is not shown, and can be taken.
func TestATaxIdentifierIsNotShown(t *testing.T) {
	t.Parallel()

	source := &script{}
	s := newScene(t, func(o *app.External) {
		o.Sources = func(context.Context, *db.DB, db.Scope, id.ID) (intake.Source, error) { return source, nil }
	})

	for _, tax := range []string{"12-3456789", "98-7654321"} {
		source.changes = nil
		source.give("contact", "c1", object{"type": "vendor", "name": "Clean & Co", "taxIdentifier": tax})
		s.sync(intake.Full)
	}

	s.open("c1 taxIdentifier ***6789/***")
	s.settle("c1", "taxIdentifier", "theirs")
	s.open()

	if got := s.Get("/contacts?search=Clean").Want(200); got.String("data.0.taxIdentifier") != "***4321" {
		t.Errorf("the contact is %s", got.Body)
	}
}
