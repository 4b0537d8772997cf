// Package db begins and ends every transaction. Domain code gets a Tx and nothing else: no commit, no rollback, no pool, no driver, so
// a dry run is the same code with another ending and has no door to leak through.
//
// A Tx sends nothing of its own accord: BEGIN and the tenant settings travel with the first statement, the deferred checks and COMMIT
// with the last ones, so a write of one statement costs two round trips and a single-statement read costs one.
package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"stayledger/platform/id"
)

// Config says which server to use and how hard.
type Config struct {
	URL            string
	MaxConnections int32
	// AcquireTimeout bounds the wait for a connection; beyond it the caller gets ErrUnavailable.
	AcquireTimeout time.Duration
	// Now is the clock; nil is the real one.
	Now func() time.Time
	// OnQueued runs after the commit of a transaction that left work behind (Tx.MarkQueued).
	OnQueued func()
}

// DB owns the connections.
type DB struct {
	pool           *pgxpool.Pool
	now            func() time.Time
	onQueued       atomic.Pointer[func()]
	acquireTimeout time.Duration
}

var (
	// ErrUnavailable means that the database could not be reached, or was lost before the transaction's end was known.
	ErrUnavailable = errors.New("database unavailable")
	// ErrPrivileged refuses a role that row-level security does not hold.
	ErrPrivileged = errors.New("the database role is a superuser or bypasses row-level security; use a plain role that owns its database")
	// ErrNoRows is returned by Get when the statement found nothing.
	ErrNoRows = pgx.ErrNoRows
)

const maxAttempts = 4

// Open connects and refuses a role that could see every tenant's rows.
func Open(ctx context.Context, c Config) (*DB, error) {
	pc, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		return nil, fmt.Errorf("read DATABASE_URL: %w", redact(err))
	}
	if c.MaxConnections > 0 {
		pc.MaxConns = c.MaxConnections
	}
	pc.ConnConfig.ConnectTimeout = 5 * time.Second
	pc.ConnConfig.RuntimeParams["application_name"] = "stayledger"
	pc.ConnConfig.RuntimeParams["timezone"] = "UTC"
	pc.ConnConfig.RuntimeParams["statement_timeout"] = "30s"
	pc.ConnConfig.RuntimeParams["lock_timeout"] = "5s"
	pc.ConnConfig.RuntimeParams["synchronous_commit"] = "on" // whatever the server thinks: an answer is a promise
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open pool: %w", err)
	}
	d := &DB{pool: pool, now: c.Now, acquireTimeout: c.AcquireTimeout}
	if c.OnQueued != nil {
		d.SetOnQueued(c.OnQueued)
	}
	if d.now == nil {
		d.now = time.Now
	}
	if d.acquireTimeout == 0 {
		d.acquireTimeout = 5 * time.Second
	}
	var privileged bool
	err = pool.QueryRow(ctx, `select rolsuper or rolbypassrls from pg_roles where rolname = current_user`).Scan(&privileged)
	if err == nil && privileged {
		err = ErrPrivileged
	}
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	return d, nil
}

// redact keeps passwords out of messages: pgx quotes the connection string.
func redact(err error) error {
	if strings.Contains(err.Error(), "://") {
		return errors.New("the connection string is malformed")
	}
	return err
}

// Close ends all connections.
func (d *DB) Close() { d.pool.Close() }

// Now is the clock that transactions read once.
func (d *DB) Now() time.Time { return d.now().UTC().Truncate(time.Millisecond) }

// SetOnQueued installs the wake-up that follows the commit of queued work. It may come while transactions run.
func (d *DB) SetOnQueued(f func()) { d.onQueued.Store(&f) }

// Ping reports whether the database answers.
func (d *DB) Ping(ctx context.Context) error {
	if err := d.pool.Ping(ctx); err != nil {
		return unavailable(err)
	}
	return nil
}

// Work is what a transaction does.
type Work func(ctx context.Context, tx *Tx) error

// Read runs work on one snapshot, read only.
func (d *DB) Read(ctx context.Context, s Scope, work Work) error {
	return d.run(ctx, s, modeRead, work)
}

// ReadOne is Read for work that sends exactly one statement: it needs a single round trip, and a second statement fails.
func (d *DB) ReadOne(ctx context.Context, s Scope, work Work) error {
	return d.run(ctx, s, modeReadOne, work)
}

// Write runs work and commits it. Work is run again, from the start, after a serialization failure or a deadlock and after nothing else:
// a connection lost at COMMIT may have committed.
func (d *DB) Write(ctx context.Context, s Scope, work Work) error {
	return d.run(ctx, s, modeWrite, work)
}

// WriteLazily is Write without waiting for the disk: a crash may lose it, so it is for marks that can be made again.
func (d *DB) WriteLazily(ctx context.Context, s Scope, work Work) error {
	return d.run(ctx, s, modeWriteLazily, work)
}

// DryRun runs work as Write does, checks the deferred constraints, and rolls back.
func (d *DB) DryRun(ctx context.Context, s Scope, work Work) error {
	return d.run(ctx, s, modeDryRun, work)
}

