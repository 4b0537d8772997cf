package ledger

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// JournalStatus says whether deriving the journal of a resource now would leave it unchanged (OPEN-59).
type JournalStatus struct {
	Status       string  `json:"status" enum:"current,stale,recalculating,failed"`
	Reason       *Reason `json:"reason" doc:"Why it is not current; journalLocked when locks kept all outstanding changes out."`
	Action       *string `json:"action" enum:"wait,refresh,unlock" doc:"What brings it up to date."`
	OperationIDs []id.ID `json:"operationIds" doc:"Unsettled operations that derive it."`
}

// Blocks reports whether everything that depends on the journal has to wait (ERR-59). A journal that only locks
// keep from changing is final as it is.
func (s JournalStatus) Blocks() bool {
	return s.Status != "current" && (s.Reason == nil || *s.Reason != JournalLocked)
}

// Blocking returns the worst blocking status, with the operations of all blocking statuses; nil if nothing blocks.
func Blocking(statuses map[id.ID]JournalStatus) *JournalStatus {
	order := []string{"recalculating", "failed", "stale"}

	var (
		worst *JournalStatus
		open  []id.ID
	)

	// An operation that is under way comes before a failure, and that before a stale journal.
	for _, s := range statuses {
		if !s.Blocks() {
			continue
		}

		// Whoever waits, waits for all these operations.
		open = append(open, s.OperationIDs...)
		if worst == nil || slices.Index(order, s.Status) < slices.Index(order, worst.Status) {
			worst = &s
		}
	}

	if worst != nil {
		worst.OperationIDs = append([]id.ID{}, id.Distinct(open)...)
	}

	return worst
}

// CurrentJournal returns the status of a journal that is up to date.
func CurrentJournal() JournalStatus {
	return JournalStatus{Status: "current", OperationIDs: []id.ID{}}
}

// staleness counts the outstanding changes on the journals of one resource.
type staleness struct {
	ID     id.ID
	Reason Reason
	Open   int64
	Locked int64
	Failed int64
}

// LoadStatuses loads the journal status of each of the noun's resources.
func (n Noun) LoadStatuses(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]JournalStatus, error) {
	isQuiet, err := isQuiet(ctx, tx, `exists (select from unnest(@ids::uuid[]) s (id) where `+outstandingSQL("s.id")+`)`, ids)
	if err != nil || isQuiet {
		return allCurrent(ids), err
	}

	return n.searchStatuses(ctx, tx, ids)
}

// outstandingSQL returns the condition that something is outstanding on the journal of a source.
func outstandingSQL(source string) string {
	return `(exists (select from ledger_stale x where x.team_id = @team and x.source_id = ` + source + `)
		or exists (select from ledger_held x where x.team_id = @team and x.source_id = ` + source + ` and x.origin_id is not null))`
}

// searchStatuses loads the same, with everything that may be outstanding.
func (n Noun) searchStatuses(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]JournalStatus, error) {
	// What a system says of a record and a lock keeps out counts as well.
	const outstanding = `select s.source_id as id, s.cause_id, s.reason, s.status, s.since from %s s where s.team_id = @team and s.source_id = any(@ids)
		union all select h.source_id, h.id, 'reservationChanged', 'locked', h.since from ledger_held h
			where h.team_id = @team and h.source_id = any(@ids) and h.origin_id is not null`

	return loadStatuses(ctx, tx, ids, fmt.Sprintf(outstanding, OutstandingSQL()), map[Noun]string{
		Reservations:   `select r.id from reservation r where r.team_id = @team and r.id = any(@ids) and r.listing_id = p.touched`,
		Transactions:   `select l.transaction_id from transaction_line l where l.team_id = @team and l.transaction_id = any(@ids) and l.listing_id = p.touched`,
		ManualJournals: `select l.journal_id from journal_line l where l.team_id = @team and l.journal_id = any(@ids) and l.listing_id = p.touched and l.party = 'owners'`,
	}[n])
}

// searchFeeStatuses loads the journal statuses of recurring fees, from the journals made stale by a change of the fee.
func searchFeeStatuses(ctx context.Context, tx *db.Tx, fees []id.ID) (map[id.ID]JournalStatus, error) {
	return loadStatuses(ctx, tx, fees, `select s.cause_id as id, s.cause_id, s.reason, s.status, s.since from `+OutstandingSQL()+` s where s.team_id = @team and s.cause_id = any(@ids)`, "")
}

// heldListings are the listings @ids, with themselves and the members of a group as the places that their statements
// depend on.
const heldListings = `(select v as id, v as place from unnest(@ids::uuid[]) v
	union all select l.parent_id, l.id from listing l where l.team_id = @team and l.parent_id = any(@ids::uuid[]))`

