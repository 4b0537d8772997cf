package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"stayledger/platform/db"
	"stayledger/platform/pgserver"
)

// sent is what the service sent to the database: the statements, those that begin and end transactions too, and how
// often it waited for answers.
type sent struct {
	statements, roundTrips int
}

// tally is a tracer of the driver that counts what is sent. One request at a time is counted.
type tally struct {
	mu  sync.Mutex
	now sent
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
func (*tally) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd is told when all are.
func (*tally) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// counted is a second service on connections of its own that tell what they send.
type counted struct {
	tally   *tally
	db      *db.DB
	address string
	// server asks PostgreSQL where it spends its time; nil when nobody wants to know.
	server *pgx.Conn
}

func (b *bed) countedService(ctx context.Context) (c counted, err error) {
	c.tally = &tally{}
	if c.db, err = db.Open(ctx, db.Config{URL: b.server.URL(pgserver.Role, pgserver.Role), MaxConnections: 2, Tracer: c.tally}); err != nil {
		return c, err
	}

	if b.timed {
		if c.server, err = pgx.Connect(ctx, b.server.URL("postgres", pgserver.Role)); err != nil {
			return c, fmt.Errorf("connect: %w", err)
		}
	}

	c.address, err = b.listenAsService(ctx, c.db)

	return c, err
}

func (c *counted) close() {
	c.db.Close()

	if c.server != nil {
		_ = c.server.Close(context.Background())
	}
}

// count is what requests of a team send: the fewest statements of some, once statements and keys are known. The
// requests must be of one kind.
func (c *counted) count(ctx context.Context, t tenant, request func(c *client, n int) []byte) (fewest sent, spent []spent, err error) {
	on, err := dial(ctx, c.address, t.secret)
	if err != nil {
		return fewest, nil, err
	}
	defer on.close()

	var n int
	for ; n < 5; n++ {
		c.tally.take()

		begin := time.Now()

		if _, err := on.send(request(on, n), false); err != nil {
			return fewest, nil, err
		}

		if s := c.tally.take(); n > 0 && (fewest.statements == 0 || s.statements <= fewest.statements) {
			fewest = s
		}

		if n > 0 && time.Since(begin) > time.Second {
			break // it is slow enough as it is
		}
	}

	if c.server == nil {
		return fewest, nil, nil
	}

	spent, err = c.where(ctx, func(k int) error {
		_, err := on.send(request(on, n+1+k), false)
		return err
	})

	return fewest, spent, err
}

// spent is what a statement cost PostgreSQL, those it called in functions and triggers included: milliseconds to plan
// it and to run it.
type spent struct {
	Calls     int64
	Plan, Run float64
	SQL       string
}

// where sends requests and tells what each of their statements took in one of them, the dearest first.
func (c *counted) where(ctx context.Context, send func(n int) error) ([]spent, error) {
	const requests = 12

	if _, err := spentSince(ctx, c.server, 1); err != nil {
		return nil, err
	}

	for n := range requests {
		if err := send(n); err != nil {
			return nil, err
		}
	}

	return spentSince(ctx, c.server, requests)
}

// spentSince tells what was spent since it was last asked, divided by so many requests.
func spentSince(ctx context.Context, server *pgx.Conn, requests int) ([]spent, error) {
	rows, err := server.Query(ctx, `select calls, round((total_plan_time / $1)::numeric, 3)::double precision as plan,
			round((total_exec_time / $1)::numeric, 3)::double precision as run, query as sql
		from pg_stat_statements where calls >= $1 / 2 and query !~ 'pg_stat_statements' order by total_plan_time + total_exec_time desc limit 25`, requests)
	if err != nil {
		return nil, fmt.Errorf("ask for the time of statements: %w", err)
	}

	out, err := pgx.CollectRows(rows, pgx.RowToStructByName[spent])
	if err != nil {
		return nil, fmt.Errorf("ask for the time of statements: %w", err)
	}

	for i := range out {
		out[i].SQL = strings.Join(strings.Fields(out[i].SQL), " ")
	}

	if _, err := server.Exec(ctx, "select pg_stat_statements_reset()"); err != nil {
		return nil, fmt.Errorf("ask for the time of statements: %w", err)
	}

	return out, nil
}

// tellSpent tells what a section had PostgreSQL spend.
func (b *bed) tellSpent(ctx context.Context, section string) error {
	if !b.timed {
		return nil
	}

	conn, err := pgx.Connect(ctx, b.server.URL("postgres", pgserver.Role))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}

	defer func() { _ = conn.Close(ctx) }()

	all, err := spentSince(ctx, conn, 1)
	if err != nil {
		return err
	}

	for _, s := range all {
		_, _ = fmt.Fprintf(os.Stderr, "%s\t%d calls\t%.0f ms planned\t%.0f ms run\t%s\n", section, s.Calls, s.Plan, s.Run, s.SQL)
	}

	return nil
}
