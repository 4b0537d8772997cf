package ledger

import (
	"context"
	"fmt"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Lock tells the reader of a resource whether its journal can still change, and what holds it. What does not hold it is null.
type Lock struct {
	Status          string               `json:"status" enum:"open,locked"`
	BooksClosed     *LockBooks           `json:"booksClosed"`
	OwnerStatement  *LockStatements      `json:"ownerStatement"`
	Reconciled      *LockReconciled      `json:"reconciled"`
	StatementPeriod *LockStatementPeriod `json:"statementPeriod"`
}

// LockBooks is the first open day of books that are closed over an entry.
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

// LockStatementPeriod are the owners' entries in months whose statement is saved.
type LockStatementPeriod struct {
	Hits []LockHit `json:"hits"`
}

// LockHit is an entry date under a saved statement; OpenFrom is the first day after that statement.
type LockHit struct {
	ListingID id.ID   `json:"listingId"`
	TxnAt     day.Day `json:"txnAt"`
	OpenFrom  day.Day `json:"openFrom"`
}

// Unlocked is the lock that holds nothing.
func Unlocked() Lock { return Lock{Status: "open"} }

const locksSQL = `
	select e.source_id as id, t.books_closed_at, coalesce(bool_or(e.txn_at < t.books_closed_at), false) as closed,
		coalesce(array_agg(distinct e.statement_id) filter (where e.statement_id is not null), '{}') as statements,
		coalesce(jsonb_agg(distinct jsonb_build_object('listingId', e.listing_id, 'txnAt', e.txn_at, 'openFrom', s.end_at + 1))
			filter (where s.id is not null and e.listing_id is not null), '[]') as hits
	from ledger_entry e
	join team t on t.id = @team
	left join statement s on s.team_id = @team and e.party = 'owners' and s.ownership_period_id = e.ownership_period_id
		and s.currency = e.currency and e.txn_at between s.start_at and s.end_at
	where e.team_id = @team and e.source_id = any(@sources) and e.status = 'active' and e.ledger <> 'historical'
	group by e.source_id, t.books_closed_at`

// LocksOf reads the locks on the journals of sources. A source without entries is missing in the answer: it is Unlocked.
func LocksOf(ctx context.Context, tx *db.Tx, sources []id.ID) (map[id.ID]Lock, error) {
	type row struct {
		ID            id.ID
		BooksClosedAt *day.Day
		Closed        bool
		Statements    []id.ID
		Hits          []LockHit
	}
	rows, err := db.Select[row](ctx, tx, locksSQL, db.Args{"team": tx.Team, "sources": sources})
	if err != nil {
		return nil, fmt.Errorf("read locks: %w", err)
	}
	locks := make(map[id.ID]Lock, len(rows))
	for i := range rows {
		r, lock := &rows[i], Unlocked()
		if r.Closed {
			lock.Status, lock.BooksClosed = "locked", &LockBooks{*r.BooksClosedAt}
		}
		if len(r.Statements) > 0 {
			lock.Status, lock.OwnerStatement = "locked", &LockStatements{r.Statements}
		}
		if len(r.Hits) > 0 {
			lock.Status, lock.StatementPeriod = "locked", &LockStatementPeriod{r.Hits}
		}
		locks[r.ID] = lock
	}
	return locks, nil
}
