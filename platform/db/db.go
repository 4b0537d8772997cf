// Package db begins and ends every transaction. Domain code gets a Tx and nothing else: no commit, no rollback, no
// pool, no driver, so a dry run is the same code with another ending and has no door to leak through.
//
// A Tx sends nothing of its own accord: BEGIN and the tenant settings travel with the first statement, the deferred
// checks and COMMIT with the last ones, so a write of one statement costs two round trips. A read whose statements are
// sent together costs one, and no request that only reads waits for its transaction to end.
package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"stayledger/platform/day"
	"stayledger/platform/fair"
	"stayledger/platform/id"
	"stayledger/platform/inside"
)

// Config says which server to use and how hard.
type Config struct {
	URL            string
	MaxConnections int32
	// AcquireTimeout bounds the wait for a connection; beyond it the caller gets ErrUnavailable. Teams take turns at
	// them: see package fair.
	AcquireTimeout time.Duration
	// ConnectWait bounds the wait for the server to accept one more connection. Zero means 5 seconds.
	ConnectWait time.Duration
	// GateWait bounds the wait of exclusive transactions at the gate of their team; others wait up to twice as long.
	// Zero means 10 seconds.
	GateWait time.Duration
	// RowWait bounds the wait of a statement for a row that another transaction holds. Zero means 5 seconds.
	RowWait time.Duration
	// StatementTimeout bounds a statement that nothing else bounds. Zero means 30 seconds.
	StatementTimeout time.Duration
	// Now is the clock; nil is the real one.
	Now func() time.Time
	// OnQueued runs after the commit of a transaction that left work of some kinds behind (Tx.MarkQueued).
	OnQueued func(kinds ...string)
	// Tracer observes every statement; nil observes none.
	Tracer Tracer
}

// Tracer observes statements.
type Tracer = pgx.QueryTracer

// DB owns the connections.
type DB struct {
	pool           *pgxpool.Pool
	now            func() time.Time
	onQueued       atomic.Pointer[func(kinds ...string)]
	acquireTimeout time.Duration
	gateWait       time.Duration
	rowWait        time.Duration
	places         *fair.Places // that the transactions of teams take turns in
	writes         *fair.Places // that those of them which write need besides, fewer
	refused        refusals
	probe          probe
	listening      listening
	onSettled      atomic.Pointer[func()]
}

var (
	// ErrUnavailable means that the database could not be reached, or was lost before the transaction's end was known.
	ErrUnavailable = errors.New("database unavailable")
	// ErrPrivileged refuses a role that row-level security does not hold.
	ErrPrivileged = errors.New("the database role is a superuser or bypasses row-level security; use a plain role " +
		"that owns its database")
	// ErrNoAddress refuses an empty address: the driver would go on to look for a server by itself and could find
	// another one.
	ErrNoAddress = errors.New("DATABASE_URL is empty; name the database, such as " +
		"postgres://user:password@host:5432/name")
	// ErrPooler refuses a pooler that lends connections by the transaction: time limits of statements and notifications
	// belong to a session.
	ErrPooler = errors.New("DATABASE_URL leads to a connection pooler such as pgbouncer, which does not keep a " +
		"session's settings; connect to PostgreSQL itself (the service has a pool of its own: --max-connections)")
)

const maxAttempts = 4

// connectWait is how long the server may take to accept a connection.
const connectWait = 5 * time.Second

// rowWait is how long a statement waits for a lock on rows.
const rowWait = 5 * time.Second

// statementTimeout bounds a statement that nothing else bounds.
const statementTimeout = 30 * time.Second

// isolation is that of transactions which do not name theirs: reads, whose statements see one snapshot. What PostgreSQL
// gets in one round trip without BEGIN is one such transaction.
const isolation = "repeatable read"

