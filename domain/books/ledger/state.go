package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// State is what readers of a source are shown of its journal: what holds it, and whether it is up to date.
type State struct {
	Lock   Lock
	Status JournalStatus
}

// StateRow has the columns of StateColumns. Outstanding says that something is to be done to the journal, and deriving
// that an operation derives some journal of the team.
type StateRow struct {
	foundLocks

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
	type stateOf struct {
		ID id.ID
		StateRow
	}

	rows, err := db.Select[stateOf](ctx, tx, sql, db.Args{"team": tx.Team, "ids": ids, "reader": tx.Actor.User})
	if err != nil {
		return nil, fmt.Errorf("read the states of journals: %w", err)
	}

	found := make(map[id.ID]*StateRow, len(rows))
	for i := range rows {
		found[rows[i].ID] = &rows[i].StateRow
	}

	return findStates(ctx, tx, found, search)
}

// States returns the states of resources of the noun that were read with StateColumns.
func (n Noun) States(ctx context.Context, tx *db.Tx, found map[id.ID]*StateRow) (map[id.ID]State, error) {
	return findStates(ctx, tx, found, n.searchStatuses)
}

// findStates returns the states that were found. Only where something is outstanding it searches for the statuses.
func findStates(
	ctx context.Context,
	tx *db.Tx,
	found map[id.ID]*StateRow,
	search func(context.Context, *db.Tx, []id.ID) (map[id.ID]JournalStatus, error),
) (map[id.ID]State, error) {
	out, isQuiet := make(map[id.ID]State, len(found)), true

	for v, r := range found {
		out[v] = State{Lock: r.lock(), Status: CurrentJournal()}
		isQuiet = isQuiet && !r.Outstanding && !r.Deriving
	}

	if isQuiet {
		return out, nil
	}

	statuses, err := search(ctx, tx, slices.Collect(maps.Keys(found)))
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
	return `select s.id, ` + n.StateColumns("s.id") + ` from unnest(@ids::uuid[]) as s (id)` + StateTables("s.id")
}

// StateColumns returns the columns of the state of a source, in a statement of @team and @reader that joins StateTables.
func (n Noun) StateColumns(source string) string {
	entries := `h.team_id = @team and h.source_id = ` + source + ` and ` + reported

	// Only transactions are reconciled.
	records := `'{}'::uuid[]`
	if n == Transactions {
		records = recordsOfSourceSQL(source)
	}

	return closedAt + ` as closed_at, coalesce(first.statement_ids, '{}') as statements,
		case when exists (select from statement x where ` + holding + ` and x.ownership_period_id = any(first.period_ids) and x.end_at >= first.owned_from)
			then (select coalesce(jsonb_agg(distinct jsonb_build_object('listingId', h.listing_id, 'txnAt', h.txn_at, 'openFrom', o.open_from)), '[]')
				from ledger_entry h cross join lateral (select max(x.end_at) + 1 as open_from from statement x where ` + covers + `) o
				where ` + entries + ` and h.party = 'owners' and h.listing_id is not null and o.open_from is not null)
			else '[]' end as hits,
		` + records + ` as records, ` + otherLocksExistSQL(entries) + ` as held,
		` + outstandingSQL(source) + ` as outstanding, ` + operation.IsDerivingSQL + ` as deriving`
}

// StateTables returns the joins of what is kept of a source, as first, and of the first open days, as closing.
func StateTables(source string) string {
	return ` left join (select source_id, first_at as txn_at, owned_from, period_ids, statement_ids from ledger_source where team_id = @team) first
			on first.source_id = ` + source + closing
}

// feeStatesSQL returns the query of the states of the fees @ids. A fee has entries on every stay, so they are read
// from the newest that a statement can hold, until there are as many as a reader can use.
func feeStatesSQL() string {
	const (
		group   = `h.team_id = @team and h.recurring_fee_id = f.id`
		entries = group + ` and ` + reported
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
		from unnest(@ids::uuid[]) as f (id)` + firstEntrySQL(group, reported)
}
