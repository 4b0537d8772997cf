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

// keeper is a team with a connection whose system gives the tokens t1, t2, ….
type keeper struct {
	*apitest.Team

	box        *seal.Box
	connection id.ID
	asked      atomic.Int64
}

func newKeeper(t *testing.T) *keeper {
	t.Helper()

	box, err := seal.New([]byte("a key of at least thirty-two bytes"))
	if err != nil {
		t.Fatal(err)
	}

	k := &keeper{Team: apitest.New(t, apitest.Config{Silent: true}), box: box}
	k.connection = id.New(k.DB.Now())
	k.Exec(`insert into connection (team_id, id, short_ref, app_id, name, status, created_at, updated_at) values (@team, @id, @ref, 'hostaway', 'Rentals', 'active', now(), now())`,
		db.Args{"id": k.connection, "ref": k.connection.ShortRef()})

	return k
}

// tokens keeps the token for credentials.
func (k *keeper) tokens(credentials string) client.Tokens {
	return pms.TokensFor(k.DB, db.Scope{Team: k.ID}, k.box, k.connection, credentials)
}

// renew is how the system gives a token.
func (k *keeper) renew(context.Context, client.Token) (client.Token, error) {
	return client.Token{Access: "t" + strconv.FormatInt(k.asked.Add(1), 10), ExpiresAt: k.DB.Now().Add(24 * time.Hour)}, nil
}

// get returns the token for credentials, or the text of the error.
func (k *keeper) get(credentials string, renew pms.Renew) string {
	got, err := k.tokens(credentials).Token(context.Background(), renew)
	if err != nil {
		return err.Error()
	}

	return got.Access
}

// A token is asked for once, however many workers want it, and again when it is refused, when its time is nearly over
// and for other credentials. One that could not be got is none.
func TestTokensAreSharedAndKept(t *testing.T) {
	t.Parallel()

	k := newKeeper(t)
	x, get, renew := k.Team, k.get, k.renew

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
	kept := k.tokens("first")

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

// slow is a renewal that lasts until it is released.
func (k *keeper) slow() (renew pms.Renew, began, release chan struct{}) {
	began, release = make(chan struct{}), make(chan struct{})

	return func(ctx context.Context, old client.Token) (client.Token, error) {
		close(began)
		<-release

		return k.renew(ctx, old)
	}, began, release
}

// begin starts a slow renewal, and returns when the system was asked. The function that it returns has the system answer,
// and waits for that.
func (k *keeper) begin(t *testing.T, credentials string) (end func()) {
	t.Helper()

	renew, began, release := k.slow()

	var all sync.WaitGroup

	all.Go(func() { k.get(credentials, renew) })
	apitest.Receive(t, began)

	return func() { close(release); all.Wait() }
}

// While a system thinks about a token no transaction is open, neither of who asks nor of those who wait for it, and the
// connection can be changed.
func TestNoTransactionIsOpenWhileATokenIsRenewed(t *testing.T) {
	t.Parallel()

	k := newKeeper(t)
	renew, began, release := k.slow()

	var all sync.WaitGroup

	all.Go(func() {
		if got := k.get("first", renew); got != "t1" {
			t.Errorf("the token is %s", got)
		}
	})
	apitest.Receive(t, began)

	for range 30 {
		all.Go(func() {
			if got := k.get("first", k.renew); got != "t1" {
				t.Errorf("who waited has %s", got)
			}
		})
	}

	// More callers than the pool has connections wait; an exclusive write of the team is let in.
	err := k.DB.Write(t.Context(), db.Scope{Team: k.ID, Exclusive: true, Timeout: time.Minute}, func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `update connection set name = 'Other' where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": k.connection})
		return err
	})
	if err != nil {
		t.Error(err)
	}

	close(release)
	all.Wait()
}

// The lease of a worker that died ends, and what it brings afterwards is not kept.
func TestARenewalOfADeadWorkerIsTakenOver(t *testing.T) {
	t.Parallel()

	k := newKeeper(t)
	end := k.begin(t, "first")
	k.Exec(`update connection_token set renewing_until = clock_timestamp() where team_id = @team`, nil)

	if got := k.get("first", k.renew); got != "t1" {
		t.Errorf("the token is %s", got)
	}

	end()

	if got := k.get("first", k.renew); got != "t1" || k.asked.Load() != 2 {
		t.Errorf("the token is %s after %d renewals", got, k.asked.Load())
	}
}

// Who has other credentials does not wait for a renewal with earlier ones, which keeps nothing.
func TestNewCredentialsDoNotWaitForARenewal(t *testing.T) {
	t.Parallel()

	k := newKeeper(t)
	end := k.begin(t, "first")

	if got := k.get("second", k.renew); got != "t1" {
		t.Errorf("the token is %s", got)
	}

	end()

	if got := k.get("second", k.renew); got != "t1" {
		t.Errorf("after the earlier renewal the token is %s", got)
	}
}

// A token that was asked for before its team was frozen, and by a caller that has gone, is kept: the system may take no
// other one for the next. In a frozen team none is asked for.
func TestATokenThatWasAskedForIsKept(t *testing.T) {
	t.Parallel()

	k := newKeeper(t)
	renew, began, release := k.slow()
	ctx, leave := context.WithCancel(t.Context())

	var all sync.WaitGroup

	all.Go(func() { _, _ = k.tokens("first").Token(ctx, renew) })
	apitest.Receive(t, began)
	k.Exec(`update team set freeze_reason = 'migration', freeze_operation_id = gen_random_uuid() where id = @team`, nil)

	waited := make(chan error, 1)
	go func() { waited <- pms.AwaitTokens(t.Context(), k.DB, db.Scope{Team: k.ID}) }()

	if got := k.get("second", k.renew); got == "t1" {
		t.Error("a token is asked for in a frozen team")
	}

	leave()
	close(release)
	all.Wait()

	if err := apitest.Receive(t, waited); err != nil {
		t.Error(err)
	}

	if got := k.get("first", k.renew); got != "t1" {
		t.Errorf("the token is %s", got)
	}
}