// LoadListingStatuses loads the statuses of all journals on listings, which an owner statement depends on, and for a
// group the journals on its members. A journal without a listing affects no listing; a journal that follows a stay to
// another listing affects both.
func LoadListingStatuses(ctx context.Context, tx *db.Tx, listings []id.ID) (map[id.ID]JournalStatus, error) {
	isQuiet, err := isQuiet(ctx, tx, `cardinality(@ids::uuid[]) > 0 and exists (select from ledger_stale s where s.team_id = @team)`, listings)
	if err != nil || isQuiet {
		return allCurrent(listings), err
	}

	return loadStatuses(ctx, tx, listings, `
		select k.id, s.cause_id, s.reason, s.status, s.since from (
			select r.listing_id as id, s.cause_id, s.reason, s.status, s.since from `+OutstandingSQL()+` s
				join reservation r on r.team_id = s.team_id and r.id = s.source_id
				where s.team_id = @team and s.source = 'reservation'
			union all
			select l.listing_id, s.cause_id, s.reason, s.status, s.since from `+OutstandingSQL()+` s cross join lateral (
				select n.listing_id from transaction_line n where n.team_id = s.team_id and n.transaction_id = s.source_id
				union select r.listing_id from transaction_line n join reservation r on r.team_id = n.team_id and r.id = n.reservation_id
					where n.team_id = s.team_id and n.transaction_id = s.source_id and n.follows_reservation) l
				where s.team_id = @team and s.source = 'transaction'
			union all
			select l.listing_id, s.cause_id, s.reason, s.status, s.since from `+OutstandingSQL()+` s cross join lateral (
				select distinct n.listing_id from journal_line n where n.team_id = s.team_id and n.journal_id = s.source_id) l
				where s.team_id = @team and s.source = 'journal'
		) s join `+heldListings+` k on k.place = s.id`,
		`select k.id from reservation r join `+heldListings+` k on k.place = r.listing_id where r.team_id = @team and r.id = p.touched`)
}

// isQuiet reports whether the condition of something outstanding on @ids does not hold, and no operation derives
// journals, as is nearly always so. The statuses are then current, and need not be looked for.
func isQuiet(ctx context.Context, tx *db.Tx, outstanding string, ids []id.ID) (bool, error) {
	quiet, err := db.Get[bool](ctx, tx, `select not (`+outstanding+` or `+operation.IsDerivingSQL+`)`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return false, fmt.Errorf("look for outstanding journals: %w", err)
	}

	return quiet, nil
}

// allCurrent returns the status of journals that are up to date for all ids.
func allCurrent(ids []id.ID) map[id.ID]JournalStatus {
	out := make(map[id.ID]JournalStatus, len(ids))
	for _, v := range ids {
		out[v] = CurrentJournal()
	}

	return out
}

// loadStatuses loads the journal statuses of resources. The argument outstanding is the SQL of the outstanding changes
// on them: id, cause_id, reason, status and since. The argument around is the SQL of DerivingJournals, empty for none.
// Operations with the cause of a stale journal derive it as well.
func loadStatuses(
	ctx context.Context, tx *db.Tx,
	ids []id.ID,
	outstanding, around string,
) (map[id.ID]JournalStatus, error) {
	caused := `select t.id from (` + outstanding + `) t where t.cause_id = p.touched`
	if around != "" {
		caused += " union all " + around
	}

	var (
		stale    []staleness
		deriving map[id.ID][]operation.Deriving
	)

	// First load the outstanding changes and the operations that derive such journals, in one round trip. The
	// latest change gives the reason.
	err := tx.Together(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		stale, err = db.Select[staleness](ctx, tx, `
			select t.id, (array_agg(t.reason order by t.since desc, t.cause_id))[1] as reason, count(*) filter (where t.status = 'stale') as open,
				count(*) filter (where t.status = 'locked') as locked, count(*) filter (where t.status = 'failed') as failed
			from (`+outstanding+`) t group by t.id`, db.Args{"team": tx.Team, "ids": ids})

		return err
	}, func(ctx context.Context, tx *db.Tx) (err error) {
		deriving, err = operation.DerivingJournals(ctx, tx, ids, caused)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read journal statuses: %w", err)
	}

	found := make(map[id.ID]*staleness, len(stale))
	for i := range stale {
		found[stale[i].ID] = &stale[i]
	}

	// Then put the status of each resource together. Without an outstanding change the operation gives the reason.
	out := make(map[id.ID]JournalStatus, len(ids))
	for _, v := range ids {
		s, open := found[v], deriving[v]
		if s == nil && len(open) > 0 {
			s = &staleness{Reason: operationReason(open[0].Type)}
		}

		out[v] = s.status(open)
	}

	return out, nil
}

// operationReason returns the reason for an operation that derives journals which no change has marked as stale.
func operationReason(t operation.Type) Reason {
	switch t { //nolint:exhaustive // the other types derive no journals
	case operation.ListingJournalRefresh:
		return OwnershipChanged
	case operation.TransactionJournal:
		return TransactionChanged
	default:
		return ReservationChanged
	}
}

// status returns the status of a journal with these outstanding changes, nil for none, while these operations are
// under way.
func (s *staleness) status(open []operation.Deriving) JournalStatus {
	status := CurrentJournal()

	// The operations are named in any case.
	for _, o := range open {
		status.OperationIDs = append(status.OperationIDs, o.ID)
	}

	say := func(what, action string, reason Reason) JournalStatus {
		status.Status, status.Action, status.Reason = what, &action, &reason
		return status
	}

	// An operation settles everything, so it comes first. Changes that only locks hold come last: they wait for the
	// lock.
	switch {
	case len(open) > 0:
		return say("recalculating", "wait", s.Reason)
	case s == nil:
		return status
	case s.Failed > 0:
		return say("failed", "refresh", s.Reason)
	case s.Open > 0:
		return say("stale", "refresh", s.Reason)
	default:
		return say("stale", "unlock", JournalLocked)
	}
}
