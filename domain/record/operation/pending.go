package operation

import (
	"context"
	"fmt"
	"slices"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Pending are the unsettled operations that derive journals, by what they touch.
type Pending struct {
	byResource map[id.ID][]id.ID
	everywhere []id.ID
	types      map[id.ID]Type
}

// PendingJournals reads which of the given reservations and listings have journals that an unsettled operation is going to derive.
func PendingJournals(ctx context.Context, tx *db.Tx, resources []id.ID) (*Pending, error) {
	return pending(ctx, tx, "r.resource_id", resources)
}

// PendingOnListings is PendingJournals for all that is booked on listings: an operation on a reservation touches its listing.
func PendingOnListings(ctx context.Context, tx *db.Tx, listings []id.ID) (*Pending, error) {
	return pending(ctx, tx, `coalesce((
		select v.listing_id from reservation v where v.team_id = @team and v.id = r.resource_id and r.type = 'reservation'), r.resource_id)`, listings)
}

// pending reads the operations whose resources, or what the expression makes of a resource r, are among the given.
func pending(ctx context.Context, tx *db.Tx, touched string, resources []id.ID) (*Pending, error) {
	type found struct {
		OperationID id.ID
		Type        Type
		Everywhere  bool
		Touched     id.ID
	}
	rows, err := db.Select[found](ctx, tx, `
		select * from (
			select o.id as operation_id, o.type, r.type is null or r.type = 'team' as everywhere, `+touched+` as touched
			from operation o left join operation_resource r on r.team_id = o.team_id and r.operation_id = o.id
			where o.team_id = @team and o.status in ('queued', 'running') and o.type in ('listing-journal-refresh', 'reservation-journal-refresh', 'transaction-journal-refresh')
		) p where everywhere or touched = any(@resources)`, db.Args{"team": tx.Team, "resources": resources})
	if err != nil {
		return nil, fmt.Errorf("read pending journal operations: %w", err)
	}
	p := &Pending{byResource: map[id.ID][]id.ID{}, types: map[id.ID]Type{}}
	for _, r := range rows {
		p.types[r.OperationID] = r.Type
		if r.Everywhere {
			p.everywhere = append(p.everywhere, r.OperationID)
		} else {
			p.byResource[r.Touched] = append(p.byResource[r.Touched], r.OperationID)
		}
	}
	return p, nil
}

// Of gives the operations that touch any of the resources, each once and the oldest first, never nil. One that names no resource touches
// all: a selection too long to name, or the whole team.
func (p *Pending) Of(resources ...id.ID) []id.ID {
	out := append([]id.ID{}, p.everywhere...)
	for _, r := range resources {
		out = append(out, p.byResource[r]...)
	}
	slices.SortFunc(out, id.ID.Compare)
	return slices.Compact(out)
}

// Type is that of one of the operations.
func (p *Pending) Type(operation id.ID) Type { return p.types[operation] }
