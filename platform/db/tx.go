package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"stayledger/platform/day"
	"stayledger/platform/id"
)

type mode int

const (
	modeRead mode = iota // The reads come first.
	modeReadAnswer
	modeReadOne // in one round trip, without BEGIN and COMMIT
	modeWrite
	modeWriteLazily
	modeDryRun
)

// writes reports whether the work writes, be it that a dry run takes it back.
func (m mode) writes() bool { return m > modeReadOne }

// Tx is a transaction as work sees it.
type Tx struct {
	// Now is the transaction's one instant, in UTC to the millisecond.
	Now time.Time
	// Zone is the time zone of the selected team, in which its days are.
	Zone day.Zone
	// Team is the selected team; Teams are all that the transaction may see, the selected one first.
	Team  id.ID
	Teams []id.ID
	Actor Actor
	// Action is the audit action that the transaction belongs to; the zero id in reads and in the service's own work.
	Action    id.ID
	RequestID string
	// Work is the kind of the job that the transaction does and Operation what the job is a task of; both are empty in
	// requests.
	Work      string
	Operation id.ID
	// IsOverride says that a request passes the closed books on purpose, and OverrideReason why; "" when it gives no
	// reason.
	IsOverride     bool
	OverrideReason string

	conn     *pgxpool.Conn
	mode     mode
	settings setting
	started  bool
	ended    bool
	queued   []string // kinds of work
	settled  bool
	depth    int
	last     []Stmt
	gathered []gathered
	// soon are requests that go with the next round trip, see SendSoon.
	soon []*request
	// sight is the present scope of row-level security; Visit changes it.
	sight sight
	// afresh says that statements are planned for their parameters, see PlanAfresh.
	afresh bool
	// seen is the version of the reference data that the transaction has found, see Reference.
	seen seen
	// asked says that a work of a read has just asked for the version.
	asked bool
	// assumed is the version that the transaction began with, atGate the one that it found at its gate; certain says that
	// it assumes none.
	assumed, atGate int64
	certain         bool
	// answered is the answer to the last plain statement: COMMIT, or ROLLBACK when a failed statement had aborted the
	// transaction.
	answered string
	// exchange takes what work sends while it runs together with other work; nil sends it at once.
	exchange exchange
	// broken is why the transaction never began; nothing may run outside one.
	broken error
}

// sight is a value of the two settings that row-level security reads: teams is an array literal, across is on or off.
type sight struct{ teams, across string }

// Args are the named arguments of a statement; a name that the statement does not use, or lacks, is an error.
type Args = pgx.StrictNamedArgs

// Stmt is a statement with its arguments.
type Stmt struct {
	SQL  string
	Args Args
}

// errAborted keeps work that went on after a failed statement from being reported as committed: COMMIT itself does not
// complain.
var errAborted = errors.New("a failed statement has aborted the transaction")

var errSecondTrip = errors.New("a read of one round trip sent more after it")

// Today returns the day that it is for the selected team.
func (tx *Tx) Today() day.Day { return tx.Zone.Day(tx.Now) }

// NewID returns an id for the transaction's instant.
func (tx *Tx) NewID() id.ID { return id.New(tx.Now) }

// MarkQueued records that the transaction leaves work of a kind behind: its workers are woken after the commit.
func (tx *Tx) MarkQueued(kind string) {
	if !slices.Contains(tx.queued, kind) {
		tx.queued = append(tx.queued, kind)
	}
}

// HasQueued reports whether the transaction leaves work behind.
func (tx *Tx) HasQueued() bool { return len(tx.queued) > 0 }

// MarkSettled records that the transaction settles work that requests may wait for: they are woken after the
// commit.
func (tx *Tx) MarkSettled() { tx.settled = true }

// AtEnd adds a statement that is sent with the commit, in the same round trip.
func (tx *Tx) AtEnd(s Stmt) { tx.last = append(tx.last, s) }