// Open connects and refuses a role that could see every tenant's rows.
//
// It fails with ErrNoAddress, ErrPrivileged, ErrPooler, or the error of the server.
func Open(ctx context.Context, c Config) (*DB, error) {
	if strings.TrimSpace(c.URL) == "" {
		return nil, ErrNoAddress
	}

	// The address may have the password, which no error repeats.
	pc, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		return nil, fmt.Errorf("read DATABASE_URL: %w", redact(err))
	}

	if c.MaxConnections > 0 {
		pc.MaxConns = c.MaxConnections
	}

	// Settings that every connection begins with; transactions change them for themselves.
	pc.ConnConfig.ConnectTimeout = cmp.Or(c.ConnectWait, connectWait)
	pc.ConnConfig.RuntimeParams["application_name"] = "stayledger"
	pc.ConnConfig.RuntimeParams["timezone"] = "UTC"
	limit := milliseconds(cmp.Or(c.StatementTimeout, statementTimeout))
	pc.ConnConfig.RuntimeParams["statement_timeout"] = limit
	c.RowWait = cmp.Or(c.RowWait, rowWait)
	pc.ConnConfig.RuntimeParams["lock_timeout"] = milliseconds(c.RowWait)
	pc.ConnConfig.RuntimeParams["synchronous_commit"] = "on" // even if the server has another default: an answer is a promise
	pc.ConnConfig.RuntimeParams["default_transaction_isolation"] = isolation
	maps.Copy(pc.ConnConfig.RuntimeParams, plans)
	pc.ConnConfig.Tracer = c.Tracer

	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open pool: %w", err)
	}

	// Places divide the connections fairly among teams.
	d := &DB{
		pool: pool, now: c.Now, acquireTimeout: c.AcquireTimeout, gateWait: cmp.Or(c.GateWait, gateWait),
		rowWait: c.RowWait, places: newPlaces(pc.MaxConns), writes: newWritePlaces(pc.MaxConns),
		probe: probe{turn: make(chan struct{}, 1)},
	}

	d.listening.ctx, d.listening.cancel = context.WithCancel(context.WithoutCancel(ctx)) //nolint:fatcontext // it lives as long as the DB

	// Then the defaults for everything that the configuration leaves out.
	if c.OnQueued != nil {
		d.SetOnQueued(c.OnQueued)
	}

	if d.now == nil {
		d.now = time.Now
	}

	if d.acquireTimeout == 0 {
		d.acquireTimeout = 5 * time.Second
	}

	// Only now does the first connection show whether role and settings are right.
	if err := checkSession(ctx, pool, limit); err != nil {
		pool.Close()
		return nil, fmt.Errorf("connect to the database: %w", err)
	}

	return d, nil
}

// checkSession refuses a privileged role, and a pooler that drops the settings with which connections begin. A
// pooler says so itself, or was configured to ignore them. The statement has no name, because a pooler lends
// connections on which another client has prepared the same.
func checkSession(ctx context.Context, pool *pgxpool.Pool, limit string) error {
	var exempt, limited bool

	err := pool.QueryRow(ctx, `
		select rolsuper or rolbypassrls, current_setting('statement_timeout')::interval = $1::interval from pg_roles where rolname = current_user`,
		pgx.QueryExecModeExec, limit).Scan(&exempt, &limited)

	// A pooler shows in two ways: it refuses the settings, or the timeout is not ours.
	switch {
	case err != nil && strings.Contains(err.Error(), "unsupported startup parameter"):
		return ErrPooler
	case err != nil:
		return err
	case exempt:
		return ErrPrivileged
	case !limited:
		return ErrPooler
	}

	return nil
}

// redact keeps passwords out of messages: pgx quotes the connection string.
func redact(err error) error {
	if strings.Contains(err.Error(), "://") {
		return errors.New("the connection string is malformed")
	}

	return err
}

// Now returns the time; a transaction reads it once.
func (d *DB) Now() time.Time { return d.now().UTC().Truncate(time.Millisecond) }

// SetOnQueued installs the wake-up that follows the commit of queued work. It may come while transactions run.
func (d *DB) SetOnQueued(f func(kinds ...string)) { d.onQueued.Store(&f) }

// SetOnSettled installs what follows the commit of a transaction that settled work somebody may wait for. It may come
// while transactions run.
func (d *DB) SetOnSettled(f func()) { d.onSettled.Store(&f) }

// Work is the content of a transaction.
type Work func(ctx context.Context, tx *Tx) error

// Read runs work on one snapshot, read only.
func (d *DB) Read(ctx context.Context, s Scope, work Work) error {
	return d.run(ctx, s, modeRead, work)
}

// ReadAnswer works as Read for a request: the answer does not wait for the transaction to end, because what was
// read does not change.
func (d *DB) ReadAnswer(ctx context.Context, s Scope, work Work) error {
	return d.run(ctx, s, modeReadAnswer, work)
}

// ReadOne works as ReadAnswer for work that nearly always sends all its statements in one round trip: one, or several
// Together. They need no BEGIN and no COMMIT. Work that sends more after it is run again, from the start, as by
// ReadAnswer.
func (d *DB) ReadOne(ctx context.Context, s Scope, work Work) error {
	return d.run(ctx, s, modeReadOne, work)
}

// Write runs work and commits it. Work is run again, from the start, after a serialization failure or a deadlock and
// after nothing else: a connection lost at COMMIT may have committed.
func (d *DB) Write(ctx context.Context, s Scope, work Work) error {
	return d.run(ctx, s, modeWrite, work)
}

