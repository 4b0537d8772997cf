package operation

import (
	"context"
	"fmt"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Deriving is an unsettled operation that derives journals.
type Deriving struct {
	ID   id.ID
	Type Type
}

// DerivingJournals reads the unsettled operations that derive the journals of some resources, by resource, each once
// and the oldest first. These are the operations that name one of them; those that name something else of it, such as
// its listing; and those that name no resource, which touch all: a selection too long to name, or the whole team.
// Around is the SQL of the resources among @ids for which p.touched, what an operation names, is such a thing.
func DerivingJournals(ctx context.Context, tx *db.Tx, resources []id.ID, around string) (map[id.ID][]Deriving, error) {
	type found struct {
		Deriving

		Resource id.ID
	}

	rows, err := db.Select[found](ctx, tx, `
		select distinct n.id as resource, p.id, p.type
		from (
			select o.id, o.type, r.type is null or r.type = 'team' as everywhere, r.resource_id as touched
			from operation o left join operation_resource r on r.team_id = o.team_id and r.operation_id = o.id
			where o.team_id = @team and o.status in ('queued', 'running') and o.type in ('listing-journal-refresh', 'reservation-journal-refresh', 'transaction-journal-refresh')
		) p
		cross join lateral (
			select x.id from unnest(@ids::uuid[]) x (id) where p.everywhere or x.id = p.touched
			union all `+around+`) n
		order by p.id`, db.Args{"team": tx.Team, "ids": resources})
	if err != nil {
		return nil, fmt.Errorf("read operations that derive journals: %w", err)
	}

	out := map[id.ID][]Deriving{}
	for _, r := range rows {
		out[r.Resource] = append(out[r.Resource], r.Deriving)
	}

	return out, nil
}
