package access_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/tenant/access"
	"stayledger/domain/tenant/team"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

func TestEmailAddressesAreCheckedAndUnique(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	add := func(email string) (user id.ID, err error) {
		w.tx(func(ctx context.Context, tx *db.Tx) error {
			user, err = access.AddUser(ctx, tx, "Robin", email)
			return nil
		})

		return user, err
	}
	for _, email := range []string{"", "robin", "robin@", "Robin <robin@example.com>", "a@example.com, b@example.com", strings.Repeat("a", 250) + "@example.com"} {
		if _, err := add(email); !errors.Is(err, access.ErrEmail) {
			t.Errorf("%q says %v", email, err)
		}
	}

	email := id.New(w.db.Now()).String() + "@example.com"

	robin, err := add(email)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := add(strings.ToUpper(email)); !errors.Is(err, access.ErrEmailTaken) {
		t.Errorf("the same address in capitals says %v", err)
	}

	w.tx(func(ctx context.Context, tx *db.Tx) error {
		found, err := access.UserByEmail(ctx, tx, strings.ToUpper(email))
		if found != robin {
			t.Errorf("the address finds %v, want %v", found, robin)
		}

		return err
	})
}

// What is listed can be revoked, and what was revoked opens nothing from then on.
func TestGrantsTokensAndKeysAreListedAndRevoked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	home := w.team("us", id.Zero)
	user, token := w.person(access.Member{Team: home, Scopes: []string{"reporting"}})
	w.tx(func(ctx context.Context, tx *db.Tx) error {
		people, err := access.People(ctx, tx, "")
		if err != nil {
			return err
		}

		if !slices.ContainsFunc(people, func(p access.Person) bool { return p.ID == user && p.Teams == 1 }) {
			t.Errorf("the user is not listed with one team")
		}

		byUser, err := access.Grants(ctx, tx, user, id.Zero)
		if err != nil {
			return err
		}

		onTeam, err := access.Grants(ctx, tx, id.Zero, home)
		if err != nil {
			return err
		}

		for _, grants := range [][]access.Grant{byUser, onTeam} {
			if len(grants) != 1 || grants[0].UserID != user || grants[0].TeamID != home || grants[0].Team != "Team in us" {
				t.Errorf("listed grants are %+v", grants)
			}
		}

		return nil
	})
	ctx, stop := context.WithCancel(context.Background())

	watched := make(chan struct{})
	go func() { defer close(watched); w.gate.Watch(ctx) }()

	t.Cleanup(func() { stop(); <-watched })

	status := func() int { return w.get("/toys", token, "x-team-id", home.String()).status }
	if got := status(); got != http.StatusOK {
		t.Fatalf("a granted user gets %d", got)
	}

	w.tx(func(ctx context.Context, tx *db.Tx) error {
		done, err := access.RevokeGrant(ctx, tx, user, home)

		again, _ := access.RevokeGrant(ctx, tx, user, home)
		if !done || again {
			t.Errorf("revoking a grant says %v, a second time %v", done, again)
		}

		return err
	})
	w.eventually(func() bool {
		w.tx(team.Announce) // once the gate listens, a change reaches it
		return status() != http.StatusOK
	})
	w.tx(func(ctx context.Context, tx *db.Tx) error {
		tokens, err := access.Tokens(ctx, tx, user)
		if err != nil {
			return err
		}

		if len(tokens) != 1 || tokens[0].State(tx.Now) != "live" {
			t.Errorf("listed tokens are %+v", tokens)
		}

		n, err := access.RevokeTokens(ctx, tx, user, id.Zero)
		if n != 1 {
			t.Errorf("%d tokens were revoked", n)
		}

		if none, _ := access.RevokeTokens(ctx, tx, id.Zero, id.Zero); none != 0 {
			t.Errorf("naming nobody revoked %d tokens", none)
		}

		return err
	})
	w.eventually(func() bool {
		w.tx(team.Announce)
		return status() == http.StatusUnauthorized
	})
	w.tx(func(ctx context.Context, tx *db.Tx) error {
		tokens, err := access.Tokens(ctx, tx, user)
		if len(tokens) != 1 || tokens[0].State(tx.Now) != "revoked" {
			t.Errorf("after revoking, tokens are %+v", tokens)
		}

		return err
	})
}