// WriteLazily works as Write without waiting for the disk. A crash may lose it, so use it for marks that can be
// made again.
func (d *DB) WriteLazily(ctx context.Context, s Scope, work Work) error {
	return d.run(ctx, s, modeWriteLazily, work)
}

// Repeat runs a statement of the service's own maintenance, each time in a transaction of its own, until it touches
// fewer rows than enough. The statement returns how many rows it touched. So a backlog is worked off without long
// locks.
func (d *DB) Repeat(ctx context.Context, enough int64, s Stmt) error {
	for {
		var n int64

		err := d.Write(ctx, AcrossTeams(), func(ctx context.Context, tx *Tx) (err error) {
			n, err = Get[int64](ctx, tx, s.SQL, s.Args)
			return err
		})
		if err != nil {
			return fmt.Errorf("maintenance: %w", err)
		}

		// Fewer rows than enough mean that the backlog is gone.
		if n < enough {
			return nil
		}
	}
}

// DryRun runs work as Write does, checks the deferred constraints, and rolls back.
func (d *DB) DryRun(ctx context.Context, s Scope, work Work) error {
	return d.run(ctx, s, modeDryRun, work)
}

// run does the work in a transaction, and again if it met another transaction.
func (d *DB) run(ctx context.Context, s Scope, m mode, work Work) error {
	certain := false

	for attempt := 1; ; attempt++ {
		err := d.once(ctx, s, m, certain, work)
		if m == modeReadOne && errors.Is(err, errSecondTrip) {
			m = modeReadAnswer
			continue
		}

		if errors.Is(err, errAssumed) {
			certain = true
			continue
		}

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

// once runs work in one transaction.
func (d *DB) once(ctx context.Context, s Scope, m mode, certain bool, work Work) error {
	// The error says whether the caller gave up, or the database had no connection in time.
	conn, turns, err := d.acquire(ctx, s, m)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}

		return unavailable(err)
	}

	ctx = inside.Transaction(ctx)

	// Work inside this work must not wait for turns again.
	if len(turns) > 0 {
		ctx = context.WithValue(ctx, inPlace{}, true)
	}

	// The transaction begins with its first statement.
	tx := &Tx{
		Now: d.Now(), Zone: s.Zone, Team: s.Team, Teams: s.teams(), Actor: s.Actor, Action: s.Action,
		RequestID: s.RequestID, Work: s.Work, Operation: s.Operation, conn: conn, mode: m,
		settings: s.settings(d.gateWait, d.rowWait), certain: certain,
	}
	tx.sight = sight{teams: tx.settings.teams, across: tx.settings.across}
	answered := false

	// The connection goes back after the answer, if that need not wait.
	defer func() {
		leave := func() {
			tx.leave(context.WithoutCancel(ctx))
			giveBack(turns, s.Team)
		}
		if answered {
			go leave()
		} else {
			leave()
		}
	}()

	// Without an error it commits; after one it rolls back when it leaves.
	err = work(ctx, tx)
	if tx.isAssumptionWrong() {
		return errAssumed
	}

	if err != nil {
		return tx.classify(err)
	}

	if err := tx.end(ctx); err != nil {
		return tx.classify(err)
	}

	// Only a write that has committed has work to announce.
	if m == modeWrite || m == modeWriteLazily {
		d.announce(tx)
	}

	answered = m == modeReadAnswer

	return nil
}

// announce wakes whoever must know of a committed transaction.
func (d *DB) announce(tx *Tx) {
	if wake := d.onQueued.Load(); tx.HasQueued() && wake != nil {
		(*wake)(tx.queued...)
	}

	if wake := d.onSettled.Load(); tx.settled && wake != nil {
		(*wake)()
	}
}

func retryable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01")
}

// classify marks the errors that mean "no database", so that the edge can answer 503. If the connection closed
// although no context had ended, it was lost, whatever form the error has: work can fail with a network error of
// its own on a sound connection.
func (tx *Tx) classify(err error) error {
	var pg *pgconn.PgError
	switch {
	case errors.Is(err, ErrUnavailable), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case tx.conn.Conn().IsClosed():
		return unavailable(err)
	case errors.As(err, &pg) && slices.ContainsFunc(outage, func(class string) bool {
		return strings.HasPrefix(pg.Code,
			class)
	}):
		return unavailable(err)
	}

	return err
}

// outage lists the classes of SQLSTATE with which the server says that it cannot serve: connection, resources,
// shutdown.
var outage = []string{"08", "53", "57P"}

func unavailable(err error) error {
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// Constraint returns the name of the constraint that a statement broke, or "".
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

// SQLState returns the five-character code of a database error, or "".
func SQLState(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}

	return ""
}

