package pms_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stayledger/domain/exchange/pms"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/seal"
	client "stayledger/provider/pms"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// A token is asked for once, however many workers want it, and again when it is refused, when its time is nearly over
// and for other credentials. One that could not be got is none.
func TestTokensAreSharedAndKept(t *testing.T) {
	t.Parallel()

	x := apitest.New(t, apitest.Config{Silent: true})

	box, err := seal.New([]byte("a key of at least thirty-two bytes"))
	if err != nil {
		t.Fatal(err)
	}

	one := id.New(x.DB.Now())
	x.Exec(`insert into connection (team_id, id, short_ref, app_id, name, status, created_at, updated_at) values (@team, @id, @ref, 'hostaway', 'Rentals', 'active', now(), now())`,
		db.Args{"id": one, "ref": one.ShortRef()})

	var asked atomic.Int64

	lasts := 24 * time.Hour
	renew := func(context.Context, client.Token) (client.Token, error) {
		return client.Token{Access: "t" + strconv.FormatInt(asked.Add(1), 10), ExpiresAt: x.DB.Now().Add(lasts)}, nil
	}
	get := func(credentials string, renew pms.Renew) string {
		got, err := pms.TokensFor(x.DB, db.Scope{Team: x.ID}, box, one, credentials).Token(t.Context(), renew)
		if err != nil {
			return err.Error()
		}

		return got.Access
	}

	var all sync.WaitGroup

	for range 24 {
		all.Go(func() {
			if got := get("first", renew); got != "t1" {
				t.Errorf("the token is %s", got)
			}
		})
	}

	all.Wait()

	// Only the refusal of the present token counts.
	kept := pms.TokensFor(x.DB, db.Scope{Team: x.ID}, box, one, "first")

	for _, c := range []struct{ refused, want string }{{"t0", "t1"}, {"t1", "t2"}} {
		if err := kept.Refused(t.Context(), client.Token{Access: c.refused}); err != nil {
			t.Fatal(err)
		}

		if got := get("first", renew); got != c.want {
			t.Errorf("after %s was refused the token is %s, want %s", c.refused, got, c.want)
		}
	}

	if got := get("second", renew); got != "t3" {
		t.Errorf("for other credentials the token is %s", got)
	}

	failed := errors.New("no token")
	if got := get("third", func(context.Context, client.Token) (client.Token, error) { return client.Token{}, failed }); got != failed.Error() {
		t.Errorf("without a token it is %s", got)
	}

	// 90 % of the life of a token is over.
	x.Exec(`update connection_token set renew_at = now() - interval '1 second' where team_id = @team`, db.Args{})

	if got := get("second", renew); got != "t4" {
		t.Errorf("at the end of its time the token is %s", got)
	}
}
