package operation

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Filter selects operations (OPS-52 … OPS-58).
type Filter struct {
	ResourceType  ResourceType `query:"resourceType" doc:"Only operations that touch a resource of this type."`
	ResourceID    *id.ID       `query:"resourceId" doc:"Only operations that touch this resource; needs resourceType."`
	Type          Type         `query:"type"`
	Status        Status       `query:"status"`
	CreatedAtFrom *day.Instant `query:"createdAtFrom" doc:"Inclusive."`
	CreatedAtTo   *day.Instant `query:"createdAtTo" doc:"Exclusive."`
	InitiatedBy   string       `query:"initiatedBy" doc:"me, or the uuid of a user."`
}

// listRow is the counts, in the first row of a list, or an operation, in each row after it.
type listRow struct {
	Counts map[Status]int64
	row
}

// list reads a page, newest first, and the counts, in one statement and so on one snapshot. It never scans to count:
// settled operations are read from operation_count, and only those that are not folded into it yet are counted live.
//
// The limit is part of the SQL text. With a parameter, PostgreSQL assumes that a tenth of the table is asked for, finds
// no plan that is good for every value, and plans each request again, which takes twice as long as the rest.
func list(ctx context.Context, tx *db.Tx, f Filter, before id.ID, limit int64) (*List, error) {
	q := query{args: db.Args{"team": tx.Team}}
	q.filter(f, tx)

	// The status and the cursor narrow the page but not the counts (OPS-58).
	page := q.conditions()
	if f.Status != "" {
		page += " and o.status = @status"
		q.args["status"] = string(f.Status)
	}

	if !before.IsZero() {
		page += " and o.id < @before"
		q.args["before"] = before
	}

	// One statement returns the counts as its first row and the page in the rows after it.
	rows, err := db.Select[listRow](ctx, tx, `
		with counted as (select coalesce(jsonb_object_agg(status, n), '{}') as counts from (
			select status, sum(n)::bigint as n from (`+q.counts(f)+`) c group by status) s),
		page as (select `+rowColumns(tx.Actor.Owner)+` from operation o where `+page+` order by o.id desc limit `+strconv.FormatInt(limit+1, 10)+`)
		select counts, null::uuid as id, '' as type, '' as status, null::uuid as initiated_by, null as resource_type, null::uuid as resource_id,
			null as resource_role, null as failure_code, now() as created_at, null::timestamptz as started_at, null::timestamptz as finished_at
		from counted union all select null, page.* from page
		order by id desc nulls first`, q.args)
	if err != nil {
		return nil, fmt.Errorf("list operations: %w", err)
	}

	return assemble(rows, f.Status, limit), nil
}

// assemble builds the answer from the counts, which are in the first row, and the page in the other rows.
func assemble(rows []listRow, status Status, limit int64) *List {
	out := &List{Items: make([]Operation, 0, len(rows))}
	c := rows[0].Counts
	out.Counts = sumCounts(c)

	// The total applies all filters, so with a status it is the count of that status.
	out.Total = out.Counts.Total
	if status != "" {
		out.Total = c[status]
	}

	rows = rows[1:]
	for _, r := range rows[:min(int64(len(rows)), limit)] {
		out.Items = append(out.Items, r.public())
	}

	// One row more than the page was read: it says whether there is a next page.
	if int64(len(rows)) > limit {
		next := out.Items[limit-1].ID.String()
		out.NextCursor = &next
	}

	return out
}

// query gathers the conditions that the page and the live counts share.
type query struct {
	args db.Args
	live string // on operation o, without the creation time
	sum  string // on operation_count
	// bySum says that the counts can be read from operation_count.
	bySum    bool
	from, to *time.Time
}