// AcrossTeams returns the scope of the service's own work: authentication, the job queue, maintenance and the
// command line. No endpoint runs in it.
func AcrossTeams() Scope { return Scope{across: true} }

// Scope says for which team and actor a transaction works.
type Scope struct {
	// Team is the selected team.
	Team id.ID
	// NoLedger says that the selected team keeps no general ledger; work outside of requests leaves it false.
	NoLedger bool
	// Zone is the time zone of the selected team; the days of work without one are those of UTC.
	Zone day.Zone
	// Managed are further teams that the transaction may see: the customers of a partner.
	Managed   []id.ID
	Actor     Actor
	Action    id.ID
	RequestID string
	// Work is the kind of a job and Operation the operation that it is a task of.
	Work      string
	Operation id.ID
	// Timeout bounds every statement; zero means 30 seconds.
	Timeout time.Duration
	// Exclusive keeps every other write of the team out from the transaction's first statement to its end; see gate.go.
	Exclusive bool
	// Ungated lets all other writes of the team run at the same time, exclusive ones too.
	Ungated bool
	// Snapshot lets a write read everything as it was when it began. It runs again if somebody else has changed a row
	// that it changes.
	Snapshot bool
	// Frozen lets the transaction write in a frozen team.
	Frozen bool
	across bool
}

// ActorKind says what kind of credential acts as a user.
type ActorKind string

// The kinds of actors. The zero value is a person.
const (
	Person     ActorKind = "user"
	TeamKey    ActorKind = "apiKey"
	PartnerKey ActorKind = "partner"
	Embedded   ActorKind = "embedded"
	System     ActorKind = "system"
)

// Actor is the user behind a transaction.
type Actor struct {
	User   id.ID
	Kind   ActorKind
	Scopes []string
	// Owner is set for a person who sees only the listings of one contact.
	Owner *id.ID
	// Statement is the only one that an embedded session sees; nil means all that are published.
	Statement *id.ID
	// Teams are all teams that the credential reaches, the selected one among them.
	Teams []id.ID
}

// Service is the service itself: the actor of work that it starts by itself, such as by a schedule (OPEN-01).
var Service = Actor{User: id.ID{6: 0x70, 8: 0x80, 15: 1}, Kind: System}

// Reaches reports whether the actor's credential could have selected a team.
func (a Actor) Reaches(team id.ID) bool { return slices.Contains(a.Teams, team) }

// SeesAsOwner reports whether the actor sees statements as owners do: without drafts in review, drill-downs and what is
// for the manager alone.
func (a Actor) SeesAsOwner() bool { return a.Owner != nil || a.Kind == Embedded }

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

// settings returns what a transaction of the scope sets for itself.
func (s Scope) settings(gateWait, rowWait time.Duration) setting {
	out := setting{across: "off", gate: s.gate(gateWait, rowWait), snapshot: s.Snapshot}

	// Off, unless the scope is across teams: a mistake then shows too little, and not too much.
	if s.across {
		out.across = "on"
	}

	if s.Timeout > 0 {
		out.timeout = milliseconds(s.Timeout)
	}

	// Row-level security compares with this array.
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

// milliseconds returns a time limit as PostgreSQL reads it; zero would mean no limit.
func milliseconds(limit time.Duration) string {
	return fmt.Sprintf("%dms", max(limit.Milliseconds(), 1))
}

// setting has the values that a transaction sets for itself; an empty timeout leaves the connection's.
type setting struct {
	teams, across, timeout string
	snapshot               bool
	gate                   gate
}

// statement returns the statement that sets everything that differs from a new connection, and nothing else,
// because every setting costs time in every request.
func (s setting) statement(m mode) (sql string, args []any) {
	// The teams are set in every transaction, because a connection serves many.
	sql, args = `select set_config('stayledger.teams', $1, true)`, []any{s.teams}
	if s.across == "on" {
		sql += `, set_config('stayledger.across_teams', 'on', true)`
	}

	if m == modeReadOne { // other reads say so in their BEGIN
		sql += `, set_config('transaction_read_only', 'on', true)`
	}

	// A lazy write may be lost in a crash, and does not wait for the disk.
	if m == modeWriteLazily {
		sql += `, set_config('synchronous_commit', 'off', true)`
	}

	if m.writes() {
		sql, args = s.gate.pass(sql, args)
	}

	if s.timeout != "" { // after the gate, which has a bound of its own
		sql, args = fmt.Sprintf("%s, set_config('statement_timeout', $%d, true)", sql, len(args)+1), append(args,
			s.timeout)
	}

	if m.writes() {
		sql, args = s.gate.ask(sql, args)
	}

	return sql, args
}
