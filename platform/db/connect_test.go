package db_test

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// patience is how long a test waits for what must happen; nothing is measured by it.
const patience = 2 * time.Minute

// hold opens transactions of a team (of the service itself for the zero id) that stay open until the returned function
// ends them.
func hold(t *testing.T, d *db.DB, team id.ID, n int) (end func()) {
	t.Helper()

	scope := db.AcrossTeams()
	if !team.IsZero() {
		scope = db.Scope{Team: team}
	}

	begun, leave := make(chan struct{}, n), make(chan struct{})

	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			err := d.Write(context.Background(), scope, func(ctx context.Context, tx *db.Tx) error {
				_, err := tx.Exec(ctx, "select 1", nil)

				begun <- struct{}{}

				<-leave

				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}

	end = sync.OnceFunc(func() { close(leave); all.Wait() })
	t.Cleanup(end)

	for range n {
		apitest.Receive(t, begun)
	}

	return end
}

// The work of one team waits for a locked table, more of it than there are connections; another team is served
// meanwhile, and the service is ready. The work reads: writes leave a connection anyway.
func TestOneTeamDoesNotTakeAllConnections(t *testing.T) {
	t.Parallel()
	d := open(t, db.Config{URL: apitest.Database(t), MaxConnections: 6, AcquireTimeout: time.Minute})
	blocked, other := apitest.New(t, apitest.Config{DB: d}), apitest.New(t, apitest.Config{DB: d})
	locker := open(t, db.Config{URL: d.URL()})
	locked, release := make(chan struct{}), make(chan struct{})

	var all sync.WaitGroup
	all.Go(func() {
		err := locker.Write(context.Background(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, "lock table audit_action in access exclusive mode", nil)

			close(locked)
			<-release

			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	apitest.Receive(t, locked)

	var ended atomic.Int32

	for range 30 {
		all.Go(func() {
			defer ended.Add(1)

			_ = d.Read(context.Background(), blocked.Scope(), func(ctx context.Context, tx *db.Tx) error {
				_, err := tx.Exec(ctx, "select from audit_action", nil)
				return err
			})
		})
	}

	for deadline := time.Now().Add(patience); waiting(t, locker) < 4; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nobody waits for the table")
		}
	}

	for range 10 {
		err := d.Read(t.Context(), other.Scope(), func(ctx context.Context, tx *db.Tx) error {
			_, err := tx.Exec(ctx, "select from team", nil)
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}

	if err := d.Ping(t.Context()); err != nil {
		t.Errorf("not ready: %v", err)
	}

	if ended.Load() != 0 {
		t.Error("the locked table was not waited for")
	}

	close(release)
	all.Wait()
}

// Writes of a team that wait, as they do at its gate, leave connections for its reads, however many they are.
func TestReadsDoNotWaitBehindWrites(t *testing.T) {
	t.Parallel()

	for _, connections := range []int32{2, 5, 24} {
		t.Run(strconv.Itoa(int(connections)), func(t *testing.T) {
			t.Parallel()
			x := newTeam(t)
			d := open(t, db.Config{URL: x.DB.URL(), MaxConnections: connections, AcquireTimeout: patience})

			var (
				begun atomic.Int32
				all   sync.WaitGroup
			)

			leave := make(chan struct{})

			for range 2 * connections {
				all.Go(func() {
					if err := d.Write(context.Background(), x.Scope(), func(context.Context, *db.Tx) error {
						begun.Add(1)
						<-leave

						return nil
					}); err != nil {
						t.Error(err)
					}
				})
			}

			for deadline := time.Now().Add(patience); begun.Load() < max(1, connections/2-1); time.Sleep(time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("no write has begun")
				}
			}

			for range 10 {
				err := d.Read(t.Context(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
					_, err := tx.Exec(ctx, "select 1", nil)
					return err
				})
				if err != nil {
					t.Error(err)
					break
				}
			}

			close(leave)
			all.Wait()
		})
	}
}

// waiting counts the connections of the database that wait for a lock.
func waiting(t *testing.T, d *db.DB) (n int64) {
	t.Helper()

	err := d.ReadOne(t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		n, err = db.Get[int64](ctx, tx, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return n
}

// All connections are in use; the probe says all the same whether the database answers, also after its connection was
// lost.
func TestReadinessDoesNotWaitForAConnection(t *testing.T) {
	t.Parallel()
	line := apitest.NewLine(t)
	d := open(t, db.Config{URL: line.URL, MaxConnections: 2})
	ping := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()

		return d.Ping(ctx)
	}
	end := hold(t, d, id.Zero, 2)

	for range 3 {
		if err := ping(); err != nil {
			t.Errorf("not ready: %v", err)
		}
	}

	end()
	line.Cut()

	if err := ping(); !errors.Is(err, db.ErrUnavailable) {
		t.Errorf("a lost database: %v", err)
	}

	line.Mend()

	if err := ping(); err != nil {
		t.Errorf("a database that is back: %v", err)
	}
}

// refused counts the connections that the server refused.
type refused struct{ atomic.Int32 }

func (r *refused) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (r *refused) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (r *refused) TraceConnectStart(ctx context.Context, _ pgx.TraceConnectStartData) context.Context {
	return ctx
}

func (r *refused) TraceConnectEnd(_ context.Context, end pgx.TraceConnectEndData) {
	if db.SQLState(end.Err) == "53300" {
		r.Add(1)
	}
}

// onlyConnection is a service that gets a single connection from its server, which is taken until end is called.
func onlyConnection(t *testing.T, acquire time.Duration) (d *db.DB, refusals *refused, end func()) {
	t.Helper()

	address, refusals := apitest.Database(t), &refused{}
	d = open(t, db.Config{URL: address, MaxConnections: 8, AcquireTimeout: acquire, Tracer: refusals})

	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}

	err = d.Write(t.Context(), db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `alter database "`+strings.TrimPrefix(u.Path, "/")+`" connection limit 1`, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return d, refusals, hold(t, d, id.Zero, 1)
}

// The server takes no more connections than the one there is: everybody is served over that one, one after the other.
//
// Proves: ERR-95.
func TestPooledConnectionsServeWhenTheServerTakesNoMore(t *testing.T) {
	t.Parallel()
	d, refusals, end := onlyConnection(t, patience)

	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			scope := db.AcrossTeams()
			if i%2 == 0 {
				scope = db.Scope{Team: id.New(d.Now())}
			}

			if err := d.Read(context.Background(), scope, func(ctx context.Context, tx *db.Tx) error {
				_, err := tx.Exec(ctx, "select 1", nil)
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}

	for deadline := time.Now().Add(patience); refusals.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no connection is refused")
		}
	}

	end()
	all.Wait()

	if err := d.Ping(t.Context()); err != nil {
		t.Errorf("not ready: %v", err)
	}

	if err := d.Notify(t.Context(), "x"); err != nil {
		t.Errorf("notify: %v", err)
	}
}

// And when none gets free in time, the answer says so.
//
// Proves: ERR-95.
func TestAServerThatTakesNoMoreConnectionsIsUnavailable(t *testing.T) {
	t.Parallel()

	d, _, end := onlyConnection(t, 100*time.Millisecond)
	if err := d.Read(t.Context(), db.AcrossTeams(), schedule); !errors.Is(err, db.ErrUnavailable) {
		t.Error(err)
	}

	end()

	if err := d.Write(t.Context(), db.AcrossTeams(), schedule); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// A transaction that another one of its team is needed for does not wait for a place of its own, however many there
// are.
func TestATransactionInsideAnotherNeedsNoTurn(t *testing.T) {
	t.Parallel()
	x := newTeam(t)
	d := open(t, db.Config{URL: apitest.Database(t), MaxConnections: 10, AcquireTimeout: 5 * time.Second})

	var all sync.WaitGroup

	inside := make(chan struct{}, 100)
	first := make(chan struct{})

	for range 8 { // all places of a team alone
		all.Go(func() {
			err := d.Read(context.Background(), x.Scope(), func(ctx context.Context, tx *db.Tx) error {
				if _, err := tx.Exec(ctx, "select 1", nil); err != nil {
					return err
				}

				inside <- struct{}{}

				<-first

				return d.Read(ctx, x.Scope(), func(ctx context.Context, tx *db.Tx) error {
					_, err := tx.Exec(ctx, "select 1", nil)
					return err
				})
			})
			if err != nil {
				t.Error(err)
			}
		})
	}

	for range 8 {
		apitest.Receive(t, inside)
	}

	close(first)
	all.Wait()
}
