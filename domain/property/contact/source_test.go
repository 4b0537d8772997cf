package contact_test

import (
	"context"
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

// wantSource compares where a contact came from, in its read and in the list.
func wantSource(t *testing.T, x *apitest.Team, contact, connection, source any) {
	t.Helper()

	want := map[string]any{"connectionId": connection, "sourceId": source, "source": nil}
	if connection != nil && source != nil {
		delete(want, "source")

		want["source.id"], want["source.type"], want["source.appId"], want["source.status"], want["source.appIcon"] = source, "integration", "hostaway", "active", nil
	}

	x.Get("/contacts/"+contact.(string)).Want(200).WantFields("", want)
	x.Get("/contacts?ids="+contact.(string)).Want(200).WantFields("data.0", want)
}

// vendor is a contact with a name and other fields.
func vendor(name string, fields ...any) object {
	return fixture.With(object{"type": "vendor", "name": name}, fields...)
}

func TestAContactShowsWhereItCameFrom(t *testing.T) {
	t.Parallel()
	x, other := newTeam(t), newTeam(t)
	first, second, theirs := fixture.Connection(x, "hostaway"), fixture.Connection(x, "hostaway"), fixture.Connection(other, "hostaway")

	c := x.Post("/contacts", vendor("Fix-It", "connectionId", first, "sourceId", "o-1")).Want(201).String("id")
	wantSource(t, x, c, first, "o-1")

	path := "/contacts/" + c
	x.Put(path, object{"name": "Fix It"}).Want(200)
	wantSource(t, x, c, first, "o-1")
	x.Put(path, object{"connectionId": second}).Want(200)
	wantSource(t, x, c, second, "o-1")
	x.Put(path, object{"sourceId": nil}).Want(200)
	wantSource(t, x, c, second, nil)

	// A key without a connection is kept and shows no source.
	x.Put(path, object{"sourceId": "o-2", "connectionId": nil}).Want(200)
	wantSource(t, x, c, nil, "o-2")

	for _, unknown := range []id.ID{theirs, id.New(x.DB.Now())} {
		x.Post("/contacts", vendor("V", "connectionId", unknown)).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "connectionId")
		x.Put(path, object{"connectionId": unknown}).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "connectionId")
	}

	x.Post("/contacts", vendor("V", "sourceId", "")).WantError(apierr.CodeBadRequest, "").WantIssue("length", "sourceId")
}

// Events have the fields that callers write, and not those that are read from the connection.
func TestEventsOfContactsNameTheirKey(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	connection := fixture.Connection(x, "hostaway")
	c := x.Post("/contacts", vendor("Fix-It", "connectionId", connection, "sourceId", "o-1")).Want(201).ID("id")
	x.Put("/contacts/"+c.String(), object{"sourceId": "o-2"}).Want(200)
	x.Delete("/contacts/" + c.String()).Want(204)

	var fields []string

	x.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		fields, err = db.Select[string](ctx, tx, `
			select e.type || ' ' || (c.change ->> 'key') from audit_event e cross join lateral jsonb_array_elements(e.changes) c (change)
			where e.team_id = @team and e.entity_id = @id and c.change ->> 'key' ~ '^(connectionId|source)' order by e.recorded_at, 1`,
			db.Args{"team": tx.Team, "id": c})

		return err
	})

	if got := strings.Join(fields, ", "); got != "created connectionId, created sourceId, updated sourceId, deleted connectionId, deleted sourceId" {
		t.Errorf("the events have %s", got)
	}
}

func TestContactsByConnection(t *testing.T) {
	t.Parallel()
	x, other := newTeam(t), newTeam(t)
	first, second, theirs := fixture.Connection(x, "hostaway"), fixture.Connection(x, "ownerrez"), fixture.Connection(other, "hostaway")
	other.Post("/contacts", vendor("Theirs", "connectionId", theirs)).Want(201)

	for name, c := range map[string]any{"One": first, "Two": second, "None": nil} {
		x.Post("/contacts", vendor(name, "connectionId", c)).Want(201)
	}

	for query, want := range map[string][]string{
		first.String(): {"One"}, first.String() + "," + second.String(): {"One", "Two"}, "null": {"None"}, "null," + second.String(): {"None", "Two"},
		"!" + first.String(): {"None", "Two"}, "!null": {"One", "Two"}, theirs.String(): nil,
	} {
		wantNames(t, x.Get("/contacts?sort=name&connectionIds="+query), want...)
	}
}

