package operation

import (
	"context"
	"fmt"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Include is the query parameter by which a list of resources adds operations to its rows. Embed it in the input
// (OPS-81, OPEN-05).
type Include struct {
	Include []string `query:"include" enum:"operations" doc:"operations adds to each row its operations: counts and the latest. Needs operations:read."`
}

// Operations reports whether the rows show their operations.
func (i Include) Operations() bool { return len(i.Include) > 0 }

// Summary has the operations of one row: how many there are and the latest.
type Summary struct {
	Counts Counts     `json:"counts"`
	Latest *Operation `json:"latest" doc:"The newest one; null when there is none."`
}

type summaryRow struct {
	Resource id.ID
	Counts   map[Status]int64
	row
}

// newSummaries returns the operations of resources of one type, as far as the caller may read them. A resource without
// operations has empty counts. It fails with 403 for a caller without operations:read.
func newSummaries(ctx context.Context, tx *db.Tx, of ResourceType, ids []id.ID) (map[id.ID]*Summary, error) {
	if !tx.Actor.Has("operations:read") {
		return nil, apierr.MissingScope.With(map[string]any{"requiredScopes": []string{"operations:read"}})
	}

	out := make(map[id.ID]*Summary, len(ids))
	for _, v := range ids {
		out[v] = &Summary{}
	}

	// Owners only see operations of their own resources.
	args := db.Args{"team": tx.Team, "type": string(of), "ids": ids}

	condition := ""
	if tx.Actor.Owner != nil {
		condition, args["owner"] = ownerMay(), *tx.Actor.Owner
	}

	// Count and find the latest in one statement. An operation that names a resource twice counts once.
	rows, err := db.Select[summaryRow](ctx, tx, `
		with touching as (
			select distinct x.resource_id as resource, o.team_id, o.id, o.status
			from operation_resource x join operation o on o.team_id = x.team_id and o.id = x.operation_id
			where x.team_id = @team and x.type = @type and x.resource_id = any(@ids) and o.type is not null`+condition+`),
		counted as (
			select resource, jsonb_object_agg(status, n) as counts
			from (select resource, status, count(*) as n from touching group by resource, status) s group by resource),
		latest as (select distinct on (resource) resource, team_id, id from touching order by resource, id desc)
		select l.resource, c.counts, `+rowColumns(tx.Actor.Owner)+`
		from latest l join counted c on c.resource = l.resource join operation o on o.team_id = l.team_id and o.id = l.id`, args)
	if err != nil {
		return nil, fmt.Errorf("summarize operations: %w", err)
	}

	for _, r := range rows {
		latest := r.public()
		s := out[r.Resource]
		s.Latest = &latest
		s.Counts = sumCounts(r.Counts)
	}

	return out, nil
}

// Embed sets the operations of each row of a page. The function at returns the id of a row and the address of its
// summary. It fails as newSummaries does.
func Embed[T any](ctx context.Context, tx *db.Tx, of ResourceType, rows []T, at func(*T) (id.ID, **Summary)) error {
	ids := make([]id.ID, len(rows))
	for i := range rows {
		ids[i], _ = at(&rows[i])
	}

	found, err := newSummaries(ctx, tx, of, ids)
	if err != nil {
		return err
	}

	for i := range rows {
		resource, place := at(&rows[i])
		*place = found[resource]
	}

	return nil
}

// sumCounts returns the counts by status with their sum.
func sumCounts(c map[Status]int64) Counts {
	out := Counts{Queued: c[Queued], Running: c[Running], Completed: c[Completed], Failed: c[Failed]}
	out.Total = out.Queued + out.Running + out.Completed + out.Failed

	return out
}
