package api_test

import (
	"bytes"
	"testing"

	"stayledger/platform/apierr"
)

// What one key authenticated is good for as long as the key is among the former ones.
func TestKeysAreRotated(t *testing.T) {
	t.Parallel()
	x, body := newTeam(t), object{"name": "n", "kind": "owner"}
	before := x.Server().CursorKey
	cursor := x.Get("/rooms/a").Want(200).String("nextCursor")
	first := x.Post("/toys", body, key, "k1").Want(201)

	x.Server().CursorKey, x.Server().FormerKeys = []byte("the next key of the tests"), [][]byte{[]byte("an older one"), before}

	next := x.Get("/rooms/a?cursor=" + cursor).Want(200).String("nextCursor")
	if again := x.Post("/toys", body, key, "k1").Want(201); !bytes.Equal(first.Body, again.Body) {
		t.Errorf("first %s, again %s", first.Body, again.Body)
	}

	x.Post("/toys?dryRun=false", object{"name": "m", "kind": "owner"}, key, "k1").WantError(apierr.CodeConflict, "")
	x.Post("/toys", body, key, "k2").Want(201)

	x.Server().FormerKeys = nil
	x.Get("/rooms/a?cursor="+cursor).WantError(apierr.CodeBadRequest, "").WantIssue("cursorMismatch", "cursor")
	x.Get("/rooms/a?cursor=" + next).Want(200)
	x.Post("/toys?dryRun=false", body, key, "k1").WantError(apierr.CodeConflict, "")
	x.Post("/toys", body, key, "k2").Want(201)

	if n := contacts(x); n != 2 {
		t.Errorf("%d rows", n)
	}
}