// SendSoon sends statements without results at the beginning of the next round trip, which the transaction makes at its
// end at the latest: whatever is sent after the call finds what they wrote. The function explain, if there is one, turns
// the error of one of them into the error of whatever is sent with them.
func (tx *Tx) SendSoon(explain func(error) error, stmts ...Stmt) {
	if len(stmts) > 0 {
		tx.soon = append(tx.soon, &request{stmts: stmts, explain: explain})
	}
}

// batch returns a batch with the statements that must come before the next ones, and their number. It fails if the
// transaction has ended or could not begin.
func (tx *Tx) batch() (*pgx.Batch, int, error) {
	b := &pgx.Batch{}

	if tx.ended {
		return nil, 0, errors.New("the transaction has ended")
	}

	if tx.broken != nil {
		return nil, 0, fmt.Errorf("the transaction did not begin: %w", tx.broken)
	}

	// A read of a single round trip has no second one: it begins again, see run.
	if tx.started {
		if tx.mode == modeReadOne {
			return nil, 0, errSecondTrip
		}

		return b, 0, nil
	}

	// The first round trip begins the transaction and sets its settings.
	tx.started = true
	n := 1

	switch tx.mode {
	case modeRead, modeReadAnswer:
		b.Queue("begin read only")

		n++
	case modeWrite, modeWriteLazily, modeDryRun:
		begin := "begin isolation level read committed"
		if tx.settings.snapshot {
			begin = "begin"
		}

		b.Queue(begin)

		n++
	case modeReadOne:
		// What is sent in one round trip is one transaction by itself, with one snapshot (see isolation).
	}

	sql, args := tx.settings.statement(tx.mode)
	b.Queue(sql, args...)

	return b, n, nil
}

// send runs the statements in one round trip, which other work may share (Together), and hands the rows of the last one
// to read.
func (tx *Tx) send(ctx context.Context, stmts []Stmt, read func(pgx.Rows) error) (affected []int64, err error) {
	if len(stmts) == 0 {
		return nil, nil
	}

	return tx.exchangeOne(ctx, &request{stmts: stmts, read: read})
}

// exchangeOne sends a request in one round trip, which other work may share. One without statements only waits for it.
func (tx *Tx) exchangeOne(ctx context.Context, r *request) (affected []int64, err error) {
	tx.exchangeAll(ctx, []*request{r})
	return r.affected, r.err
}

// exchangeAll sends requests in one round trip, or gives them to who sends for several at once.
func (tx *Tx) exchangeAll(ctx context.Context, all []*request) {
	if tx.exchange != nil {
		tx.exchange(ctx, all)
		return
	}

	done, err := tx.roundTrip(ctx, all)
	if err == nil {
		return
	}

	for _, r := range all[done:] { // what was sent behind a statement that failed was not run
		r.err, r.lost = err, true
	}
}

// roundTrip sends requests and reads their answers in order. If one fails, it returns how many were answered
// before.
func (tx *Tx) roundTrip(ctx context.Context, all []*request) (done int, err error) {
	b, skip, err := tx.batch()
	if err != nil {
		return 0, err
	}

	soon := tx.soon
	tx.soon = nil

	for _, r := range slices.Concat(soon, all) {
		for _, s := range r.stmts {
			queue(ctx, b, s)
		}
	}

	if b.Len() == 0 {
		return len(all), nil
	}

	results := tx.conn.SendBatch(ctx, b)
	defer func() {
		if closeErr := results.Close(); err == nil && closeErr != nil {
			done, err = 0, closeErr
		}
		// A statement that cannot be prepared keeps the BEGIN before it from being sent: what followed would run, and
		// commit, on its own.
		if err != nil && skip > 0 && tx.conn.Conn().PgConn().TxStatus() == 'I' {
			tx.broken = err
		}
	}()

	// First the answers to BEGIN and the settings.
	if skip > 0 {
		if err := tx.answerBegin(results, skip); err != nil {
			return 0, fmt.Errorf("execute: %w", err)
		}
	}

	tx.forgetVersion(soon...)
	tx.forgetVersion(all...)

	// Then those of the statements that waited for this round trip.
	for _, r := range soon {
		if err := tx.answer(results, r); err != nil {
			if r.explain != nil {
				err = r.explain(err)
			}

			return 0, err
		}
	}

	// Then the answers of the requests, each as it wants them.
	for i, r := range all {
		if err := tx.answer(results, r); err != nil {
			return i, err
		}
	}

	return len(all), nil
}