func (d *DB) run(ctx context.Context, s Scope, m mode, work Work) error {
	for attempt := 1; ; attempt++ {
		err := d.once(ctx, s, m, work)
		if err == nil || attempt == maxAttempts || !retryable(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Duration(attempt*attempt) * 5 * time.Millisecond):
		}
	}
}

func (d *DB) once(ctx context.Context, s Scope, m mode, work Work) error {
	acquire, cancel := context.WithTimeout(ctx, d.acquireTimeout)
	conn, err := d.pool.Acquire(acquire)
	cancel()
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return unavailable(err)
	}
	tx := &Tx{
		Now: d.Now(), Team: s.Team, Teams: s.teams(), Actor: s.Actor, Action: s.Action, RequestID: s.RequestID,
		conn: conn, mode: m, settings: s.settings(),
	}
	tx.sight = sight{teams: tx.settings.teams, across: tx.settings.across}
	defer tx.abandon()
	if err := work(ctx, tx); err != nil {
		return tx.classify(err)
	}
	if err := tx.end(ctx); err != nil {
		return tx.classify(err)
	}
	if wake := d.onQueued.Load(); tx.queued && wake != nil && (m == modeWrite || m == modeWriteLazily) {
		(*wake)()
	}
	return nil
}

func retryable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01")
}

// classify marks the errors that mean "no database" so that the edge can answer 503. A connection that closed while nobody had given up
// was lost, whatever form the error has: work can fail with a network error of its own on a sound connection.
func (tx *Tx) classify(err error) error {
	var pg *pgconn.PgError
	switch {
	case errors.Is(err, ErrUnavailable), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case tx.conn.Conn().IsClosed():
		return unavailable(err)
	case errors.As(err, &pg) && slices.ContainsFunc(outage, func(class string) bool { return strings.HasPrefix(pg.Code, class) }):
		return unavailable(err)
	}
	return err
}

// outage lists the classes of SQLSTATE with which the server says that it cannot serve: connection, resources, shutdown.
var outage = []string{"08", "53", "57P"}

func unavailable(err error) error {
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// Constraint is the name of the constraint that a statement broke, or the empty string.
func Constraint(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.ConstraintName
	}
	return ""
}

// IsLockTimeout reports that a row stayed locked by somebody else for longer than the transaction may wait.
func IsLockTimeout(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "55P03"
}

// SQLState is the five-character code of a database error, or the empty string.
func SQLState(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}

// AcrossTeams is the scope of the service's own work: authentication, the job queue, maintenance and the command line.
// No endpoint runs in it.
func AcrossTeams() Scope { return Scope{across: true} }

// Scope says for whom a transaction works.
type Scope struct {
	// Team is the selected team.
	Team id.ID
	// Managed are further teams that the transaction may see: the customers of a partner.
	Managed   []id.ID
	Actor     Actor
	Action    id.ID
	RequestID string
	// Timeout bounds every statement; zero means 30 seconds.
	Timeout time.Duration
	across  bool
}

// Actor is the user behind a transaction.
type Actor struct {
	User   id.ID
	Scopes []string
	// Owner is set for a person who sees only the listings of one contact.
	Owner *id.ID
	// Teams are all teams that the credential reaches, the selected one among them.
	Teams []id.ID
}

// Reaches reports whether the actor's credential could have selected a team.
func (a Actor) Reaches(team id.ID) bool { return slices.Contains(a.Teams, team) }

// Has reports whether the actor holds a scope.
func (a Actor) Has(scope string) bool {
	return slices.Contains(a.Scopes, scope)
}

func (s Scope) teams() []id.ID {
	if s.Team.IsZero() {
		return s.Managed
	}
	return append([]id.ID{s.Team}, s.Managed...)
}

func (s Scope) settings() setting {
	out := setting{across: "off"}
	if s.across {
		out.across = "on"
	}
	if s.Timeout > 0 {
		out.timeout = fmt.Sprintf("%dms", max(s.Timeout.Milliseconds(), 1)) // zero would mean none
	}
	teams := s.teams()
	var b strings.Builder
	b.Grow(2 + 37*len(teams))
	b.WriteByte('{')
	for i, t := range teams {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(t.String())
	}
	b.WriteByte('}')
	out.teams = b.String()
	return out
}

// setting is what a transaction sets for itself; an empty timeout leaves the connection's.
type setting struct{ teams, across, timeout string }

// statement sets what differs from a new connection, and nothing else: every setting is paid for in every request.
func (s setting) statement(m mode) (sql string, args []any) {
	sql, args = `select set_config('stayledger.teams', $1, true)`, []any{s.teams}
	if s.across == "on" {
		sql += `, set_config('stayledger.across_teams', 'on', true)`
	}
	if m == modeReadOne { // the other reads say so when they begin
		sql += `, set_config('transaction_read_only', 'on', true)`
	}
	if m == modeWriteLazily {
		sql += `, set_config('synchronous_commit', 'off', true)`
	}
	if s.timeout != "" {
		sql, args = sql+`, set_config('statement_timeout', $2, true)`, append(args, s.timeout)
	}
	return sql, args
}
