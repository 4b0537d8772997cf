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

// sent is the number of statements that the service sent to the database, including those that begin and end
// transactions, and how often it waited for answers.
type sent struct {
	statements, roundTrips int
}

// tally is a tracer of the driver that counts statements and round trips. Only one request at a time can be
// counted.
type tally struct {
	mu  sync.Mutex
	now sent
}

// take returns the counts since it was last called.
func (t *tally) take() sent {
	t.mu.Lock()
	defer t.mu.Unlock()

	out := t.now
	t.now = sent{}

	return out
}

// begin counts the statements of a round trip.
func (t *tally) begin(statements int) {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.now.statements += statements
	t.now.roundTrips++
}

// TraceQueryStart counts a statement outside of batches.
func (t *tally) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	t.begin(1)
	return ctx
}

// TraceQueryEnd does nothing.
func (*tally) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart counts the statements of a round trip.
func (t *tally) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	t.begin(len(data.Batch.QueuedQueries))
	return ctx
}

// TraceBatchQuery does nothing.
func (*tally) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd does nothing.
func (*tally) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// countingService is a second service with connections of its own that count their statements.
type countingService struct {
	tally   *tally
	db      *db.DB
	address string
	// server asks PostgreSQL where it spends its time; nil unless that is recorded.
	server *pgx.Conn
}

// startCounted starts a second service that counts its statements.
func (b *bed) startCounted(ctx context.Context) (c countingService, err error) {
	c.tally = &tally{}
	if c.db, err = db.Open(ctx, db.Config{
		URL:            b.url(pgserver.Role),
		MaxConnections: 2,
		Tracer:         c.tally,
	}); err != nil {
		return c, err
	}

	// Reading the statistics of PostgreSQL needs a session of the administrator, outside the count.
	if b.timed {
		if c.server, err = pgx.Connect(ctx, b.url(superuser)); err != nil {
			return c, fmt.Errorf("connect: %w", err)
		}
	}

	c.address, err = b.listenAsService(ctx, c.db)

	return c, err
}

// close closes the connections.
func (c *countingService) close() {
	c.db.Close()

	if c.server != nil {
		_ = c.server.Close(context.Background())
	}
}

// count returns the fewest statements that one of a few requests of a team sends, after the first one has prepared
// statements and loaded keys. The requests must be of one kind.
func (c *countingService) count(
	ctx context.Context,
	t tenant,
	request func(c *client, n int) []byte,
) (fewest sent, spent []spent, err error) {
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

		// The first request is not counted, because it also prepares statements.
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

	// Further requests find out where PostgreSQL spends the time.
	spent, err = c.loadSpent(ctx, func(k int) error {
		_, err := on.send(request(on, n+1+k), false)
		return err
	})

	return fewest, spent, err
}

// spent is the time that a statement cost PostgreSQL, including those it called in functions and triggers:
// milliseconds to plan it and to run it.
type spent struct {
	Calls     int64
	Plan, Run float64
	SQL       string
}

// loadSpent sends requests and returns the time that each statement takes per request, the longest first.
func (c *countingService) loadSpent(ctx context.Context, send func(n int) error) ([]spent, error) {
	const requests = 12

	if _, err := takeSpent(ctx, c.server, 1); err != nil {
		return nil, err
	}

	for n := range requests {
		if err := send(n); err != nil {
			return nil, err
		}
	}

	return takeSpent(ctx, c.server, requests)
}

// takeSpent returns the time spent since it was last called, divided by the number of requests.
func takeSpent(ctx context.Context, server *pgx.Conn, requests int) ([]spent, error) {
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

	// The next call must not see these statements again.
	if _, err := server.Exec(ctx, "select pg_stat_statements_reset()"); err != nil {
		return nil, fmt.Errorf("ask for the time of statements: %w", err)
	}

	return out, nil
}

// printSpent prints the time that PostgreSQL spent in a section.
func (b *bed) printSpent(ctx context.Context, section string) error {
	if !b.timed {
		return nil
	}

	conn, err := pgx.Connect(ctx, b.url(superuser))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}

	defer func() { _ = conn.Close(ctx) }()

	all, err := takeSpent(ctx, conn, 1)
	if err != nil {
		return err
	}

	for _, s := range all {
		_, _ = fmt.Fprintf(
			os.Stderr,
			"%s\t%d calls\t%.0f ms planned\t%.0f ms run\t%s\n",
			section,
			s.Calls,
			s.Plan,
			s.Run,
			s.SQL,
		)
	}

	return nil
}