// answerBegin reads the results of BEGIN, if it is among the statements, and of the settings, which end with the version
// of the reference data if the transaction passes a gate.
func (tx *Tx) answerBegin(results pgx.BatchResults, statements int) error {
	for range statements - 1 {
		if _, err := results.Exec(); err != nil {
			return err
		}
	}

	if !tx.mode.writes() || !tx.settings.gate.asksTeam() {
		_, err := results.Exec()
		return err
	}

	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()

	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return err
		}

		if version, is := values[len(values)-1].(int64); is {
			tx.seen, tx.atGate = seen{tx.settings.gate.team, version}, version
		}
	}

	if err := rows.Err(); err != nil {
		return err
	}

	if tx.isAssumptionWrong() {
		return errAssumed
	}

	return nil
}

// answer reads the results of a request's statements. It fails if the database refused one.
func (tx *Tx) answer(results pgx.BatchResults, r *request) error {
	plain := len(r.stmts)
	if r.read != nil {
		plain--
	}

	// All statements but the last return only their number of rows.
	for i := range plain {
		tag, err := results.Exec()
		if err != nil {
			return fmt.Errorf("execute: %w", keepArgs(err, r.stmts[i].Args))
		}

		r.affected = append(r.affected, tag.RowsAffected())
		tx.answered = tag.String()
	}

	if r.read == nil {
		return nil
	}

	// The last one returns rows, if the request reads any.
	rows, err := results.Query()
	if err != nil {
		return fmt.Errorf("query: %w", keepArgs(err, r.stmts[plain].Args))
	}
	defer rows.Close()

	r.err = r.read(rows) // such as no row where one is wanted: the transaction goes on
	rows.Close()

	// What the reading of the rows failed with wraps the error of the server.
	err = rows.Err()
	if err != nil && r.err != nil {
		err = r.err
	}

	return keepArgs(err, r.stmts[plain].Args)
}

// Exec runs a statement and returns how many rows it touched.
func (tx *Tx) Exec(ctx context.Context, sql string, args Args) (int64, error) {
	affected, err := tx.send(ctx, []Stmt{{sql, args}}, nil)
	if err != nil {
		return 0, err
	}

	return affected[0], nil
}

// Pipeline runs statements in order in one round trip; the first failure ends them.
func (tx *Tx) Pipeline(ctx context.Context, stmts ...Stmt) error {
	_, err := tx.send(ctx, stmts, nil)
	return err
}

// Select returns all rows of a query, each in a struct with fields found by column name, ignoring underscores and
// case.
func Select[T any](ctx context.Context, tx *Tx, sql string, args Args) ([]T, error) {
	var out []T

	_, err := tx.send(ctx, []Stmt{{sql, args}}, func(rows pgx.Rows) (err error) {
		out, err = collect[T](rows)
		return err
	})
	if err != nil {
		return nil, err
	}

	return out, nil
}

// One returns the one row of a query, or the error none when there is no row: what says so to the caller, such as a
// 404.
func One[T any](ctx context.Context, tx *Tx, none error, sql string, args Args) (T, error) {
	row, err := Get[T](ctx, tx, sql, args)
	if errors.Is(err, pgx.ErrNoRows) {
		return row, none
	}

	return row, err
}

// Maybe returns the one row of a query, nil when there is none.
func Maybe[T any](ctx context.Context, tx *Tx, sql string, args Args) (*T, error) {
	row, err := Get[T](ctx, tx, sql, args)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil //nolint:nilnil // that there is no row is an answer
	case err != nil:
		return nil, err
	}

	return &row, nil
}

