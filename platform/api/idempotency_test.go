package api_test

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
)

const key = "Idempotency-Key"

func contacts(x *apitest.Team) int64 {
	for line := range strings.Lines(x.Fingerprint()) {
		if fields := strings.Fields(line); fields[0] == "contact" {
			n := int64(0)
			for _, digit := range fields[1] {
				n = n*10 + int64(digit-'0')
			}

			return n
		}
	}

	return 0
}

func kept(r *apitest.Response) http.Header {
	h := maps.Clone(r.Header)
	delete(h, "X-Request-Id")
	delete(h, "Idempotent-Replayed")

	return h
}

func TestTheSameKeyGivesTheSameAnswer(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	body := object{"name": "n", "kind": "owner"}
	first := x.Post("/toys", body, key, "k1").Want(201)

	again := x.Post("/toys", body, key, "k1").Want(201)
	if first.Header["Idempotent-Replayed"] != nil || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("replayed: first %v, again %v", first.Header, again.Header)
	}

	if !bytes.Equal(first.Body, again.Body) || first.Header.Get("X-Service-Audit-Action-Id") != again.Header.Get("X-Service-Audit-Action-Id") || len(kept(first)) != len(kept(again)) {
		t.Errorf("first %v %s, again %v %s", first.Header, first.Body, again.Header, again.Body)
	}

	if n := contacts(x); n != 1 {
		t.Errorf("%d rows", n)
	}

	x.Post("/toys?dryRun=false", object{"name": "m", "kind": "owner"}, key, "k1").WantError(apierr.CodeConflict, "")
	x.Post("/toys?dryRun=false", body, key, "k1").WantError(apierr.CodeConflict, "")
	// Nothing differs but the body.
	x.Post("/toys?dryRun=false", body, key, "k3").Want(201)
	x.Post("/toys?dryRun=false", object{"name": "m", "kind": "owner"}, key, "k3").WantError(apierr.CodeConflict, "").WantIssue("idempotencyKeyReused", key)
	x.Post("/toys?dryRun=false", body, key, "k3").Want(201)
	x.Post("/toys/"+first.String("id")+"/wind", nil, key, "k1").WantError(apierr.CodeConflict, "")
	x.Post("/toys", body, key, "k2").Want(201)
	x.As(nil, nil).Post("/toys", body, key, "k1").Want(201)
	newTeam(t).Post("/toys", body, key, "k1").Want(201)

	if n := contacts(x); n != 4 {
		t.Errorf("%d rows", n)
	}

	for _, bad := range []string{"a b", strings.Repeat("x", 256), "ä"} {
		x.Post("/toys", body, key, bad).WantError(apierr.CodeBadRequest, "").WantIssue("malformed", key)
	}
}

func TestAPostWithoutABodyTakesAKeyToo(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	id := x.Post("/toys", object{"name": "n", "kind": "owner"}).Want(201).String("id")
	for range 3 {
		if n := x.Post("/toys/"+id+"/wind", nil, key, "w").Want(200).Int("any"); n != 1 {
			t.Errorf("wound %d toys", n)
		}
	}

	before := x.Fingerprint()
	x.Post("/toys/"+id+"/wind", nil, key, "w").Want(200)

	if x.Fingerprint() != before {
		t.Error("a replay changed something")
	}

	if r := x.Post("/sleep", nil, key, "s").Want(204); r.Header.Get("Content-Type") != "" {
		t.Errorf("%v", r.Header)
	}

	if r := x.Post("/sleep", nil, key, "s").Want(204); r.Header.Get("Content-Type") != "" || len(r.Body) != 0 {
		t.Errorf("%v", r.Header)
	}
}

func TestADryRunNeitherStoresNorConsumesAKey(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	body := object{"name": "n", "kind": "owner"}
	x.Post("/toys?dryRun=true", body, key, "k").Want(201)
	stored := x.Post("/toys?dryRun=false", body, key, "k").Want(201)

	dry := x.Post("/toys?dryRun=true", body, key, "k").Want(201)
	if bytes.Equal(stored.Body, dry.Body) {
		t.Error("a dry run answered from the store")
	}

	x.Post("/toys?dryRun=true", object{"name": "m", "kind": "owner"}, key, "k").Want(201)
}

func TestAFailedRequestDoesNotConsumeItsKey(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	x.Post("/toys", object{"name": "n", "kind": "owner", "halt": "condition"}, key, "k").Want(409)
	x.Post("/toys", object{"name": "n", "kind": "owner"}, key, "k").Want(201)
}

func TestConcurrentRequestsWithOneKeyRunOnce(t *testing.T) {
	t.Parallel()
	x := newTeam(t)

	var group sync.WaitGroup

	answers := make([]*apitest.Response, 6)
	for i := range answers {
		group.Go(func() { answers[i] = x.Post("/toys?dryRun=false", object{"name": "n", "kind": "owner"}, key, "k") })
	}

	group.Wait()

	for _, r := range answers {
		if r.Want(201); !bytes.Equal(r.Body, answers[0].Body) {
			t.Errorf("%s and %s", r.Body, answers[0].Body)
		}
	}

	if n := contacts(x); n != 1 {
		t.Errorf("%d rows", n)
	}
}

func TestAKeyIsFreeAgainAfterADay(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	body := object{"name": "n", "kind": "owner"}
	first := x.Post("/toys", body, key, "k").Want(201)
	x.Exec(`update api_idempotency set created_at = created_at - interval '23 hours 59 minutes' where team_id = @team`, nil)

	if again := x.Post("/toys", body, key, "k").Want(201); !bytes.Equal(first.Body, again.Body) {
		t.Error("forgotten before a day is over")
	}

	x.Exec(`update api_idempotency set created_at = created_at - interval '2 minutes' where team_id = @team`, nil)

	// Without a dry run before it, whose comparison of rows would miss the old answer when another test forgets it.
	const path = "/toys?dryRun=false"

	second := x.Post(path, object{"name": "m", "kind": "owner"}, key, "k").Want(201)
	if again := x.Post(path, object{"name": "m", "kind": "owner"}, key, "k").Want(201); !bytes.Equal(second.Body, again.Body) {
		t.Error("the new answer was not kept")
	}

	if n := contacts(x); n != 2 {
		t.Errorf("%d rows", n)
	}
}

// Of five thousand answers, those older than a day go; the others still answer, and the keys that went are free.
func TestOldAnswersAreForgotten(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	body := object{"name": "n", "kind": "owner"}
	first := x.Post("/toys", body, key, "kept").Want(201)
	x.Exec(`insert into api_idempotency (team_id, user_id, key, request_hash, status, headers, body, created_at)
		select @team, @user, 'old' || n, '', 201, '{}', '', now() - interval '24 hours 1 minute' from generate_series(1, 5000) n`, db.Args{"user": x.User})
	x.Exec(`update api_idempotency set created_at = created_at - interval '23 hours 50 minutes' where team_id = @team and key = 'kept'`, nil)

	for _, e := range api.Every() {
		if err := e.Do(t.Context(), x.DB); err != nil {
			t.Fatal(err)
		}
	}

	var left int64

	x.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		left, err = db.Get[int64](ctx, tx, `select count(*) from api_idempotency where team_id = @team`, db.Args{"team": tx.Team})
		return err
	})

	if left != 1 {
		t.Errorf("%d answers are kept, want 1", left)
	}

	if again := x.Post("/toys", body, key, "kept").Want(201); !bytes.Equal(first.Body, again.Body) {
		t.Error("an answer was forgotten before its day was over")
	}

	x.Post("/toys", body, key, "old1").Want(201)
}
