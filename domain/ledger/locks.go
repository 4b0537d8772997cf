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

// LockBooks is the first day that is open to the reader, of books that are closed, or softly closed for him, over an entry.
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

// LockStatementPeriod are the owners' entries in or before months whose statement is saved.
type LockStatementPeriod struct {
	Hits []LockHit `json:"hits"`
}

// LockHit is an entry date under a saved statement; OpenFrom is the first day after the last such statement.
type LockHit struct {
	ListingID id.ID   `json:"listingId"`
	TxnAt     day.Day `json:"txnAt"`
	OpenFrom  day.Day `json:"openFrom"`
}

// Unlocked is the lock that holds nothing.
func Unlocked() Lock { return Lock{Status: "open"} }

// lockRow is what was found to hold the entries of one source or fee.
type lockRow struct {
	ID         id.ID
	ClosedAt   *day.Day
	Statements []id.ID
	Hits       []LockHit
}

func (r *lockRow) lock() Lock {
	lock := Unlocked()
	if r.ClosedAt != nil {
		lock.Status, lock.BooksClosed = "locked", &LockBooks{*r.ClosedAt}
	}
	if len(r.Statements) > 0 {
		lock.Status, lock.OwnerStatement = "locked", &LockStatements{r.Statements}
	}
	if len(r.Hits) > 0 {
		lock.Status, lock.StatementPeriod = "locked", &LockStatementPeriod{r.Hits}
	}
	return lock
}

func locks(ctx context.Context, tx *db.Tx, sql string, args db.Args) (map[id.ID]Lock, error) {
	rows, err := db.Select[lockRow](ctx, tx, sql, args)
	if err != nil {
		return nil, fmt.Errorf("read locks: %w", err)
	}
	out := make(map[id.ID]Lock, len(rows))
	for i := range rows {
		out[rows[i].ID] = rows[i].lock()
	}
	return out, nil
}

const locksSQL = `
	select e.source_id as id, case when min(e.txn_at) < t.books_closed_at then t.books_closed_at
			when min(e.txn_at) < t.soft_closed_at and not ` + poster + ` then t.soft_closed_at end as closed_at,
		coalesce(array_agg(distinct e.statement_id) filter (where e.statement_id is not null), '{}') as statements,
		coalesce(jsonb_agg(distinct jsonb_build_object('listingId', e.listing_id, 'txnAt', e.txn_at, 'openFrom', s.open_from))
			filter (where s.open_from is not null and e.listing_id is not null), '[]') as hits
	from ledger_entry e
	join team t on t.id = @team
	left join lateral (select max(s.end_at) + 1 as open_from from statement s where s.team_id = @team and not s.imported and e.party = 'owners'
		and s.ownership_period_id = e.ownership_period_id and s.currency = e.currency and e.txn_at <= s.end_at) s on true
	where e.team_id = @team and e.source_id = any(@sources) and e.status = 'active' and e.ledger <> 'historical'
	group by e.source_id, t.books_closed_at, t.soft_closed_at, t.soft_close_posters`

// poster holds for a reader who may post before the soft close of team t.
const poster = `coalesce(@user = any(t.soft_close_posters), false)`

// LocksOf reads the locks on the journals of sources. A source without entries is missing in the answer: it is Unlocked.
func LocksOf(ctx context.Context, tx *db.Tx, sources []id.ID) (map[id.ID]Lock, error) {
	return locks(ctx, tx, locksSQL, db.Args{"team": tx.Team, "sources": sources, "user": tx.Actor.User})
}

// A fee has entries on every stay, so statements and dates are looked for from the side of the statements, which are far fewer, and no more
// than a reader can use are named. The plain reads of fee entries end at the first hit.
const feeLocksSQL = `
	select f.id, case when exists (select from ledger_entry e where ` + feeEntry + ` and e.txn_at < t.books_closed_at) then t.books_closed_at
			when exists (select from ledger_entry e where ` + feeEntry + ` and e.txn_at < t.soft_closed_at) and not ` + poster + ` then t.soft_closed_at
			end as closed_at,
		array(select s.id from statement s where s.team_id = @team
			and exists (select from ledger_entry e where ` + feeEntry + ` and e.statement_id = s.id)
			order by s.id desc limit 100) as statements,
		coalesce((select jsonb_agg(jsonb_build_object('listingId', h.listing_id, 'txnAt', h.txn_at, 'openFrom', h.open_from)) from (
			select e.listing_id, e.txn_at, max(s.end_at) + 1 as open_from
			from statement s join ledger_entry e on ` + feeEntry + ` and e.party = 'owners' and e.ownership_period_id = s.ownership_period_id
				and e.currency = s.currency and e.txn_at <= s.end_at and e.listing_id is not null
			where s.team_id = @team and not s.imported
			group by e.listing_id, e.txn_at order by e.txn_at desc, e.listing_id limit 100) h), '[]') as hits
	from fee f join team t on t.id = @team
	where f.team_id = @team and f.id = any(@fees)`

const feeEntry = `e.team_id = @team and e.recurring_fee_id = f.id and e.status = 'active' and e.ledger <> 'historical'`

// LocksOfFees reads what holds the entries that recurring fees made.
func LocksOfFees(ctx context.Context, tx *db.Tx, fees []id.ID) (map[id.ID]Lock, error) {
	return locks(ctx, tx, feeLocksSQL, db.Args{"team": tx.Team, "fees": fees, "user": tx.Actor.User})
}