// Get returns the one row of a query that always has one. If it may be missing use One or Maybe.
func Get[T any](ctx context.Context, tx *Tx, sql string, args Args) (T, error) {
	var out T

	_, err := tx.send(ctx, []Stmt{{sql, args}}, func(rows pgx.Rows) (err error) {
		out, err = pgx.CollectExactlyOneRow(rows, into[T]())
		return err
	})

	return out, err
}

// Each hands the rows of a query to f as they arrive, so memory does not grow with their number.
func Each[T any](ctx context.Context, tx *Tx, s Stmt, f func(T) error) error {
	_, err := tx.send(ctx, []Stmt{s}, func(rows pgx.Rows) error {
		scan := into[T]()
		for rows.Next() {
			row, err := scan(rows)
			if err != nil {
				return err
			}

			if err := f(row); err != nil {
				return err
			}
		}

		return rows.Err()
	})

	return err
}

// isStruct reports whether rows of T are structs read by column name, as opposed to the only column.
func isStruct[T any]() bool {
	var zero T
	switch any(&zero).(type) {
	case *time.Time, sql.Scanner, pgtype.DateScanner, pgtype.TimestamptzScanner, pgtype.UUIDScanner:
		return false
	}

	t := reflect.TypeOf(zero)

	return t != nil && t.Kind() == reflect.Struct
}

// into scans a struct by column names and anything else (text, numbers, ids, days, instants) as the only column.
func into[T any]() pgx.RowToFunc[T] {
	if !isStruct[T]() {
		return pgx.RowTo[T]
	}

	var s *structScan[T]

	return func(row pgx.CollectableRow) (out T, err error) {
		// The columns are matched to fields with the first row.
		if s == nil {
			if s, err = newStructScan[T](row.FieldDescriptions()); err != nil {
				return out, err
			}
		}

		err = s.scan(row, &out)

		return out, err
	}
}

// Try runs work inside a savepoint. If it fails, its writes are undone, together with the statements it left for
// the end, what it gathered and its mark of queued work, and the transaction goes on.
func (tx *Tx) Try(ctx context.Context, work Work) error {
	if tx.exchange != nil {
		return errTogether
	}

	name := "s" + strconv.Itoa(tx.depth)
	if _, err := tx.Exec(ctx, "savepoint "+name, nil); err != nil {
		return err
	}

	// Remember everything that work can add to.
	last, kept, queued, before := len(tx.last), len(tx.gathered), tx.queued, tx.sight
	tx.depth++
	err := work(ctx, tx)

	tx.depth--
	if err == nil {
		// What waited for this round trip can fail in it.
		if _, err = tx.Exec(ctx, "release savepoint "+name, nil); err == nil {
			return nil
		}
	}

	tx.soon = nil
	tx.last, tx.gathered, tx.queued, tx.sight = tx.last[:last], tx.gathered[:kept], queued, before

	// Undo it in the database too.
	if _, undo := tx.Exec(ctx, "rollback to savepoint "+name, nil); undo != nil {
		return errors.Join(err, undo)
	}
	// The release keeps a batch of many failures from nesting ever deeper. It has a round trip of its own, since an
	// aborted transaction cannot prepare it.
	if _, undo := tx.Exec(ctx, "release savepoint "+name, nil); undo != nil {
		return errors.Join(err, undo)
	}

	return err
}

// Visit runs work with another team's rows in sight, and none but that team's. The caller has checked that the actor
// may see them.
func (tx *Tx) Visit(ctx context.Context, team id.ID, work Work) error {
	return tx.VisitAll(ctx, []id.ID{team}, work)
}

