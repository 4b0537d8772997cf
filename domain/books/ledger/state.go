package ledger

import (
	"context"
	"fmt"

	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// State is what readers of a source are shown of its journal: what holds it, and whether it is up to date.
type State struct {
	Lock   Lock
	Status JournalStatus
}

// stateRow is a state as found with what is kept of sources. Outstanding says that something is to be done to the
// journal, and deriving that an operation derives some journal of the team.
type stateRow struct {
	lockRow

	Outstanding bool
	Deriving    bool
}

// LoadStates loads the states of the noun's resources. It reads what is kept of their entries; the entries themselves
// only where a saved statement covers some, and what is outstanding only where something is.
func (n Noun) LoadStates(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]State, error) {
	return loadStates(ctx, tx, n.statesSQL(), ids, n.searchStatuses)
}

// LoadFeeStates loads the states of the entries of recurring fees and of the journals made stale by a change of the fee.
func LoadFeeStates(ctx context.Context, tx *db.Tx, fees []id.ID) (map[id.ID]State, error) {
	return loadStates(ctx, tx, feeStatesSQL(), fees, searchFeeStatuses)
}

// loadStates loads states with a query of @ids. Only where something is outstanding it searches for the statuses.
func loadStates(
	ctx context.Context,
	tx *db.Tx,
	sql string,
	ids []id.ID,
	search func(context.Context, *db.Tx, []id.ID) (map[id.ID]JournalStatus, error),
) (map[id.ID]State, error) {
	rows, err := db.Select[stateRow](ctx, tx, sql, db.Args{"team": tx.Team, "ids": ids, "reader": tx.Actor.User})
	if err != nil {
		return nil, fmt.Errorf("read the states of journals: %w", err)
	}

	out, isQuiet := make(map[id.ID]State, len(ids)), true

	for i := range rows {
		r := &rows[i]
		out[r.ID] = State{Lock: r.lock(), Status: CurrentJournal()}
		isQuiet = isQuiet && !r.Outstanding && !r.Deriving
	}

	if isQuiet {
		return out, nil
	}

	statuses, err := search(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	for v, s := range out {
		s.Status = statuses[v]
		out[v] = s
	}

	return out, nil
}

// statesSQL returns the query of the states of the sources @ids.
func (n Noun) statesSQL() string {
	const entries = `h.team_id = @team and h.source_id = s.id and ` + reported

	// Only transactions are reconciled.
	records := `'{}'::uuid[]`
	if n == Transactions {
		records = recordsOfSource
	}

	return `
		select s.id, ` + closedAt + ` as closed_at, coalesce(first.statement_ids, '{}') as statements,
			case when exists (select from statement x where ` + holding + ` and x.ownership_period_id = any(first.period_ids) and x.end_at >= first.owned_from)
				then (select coalesce(jsonb_agg(distinct jsonb_build_object('listingId', h.listing_id, 'txnAt', h.txn_at, 'openFrom', o.open_from)), '[]')
					from ledger_entry h cross join lateral (select max(x.end_at) + 1 as open_from from statement x where ` + covers + `) o
					where ` + entries + ` and h.party = 'owners' and h.listing_id is not null and o.open_from is not null)
				else '[]' end as hits,
			` + records + ` as records, ` + otherLocksExistSQL(entries) + ` as held,
			` + outstandingSQL("s.id") + ` as outstanding, ` + operation.IsDerivingSQL + ` as deriving
		from unnest(@ids::uuid[]) as s (id)
		left join (select source_id, first_at as txn_at, owned_from, period_ids, statement_ids from ledger_source where team_id = @team) first on first.source_id = s.id` +
		closing
}

// feeStatesSQL returns the query of the states of the fees @ids. A fee has entries on every stay, so they are read
// from the newest that a statement can hold, until there are as many as a reader can use.
func feeStatesSQL() string {
	const (
		entries = `h.team_id = @team and h.recurring_fee_id = f.id and ` + reported
		covered = `h.party = 'owners' and h.listing_id is not null and h.txn_at <= (select x.end_at from statement x where ` + holding +
			` order by x.start_at desc limit 1)`
	)

	return `
		select f.id, ` + closedAt + ` as closed_at,
			array(select distinct n.statement_id from (
				select h.statement_id from ledger_entry h where ` + entries + ` and h.statement_id is not null order by h.txn_at desc limit 100) n order by 1 desc) as statements,
			coalesce((select jsonb_agg(jsonb_build_object('listingId', n.listing_id, 'txnAt', n.txn_at, 'openFrom', n.open_from) order by n.txn_at desc, n.listing_id)
				from (select n.listing_id, n.txn_at, max(n.open_from) as open_from from (
					select h.listing_id, h.txn_at, o.open_from
					from (select * from ledger_entry h where ` + entries + ` and ` + covered + ` order by h.txn_at desc` + db.Fence + `) h
					cross join lateral (select max(x.end_at) + 1 as open_from from statement x where ` + covers + `) o
					where o.open_from is not null limit 100) n group by 1, 2) n), '[]') as hits,
			'{}'::uuid[] as records, ` + otherLocksExistSQL(entries) + ` as held,
			exists (select from ledger_stale x where x.team_id = @team and x.cause_id = f.id) as outstanding, ` + operation.IsDerivingSQL + ` as deriving
		from unnest(@ids::uuid[]) as f (id)` + firstEntrySQL(entries) + closing
}
