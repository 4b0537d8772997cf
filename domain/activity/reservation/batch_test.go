package reservation_test

import (
	"context"
	"strconv"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

func (b *books) rent(ref string, amount int, changes ...any) object {
	return b.stay(append([]any{"uniqueRef", ref, "lines", []any{object{"type": "rent", "amount": amount}}}, changes...)...)
}

func (b *books) count() (n int64) {
	b.t.Helper()
	b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int64](ctx, tx, `select count(*) from reservation where team_id = @team`, db.Args{"team": tx.Team})
		return err
	})

	return n
}

// wantIssues fails unless the refused items are these, by index and code, reason or issue code.
func wantIssues(t *testing.T, r *apitest.Response, want ...string) {
	t.Helper()

	if r.Len("issues") != len(want) {
		t.Fatalf("%s", r.Body)
	}

	for i, expected := range want {
		at := "issues." + strconv.Itoa(i) + "."

		got := r.String(at+"index") + " " + r.String(at+"code")
		switch {
		case r.Has(at + "reason"):
			got += " " + r.String(at+"reason")
		case r.Has(at + "context.issues.0.code"):
			got += " " + r.String(at+"context.issues.0.code")
		}

		if got != expected {
			t.Errorf("issue %q, want %q: %s", got, expected, r.Body)
		}
	}
}

// An item may take the uniqueRef that one before it gives up.
func TestBatchPassesOnUniqueRefs(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	old := b.Post("/reservations", b.rent("r1", 1_000)).Want(201).ID("id")
	got := b.Post("/reservations/batch", object{"data": []any{object{"id": old, "uniqueRef": "r2"}, b.rent("r1", 2_000), object{"uniqueRef": "r2"}}}).Want(200)
	wantIssues(t, got, "2 CONFLICT duplicateUniqueRef")

	if got.ID("data.0.id") != old || got.ID("data.1.id") == old || b.count() != 2 {
		t.Errorf("%s", got.Body)
	}
}

// Proves: DRY-42, ERR-18, ERR-19.
func TestBatch(t *testing.T) {
	t.Parallel()
	b := newBooks(t)

	const path = "/reservations/batch"

	first := b.Post(path, object{"appId": "pms", "data": []any{b.rent("r1", 1_000), b.rent("r2", 2_000, "appId", nil)}}).Want(200)
	if first.Len("data") != 2 || first.Len("issues") != 0 || first.String("data.1.uniqueRef") != "r2" || first.Int("data.1.index") != 1 {
		t.Fatalf("%s", first.Body)
	}

	b.wantEntries("2026-01-29 2000 1000", "2026-01-29 4000o -1000", "2026-01-29 2000 2000", "2026-01-29 4000o -2000")

	one := b.Get("/reservations/" + first.String("data.0.id")).Want(200)
	if one.String("appId") != "pms" || b.Get("/reservations/"+first.String("data.1.id")).String("appId") != "null" {
		t.Errorf("%s", one.Body)
	}

	locked := b.Post("/reservations", b.rent("old", 9, "checkIn", "2026-01-01", "checkOut", "2026-01-03")).Want(201)
	b.Exec(`update team set books_closed_at = '2026-01-10' where id = @team`, nil)
	unknown := id.New(b.DB.Now())
	mixed := []any{
		object{"uniqueRef": "r1", "guestName": "Grace", "lines": []any{object{"type": "rent", "amount": 1_500}}},
		object{"uniqueRef": "r1", "guestName": "twice"},
		object{"id": unknown, "guestName": "nobody"},
		object{"uniqueRef": "r3"},
		b.rent("r4", 1, "listingId", unknown),
		b.rent("r5", 5, "checkIn", "2026-01-02"),
		object{"id": locked.ID("id"), "lines": []any{}},
		b.rent("r6", 6),
		object{"id": first.ID("data.1.id"), "uniqueRef": "r6"},
		b.rent("r7", 7, "status", "inquiry"),
	}
	refused := []string{
		"1 CONFLICT duplicateUniqueRef", "2 NOT_FOUND", "3 BAD_REQUEST required", "4 BAD_REQUEST notFound", "5 FORBIDDEN booksClosed",
		"6 FORBIDDEN reservationLocked", "8 CONFLICT duplicateUniqueRef",
	}
	before := b.count()
	atomic := b.Post(path+"?atomic=true", object{"data": mixed}).Want(200)
	wantIssues(t, atomic, refused...)

	if atomic.Len("data") != 0 || b.count() != before {
		t.Errorf("%s", atomic.Body)
	}

	got := b.Post(path, object{"data": mixed}).Want(200)
	wantIssues(t, got, refused...)

	if got.Len("data") != 2 || got.Int("data.0.index") != 0 || got.Int("data.1.index") != 7 || got.ID("data.0.id") != one.ID("id") {
		t.Errorf("%s", got.Body)
	}

	b.wantEntries("2026-01-01 2000 9", "2026-01-01 4000o -9", "2026-01-29 2000 1500", "2026-01-29 4000o -1500", "2026-01-29 2000 2000", "2026-01-29 4000o -2000",
		"2026-01-29 2000 6", "2026-01-29 4000o -6")

	if again := b.Post(path, object{"data": []any{b.rent("r6", 6)}}).Want(200); again.ID("data.0.id") != got.ID("data.1.id") {
		t.Errorf("%s", again.Body)
	}

	kept := b.Post(path, object{"onInquiry": "import", "data": []any{b.rent("r7", 7, "status", "inquiry")}}).Want(200)
	if r := b.Get("/reservations/" + kept.String("data.0.id")); r.String("status") != "inactive" {
		t.Errorf("%s", r.Body)
	}

	deviating := object{"onLineTotalDeviation": "issue", "data": []any{b.rent("r8", 8, "total", 9), b.rent("r9", 9, "total", 9), object{"uniqueRef": "r9", "total": 1}}}
	got = b.Post(path, deviating).Want(200)
	wantIssues(t, got, "0 BAD_REQUEST lineTotalDeviation", "2 CONFLICT duplicateUniqueRef")
	delete(deviating, "onLineTotalDeviation")
	got = b.Post(path, deviating).Want(200)
	wantIssues(t, got, "2 CONFLICT duplicateUniqueRef")
	b.Post(path, object{"data": []any{object{"listingId": b.listing, "nothing": 1}}}).WantError(apierr.CodeBadRequest, "").WantIssue("unknownField", "data.0.nothing")
	b.Post(path, object{"data": []any{}}).WantError(apierr.CodeBadRequest, "")
}

// Many good items with a few bad ones take chunks apart without losing any.
func TestBatchOfSeveralChunks(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.Exec(`update team set books_closed_at = '2026-01-10' where id = @team`, nil)

	var (
		items   []any
		refused []string
	)

	for i := range 600 {
		item := b.rent("r"+strconv.Itoa(i), 100+i)
		if i%157 == 3 {
			item["checkIn"] = "2026-01-05"

			refused = append(refused, strconv.Itoa(i)+" FORBIDDEN booksClosed")
		}

		items = append(items, item)
	}

	got := b.Post("/reservations/batch?dryRun=false", object{"data": items}).Want(200)
	wantIssues(t, got, refused...)

	if n := int64(600 - len(refused)); b.count() != n || got.Len("data") != int(n) || len(b.entries()) != 2*int(n) {
		t.Errorf("%d stored, %d written, %d entries", b.count(), got.Len("data"), len(b.entries()))
	}
}