// filter adds the conditions that the page and the counts share. It clears bySum when operation_count cannot
// answer: it has no rows by single resource or by owner.
func (q *query) filter(f Filter, tx *db.Tx) {
	q.live, q.sum, q.bySum = "o.team_id = @team and o.type is not null", "k.team_id = @team", true
	if f.Type != "" {
		q.args["type"] = string(f.Type)
		q.live += " and o.type = @type"
		q.sum += " and k.type = @type"
	}

	if f.InitiatedBy != "" {
		user := tx.Actor.User
		if f.InitiatedBy != "me" {
			user, _ = id.Parse(f.InitiatedBy) // checked by the input
		}

		q.args["initiator"] = user
		q.live += " and o.initiated_by = @initiator"
		q.sum += " and k.initiated_by = @initiator"
	}

	// Sums exist for each type of resource, and under '' for all operations together.
	if f.ResourceType != "" {
		q.args["rtype"] = string(f.ResourceType)
		resource := "r.team_id = o.team_id and r.operation_id = o.id and r.type = @rtype"

		if f.ResourceID != nil {
			q.args["rid"] = *f.ResourceID
			q.live += " and o.id in (select r.operation_id from operation_resource r where r.team_id = @team and " +
				"r.type = @rtype and r.resource_id = @rid)"
			q.bySum = false
		} else {
			q.live += " and exists (select from operation_resource r where " + resource + ")"
			q.sum += " and k.resource_type = @rtype"
		}
	} else {
		q.sum += " and k.resource_type = ''"
	}

	// Owners only see operations of their own resources, and sums do not know owners.
	if tx.Actor.Owner != nil {
		q.args["owner"] = *tx.Actor.Owner
		q.live += ownerMay()
		q.bySum = false
	}

	q.from, q.to = bound(f.CreatedAtFrom), bound(f.CreatedAtTo)
}

// bound returns the instant of a filter, at the earliest 1970, because ids count their time from then.
func bound(i *day.Instant) *time.Time {
	if i == nil {
		return nil
	}

	t := i.Time
	if epoch := time.Unix(0, 0).UTC(); t.Before(epoch) {
		t = epoch
	}

	return &t
}

// conditions returns the conditions of the page. An id holds the time when its operation was created, so bounds in
// time become bounds of the primary key.
func (q *query) conditions() string {
	out := q.live
	if q.from != nil {
		q.args["from"] = id.First(*q.from)
		out += " and o.id >= @from"
	}

	if q.to != nil {
		q.args["to"] = id.First(*q.to)
		out += " and o.id < @to"
	}

	return out
}

// counts returns the SQL that counts operations by status: folded sums plus live rows that are not folded yet. With
// bounds in time it reads sums of whole days and counts the partial days at both ends live.
func (q *query) counts(f Filter) string {
	live := "select o.status, count(*) as n from operation o where " + q.conditions()
	if !q.bySum {
		return live + " group by o.status"
	}

	folded := "select k.status, k.count as n from operation_count k where " + q.sum

	open := live + " and not o.counted group by o.status"
	if f.CreatedAtFrom == nil && f.CreatedAtTo == nil {
		return folded + " and k.day = '-infinity' union all " + open
	}

	// Find the whole days between the bounds; only they can be read from the sums.
	first, last := time.Unix(0, 0).UTC(), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	if q.from != nil {
		first = q.from.Truncate(24 * time.Hour)
		if first.Before(*q.from) {
			first = first.Add(24 * time.Hour)
		}
	}

	if q.to != nil {
		last = q.to.Truncate(24 * time.Hour)
	}

	if !first.Before(last) { // no whole day between the bounds
		return live + " group by o.status"
	}

	// Add up three parts: whole days, rows of any day that are not folded yet, and folded rows of the partial days.
	q.args["first"], q.args["last"] = first, last
	q.args["first_id"], q.args["last_id"] = id.First(first), id.First(last)

	return folded + " and k.day >= @first::date and k.day < @last::date union all " + open + " union all " +
		live + " and o.counted and o.id < @first_id group by o.status union all " +
		live + " and o.counted and o.id >= @last_id group by o.status"
}
