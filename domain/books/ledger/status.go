package ledger

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// JournalStatus says whether the journal of a resource is the one that would be derived now (OPEN-59).
type JournalStatus struct {
	Status       string  `json:"status" enum:"current,stale,recalculating,failed"`
	Reason       *Reason `json:"reason" doc:"Why it is not current; journalLocked when locks kept all outstanding changes out."`
	Action       *string `json:"action" enum:"wait,refresh,unlock" doc:"What brings it up to date."`
	OperationIDs []id.ID `json:"operationIds" doc:"Unsettled operations that derive it."`
}

// Blocks reports whether what depends on the journal has to wait (ERR-59): a journal that only locks keep from changing is final as it is.
func (s JournalStatus) Blocks() bool {
	return s.Status != "current" && (s.Reason == nil || *s.Reason != JournalLocked)
}

// Blocking gives what the worst of the statuses says to those who have to wait, with the operations of all of them; nil when none blocks.
func Blocking(statuses map[id.ID]JournalStatus) *JournalStatus {
	order := []string{"recalculating", "failed", "stale"}
	var worst *JournalStatus
	var open []id.ID
	for _, s := range statuses {
		if !s.Blocks() {
			continue
		}
		open = append(open, s.OperationIDs...)
		if worst == nil || slices.Index(order, s.Status) < slices.Index(order, worst.Status) {
			worst = &s
		}
	}
	if worst != nil {
		worst.OperationIDs = sortedIDs(open)
	}
	return worst
}

// CurrentJournal is the status of a journal that is up to date.
func CurrentJournal() JournalStatus {
	return JournalStatus{Status: "current", OperationIDs: []id.ID{}}
}

// staleness adds up the rows of one resource.
type staleness struct {
	ID     id.ID
	Causes []id.ID
	Reason Reason
	Open   int64
	Locked int64
	Failed int64
}

const staleCounts = `array_agg(distinct t.cause_id) as causes, (array_agg(t.reason order by t.since desc, t.cause_id))[1] as reason,
	count(*) filter (where t.status = 'stale') as open, count(*) filter (where t.status = 'locked') as locked,
	count(*) filter (where t.status = 'failed') as failed`

// Subject is something whose journal status is asked for: ID is a reservation or transaction, Also are what else its operations may name,
// such as its listing.
type Subject struct {
	ID   id.ID
	Also []id.ID
}

// StatusOf reads the journal statuses of reservations or transactions; every subject has one.
func StatusOf(ctx context.Context, tx *db.Tx, subjects []Subject) (map[id.ID]JournalStatus, error) {
	return statuses(ctx, tx, subjects, operation.PendingJournals, `
		select t.source_id as id, `+staleCounts+` from `+Outstanding()+` t where t.team_id = @team and t.source_id = any(@ids) group by t.source_id`)
}

// StatusOfFees reads the journal statuses of recurring fees: those of the journals that a change of the fee made stale.
func StatusOfFees(ctx context.Context, tx *db.Tx, fees []id.ID) (map[id.ID]JournalStatus, error) {
	return statuses(ctx, tx, subjectsOf(fees), operation.PendingJournals, `
		select t.cause_id as id, `+staleCounts+` from `+Outstanding()+` t where t.team_id = @team and t.cause_id = any(@ids) group by t.cause_id`)
}

