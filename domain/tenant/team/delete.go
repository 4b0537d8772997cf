package team

import (
	"context"
	"fmt"
	"time"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

// kindDelete names the jobs that delete teams.
var kindDelete = job.NewKind("team-delete")

// deleteTime bounds one attempt at a deletion. The next attempt goes on where the last one has ended.
const deleteTime = time.Hour

// The conditions under which a team is not deleted.
var (
	errPartnerTeam = apierr.New(apierr.CodeConflict, "", "A partner's own team cannot be deleted or duplicated")
	errPaying      = apierr.New(apierr.CodeConflict, "", "Payments of the team are under way")
)

// Deletion is the body of a deletion of a team.
type Deletion struct {
	ConfirmName string `json:"confirmName" maxLength:"500" doc:"The team's name, letter by letter."`
}

type deleteInput struct{ Body Deletion }

// deleteEndpoint returns the route that deletes the selected team.
func deleteEndpoint() api.Endpoint {
	return api.Write(api.Endpoint{
		Method:  "DELETE",
		Path:    "/team",
		ID:      "deleteTeam",
		Tag:     "Teams",
		Summary: "Delete the selected team with everything that it owns",
		Doc: "Starts an operation of type team-delete. Its start freezes the team: writes are refused with 423. At its end " +
			"all records, files and secrets of the team are gone, other requests are answered with 410, and the operation " +
			"stays readable by the credential that has started it and by the team's partner. A deletion that has failed " +
			"can be started again.",
		Errors: append(apierr.Freezes(), errPartnerTeam, errPaying),
		Scopes: []string{"team:execute"}, Exclusive: true, Frozen: true, Status: 202,
	}, startDeletion)
}

// doomed has the facts about a team that decide whether it can be deleted.
type doomed struct {
	Name         string
	Type         Type
	FreezeReason *string
	// FreezeOperationID is the operation that froze the team.
	FreezeOperationID *id.ID
	IsDeleting        bool
	IsPaying          bool
}

// check refuses a deletion.
func (t *doomed) check(in *Deletion) error {
	isAgain := t.FreezeReason != nil && *t.FreezeReason == "deletion" && !t.IsDeleting

	switch {
	case t.FreezeReason != nil && !isAgain:
		return apierr.FrozenBy(*t.FreezeReason)
	case in.ConfirmName != t.Name:
		return apierr.BadRequest.At(apierr.IssueContradiction.InBody("confirmName"))
	case t.Type == Partner:
		return errPartnerTeam
	case t.IsPaying:
		return errPaying
	}

	return nil
}

// startDeletion freezes the team and starts the operation that deletes it (INIT-01).
func startDeletion(ctx context.Context, tx *db.Tx, in *deleteInput) (*operation.Acknowledgement, error) {
	t, err := db.Get[doomed](ctx, tx, `
		select t.name, t.type, t.freeze_reason, t.freeze_operation_id,
			exists (select from operation o where o.team_id = @team and o.type = 'team-delete' and o.tasks_open > 0) as is_deleting,
			exists (select from payment p where p.team_id = @team and p.status in ('requested', 'sending', 'submitted'))
				or exists (select from operation o where o.team_id = @team and o.type in ('provider-payment', 'provider-payment-recovery')
					and o.tasks_open > 0) as is_paying
		from team t where t.id = @team for update`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read the team to delete: %w", err)
	}

	if err := t.check(&in.Body); err != nil {
		return nil, err
	}

	self := operation.Resource{Type: operation.Team, ID: tx.Team, Role: operation.Target}

	started, err := operation.Start(ctx, tx, operation.New{
		Type: operation.TeamDelete, Primary: &self, Resources: []operation.Resource{self},
		Tasks: []operation.Task{{Kind: kindDelete}},
	})
	if err != nil {
		return nil, err
	}

	if _, err := tx.Exec(ctx, `update team set freeze_reason = 'deletion', freeze_operation_id = @operation, updated_at = @now where id = @team`,
		db.Args{"team": tx.Team, "operation": started.OperationID, "now": tx.Now}); err != nil {
		return nil, fmt.Errorf("freeze the team to delete: %w", err)
	}

	audit.Note(tx, audit.Updated, audit.Team, tx.Team, map[string]any{"freezeReason": t.FreezeReason, "freezeOperationId": t.FreezeOperationID},
		map[string]any{"freezeReason": "deletion", "freezeOperationId": started.OperationID})

	return started, Announce(ctx, tx)
}

// Deleting returns the task that deletes a team. The function erase removes everything that a team owns.
func Deleting(erase func(ctx context.Context, d *db.DB, team, operation id.ID) error) parts.Part {
	return parts.Part{Handlers: map[job.Kind]job.Handler{
		kindDelete: operation.External(deleteTime, func(
			ctx context.Context, d *db.DB, scope db.Scope, run operation.Run, _ struct{},
		) (db.Work, error) {
			return bury, erase(ctx, d, scope.Team, run.OperationID)
		}),
	}}
}

// bury marks an erased team as deleted. Its row stays without what it says about people, so that its id, its name and
// its partner are known.
func bury(ctx context.Context, tx *db.Tx) error {
	was, err := db.Get[Status](ctx, tx, `select status from team where id = @team for update`, db.Args{"team": tx.Team})
	if err != nil {
		return fmt.Errorf("read an erased team: %w", err)
	}

	_, err = tx.Exec(ctx, `update team set status = 'deleted', company_name = null, email = null, support_email = null, phone = null,
		tax_id = null, statement_address = null, billing_address = null, updated_at = @now where id = @team`,
		db.Args{"team": tx.Team, "now": day.At(tx.Now)})
	if err != nil {
		return fmt.Errorf("mark a team as deleted: %w", err)
	}

	audit.Note(tx, audit.Updated, audit.Team, tx.Team, map[string]any{"status": was}, map[string]any{"status": "deleted"})

	return Announce(ctx, tx)
}
