package operation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

const insertOperation = `
	insert into operation (team_id, id, type, status, initiated_by, action_id, resource_type, resource_id, resource_role, tasks_open, created_at)
	values (@team, @id, nullif(@type, ''), 'queued', @user, @action, nullif(@rtype, ''), @rid, nullif(@rrole, ''), @tasks, @now)`

// insertResources returns the statement that saves the resources of an operation, in their order.
func insertResources(tx *db.Tx, operation id.ID, resources []Resource) db.Stmt {
	types, ids, roles := make([]string, len(resources)), make([]id.ID, len(resources)), make([]string, len(resources))
	for i, r := range resources {
		types[i], ids[i], roles[i] = string(r.Type), r.ID, string(r.Role)
	}

	return db.Stmt{
		SQL: `
		insert into operation_resource (team_id, operation_id, position, type, resource_id, role)
		select @team, @operation, n - 1, t, i, r
		from unnest(@types::text[], @ids::uuid[], @roles::text[]) with ordinality as x (t, i, r, n)`,
		Args: db.Args{"team": tx.Team, "operation": operation, "types": types, "ids": ids, "roles": roles},
	}
}

// errSettled keeps what a task did from landing on an operation that was settled meanwhile, by a cancellation for
// example.
var errSettled = errors.New("the operation has settled without this task")

// settle ends the job, one task and, when that is the last, the operation, in the round trip of the commit. The job
// goes first: of two attempts that run at the same time the second then waits there and fails, so it never counts as a
// task.
func settle(tx *db.Tx, j job.Job) {
	job.DoneAtEnd(tx, j, settlement(tx, j, nil))
}

// fail settles a task as failed. It leaves the job to the worker, which ends it when it gives it up, and it ignores
// an operation that has settled already: otherwise the job of such an operation could never be given up.
func fail(ctx context.Context, tx *db.Tx, j job.Job, code FailureCode) error {
	s := settlement(tx, j, &code)
	if _, err := tx.Exec(ctx, "select "+s.SQL, s.Args); err != nil {
		return fmt.Errorf("settle task: %w", err)
	}

	return nil
}

// settlement returns the call that settles a task and wakes the requests that wait, because it can be the last task
// of its operation. The operation has finished when the work is done, not when its transaction began.
func settlement(tx *db.Tx, j job.Job, code *FailureCode) db.Stmt {
	tx.MarkSettled()

	return db.Stmt{SQL: `operation_settle(@team, @id, @code, @started, greatest(@now, clock_timestamp()), @strict)`, Args: db.Args{
		"team":    j.TeamID,
		"id":      j.OperationID,
		"code":    (*string)(code),
		"started": j.StartedAt,
		"now":     tx.Now,
		"strict":  code == nil,
	}}
}

// MarkRunning marks the operations of jobs that have begun. Losing the mark in a crash is harmless: work that is done
// again marks it again.
func MarkRunning(ctx context.Context, d *db.DB, jobs []job.Job, at time.Time) error {
	teams, ids := make([]id.ID, len(jobs)), make([]id.ID, len(jobs))
	for i, j := range jobs {
		teams[i], ids[i] = j.TeamID, j.OperationID
	}

	return d.WriteLazily(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `
			update operation o set status = 'running', started_at = coalesce(o.started_at, greatest(@at::timestamptz, o.created_at))
			from unnest(@teams::uuid[], @ids::uuid[]) as x (team_id, id)
			where o.team_id = x.team_id and o.id = x.id and o.status = 'queued'`,
			db.Args{"at": at, "teams": teams, "ids": ids})

		return err
	})
}

// row is an operation as stored.
type row struct {
	ID           id.ID
	Type         Type
	Status       Status
	InitiatedBy  id.ID
	ResourceType *ResourceType
	ResourceID   id.ID
	ResourceRole *Role
	FailureCode  *FailureCode
	CreatedAt    day.Instant
	StartedAt    *day.Instant
	FinishedAt   *day.Instant
}

// rowColumns returns the columns of row. An owner sees a primary resource only if it belongs to the owner.
func rowColumns(owner *id.ID) string {
	resource := "o.resource_type"
	if owner != nil {
		resource = "case when " + ownerHas(
			"o.resource_type",
			"o.resource_id",
		) + " then o.resource_type end as resource_type"
	}

	return "o.id, o.type, o.status, o.initiated_by, " + resource +
		", o.resource_id, o.resource_role, o.failure_code, o.created_at, o.started_at, o.finished_at"
}

