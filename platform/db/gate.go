package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"stayledger/platform/id"
)

// Every transaction that writes for a team passes the team's gate with its very first statement, in the round trip of
// BEGIN: ordinary writes side by side, a change that many journals are derived from alone. Whoever passed the gate can
// therefore rely on the team's settings, fees, mappings, assignments, owners and books until the transaction ends,
// without a lock on any of their rows. PostgreSQL lets the waiting in by the order in which they came, so neither
// writers nor changes starve. Nothing is locked before the gate and a transaction passes it once, so waiting for it is
// never part of a deadlock. Reads and the work across teams pass no gate, and neither does work that takes minutes in
// one transaction and relies on nothing that the gate keeps.
//
// Behind the gate a transaction fails if the team is frozen and the work neither is a task of the operation that froze it
// nor said that it writes in frozen teams. Writes that are inside when a team is frozen go on: Settle waits for them, and
// for those that pass no gate.
//
// The gate is an advisory lock of the transaction. Its key is a hash of the team: two teams with the same key wait for
// each other at times, which does no other harm.
type gate struct {
	name      string // of the lock, empty for none
	team      id.ID
	operation id.ID
	exclusive bool
	frozen    bool          // also if the team is frozen
	wait      time.Duration // at the gate
	rowWait   time.Duration // after it
}

// gateWait is how long an exclusive transaction waits at the gate: longer than for a row, because it waits for all that
// came before it. Others wait twice as long, so that none is refused because a change ahead of it waits in vain for
// long work; but not as long as a statement may take, so that the error names the gate.
const gateWait = 10 * time.Second

// gateName and ungatedName begin the names of the locks of a team.
const (
	gateName    = "stayledger team "
	ungatedName = "stayledger ungated team "
)

// ErrNotExclusive says that work changes data from which many journals are derived in a transaction that is not
// exclusive.
var ErrNotExclusive = errors.New("the transaction does not hold its team alone")

// gate returns the gate that a write of the scope passes, the zero value for none.
func (s Scope) gate(wait, rowWait time.Duration) gate {
	switch {
	case s.Team.IsZero() || s.across:
		return gate{}
	case s.Ungated: // a lock that only Settle waits for says whose write it is
		return gate{name: ungatedName + s.Team.String(), team: s.Team, operation: s.Operation, frozen: s.Frozen, wait: wait, rowWait: rowWait}
	default:
		return gate{
			name: gateName + s.Team.String(), team: s.Team, operation: s.Operation, frozen: s.Frozen, exclusive: s.Exclusive,
			wait: wait, rowWait: rowWait,
		}
	}
}

// pass adds the wait at the gate to the first statement of a transaction.
func (g gate) pass(sql string, args []any) (string, []any) {
	if g.name == "" {
		return sql, args
	}

	lock, wait := "pg_advisory_xact_lock_shared", 2*g.wait
	if g.exclusive {
		lock, wait = "pg_advisory_xact_lock", g.wait
	}

	sql += fmt.Sprintf(", set_config('lock_timeout', '%s', true), %s(hashtextextended($%d, 0)), "+
		"set_config('lock_timeout', '%s', true)",
		milliseconds(wait), lock, len(args)+1, milliseconds(g.rowWait))

	return sql, append(args, g.name)
}

// asksTeam reports whether whoever passes the gate asks the team if it accepts the write.
func (g gate) asksTeam() bool { return g.name != "" && !g.frozen }

// ask adds the question to the end of the first statement, behind the gate; the answer is the version of the team's
// reference data.
func (g gate) ask(sql string, args []any) (string, []any) {
	if !g.asksTeam() {
		return sql, args
	}

	return sql + fmt.Sprintf(", team_writable($%d, $%d)", len(args)+1, len(args)+2), append(args, g.team, g.operation)
}

// FreezeReason returns why a team did not accept a write: what its row says; "" for other errors.
func FreezeReason(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "SL015" {
		return pg.Detail
	}

	return ""
}

// settleWait is how long Settle waits for the writes of a team that pass no gate.
const settleWait = time.Minute

// Settle returns when every write of the scope's team that had begun has ended. Call it in an operation that has frozen
// the team: from then on what it reads is changed by nobody else. It fails with a lock timeout while work runs for
// minutes.
func (d *DB) Settle(ctx context.Context, s Scope) error {
	s.Exclusive = true

	return d.Write(ctx, s, func(ctx context.Context, tx *Tx) error {
		if _, err := tx.Exec(ctx, `select set_config('lock_timeout', @wait, true), pg_advisory_xact_lock(hashtextextended(@name, 0))`,
			Args{"wait": milliseconds(settleWait), "name": ungatedName + s.Team.String()}); err != nil {
			return fmt.Errorf("wait for the writes of a team: %w", err)
		}

		return nil
	})
}

// Exclusively fails with ErrNotExclusive unless the transaction is the only write of the team; it sends nothing.
// Call it first in work that changes data from which many journals are derived. The endpoint or the handler of the
// job must be declared exclusive, because a shared lock cannot become an exclusive one without deadlocks.
func (tx *Tx) Exclusively() error {
	if !tx.settings.gate.exclusive {
		return ErrNotExclusive
	}

	return nil
}

// OldestWrite returns the instant before which no running write of the teams has begun: what it commits is later. Writes
// across teams count too, those of other teams do not; without teams every write counts. Read rows in a transaction that
// begins after this one.
func (tx *Tx) OldestWrite(ctx context.Context, teams []id.ID) (time.Time, error) {
	var names []string
	if teams != nil {
		names = []string{}
	}

	for _, team := range teams {
		names = append(names, gateName+team.String(), ungatedName+team.String())
	}

	// The instant is that of this transaction, before it looks for others: a write that begins while it looks is later.
	// A transaction without a lock belongs to all teams, one with locks of others to them. Folds of kept sums lock too,
	// but what they commit is no row that anybody follows. All processes have one role, so that they see each other here.
	oldest, err := Get[time.Time](ctx, tx, `
		with held as materialized (select pid, classid::bigint << 32 | objid::bigint as key from pg_locks where locktype = 'advisory' and granted)
		select least(now(), min(a.xact_start)) from pg_stat_activity a
		where a.datname = current_database() and a.backend_xid is not null and a.pid <> pg_backend_pid()
			and (@names::text[] is null or not exists (select from held h where h.pid = a.pid)
				or exists (select from held h join unnest(@names::text[]) n on h.key = hashtextextended(n, 0) where h.pid = a.pid))`,
		Args{"names": names})
	if err != nil {
		return time.Time{}, fmt.Errorf("find the oldest write: %w", err)
	}

	return oldest, nil
}