// One key of a connection is one contact.
func TestContactsWithOneKeyAreRefused(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	first, second := fixture.Connection(x, "hostaway"), fixture.Connection(x, "hostaway")
	x.Post("/contacts", vendor("A", "connectionId", first, "sourceId", "1")).Want(201)

	b := x.Post("/contacts", vendor("B", "connectionId", second, "sourceId", "1")).Want(201).String("id")
	x.Post("/contacts", vendor("C", "sourceId", "1")).Want(201)
	x.Post("/contacts", vendor("D", "sourceId", "1")).Want(201)
	x.Post("/contacts", vendor("E", "connectionId", first)).Want(201)
	x.Post("/contacts", vendor("F", "connectionId", first)).Want(201)

	x.Post("/contacts", vendor("Again", "connectionId", first, "sourceId", "1")).WantError(apierr.CodeConflict, "").WantIssue("duplicateUniqueRef", "sourceId")
	x.Put("/contacts/"+b, object{"connectionId": first}).WantError(apierr.CodeConflict, "").WantIssue("duplicateUniqueRef", "sourceId")
	wantNames(t, x.Get("/contacts?sort=name"), "A", "B", "C", "D", "E", "F")
}

// A batch knows a contact by its id, then its reference, then its key.
func TestBatchKnowsContactsByKey(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	first, second := fixture.Connection(x, "hostaway"), fixture.Connection(x, "hostaway")

	key := func(connection id.ID, source, name string) object {
		return vendor(name, "connectionId", connection, "sourceId", source)
	}

	r := x.Post("/contacts/batch", object{"data": []object{
		key(first, "1", "A"), key(second, "1", "B"), fixture.With(key(first, "2", "C"), "uniqueRef", "c"), key(first, "1", "Twice"),
	}}).Want(200)
	if r.Len("data") != 3 || r.String("issues.0.index") != "3" {
		t.Fatalf("the first batch: %s", r.Body)
	}

	a, b, c := r.ID("data.0.id"), r.ID("data.1.id"), r.ID("data.2.id")

	// The second time nothing is made.
	r = x.Post("/contacts/batch", object{"data": []object{
		{"connectionId": first, "sourceId": "1", "name": "A again", "uniqueRef": "a"}, {"uniqueRef": "c", "sourceId": "3"}, {"id": b, "connectionId": first, "sourceId": "2"},
	}}).Want(200)
	if r.Len("data") != 3 || r.ID("data.0.id") != a || r.ID("data.1.id") != c || r.ID("data.2.id") != b {
		t.Fatalf("the second batch: %s", r.Body)
	}

	wantNames(t, x.Get("/contacts?sort=name"), "A again", "B", "C")
	wantSource(t, x, c.String(), first, "3")
	wantSource(t, x, b.String(), first, "2")

	// Half of a key, with the other half of the stored contact, can be another contact's; only that item is refused.
	r = x.Post("/contacts/batch", object{"data": []object{{"id": b, "sourceId": "3"}, {"uniqueRef": "a", "sourceId": "2"}, {"uniqueRef": "c", "name": "C too"}}}).Want(200)
	if r.Len("data") != 1 || r.ID("data.0.id") != c {
		t.Fatalf("the third batch: %s", r.Body)
	}

	for _, i := range []string{"issues.0.", "issues.1."} {
		if r.String(i+"code") != "CONFLICT" || r.String(i+"context.issues.0.code") != "duplicateUniqueRef" || r.String(i+"context.issues.0.path.0") != "sourceId" {
			t.Errorf("refused with %s", r.Body)
		}
	}

	r = x.Post("/contacts/batch", object{"data": []object{key(id.New(x.DB.Now()), "1", "Nowhere")}}).Want(200)
	if r.Len("data") != 0 || r.String("issues.0.context.issues.0.code") != "notFound" || r.String("issues.0.context.issues.0.path.0") != "connectionId" {
		t.Errorf("an unknown connection: %s", r.Body)
	}
}
