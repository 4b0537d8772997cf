package ledger

import (
	"context"
	"fmt"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Lock shows the reader of a resource whether its journal can still change, and which records hold it. Fields for other
// locks are null.
type Lock struct {
	Status          string               `json:"status" enum:"open,locked"`
	BooksClosed     *LockBooks           `json:"booksClosed"`
	OwnerStatement  *LockStatements      `json:"ownerStatement"`
	Reconciled      *LockReconciled      `json:"reconciled"`
	StatementPeriod *LockStatementPeriod `json:"statementPeriod"`
}

// LockBooks is the first day open to the reader in books which are closed, or softly closed for him, over an entry.
type LockBooks struct {
	Date day.Day `json:"date"`
}

// LockStatements are the saved owner statements that entries are attached to.
type LockStatements struct {
	IDs []id.ID `json:"ids"`
}

// LockReconciled are the bank records that a transaction is reconciled with.
type LockReconciled struct {
	BankRecordIDs []id.ID `json:"bankRecordIds"`
}

// LockStatementPeriod has the owners' entries in or before months with a saved statement.
type LockStatementPeriod struct {
	Hits []LockHit `json:"hits"`
}

// LockHit is an entry date under a saved statement; OpenFrom is the first day after the last such statement.
type LockHit struct {
	ListingID id.ID   `json:"listingId"`
	TxnAt     day.Day `json:"txnAt"`
	OpenFrom  day.Day `json:"openFrom"`
}

// recordsOfSourceSQL returns the SQL of the bank records that a source is reconciled with.
func recordsOfSourceSQL(source string) string {
	return `array(select x.bank_record_id from bank_reconciliation x where x.team_id = @team and x.transaction_id = ` + source + ` order by 1)`
}

// NoLock returns a lock that holds nothing.
func NoLock() Lock { return Lock{Status: "open"} }

// foundLocks are the columns of the locks on a resource.
type foundLocks struct {
	ClosedAt   *day.Day
	Statements []id.ID
	Hits       []LockHit
	Records    []id.ID
	// Held says that a lock holds it that Lock has no field for.
	Held bool
}

// lock returns the locks as the API shows them.
func (r *foundLocks) lock() Lock {
	lock := NoLock()
	if r.ClosedAt != nil {
		lock.Status, lock.BooksClosed = "locked", &LockBooks{*r.ClosedAt}
	}

	if len(r.Statements) > 0 {
		lock.Status, lock.OwnerStatement = "locked", &LockStatements{r.Statements}
	}

	if len(r.Hits) > 0 {
		lock.Status, lock.StatementPeriod = "locked", &LockStatementPeriod{r.Hits}
	}

	if len(r.Records) > 0 {
		lock.Status, lock.Reconciled = "locked", &LockReconciled{r.Records}
	}

	if r.Held {
		lock.Status = "locked"
	}

	return lock
}

// firstEntrySQL returns the SQL to join closing and, as first, the day of the earliest entry h of a group, looked up in an
// index of the group by day; null while the books were never closed, since no lock asks for it then. Which entries of the
// group count is asked outside of the search: the planner takes those for so few that it would rather read and sort all of
// them.
func firstEntrySQL(group, counted string) string {
	return closing + ` left join lateral (select h.txn_at from (select * from ledger_entry h where ` + group + ` order by h.txn_at` + db.Fence + `) h
		where ` + counted + ` and (closing.books is not null or closing.soft is not null) limit 1) first on true`
}

// closing joins the first open days, read once.
const closing = ` cross join (select ` + booksClosed + ` as books, ` + softClosed + ` as soft from team m where m.team_id = @team) closing`

// closedAt is the SQL of the first day that is open to @reader if the first entry is before it.
const closedAt = `case when first.txn_at < closing.books then closing.books when first.txn_at < closing.soft then closing.soft end`

// otherLocksSQL returns the condition that an entry h is held by a lock that Lock has no field for.
func otherLocksSQL() string {
	return anyLock(func(r *lockRule) string {
		if r.visible {
			return ""
		}

		return r.onEntry()
	})
}

// otherLocksExistSQL returns the condition that one of the described entries h is held by a lock that Lock has no field
// for. If there is no such lock it asks nothing: PostgreSQL would start parallel workers only to find no row for
// "false".
func otherLocksExistSQL(entries string) string {
	condition := otherLocksSQL()
	if condition == noLock {
		return noLock
	}

	return "exists (select from ledger_entry h where " + entries + " and " + condition + ")"
}

// overPeriod is the SQL condition on a saved statement x that fixes the owners and the terms of an ownership period.
// Imported statements do so as well: no entry has their figures, but they state the members' shares.
const overPeriod = "x.team_id = @team and x.ownership_period_id"

// PeriodLockRow has the columns of PeriodLockColumns.
type PeriodLockRow struct{ foundLocks }

// Lock returns the lock as the API shows it.
func (r *PeriodLockRow) Lock() Lock { return r.lock() }

// PeriodLockColumns returns the columns of the lock on an ownership period, in a statement of @team and @reader that joins
// PeriodLockTables: the owners' entries of the period that are held by their day, and the saved statements.
func PeriodLockColumns(period string) string {
	return closedAt + ` as closed_at,
		array(select x.id from statement x where ` + overPeriod + ` = ` + period + ` order by x.start_at, x.id) as statements, '[]'::jsonb as hits,
		'{}'::uuid[] as records, ` + otherLocksExistSQL(periodEntriesSQL(period)+` and `+reported) + ` as held`
}

// PeriodLockTables returns the joins of the first entry of an ownership period and of the first open days.
func PeriodLockTables(period string) string { return firstEntrySQL(periodEntriesSQL(period), reported) }

// periodEntriesSQL returns the condition that an entry h is the owners' in an ownership period.
func periodEntriesSQL(period string) string {
	return `h.team_id = @team and h.ownership_period_id = ` + period + ` and h.party = 'owners'`
}

// StatementOver is a saved statement that fixes the owners and the terms of its ownership period from its first to its
// last day.
type StatementOver struct {
	ID       id.ID
	PeriodID id.ID
	StartAt  day.Day
	EndAt    day.Day
}

// ListStatementsOver loads the saved statements over ownership periods, in the order of their days.
func ListStatementsOver(ctx context.Context, tx *db.Tx, periods []id.ID) ([]StatementOver, error) {
	rows, err := db.Select[StatementOver](ctx, tx, `select x.id, x.ownership_period_id as period_id, x.start_at, x.end_at from statement x
		where `+overPeriod+` = any(@periods::uuid[]) order by x.start_at, x.id`, db.Args{"team": tx.Team, "periods": periods})
	if err != nil {
		return nil, fmt.Errorf("read owner statements of ownership periods: %w", err)
	}

	return rows, nil
}

// ListStatementsShowing loads a listing group's saved statements which hold owners' entries on this member, in the
// order of their days: their entries have the ownership period of the group.
func ListStatementsShowing(ctx context.Context, tx *db.Tx, member, group id.ID) ([]id.ID, error) {
	found, err := db.Select[id.ID](ctx, tx, `select x.id from statement x where x.team_id = @team and x.listing_id = @group and exists (
			select from ledger_entry h where h.team_id = @team and h.listing_id = @member and h.party = 'owners' and `+reported+` and `+covers+`)
		order by x.start_at, x.id`, db.Args{"team": tx.Team, "member": member, "group": group})
	if err != nil {
		return nil, fmt.Errorf("read owner statements that show a listing: %w", err)
	}

	return found, nil
}

// LockOn returns the lock that holds everything dated on a day, whichever listing or account it concerns: nil, or
// an error as of Locked.
func LockOn(ctx context.Context, tx *db.Tx, at day.Day) (lock, err error) {
	c, err := LoadClosing(ctx, tx)
	if err != nil {
		return nil, err
	}

	// Locks on a day ask nothing about a posting but its day, ledger and status.
	return CheckLocks(c, Touched{Ledger: Operating, Status: Active, TxnAt: at}, Lenience{}), nil
}
