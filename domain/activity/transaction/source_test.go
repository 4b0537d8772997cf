package transaction_test

import (
	"context"
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/test/fixture"
)

// wantSource compares where a transaction came from, in its read and in the list.
func (w *world) wantSource(t *testing.T, one, connection, source any) {
	t.Helper()

	want := map[string]any{"connectionId": connection, "sourceId": source, "source": nil}
	if connection != nil && source != nil {
		delete(want, "source")

		want["source.id"], want["source.type"], want["source.appId"], want["source.status"], want["source.appIcon"] = source, "integration", "hostaway", "active", nil
	}

	w.Get("/transactions/"+one.(string)).Want(200).WantFields("", want)
	w.Get("/transactions?ids="+one.(string)).Want(200).WantFields("data.0", want)
}

// from is a deposit that came over a connection, with a key of it.
func (w *world) from(connection, source any) object {
	return fixture.With(w.deposit("2026-03-01", 5), "connectionId", connection, "sourceId", source)
}

func TestATransactionShowsWhereItCameFrom(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	first, second, theirs := fixture.Connection(w.Team, "hostaway"), fixture.Connection(w.Team, "hostaway"), fixture.Connection(other.Team, "hostaway")

	one := w.Post("/transactions", w.from(first, "d-1")).Want(201).WantFields("", object{"connectionId": first, "sourceId": "d-1", "source.id": "d-1"}).String("id")
	w.wantSource(t, one, first, "d-1")

	path := "/transactions/" + one
	w.Put(path, object{"description": "Deposit"}).Want(200)
	w.wantSource(t, one, first, "d-1")
	w.Put(path, object{"connectionId": second}).Want(200)
	w.wantSource(t, one, second, "d-1")
	w.Put(path, object{"sourceId": nil}).Want(200)
	w.wantSource(t, one, second, nil)

	// A key without a connection is kept and shows no source. What came from where is part of no journal.
	fixture.CloseBooks(w.Team, "2026-04-01")
	w.Put(path, object{"sourceId": "d-2", "connectionId": nil}).Want(200)
	w.wantSource(t, one, nil, "d-2")

	for _, unknown := range []id.ID{theirs, w.id()} {
		body := fixture.With(w.from(unknown, "d-3"), "date", "2026-04-01")
		w.Post("/transactions", body).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "connectionId")
		w.Put(path, object{"connectionId": unknown}).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "connectionId")
	}

	w.Post("/transactions", w.from(first, "")).WantError(apierr.CodeBadRequest, "").WantIssue("length", "sourceId")
}

// Events have the fields that callers write, and not those that are read from the connection.
func TestEventsOfTransactionsNameTheirKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.Post("/transactions", w.from(fixture.Connection(w.Team, "hostaway"), "d-1")).Want(201).ID("id")
	w.Put("/transactions/"+one.String(), object{"sourceId": "d-2"}).Want(200)
	w.Delete("/transactions/" + one.String()).Want(204)

	var fields []string

	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		fields, err = db.Select[string](ctx, tx, `
			select e.type || ' ' || (c.change ->> 'key') from audit_event e cross join lateral jsonb_array_elements(e.changes) c (change)
			where e.team_id = @team and e.entity_id = @id and c.change ->> 'key' ~ '^(connectionId|source)' order by e.recorded_at, 1`,
			db.Args{"team": tx.Team, "id": one})

		return err
	})

	if got := strings.Join(fields, ", "); got != "created connectionId, created sourceId, updated sourceId, deleted connectionId, deleted sourceId" {
		t.Errorf("the events have %s", got)
	}
}

func TestTransactionsByConnection(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	first, second, theirs := fixture.Connection(w.Team, "hostaway"), fixture.Connection(w.Team, "ownerrez"), fixture.Connection(other.Team, "hostaway")
	other.Post("/transactions", other.from(theirs, "1")).Want(201)

	for name, c := range map[string]any{"one": first, "two": second, "none": nil} {
		w.Post("/transactions", fixture.With(w.from(c, "1"), "description", name)).Want(201)
	}

	for query, want := range map[string]string{
		first.String(): "one", first.String() + "," + second.String(): "one two", "null": "none", "null," + second.String(): "none two",
		"!" + first.String(): "none two", "!null": "one two", theirs.String(): "",
	} {
		for _, filter := range []string{"connectionIds", "connectionId"} {
			if filter == "connectionId" && strings.ContainsAny(query, ",!") {
				continue
			}

			if got := strings.Join(listed(w, "sort", "description", filter, query), " "); got != want {
				t.Errorf("%s=%s finds %q, want %q", filter, query, got, want)
			}
		}
	}
}

// One key of a connection is one transaction, also when it is archived.
func TestTransactionsWithOneKeyAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := fixture.Connection(w.Team, "hostaway"), fixture.Connection(w.Team, "hostaway")
	a := w.Post("/transactions", w.from(first, "1")).Want(201).String("id")
	b := w.Post("/transactions", w.from(second, "1")).Want(201).String("id")
	w.Delete("/transactions/" + a + "?onLocked=archive").Want(204)

	for range 2 {
		w.Post("/transactions", w.from(nil, "1")).Want(201)
		w.Post("/transactions", w.from(first, nil)).Want(201)
	}

	w.Post("/transactions", w.from(first, "1")).WantError(apierr.CodeConflict, "").WantIssue("duplicateUniqueRef", "sourceId")
	w.Put("/transactions/"+b, object{"connectionId": first}).WantError(apierr.CodeConflict, "").WantIssue("duplicateUniqueRef", "sourceId")

	// A batch can be sent again: what is there is refused, the rest lands.
	r := w.Post("/transactions/batch", object{"data": list{w.from(first, "2"), w.from(first, "1"), w.from(second, "2"), w.from(first, "2"), w.from(w.id(), "3")}}).Want(200)
	if r.Len("data") != 2 || r.String("data.0.index") != "0" || r.String("data.1.index") != "2" {
		t.Fatalf("landed: %s", r.Body)
	}

	w.wantSource(t, r.String("data.0.id"), first, "2")

	for i, want := range []string{"1 CONFLICT duplicateUniqueRef sourceId", "3 CONFLICT duplicateUniqueRef sourceId", "4 BAD_REQUEST notFound connectionId"} {
		at := "issues." + string(rune('0'+i)) + "."
		if got := strings.Join([]string{
			r.String(at + "index"), r.String(at + "code"), r.String(at + "context.issues.0.code"), r.String(at + "context.issues.0.path.0"),
		}, " "); got != want {
			t.Errorf("refused with %s, want %s", got, want)
		}
	}
}
