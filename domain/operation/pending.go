package operation

import (
	"context"
	"fmt"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Pending are the unsettled operations that derive journals, by what they touch.
type Pending struct {
	byResource map[id.ID][]id.ID
	everywhere []id.ID
}

// PendingJournals reads which of the given reservations and listings have journals that an unsettled operation is going to derive.
func PendingJournals(ctx context.Context, tx *db.Tx, resources []id.ID) (*Pending, error) {
	type found struct {
		OperationID id.ID
		Everywhere  bool
		ResourceID  id.ID
	}
	rows, err := db.Select[found](ctx, tx, `
		select o.id as operation_id, r.type is null or r.type = 'team' as everywhere, r.resource_id
		from operation o left join operation_resource r on r.team_id = o.team_id and r.operation_id = o.id
		where o.team_id = @team and o.status in ('queued', 'running') and o.type in ('listing-journal-refresh', 'reservation-journal-refresh')
			and (r.type is null or r.type = 'team' or r.resource_id = any(@resources))
		order by o.id`, db.Args{"team": tx.Team, "resources": resources})
	if err != nil {
		return nil, fmt.Errorf("read pending journal operations: %w", err)
	}
	p := &Pending{byResource: map[id.ID][]id.ID{}}
	for _, r := range rows {
		if r.Everywhere {
			p.everywhere = append(p.everywhere, r.OperationID)
		} else {
			p.byResource[r.ResourceID] = append(p.byResource[r.ResourceID], r.OperationID)
		}
	}
	return p, nil
}

// Of gives the operations that touch any of the resources, never nil. One that names no resource touches all: a selection too long to
// name, or the whole team.
func (p *Pending) Of(resources ...id.ID) []id.ID {
	out := append([]id.ID{}, p.everywhere...)
	for _, r := range resources {
		out = append(out, p.byResource[r]...)
	}
	return out
}
