package transaction_test

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

// upload makes an attachment as if it had been uploaded earlier.
func (w *world) upload(kind string) id.ID {
	f := w.id()
	w.Exec(`insert into file (team_id, id, kind, filename, content_type, byte_size, sha256, blob_key, created_at, purge_at)
		values (@team, @id, @kind, 'bill.pdf', 'application/pdf', 1, '', 'key', now(), now() + interval '7 days')`, db.Args{"id": f, "kind": kind})

	return f
}

func attached(r *apitest.Response) string {
	var t struct {
		IDs []string `json:"attachmentIds"`
	}
	r.Into(&t)

	return strings.Join(t.IDs, " ")
}

// unlinked are the files that are going to be purged.
func (w *world) unlinked() int64 {
	var n int64

	w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int64](ctx, tx, `select count(*) from file where team_id = @team and purge_at is not null`, db.Args{"team": tx.Team})
		return err
	})

	return n
}

// Proves: ATT-20, ATT-21, ATT-22, ATT-23, ATT-24, ATT-25, ATT-26, ATT-27.
func TestAttachments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b, c := w.upload("attachment").String(), w.upload("attachment").String(), w.upload("attachment").String()
	made := w.Post("/transactions", fixture.With(w.expense("2026-01-15", 1), "attachmentIds", list{a, b, a})).Want(201)
	path := "/transactions/" + made.String("id")

	put := func(body object, want string, unlinked int64) {
		t.Helper()

		if got := attached(w.Put(path, body).Want(200)); got != want {
			t.Errorf("%v: attached %s, want %s", body, got, want)
		}

		if got := w.unlinked(); got != unlinked {
			t.Errorf("%v: %d files are to be purged, want %d", body, got, unlinked)
		}
	}
	if attached(made) != a+" "+b || attached(w.Get(path).Want(200)) != a+" "+b || w.unlinked() != 1 {
		t.Errorf("made %s", made.Body)
	}

	put(object{"description": "x"}, a+" "+b, 1)
	put(object{"attachmentIds": list{a, c}}, a+" "+c, 1)
	put(object{"attachmentIds": list{a, b, c}}, a+" "+b+" "+c, 0)
	put(object{"attachmentIds": list{c}}, c, 2)
	put(object{"attachmentIds": list{}}, "", 3)
	put(object{"attachmentIds": list{b}}, b, 2)
	// Closed books have no say over papers.
	fixture.CloseBooks(w.Team, "2026-02-01")
	put(object{"attachmentIds": list{b, a}}, b+" "+a, 1)
	fixture.CloseBooks(w.Team, "2026-01-01")
	w.Delete(path).Want(204)

	if got := w.unlinked(); got != 3 {
		t.Errorf("%d files are to be purged", got)
	}

	w.Post("/transactions", fixture.With(w.expense("2026-01-15", 1), "attachmentIds", list{a})).Want(201)
}

// Proves: ATT-28, ATT-29, ATT-30, OPEN-49.
func TestRefusedAttachments(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	a := w.upload("attachment")
	deposit := "/transactions/" + w.Post("/transactions", w.deposit("2026-01-15", 1)).Want(201).String("id")
	transfer := object{"type": "transfer", "date": "2026-01-15", "lines": list{object{"accountId": w.accounts["1010"], "amount": 1}}}
	w.Put(deposit, object{"attachmentIds": list{a}}).WantIssue("attachmentsNotSupported", "attachmentIds")
	w.Put(deposit, object{"attachmentIds": list{}}).Want(200)
	w.Post("/transactions", fixture.With(transfer, "attachmentIds", list{a})).WantIssue("attachmentsNotSupported", "attachmentIds")
	w.Post("/transactions", fixture.With(transfer, "attachmentIds", list{})).Want(201)

	for _, unknown := range []id.ID{w.id(), w.upload("export"), other.upload("attachment")} {
		w.Post("/transactions", fixture.With(w.expense("2026-01-15", 1), "attachmentIds", list{a, unknown})).WantIssue("attachmentNotFound", "attachmentIds.1")
	}

	w.Post("/transactions", fixture.With(w.expense("2026-01-15", 1), "attachmentIds", list{a})).Want(201)
	w.Post("/transactions", fixture.With(w.expense("2026-01-15", 1), "attachmentIds", list{a})).WantError(apierr.CodeConflict, "")
}
