package intake_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"testing"
	"time"

	"stayledger/app"
	"stayledger/domain/record/intake"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

// script is a source that gives some changes, once for each sync.
type script struct {
	changes []intake.Change
	kinds   []string
}

func (s *script) Kinds() []string {
	if s.kinds != nil {
		return s.kinds
	}

	return []string{"contact", "reservation"}
}

func (s *script) Pull(_ context.Context, ask intake.Request) (*intake.Page, error) {
	p := &intake.Page{}

	for _, c := range s.changes {
		if c.Kind == ask.Kind {
			p.Changes = append(p.Changes, c)
		}
	}

	return p, nil
}

func (*script) Lookup(context.Context, string, []string) ([]intake.Change, error) { return nil, nil }

// give adds a record to the script.
func (s *script) give(kind, name string, fields object) {
	values := intake.Values{}
	for field, v := range fields {
		values[field] = json.RawMessage(jsonText(v))
	}

	s.changes = append(s.changes, intake.Change{Kind: kind, ExternalID: name, Values: values})
}

// Contacts are the same by their e-mail address and never by their name; what is refused is named.
func TestContactsAreTakenIn(t *testing.T) {
	t.Parallel()

	source := &script{}
	s := newScene(t, func(o *app.External) {
		o.Sources = func(context.Context, *db.DB, db.Scope, id.ID) (intake.Source, error) { return source, nil }
	})

	ben := s.Contact("owner", "Ben")
	s.Post("/contacts", object{"type": "owner", "name": "Twin", "email": "twins@example.com"}).Want(201)
	s.Post("/contacts", object{"type": "vendor", "name": "Other twin", "email": "Twins@example.com"}).Want(201)

	source.give("contact", "c1", object{"type": "owner", "name": "Benjamin", "email": "ben@example.com", "phone": "+49 1"})
	source.give("contact", "c2", object{"type": "owner", "name": "Ben", "email": "another@example.com"})
	source.give("contact", "c3", object{"type": "owner", "name": "Twin", "email": "twins@example.com"})
	source.give("contact", "c4", object{"type": "owner"})
	source.give("contact", "c5", object{"type": "landlord", "name": "Nobody we know"})
	source.give("contact", "c6", object{"type": "owner", "name": "Has more", "shoeSize": 43})
	source.give("contact", "c7", object{"type": "owner", "name": "Second Ben", "email": "BEN@example.com"})
	source.give("reservation", "r1", object{"listingId": s.villa.ID, "checkIn": "2026-02-01", "checkOut": "2026-02-03", "status": "inquiry"})
	source.give("invoice", "i1", object{"total": 7})

	if got := s.sync(intake.Incremental); got.String("status") != "completed" {
		t.Fatalf("the sync is %s", got.Body)
	}

	s.want(map[string]string{
		"c1": "completed conflict", "c2": "completed", "c3": "failed ambiguous", "c4": "failed required", "c5": "failed enum", "c6": "failed unknownField",
		"c7": "failed ambiguous", "r1": "skipped statusIgnored",
	})

	// The person's name stays, what was empty is filled.
	if got := s.Get("/contacts/" + ben.String()).Want(200); got.String("name") != "Ben" || got.String("phone") != "+49 1" {
		t.Errorf("the contact that was there is %s", got.Body)
	}
}

// What is taken in gets the connection and the source's name of it, unless it came from somewhere else. A contact that a
// caller has written with that name is the record.
func TestContactsAreGivenTheirSource(t *testing.T) {
	t.Parallel()

	source := &script{}
	s := newScene(t, func(o *app.External) {
		o.Sources = func(context.Context, *db.DB, db.Scope, id.ID) (intake.Source, error) { return source, nil }
	})
	elsewhere := fixture.Connection(s.Team, "hostaway")

	post := func(fields object) string { return s.Post("/contacts", fields).Want(201).String("id") }
	plain := post(object{"type": "owner", "name": "Plain", "email": "plain@example.com"})
	written := post(object{"type": "owner", "name": "Written", "connectionId": s.connection, "sourceId": "c2"})
	bound := post(object{"type": "owner", "name": "Bound", "email": "bound@example.com", "connectionId": elsewhere, "sourceId": "b-7"})

	source.give("contact", "c1", object{"phone": "+49 1", "email": "plain@example.com"})
	source.give("contact", "c2", object{"phone": "+49 2", "email": "plain@example.com"})
	source.give("contact", "c3", object{"phone": "+49 3", "email": "bound@example.com"})
	source.give("contact", "c4", object{"type": "owner", "name": "New"})
	s.sync(intake.Incremental)
	s.want(map[string]string{"c1": "completed", "c2": "completed", "c3": "completed", "c4": "completed"})

	made := s.Get("/contacts?search=New").Want(200).String("data.0.id")
	for contact, want := range map[string]object{
		plain:   {"phone": "+49 1", "connectionId": s.connection, "sourceId": "c1", "source.id": "c1", "source.appId": "nacha"},
		written: {"phone": "+49 2", "connectionId": s.connection, "sourceId": "c2", "source.id": "c2"},
		bound:   {"phone": "+49 3", "connectionId": elsewhere, "sourceId": "b-7", "source.id": "b-7"},
		made:    {"connectionId": s.connection, "sourceId": "c4", "source.id": "c4"},
	} {
		s.Get("/contacts/"+contact).Want(200).WantFields("", want)
	}
}

// A change that is older than the last one comes too late; one of the same age counts.
func TestOlderChangesAreIgnored(t *testing.T) {
	t.Parallel()

	source := &script{}
	s := newScene(t, func(o *app.External) {
		o.Sources = func(context.Context, *db.DB, db.Scope, id.ID) (intake.Source, error) { return source, nil }
	})

	for _, c := range []struct {
		name, outcome, want string
		at                  time.Duration // after the epoch
	}{
		{"First", "completed", "First", 10 * time.Second},
		{"Earlier", "skipped older", "First", 5 * time.Second},
		{"Same second", "completed", "Same second", 10 * time.Second},
		{"Later", "completed", "Later", 11 * time.Second},
		// Finer than the database keeps; the second one is unchanged, and has no outcome of its own.
		{"Fine", "completed", "Fine", 12*time.Second + 333_751_875},
		{"Fine", "", "Fine", 12*time.Second + 333_751_875},
		{"As fine", "completed", "As fine", 12*time.Second + 333_751_875},
	} {
		source.changes = nil
		source.give("contact", "c1", object{"type": "owner", "name": c.name})
		source.changes[0].ChangedAt = epoch.Add(c.at)

		s.sync(intake.Incremental)
		s.want(map[string]string{"c1": c.outcome})

		if got := s.Get("/contacts?search=" + url.QueryEscape(c.want)).Want(200); got.Int("pagination.total") != 1 {
			t.Errorf("after %q: %s", c.name, got.Body)
		}
	}

	// Of several states in a page the newest counts, in whatever order they come.
	for i, seconds := range [][]int{{20, 19}, {29, 30}} {
		source.changes = nil

		for n, second := range seconds {
			source.give("contact", "c1", object{"type": "owner", "name": fmt.Sprintf("At %d", second)})
			source.changes[n].ChangedAt = epoch.Add(time.Duration(second) * time.Second)
		}

		s.sync(intake.Incremental)

		newest := fmt.Sprintf("At %d", max(seconds[0], seconds[1]))
		if got := s.Get("/contacts?search=" + url.QueryEscape(newest)).Want(200); got.Int("pagination.total") != 1 {
			t.Errorf("page %d: %s", i, got.Body)
		}
	}
}
