package contact_test

import (
	"strings"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/id"
)

// Proves: ERR-18, ERR-19.
func TestBatch(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	old := x.Post("/contacts", object{"type": "vendor", "name": "Old", "uniqueRef": "old"}).Want(201).ID("id")
	x.Post("/contacts", object{"type": "vendor", "name": "Taken", "uniqueRef": "taken"}).Want(201)

	r := x.Post("/contacts/batch", object{"data": []object{
		{"type": "owner", "name": "New", "uniqueRef": "new"},
		{"uniqueRef": "old", "name": "Renamed"},
		{"name": "No type"},
		{"type": "vendor", "name": "Second", "uniqueRef": "new"},
		{"id": id.New(x.DB.Now()), "name": "Nobody"},
		{"type": "vendor", "name": "Payee", "payoutAccountId": id.New(x.DB.Now())},
		{"type": "vendor", "name": "Last"},
		{"type": "vendor", "name": "Ledger", "uniqueRef": "ledger", "payoutAccountId": account(x, "ledger")},
	}}).Want(200)
	for path, want := range map[string]string{
		"data.0.index": "0", "data.0.uniqueRef": "new",
		"data.1.index": "1", "data.1.id": old.String(), "data.1.uniqueRef": "old",
		"data.2.index": "6", "data.2.uniqueRef": "null",
		"issues.0.index": "2", "issues.0.code": "BAD_REQUEST", "issues.0.context.issues.0.code": "required", "issues.0.context.issues.0.path.0": "type",
		"issues.1.index": "3", "issues.1.code": "CONFLICT", "issues.1.reason": "duplicateUniqueRef", "issues.1.uniqueRef": "new",
		"issues.2.index": "4", "issues.2.code": "NOT_FOUND",
		"issues.3.index": "5", "issues.3.code": "BAD_REQUEST", "issues.3.context.issues.0.code": "notFound",
		"issues.4.index": "7", "issues.4.code": "BAD_REQUEST", "issues.4.reason": "notBankAccount", "issues.4.uniqueRef": "ledger",
	} {
		if got := r.String(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}

	if r.Len("data") != 3 || r.Len("issues") != 5 || r.Has("issues.0.reason") {
		t.Errorf("got %s", r.Body)
	}

	wantNames(t, x.Get("/contacts?sort=name"), "Last", "New", "Renamed", "Taken")
}

func TestAtomicBatch(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	good, bad := object{"type": "vendor", "name": "Good"}, object{"name": "Bad"}
	if r := x.Post("/contacts/batch?atomic=true", object{"data": []object{good, bad}}).Want(200); r.Len("data") != 0 || r.Len("issues") != 1 {
		t.Errorf("got %s", r.Body)
	}

	wantNames(t, x.Get("/contacts"))
	x.Post("/contacts/batch?atomic=true", object{"data": []object{good, good}}).Want(200)
	wantNames(t, x.Get("/contacts"), "Good", "Good")
}

func TestBatchMovesReferences(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	a := x.Post("/contacts", object{"type": "vendor", "name": "A", "uniqueRef": "a"}).Want(201).String("id")
	b := x.Post("/contacts", object{"type": "vendor", "name": "B", "uniqueRef": "b"}).Want(201).String("id")

	r := x.Post("/contacts/batch", object{"data": []object{
		{"id": a, "uniqueRef": "c"}, {"id": b, "uniqueRef": "a"}, {"id": b, "name": "Twice"},
	}}).Want(200)
	if r.Len("data") != 2 || r.String("issues.0.reason") != "duplicateUniqueRef" {
		t.Errorf("got %s", r.Body)
	}

	wantNames(t, x.Get("/contacts?uniqueRefs=a"), "B")
	wantNames(t, x.Get("/contacts?uniqueRefs=c"), "A")
}

func TestBatchTakesLargeBodies(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	filler := strings.Repeat("x", 1<<20)
	x.Post("/contacts", `{"type":"vendor","name":"`+filler+`"}`).WantError(apierr.CodePayloadTooLarge, "")
	x.Post("/contacts/batch", `{"data":[{"type":"vendor","name":"`+filler+`"}]}`).WantError(apierr.CodeBadRequest, "").WantIssue("length", "data.0.name")
}
