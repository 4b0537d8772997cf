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

// derivesSQL is the SQL condition that an operation o of the team derives journals and is not settled.
const derivesSQL = `o.team_id = @team and o.status in ('queued', 'running')
	and o.type in ('listing-journal-refresh', 'reservation-journal-refresh', 'transaction-journal-refresh')`

// IsDerivingSQL is the SQL condition that an operation of the team derives journals. There is none most of the time.
const IsDerivingSQL = `(select exists (select from operation o where ` + derivesSQL + `))`

// DerivingJournals returns the unsettled operations that derive the journals of the given resources, by resource,
// each once and the oldest first. There are three kinds: operations that name the resource itself; operations that
// name something it belongs to, such as its listing; and operations that touch all resources, because they name
// none (the selection was too long) or name the whole team. The SQL in around selects, as column id, the resources
// among @ids that belong to p.touched, the id that an operation names.
func DerivingJournals(ctx context.Context, tx *db.Tx, resources []id.ID, around string) (map[id.ID][]Deriving, error) {
	type found struct {
		Deriving

		Resource id.ID
	}

	// The inner select finds the few unsettled operations; the lateral join spreads each over the resources it
	// touches.
	rows, err := db.Select[found](ctx, tx, `
		select distinct n.id as resource, p.id, p.type
		from (
			select o.id, o.type, r.type is null or r.type = 'team' as everywhere, r.resource_id as touched
			from operation o left join operation_resource r on r.team_id = o.team_id and r.operation_id = o.id
			where `+derivesSQL+`
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