// VisitAll is Visit for several teams. Of many teams in sight a few are read faster when no others are.
func (tx *Tx) VisitAll(ctx context.Context, teams []id.ID, work Work) error {
	if tx.exchange != nil {
		return errTogether
	}

	// The sight is set back afterwards, also if work fails.
	before := tx.sight

	names := make([]string, len(teams))
	for i, team := range teams {
		names[i] = team.String()
	}

	if err := tx.see(ctx, sight{teams: "{" + strings.Join(names, ",") + "}", across: "off"}); err != nil {
		return err
	}

	err := work(ctx, tx)
	if back := tx.see(ctx, before); err == nil {
		err = back
	}

	return err
}

// Join keeps another team's rows in sight too until the transaction ends, its statements for the end included. The
// caller has checked that the actor may write them.
func (tx *Tx) Join(ctx context.Context, team id.ID) error {
	if tx.exchange != nil {
		return errTogether
	}

	seen := strings.TrimSuffix(tx.sight.teams, "}")
	if seen != "{" {
		seen += ","
	}

	return tx.see(ctx, sight{teams: seen + team.String() + "}", across: tx.sight.across})
}

// Within runs work as a transaction of another team: one that this one has just made, or one of which it changes what the
// gate does not keep, since it passes no second gate. Both teams are in sight until the transaction ends. The caller, or
// the work, checks that the actor may write the team.
func (tx *Tx) Within(ctx context.Context, other id.ID, zone day.Zone, work Work) error {
	if err := tx.Join(ctx, other); err != nil {
		return err
	}

	team, former := tx.Team, tx.Zone
	tx.Team, tx.Zone = other, zone

	defer func() { tx.Team, tx.Zone = team, former }()

	return work(ctx, tx)
}

func (tx *Tx) see(ctx context.Context, s sight) error {
	_, err := tx.Exec(ctx, `select set_config('stayledger.teams', @teams, true), set_config('stayledger.across_teams', @across, true)`,
		Args{"teams": s.teams, "across": s.across})
	if err == nil {
		tx.sight = s
	}

	return err
}

// end commits, or in a dry run checks what COMMIT would check and rolls back. An answered read ends when its
// connection is given back.
func (tx *Tx) end(ctx context.Context) error {
	// What was gathered becomes statements, which are sent with the end.
	if err := tx.finish(); err != nil {
		return err
	}

	// A transaction that sent nothing has nothing to end.
	if !tx.started && len(tx.last)+len(tx.soon) == 0 {
		tx.ended = true
		return nil
	}

	if len(tx.last) > 0 && !tx.mode.writes() {
		return errors.New("a read left statements for its end")
	}

	// How it ends depends on the kind of transaction.
	stmts := tx.last
	switch tx.mode {
	case modeReadOne:
		tx.ended = true
		return nil
	case modeReadAnswer:
		tx.ended = true
		if tx.conn.Conn().PgConn().TxStatus() == 'E' {
			return errAborted
		}

		return nil
	case modeRead, modeWrite, modeWriteLazily:
		stmts = append(stmts, Stmt{SQL: "commit"})
	case modeDryRun: // a dry run fails for everything that COMMIT would refuse
		stmts = append(stmts, Stmt{SQL: "set constraints all immediate"}, Stmt{SQL: "rollback"})
	}

	// A commit of an aborted transaction is answered with ROLLBACK, which is no error to the driver.
	_, err := tx.send(ctx, stmts, nil)

	tx.ended = true
	if err == nil && tx.mode != modeDryRun && tx.answered != "COMMIT" {
		err = errAborted
	}

	return err
}

// leave gives the connection back and rolls back a transaction that has not ended. An answered read has nothing to
// undo, so it commits: monitors count rolled-back transactions as failures.
func (tx *Tx) leave(ctx context.Context) {
	tx.ended = true
	if tx.conn.Conn().PgConn().TxStatus() != 'I' && !tx.conn.Conn().IsClosed() {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()

		end := "rollback"
		if tx.mode == modeReadAnswer {
			end = "commit"
		}

		if _, err := tx.conn.Exec(ctx, end); err != nil {
			_ = tx.conn.Conn().Close(ctx) // the pool replaces it
		}
	}

	tx.conn.Release()
}
