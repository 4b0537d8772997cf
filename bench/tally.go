package main

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"stayledger/platform/db"
	"stayledger/platform/pgserver"
)

// sent is what the service sent to the database: the statements, those that begin and end transactions too, and how often it waited for answers.
type sent struct {
	statements, roundTrips int
	// slowest is the statement that took longest, and how long that was.
	slowest   string
	slowestMS float64
}

// tally is a tracer of the driver that counts what is sent. One request at a time is counted.
type tally struct {
	mu    sync.Mutex
	now   sent
	since time.Time
}

// take gives what was sent since it was last asked.
func (t *tally) take() sent {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.now
	t.now = sent{}
	return out
}

func (t *tally) begin(statements int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now.statements += statements
	t.now.roundTrips++
	t.since = time.Now()
}

// answered notes the time that a statement took since the answer before it.
func (t *tally) answered(sql string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ms := float64(time.Since(t.since).Microseconds()) / 1e3; ms > t.now.slowestMS {
		t.now.slowest, t.now.slowestMS = strings.Join(strings.Fields(sql), " "), ms
	}
	t.since = time.Now()
}

// TraceQueryStart is told of statements outside of batches.
func (t *tally) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	t.begin(1)
	return ctx
}

// TraceQueryEnd is told when they are done.
func (*tally) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart is told of the statements of a round trip.
func (t *tally) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	t.begin(len(data.Batch.QueuedQueries))
	return ctx
}

// TraceBatchQuery is told when a statement of a round trip is done.
func (t *tally) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	t.answered(data.SQL)
}

// TraceBatchEnd is told when all are.
func (*tally) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// counted is a second service on connections of its own that tell what they send.
type counted struct {
	tally   *tally
	db      *db.DB
	address string
}

func (b *bed) countedService(ctx context.Context) (c counted, err error) {
	c.tally = &tally{}
	if c.db, err = db.Open(ctx, db.Config{URL: b.server.URL(pgserver.Role, pgserver.Role), MaxConnections: 2, Tracer: c.tally}); err != nil {
		return c, err
	}
	c.address, err = b.listenAsService(ctx, c.db)
	return c, err
}

// count is what requests of a team send: the fewest statements of some, once statements and keys are known. The requests must be of one kind.
func (c *counted) count(ctx context.Context, t tenant, request func(c *client, n int) []byte) (fewest sent, err error) {
	on, err := dial(ctx, c.address, t.secret)
	if err != nil {
		return fewest, err
	}
	defer on.close()
	for n := range 5 {
		c.tally.take()
		begin := time.Now()
		if _, err := on.send(request(on, n), false); err != nil {
			return fewest, err
		}
		if s := c.tally.take(); n > 0 && (fewest.statements == 0 || s.statements <= fewest.statements) {
			fewest = s
		}
		if n > 0 && time.Since(begin) > time.Second {
			break // it is slow enough as it is
		}
	}
	return fewest, nil
}
