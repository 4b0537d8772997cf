// Package onboarding fills a new team: the chart and settings it starts with, copied or from a template.
package onboarding

import (
	"context"
	"time"

	"stayledger/domain/activity/mapping"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/layout"
	"stayledger/domain/tenant/team"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// Copied is what an initialization brings.
type Copied string

// The parts.
const (
	Accounts         Copied = "accounts"
	StatementLayouts Copied = "statementLayouts"
	LineMappings     Copied = "lineMappings"
	RecurringFees    Copied = "recurringFees"
	TaxRates         Copied = "taxRates"
)

// Enum lists the parts.
func (Copied) Enum() []string {
	return []string{string(Accounts), string(StatementLayouts), string(LineMappings), string(RecurringFees), string(TaxRates)}
}

// Init is the body of an initialization. Without copyFromTeamId the standard template is installed: the chart of accounts with its
// assignments and line mappings, and the standard statement layout where there is none. Running it again adds nothing twice.
type Init struct {
	CopyFromTeamID *id.ID   `json:"copyFromTeamId,omitempty" doc:"A team that the credential reaches, whose settings are copied."`
	Template       string   `json:"template,omitempty" enum:"standard"`
	Include        []Copied `json:"include,omitempty" maxItems:"10" doc:"Parts to copy; all when absent."`
}

var kindInit = job.NewKind("team-initialize")

type initInput struct {
	Body Init `required:"false"`
}

type initTeamInput struct {
	ID   id.ID `path:"id"`
	Body Init  `required:"false"`
}

// handler knows the journals that follow what a team begins with.
type handler struct{ journals ledger.Sources }

// endpoints of the package.
func (h handler) endpoints() []api.Endpoint {
	const tag = "Teams"
	return []api.Endpoint{
		operation.Queue(api.Endpoint{
			Method: "POST", Path: "/team/init", ID: "initializeTeam", Tag: tag, Summary: "Install a team's chart and settings",
			Exclusive: true,
			Doc:       "Fails with 400 when copyFromTeamId is a team that the credential does not reach.", Scopes: []string{"team:execute"}, DryRun: true,
		}, func(ctx context.Context, tx *db.Tx, in *initInput) (operation.New, error) {
			if err := checkInit(tx, &in.Body); err != nil {
				return operation.New{}, err
			}
			self := operation.Resource{Type: operation.Team, ID: tx.Team, Role: operation.Target}
			resources := []operation.Resource{self}
			if from := in.Body.CopyFromTeamID; from != nil {
				resources = append(resources, operation.Resource{Type: operation.Team, ID: *from, Role: operation.Source})
			}
			return operation.New{
				Type: operation.TeamInitialize, Primary: &self, Resources: resources, Tasks: []operation.Task{{Kind: kindInit, Args: in.Body}},
			}, nil
		}, func(ctx context.Context, tx *db.Tx, in *initInput) error {
			return Install(ctx, tx, h.journals, &in.Body)
		}),
		api.Write(api.Endpoint{
			Method: "PATCH", Path: "/teams/{id}/init", ID: "initializeTeamNow", Tag: tag, Summary: "Install a team's chart and settings at once",
			Exclusive: true,
			Doc:       "Fails as POST /team/init does.", Scopes: []string{"team:execute"}, TeamInPath: true, DryRun: true,
		}, func(ctx context.Context, tx *db.Tx, in *initTeamInput) (*team.Team, error) {
			if err := checkInit(tx, &in.Body); err != nil {
				return nil, err
			}
			if err := Install(ctx, tx, h.journals, &in.Body); err != nil {
				return nil, err
			}
			return team.Read(ctx, tx)
		}),
	}
}

// handlers are the tasks of the package's operations.
func (h handler) handlers() map[job.Kind]job.Handler {
	return map[job.Kind]job.Handler{
		kindInit: operation.Work(time.Minute, func(ctx context.Context, tx *db.Tx, _ operation.Run, in Init) error {
			return Install(ctx, tx, h.journals, &in)
		}).Exclusively(),
	}
}

func checkInit(tx *db.Tx, in *Init) error {
	if in.CopyFromTeamID != nil && (!tx.Actor.Reaches(*in.CopyFromTeamID) || *in.CopyFromTeamID == tx.Team) {
		return apierr.BadRequest.At(apierr.IssueNotFound.InBody("copyFromTeamId"))
	}
	return nil
}

// Install brings the parts and marks the team as initialized. Those of the journals of a team at work that an assignment was missing for are derived.
// It fails outside of a transaction that is alone in its team.
func Install(ctx context.Context, tx *db.Tx, journals ledger.Sources, in *Init) error {
	if err := tx.Exclusively(); err != nil {
		return err
	}
	before, err := account.Assigned(ctx, tx)
	if err != nil {
		return err
	}
	if in.CopyFromTeamID != nil {
		if err := copySettings(ctx, tx, *in.CopyFromTeamID, in.Include); err != nil {
			return err
		}
	} else if err := installStandard(ctx, tx); err != nil {
		return err
	}
	after, err := account.Assigned(ctx, tx)
	if err != nil {
		return err
	}
	if err := account.OutdateJournals(ctx, tx, journals, account.Reassignments(before, after)); err != nil {
		return err
	}
	return team.MarkInitialized(ctx, tx)
}

func installStandard(ctx context.Context, tx *db.Tx) error {
	if err := account.InstallStandard(ctx, tx); err != nil {
		return err
	}
	if err := mapping.InstallStandard(ctx, tx); err != nil {
		return err
	}
	return layout.InstallStandard(ctx, tx)
}
