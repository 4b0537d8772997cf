package access_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"stayledger/domain/tenant/access"
	"stayledger/domain/tenant/team"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Proves: AUTH-01, AUTH-04, AUTH-63, ERR-05, ERR-25, OPEN-65.
func TestMissingAndBadCredentialsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.team("us", id.Zero)
	key := w.key(one)
	_, token := w.person(access.Member{Team: one, Scopes: []string{"admin"}})
	past := w.db.Now().Add(-time.Second)
	expired := w.issue(access.NewKey{Teams: []id.ID{one}, Scopes: []string{"admin"}, Expires: &past}).Secret
	w.get("/team", key).want(200)
	w.get("/team", token).want(200)
	w.get("/team", "", "Authorization", "bearer "+token).want(200)

	for name, headers := range map[string][]string{
		"none":             {},
		"unknown key":      {"x-api-key", "sk_us_nonsense"},
		"expired key":      {"x-api-key", expired},
		"shortened key":    {"x-api-key", key[:len(key)-1]},
		"lengthened key":   {"x-api-key", key + "A"},
		"other case":       {"x-api-key", strings.ToUpper(key)},
		"prefix of key":    {"x-api-key", key[:12]},
		"token as key":     {"x-api-key", token},
		"key as token":     {"Authorization", "Bearer " + key},
		"unknown token":    {"Authorization", "Bearer nonsense"},
		"no token":         {"Authorization", "Bearer "},
		"token alone":      {"Authorization", token},
		"basic":            {"Authorization", "Basic " + token},
		"key with token":   {"x-api-key", key, "Authorization", "Bearer " + token},
		"key with nothing": {"x-api-key", key, "Authorization", "nothing"},
	} {
		a := w.get("/team", "", headers...)
		if a.status != 401 {
			t.Fatalf("%s: %s", name, a.body)
		}

		if a.refused(apierr.CodeUnauthorized, "Credential is missing or not valid").context() != "" {
			t.Errorf("%s: %s", name, a.body)
		}
	}
}

// Every credential is looked up once and then remembered for an hour by this gate: what is refused here was announced.
func TestChangedCredentialsAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, other := w.team("us", id.Zero), w.team("us", id.Zero)
	ctx, stop := context.WithCancel(context.Background())

	done := make(chan struct{})
	go func() { defer close(done); w.gate.Watch(ctx) }()

	t.Cleanup(func() { stop(); <-done })

	old, rotated := w.issue(access.NewKey{Teams: []id.ID{one}, Scopes: []string{"admin"}}), w.issue(access.NewKey{Teams: []id.ID{one}, Scopes: []string{"admin"}})
	user, token := w.person(access.Member{Team: one, Scopes: []string{"team:read"}})
	w.get("/team", old.Secret).want(200)
	w.get("/team", rotated.Secret).want(200)
	// The gate listens once a change reaches it.
	w.eventually(func() bool {
		w.tx(team.Announce)
		w.get("/toys", token)
		w.exec(`update access_member set scopes = scopes || '{reports:read}' where user_id = @user`, db.Args{"user": user})
		w.tx(team.Announce)
		time.Sleep(20 * time.Millisecond)

		return len(w.get("/toys", token).seen().Scopes) > 1
	})
	w.tx(func(ctx context.Context, tx *db.Tx) error {
		live, err := access.RevokeKey(ctx, tx, old.ID)
		if again, _ := access.RevokeKey(ctx, tx, old.ID); !live || again {
			t.Error("a key is revoked once")
		}

		return err
	})
	w.eventually(func() bool { return w.get("/team", old.Secret).status == 401 })
	w.get("/team", rotated.Secret).want(200)

	w.get("/toys", token).want(200)
	w.tx(func(ctx context.Context, tx *db.Tx) error { // another grant of the same team replaces the first
		return access.SetMember(ctx, tx, access.Member{Team: one, User: user, Scopes: []string{"accounts:read"}})
	})
	w.eventually(func() bool { return slices.Equal(w.get("/toys", token).seen().Scopes, []string{"accounts:read"}) })
	w.get("/toys", token, "x-team-id", other.String()).refused(apierr.CodeNotFound, "")
	w.tx(func(ctx context.Context, tx *db.Tx) error {
		return access.SetMember(ctx, tx, access.Member{Team: other, User: user, Scopes: []string{"accounts:read"}})
	})
	w.eventually(func() bool { return w.get("/toys", token, "x-team-id", other.String()).status == 200 })

	partner := w.partner("us")
	partnerKey := w.partnerKey(partner)
	w.get("/teams", partnerKey).want(200)
	customer := w.team("us", partner)
	w.eventually(func() bool { return w.get("/team", partnerKey, "x-team-id", customer.String()).status == 200 })
}

func (w *world) eventually(ok func() bool) {
	w.t.Helper()

	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatal("the gate goes on with what it remembers")
		}
	}
}

func TestARememberedCredentialExpiresInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	user, _ := w.person(access.Member{Team: w.team("us", id.Zero), Scopes: []string{"team:read"}})
	teams := []id.ID{w.team("us", id.Zero)}
	// A machine that is too busy to use the credentials in time gets some that are valid for longer.
	for valid := 500 * time.Millisecond; ; valid *= 4 {
		soon := w.db.Now().Add(valid)
		key := w.issue(access.NewKey{Teams: teams, Scopes: []string{"team:read"}, Expires: &soon}).Secret

		var token string

		w.tx(func(ctx context.Context, tx *db.Tx) (err error) {
			token, err = access.IssueToken(ctx, tx, user, &soon)
			return err
		})

		byKey, byToken := w.get("/team", key), w.get("/team", token)
		if !w.db.Now().Before(soon) {
			continue
		}

		byKey.want(200)
		byToken.want(200)
		time.Sleep(time.Until(soon) + 10*time.Millisecond) // what is waited for is the time itself: a later look sees the same
		w.get("/team", key).want(401)
		w.get("/team", token).want(401)

		return
	}
}

func TestSecretsAreStoredHashedOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.team("us", id.Zero)
	issued := w.issue(access.NewKey{Name: "Back office", Teams: []id.ID{one}, Scopes: []string{"reporting"}})
	user, token := w.person(access.Member{Team: one, Scopes: []string{"admin"}})

	if !strings.HasPrefix(issued.Secret, "sk_us_") || len(issued.Secret) != len("sk_us_")+43 {
		t.Errorf("key %q", issued.Secret)
	}

	var (
		rows   []string
		listed []access.KeyInfo
	)

	w.tx(func(ctx context.Context, tx *db.Tx) (err error) {
		if rows, err = db.Select[string](ctx, tx, `
			select encode(convert_to(k::text, 'UTF8'), 'escape') from access_key k where user_id = any(@users::uuid[])
			union all select t::text from access_token t where user_id = any(@users) union all select u::text from access_user u where id = any(@users)
			union all select k::text from access_key_team k where team_id = @team union all select m::text from access_member m where team_id = @team`,
			db.Args{"users": []id.ID{user, issued.UserID}, "team": one}); err != nil {
			return err
		}

		listed, err = access.Keys(ctx, tx, one)

		return err
	})

	told, err := json.Marshal(listed)
	if err != nil || len(rows) != 6 || len(listed) != 1 || listed[0].Prefix != issued.Secret[:12] || listed[0].Name != "Back office" {
		t.Fatalf("%d rows, keys %s, %v", len(rows), told, err)
	}

	for _, secret := range []string{issued.Secret, token} {
		for _, part := range []string{secret, secret[13:], secret[6:], fmt.Sprintf("%x", secret)} {
			for _, row := range append(rows, string(told)) {
				if strings.Contains(row, part) {
					t.Errorf("%s is kept in %s", part, row)
				}
			}
		}
	}
}

func TestIssuingRefusesMisuse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, gone, partner := w.team("us", id.Zero), w.team("us", id.Zero), w.partner("us")
	w.exec(`update team set status = 'deleted' where id = @team`, db.Args{"team": gone})

	service := w.issue(access.NewKey{Teams: []id.ID{one}, Scopes: []string{"admin"}}).UserID
	for name, work := range map[string]db.Work{
		"unknown scope": func(ctx context.Context, tx *db.Tx) error {
			return issueError(ctx, tx, access.NewKey{Teams: []id.ID{one}, Scopes: []string{"team:own"}})
		},
		"no team": func(ctx context.Context, tx *db.Tx) error {
			return issueError(ctx, tx, access.NewKey{Scopes: []string{"admin"}})
		},
		"unknown team": func(ctx context.Context, tx *db.Tx) error {
			return issueError(ctx, tx, access.NewKey{Teams: []id.ID{id.New(tx.Now)}})
		},
		"unknown second team": func(ctx context.Context, tx *db.Tx) error {
			return issueError(ctx, tx, access.NewKey{Teams: []id.ID{one, id.New(tx.Now)}})
		},
		"deleted team": func(ctx context.Context, tx *db.Tx) error {
			return issueError(ctx, tx, access.NewKey{Teams: []id.ID{gone}})
		},
		"team key of partner": func(ctx context.Context, tx *db.Tx) error {
			return issueError(ctx, tx, access.NewKey{Teams: []id.ID{partner}})
		},
		"partner key of team": func(ctx context.Context, tx *db.Tx) error {
			return issueError(ctx, tx, access.NewKey{Teams: []id.ID{one}, Partner: true})
		},
		"token of a service": func(ctx context.Context, tx *db.Tx) error {
			_, err := access.IssueToken(ctx, tx, service, nil)
			return err
		},
		"token of nobody": func(ctx context.Context, tx *db.Tx) error {
			_, err := access.IssueToken(ctx, tx, id.New(tx.Now), nil)
			return err
		},
		"member of nothing": func(ctx context.Context, tx *db.Tx) error {
			return access.SetMember(ctx, tx, access.Member{Team: id.New(tx.Now), User: service})
		},
		"member without scope": func(ctx context.Context, tx *db.Tx) error {
			return access.SetMember(ctx, tx, access.Member{Team: one, User: service, Scopes: []string{"everything"}})
		},
	} {
		if err := w.db.Write(t.Context(), db.AcrossTeams(), work); err == nil {
			t.Errorf("%s passes", name)
		}
	}
}

func issueError(ctx context.Context, tx *db.Tx, n access.NewKey) error {
	_, err := access.IssueKey(ctx, tx, n)
	return err
}

// Proves: OPEN-01, OPS-16, OPS-58.
func TestAKeyActsAsItsServiceUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.team("us", id.Zero)
	issued := w.issue(access.NewKey{Teams: []id.ID{one}, Scopes: []string{"admin"}})
	other := w.key(one)
	ack := w.call("POST", "/toys/operations", issued.Secret).want(202).tree()
	w.call("POST", "/toys/operations", other).want(202)
	list := w.get("/operations?initiatedBy=me", issued.Secret).want(200).tree()

	items, _ := list["items"].([]any)
	if len(items) != 1 || list["total"] != 1.0 {
		t.Fatalf("mine: %v", list)
	}

	item, _ := items[0].(map[string]any)
	if initiator, _ := item["initiator"].(map[string]any); item["id"] != ack["operationId"] || initiator["userId"] != issued.UserID.String() {
		t.Errorf("mine: %v", item)
	}

	if all := w.get("/operations", issued.Secret).want(200).tree(); all["total"] != 2.0 {
		t.Errorf("all: %v", all)
	}
}