// StatusOfListings reads the statuses of all journals on listings, which is what an owner statement depends on. A journal without a listing
// touches none of them; one that follows a stay to another listing touches both.
func StatusOfListings(ctx context.Context, tx *db.Tx, listings []id.ID) (map[id.ID]JournalStatus, error) {
	return statuses(ctx, tx, subjectsOf(listings), operation.PendingOnListings, `
		select t.listing_id as id, `+staleCounts+` from (
			select r.listing_id, s.cause_id, s.reason, s.status, s.since from `+Outstanding()+` s
				join reservation r on r.team_id = s.team_id and r.id = s.source_id
				where s.team_id = @team and s.source = 'reservation'
			union all
			select l.listing_id, s.cause_id, s.reason, s.status, s.since from `+Outstanding()+` s cross join lateral (
				select n.listing_id from transaction_line n where n.team_id = s.team_id and n.transaction_id = s.source_id
				union select r.listing_id from transaction_line n join reservation r on r.team_id = n.team_id and r.id = n.reservation_id
					where n.team_id = s.team_id and n.transaction_id = s.source_id and n.follows_reservation) l
				where s.team_id = @team and s.source = 'transaction'
			union all
			select l.listing_id, s.cause_id, s.reason, s.status, s.since from `+Outstanding()+` s cross join lateral (
				select distinct n.listing_id from journal_line n where n.team_id = s.team_id and n.journal_id = s.source_id) l
				where s.team_id = @team and s.source = 'journal'
		) t where t.listing_id = any(@ids) group by t.listing_id`)
}

func subjectsOf(ids []id.ID) []Subject {
	subjects := make([]Subject, len(ids))
	for i := range ids {
		subjects[i] = Subject{ID: ids[i]}
	}
	return subjects
}

// underWay finds the unsettled operations that derive the journals around some resources.
type underWay func(ctx context.Context, tx *db.Tx, resources []id.ID) (*operation.Pending, error)

func statuses(ctx context.Context, tx *db.Tx, subjects []Subject, find underWay, sql string) (map[id.ID]JournalStatus, error) {
	var touched []id.ID
	for i := range subjects {
		touched = append(touched, subjects[i].ID)
	}
	stale := func(ctx context.Context, tx *db.Tx, ids []id.ID) ([]staleness, error) {
		return db.Select[staleness](ctx, tx, sql, db.Args{"team": tx.Team, "ids": ids})
	}
	var rows []staleness
	var pending *operation.Pending
	around := slices.Clone(touched)
	for i := range subjects {
		around = append(around, subjects[i].Also...)
	}
	if err := tx.Together(ctx, db.LoadOf(&rows, stale, touched), db.LoadOf(&pending, find, around)); err != nil {
		return nil, fmt.Errorf("read journal statuses: %w", err)
	}
	found := make(map[id.ID]*staleness, len(rows))
	var causes []id.ID
	for i := range rows {
		found[rows[i].ID] = &rows[i]
		for _, cause := range rows[i].Causes {
			if !cause.IsZero() && !slices.Contains(around, cause) {
				causes = append(causes, cause)
			}
		}
	}
	if causes != nil { // operations that name what made the journals stale derive them as well
		var err error
		if pending, err = find(ctx, tx, append(around, causes...)); err != nil {
			return nil, err
		}
	}
	out := make(map[id.ID]JournalStatus, len(subjects))
	for i := range subjects {
		s := found[subjects[i].ID]
		near := append([]id.ID{subjects[i].ID}, subjects[i].Also...)
		if s != nil {
			near = append(near, s.Causes...)
		}
		open := pending.Of(near...)
		if s == nil && len(open) > 0 {
			s = &staleness{Reason: reasonOf(pending.Type(open[0]))}
		}
		out[subjects[i].ID] = s.status(open)
	}
	return out, nil
}

// reasonOf is why an operation derives journals that nothing has marked as stale.
func reasonOf(t operation.Type) Reason {
	switch t { //nolint:exhaustive // the other types derive no journals
	case operation.ListingJournalRefresh:
		return OwnershipChanged
	case operation.TransactionJournal:
		return TransactionChanged
	default:
		return ReservationChanged
	}
}

// status of a journal with these outstanding changes, nil for none, while these operations are under way.
func (s *staleness) status(open []id.ID) JournalStatus {
	status := CurrentJournal()
	status.OperationIDs = open
	say := func(what, action string, reason Reason) JournalStatus {
		status.Status, status.Action, status.Reason = what, &action, &reason
		return status
	}
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