// public returns an operation as callers see it.
func (r row) public() Operation {
	o := Operation{
		ID: r.ID, Type: r.Type, Status: r.Status, Initiator: Initiator{Type: "user", UserID: r.InitiatedBy},
		CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, FinishedAt: r.FinishedAt,
	}
	if r.Status == Failed {
		o.Failure = publicFailure(r.FailureCode)
	}

	if r.ResourceType != nil {
		o.Resource = &Resource{Type: *r.ResourceType, ID: r.ResourceID, Role: *r.ResourceRole}
		o.Resource.link(r.Status)
	}

	return o
}

// link gives a file result its download path once the operation has completed.
func (r *Resource) link(s Status) {
	if r.Type == File && r.Role == Result && s == Completed {
		r.URL = DownloadPath(r.ID)
	}
}

// ownerMay returns the condition that restricts o to operations that an owner may read (OPS-68, OPS-69).
func ownerMay() string {
	return ` and exists (
		select from operation_resource r where r.team_id = o.team_id and r.operation_id = o.id
		and (o.type, r.type) in (('ach-verification', 'contact'), ('reservation-journal-refresh', 'reservation'))
		and ` + ownerHas("r.type", "r.resource_id") + `)`
}

// ownerHas returns the condition that the owner @owner has access to a resource: the contact itself, or a
// reservation with a night in an ownership period that the contact is a member of. Members of earlier and later
// periods of a listing do not see each other's reservations. A member of a group has the periods of the group on nights
// that none of its own covers.
func ownerHas(typ, resource string) string {
	return `(` + typ + ` = 'contact' and ` + resource + ` = @owner or ` + typ + ` = 'reservation' and exists (
		select from reservation v
		join listing y on y.team_id = v.team_id and y.id = v.listing_id
		join listing_ownership_period p on p.team_id = v.team_id and (p.listing_id = y.id or p.listing_id = y.parent_id
				and not daterange(v.check_in, v.check_out) * daterange(p.start_at, p.end_at) <@ (
					select coalesce(range_agg(daterange(o.start_at, o.end_at)), '{}') from listing_ownership_period o
					where o.team_id = v.team_id and o.listing_id = y.id))
			and v.check_in < coalesce(p.end_at, 'infinity') and v.check_out > coalesce(p.start_at, '-infinity')
		join listing_ownership_member m on m.team_id = p.team_id and m.period_id = p.id
		where v.team_id = @team and v.id = ` + resource + ` and m.contact_id = @owner))`
}

type detailRow struct {
	row
	Resources []Resource
}

// find reads one operation by its own id or by the audit action that started it: the first one, if the action
// started several. It fails with apierr.NotFound.
func find(ctx context.Context, tx *db.Tx, operation, action id.ID) (*Detail, error) {
	args := db.Args{"team": tx.Team}

	condition := "o.id = @id"
	if operation.IsZero() {
		condition, args["action"] = "o.action_id = @action", action
	} else {
		args["id"] = operation
	}

	// Owners see only operations of their own resources, and in them only those resources.
	visible := ""

	if tx.Actor.Owner != nil {
		condition += ownerMay()
		visible = " and " + ownerHas("r.type", "r.resource_id")
		args["owner"] = *tx.Actor.Owner
	}

	// The resources come with the row as JSON, in the order in which they were named.
	r, err := db.One[detailRow](ctx, tx, apierr.NotFound, `
		select `+rowColumns(tx.Actor.Owner)+`, coalesce((
			select jsonb_agg(jsonb_build_object('type', r.type, 'id', r.resource_id, 'role', r.role) order by r.position)
			from operation_resource r where r.team_id = o.team_id and r.operation_id = o.id`+visible+`), '[]') as resources
		from operation o where o.team_id = @team and o.type is not null and `+condition+` order by o.id limit 1`, args)
	if err != nil {
		return nil, err
	}

	d := &Detail{Operation: r.public(), Resources: r.Resources}
	for i := range d.Resources {
		d.Resources[i].link(d.Status)
	}

	return d, nil
}
