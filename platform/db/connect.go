package db

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"stayledger/platform/fair"
	"stayledger/platform/id"
)

const (
	// At most patience transactions of one team wait for a connection; a further one is refused at once.
	patience = 1000
	// Teams share at least fewPlaces transactions: a team alone gets four of them, since one transaction can need
	// another to end. A pool that is smaller makes them wait.
	fewPlaces = 5
	// The SQLSTATE tooMany is of a server that takes no further connection, from the role, for the database or at all.
	tooMany = "53300"
	// No connection is asked for during refusedFor after one was refused; then one caller tries.
	refusedFor = 250 * time.Millisecond
)

func newPlaces(connections int32) *fair.Places {
	return fair.New(max(int(connections), fewPlaces), patience)
}

// newWritePlaces returns the places of writes: fewer than those of all transactions, and for one team fewer than
// the connections. A write can wait long at the gate and keeps its connection meanwhile; reads pass no gate and go
// on.
func newWritePlaces(connections int32) *fair.Places {
	return fair.New(max(int(connections)*3/4, 1), patience)
}

// inPlace marks the context of a transaction that has a place: what it begins itself must not wait for another.
type inPlace struct{}

// acquire waits for the team's turns and then for a connection; the turns have to be given back. Work of the
// service itself needs no turns.
func (d *DB) acquire(ctx context.Context, s Scope, m mode) (conn *pgxpool.Conn, turns []*fair.Places, err error) {
	ctx, cancel := context.WithTimeout(ctx, d.acquireTimeout)
	defer cancel()

	// Work that is called from work with turns already has them.
	var needed []*fair.Places

	if !s.across && ctx.Value(inPlace{}) == nil {
		if m.writes() {
			needed = append(needed, d.writes) // first, so that waiting writes keep no reads waiting
		}

		needed = append(needed, d.places)
	}

	// Give back what was taken if a later turn does not come.
	for i, places := range needed {
		if err := places.Take(ctx, s.Team); err != nil {
			giveBack(needed[:i], s.Team)
			return nil, nil, err
		}
	}

	// A connection is asked for only with all turns.
	if conn, err = d.connection(ctx); err != nil {
		giveBack(needed, s.Team)
		return nil, nil, err
	}

	return conn, needed, nil
}

// giveBack returns the turns of a team.
func giveBack(turns []*fair.Places, team id.ID) {
	for _, places := range slices.Backward(turns) {
		places.Give(team)
	}
}

// connection takes a connection from the pool, which asks the server for one more if none is idle. If the server
// refuses, it waits for those of the pool.
func (d *DB) connection(ctx context.Context) (*pgxpool.Conn, error) {
	var refusal error

	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		// After a refusal an idle connection is better than asking again.
		mayAsk, doubtful := d.refused.mayAsk()
		if doubtful {
			if conn := d.idle(ctx); conn != nil {
				return conn, nil
			}
		}

		// The pool opens one more if it may. Success, and any error but a lack of room, ends the search.
		if mayAsk {
			conn, err := d.pool.Acquire(ctx)
			if SQLState(err) != tooMany {
				if err == nil && doubtful {
					d.refused.clear()
				}

				return conn, err
			}

			d.refused.note()

			refusal = err
		}

		// Try again soon: a connection of the pool may be free by then.
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), refusal)
		case <-time.After(pause):
		}
	}
}

// idle takes an unused connection, or returns nil.
func (d *DB) idle(ctx context.Context) *pgxpool.Conn {
	all := d.pool.AcquireAllIdle(ctx)
	if len(all) == 0 {
		return nil
	}

	for _, conn := range all[1:] {
		conn.Release()
	}

	return all[0]
}

// refusals remembers that the server took no further connection, so that not every waiting transaction asks it again
// and again. It is the instant in nanoseconds from which one caller may ask, or zero.
type refusals struct{ until atomic.Int64 }

func (r *refusals) note()  { r.until.Store(time.Now().Add(refusedFor).UnixNano()) }
func (r *refusals) clear() { r.until.Store(0) }

// mayAsk reports whether the caller may ask for a connection, and whether the server may not give one.
func (r *refusals) mayAsk() (mayAsk, doubtful bool) {
	until := r.until.Load()
	if until == 0 {
		return true, false
	}

	now := time.Now()

	return now.UnixNano() >= until && r.until.CompareAndSwap(until, now.Add(refusedFor).UnixNano()), true
}

// probe is a connection of its own, so that the question whether the database answers does not wait behind the work.
type probe struct {
	turn chan struct{} // holds one token while the connection is used
	conn *pgx.Conn
}

// Ping reports whether the database answers, over a connection apart from the pool.
func (d *DB) Ping(ctx context.Context) error {
	// One at a time: the probe has a single connection.
	select {
	case d.probe.turn <- struct{}{}:
		defer func() { <-d.probe.turn }()
	case <-ctx.Done():
		return unavailable(ctx.Err())
	}

	if d.probe.conn != nil {
		if d.probe.conn.Ping(ctx) == nil {
			return nil
		}

		d.probe.close() // it can have been lost long ago, so try a new one
	}

	// A server without room for one more connection still answers over those of the pool.
	conn, err := pgx.ConnectConfig(ctx, d.pool.Config().ConnConfig.Copy())
	if SQLState(err) == tooMany {
		return d.pingPooled(ctx)
	}

	if err != nil {
		return unavailable(err)
	}

	// Kept for the next time.
	d.probe.conn = conn
	if err := conn.Ping(ctx); err != nil {
		return unavailable(err)
	}

	return nil
}

// pingPooled asks the database for an answer over a connection of the pool.
func (d *DB) pingPooled(ctx context.Context) error {
	conn, err := d.connection(ctx)
	if err != nil {
		return unavailable(err)
	}
	defer conn.Release()

	if err := conn.Ping(ctx); err != nil {
		return unavailable(err)
	}

	return nil
}

// close closes the connection of the probe, and waits a second at most.
func (p *probe) close() {
	if p.conn == nil {
		return
	}

	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()

	_ = p.conn.Close(ctx)
	p.conn = nil
}

// listening are the calls of Listen that go on.
type listening struct {
	mu     sync.Mutex
	all    sync.WaitGroup
	ctx    context.Context //nolint:containedctx // what ends them, whoever they listen for
	cancel context.CancelFunc
}

// enter counts one more listener. It returns false if all listeners have to end.
func (l *listening) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.ctx.Err() != nil {
		return false
	}

	l.all.Add(1)

	return true
}

func (l *listening) close() {
	l.mu.Lock()
	l.cancel()
	l.mu.Unlock()
	l.all.Wait()
}

// Close ends all connections.
func (d *DB) Close() {
	d.listening.close()

	d.probe.turn <- struct{}{}

	d.probe.close()
	<-d.probe.turn
	d.pool.Close()
}
