package team

import (
	"context"
	"fmt"
	"slices"
	"time"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

// Copied is a part of the settings that an initialization can copy.
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
	return []string{
		string(Accounts),
		string(StatementLayouts),
		string(LineMappings),
		string(RecurringFees),
		string(TaxRates),
	}
}

// Init is the body of an initialization. Without copyFromTeamId the standard template is installed: the chart of
// accounts with its assignments and line mappings, and the standard statement layout where there is none. Running it
// again adds nothing twice.
type Init struct {
	CopyFromTeamID *id.ID   `json:"copyFromTeamId,omitempty" doc:"Copies the settings of this team, which the credential must reach."`
	Template       string   `json:"template,omitempty" enum:"standard"`
	Include        []Copied `json:"include,omitzero" maxItems:"10" doc:"Parts to copy; all when absent."`
}

var kindInit = job.NewKind("team-initialize")

type initInput struct {
	Body Init `required:"false"`
}

type initTeamInput struct {
	ID   id.ID `path:"id"`
	Body Init  `required:"false"`
}

// beginning has the nouns that fill a new team, and the journals that follow them.
type beginning struct {
	journals ledger.Sources
	nouns    []parts.Copy
	// admit lets who makes a team work in it, as in another one.
	admit func(ctx context.Context, tx *db.Tx, of id.ID, reach []id.ID) error
}

// endpoints returns the routes that fill a new team.
func (b beginning) endpoints() []api.Endpoint {
	const tag = "Teams"

	return []api.Endpoint{
		operation.Queue(api.Endpoint{
			Method:    "POST",
			Path:      "/team/init",
			ID:        "initializeTeam",
			Tag:       tag,
			Summary:   "Install a team's chart and settings",
			Exclusive: true,
			Doc:       "Fails with 400 when copyFromTeamId is a team that the credential does not reach.",
			Scopes:    []string{"team:execute"},
			DryRun:    true,
		}, func(ctx context.Context, tx *db.Tx, in *initInput) (operation.New, error) {
			if err := checkInit(tx, &in.Body); err != nil {
				return operation.New{}, err
			}

			self := operation.Resource{Type: operation.Team, ID: tx.Team, Role: operation.Target}

			resources := []operation.Resource{self}
			if from := in.Body.CopyFromTeamID; from != nil {
				resources = append(resources, operation.Resource{
					Type: operation.Team,
					ID:   *from,
					Role: operation.Source,
				})
			}

			return operation.New{
				Type:      operation.TeamInitialize,
				Primary:   &self,
				Resources: resources,
				Tasks:     []operation.Task{{Kind: kindInit, Args: in.Body}},
			}, nil
		}, func(ctx context.Context, tx *db.Tx, in *initInput) error {
			return Install(ctx, tx, b.journals, b.nouns, &in.Body)
		}),
		api.Write(api.Endpoint{
			Method:     "PATCH",
			Path:       "/teams/{id}/init",
			ID:         "initializeTeamNow",
			Tag:        tag,
			Summary:    "Install a team's chart and settings at once",
			Exclusive:  true,
			Doc:        "Fails as POST /team/init does.",
			Scopes:     []string{"team:execute"},
			TeamInPath: true,
			DryRun:     true,
		}, func(ctx context.Context, tx *db.Tx, in *initTeamInput) (*Team, error) {
			if err := checkInit(tx, &in.Body); err != nil {
				return nil, err
			}

			if err := Install(ctx, tx, b.journals, b.nouns, &in.Body); err != nil {
				return nil, err
			}

			return Read(ctx, tx)
		}),
	}
}

// handlers returns the tasks of the operations that fill a team.
func (b beginning) handlers() map[job.Kind]job.Handler {
	return map[job.Kind]job.Handler{
		kindInit: operation.Work(time.Minute, func(ctx context.Context, tx *db.Tx, _ operation.Run, in Init) error {
			return Install(ctx, tx, b.journals, b.nouns, &in)
		}).Exclusively(),
		kindDuplicate: b.duplicateHandler(),
	}
}

func checkInit(tx *db.Tx, in *Init) error {
	if in.CopyFromTeamID != nil && (!tx.Actor.Reaches(*in.CopyFromTeamID) || *in.CopyFromTeamID == tx.Team) {
		return apierr.BadRequest.At(apierr.IssueNotFound.InBody("copyFromTeamId"))
	}

	return nil
}

// Install copies the parts of another team, or installs the standard, and marks the team as initialized. A team without
// a general ledger gets no part of the books. Journals
// of a team at work that lacked an assignment are derived. It fails in a transaction that is not alone in its team.
func Install(ctx context.Context, tx *db.Tx, journals ledger.Sources, nouns []parts.Copy, in *Init) error {
	if err := tx.Exclusively(); err != nil {
		return err
	}

	// Remember the assignments, to find those that become possible.
	before, err := account.LoadAssigned(ctx, tx)
	if err != nil {
		return err
	}

	if nouns, err = fitting(ctx, tx, nouns); err != nil {
		return err
	}

	if in.CopyFromTeamID != nil {
		settings := slices.DeleteFunc(slices.Clone(nouns), func(n parts.Copy) bool { return n.Whole })
		err = copyNouns(ctx, tx, settings, *in.CopyFromTeamID, func(noun string) bool {
			// A fee is not charged without its tax.
			return in.Include == nil || slices.Contains(in.Include, Copied(noun)) ||
				noun == string(TaxRates) && slices.Contains(in.Include, RecurringFees)
		})
	} else {
		err = installStandard(ctx, tx, nouns)
	}

	if err != nil {
		return err
	}

	after, err := account.LoadAssigned(ctx, tx)
	if err != nil {
		return err
	}

	// Journals that failed for a missing assignment can be derived now.
	if err := account.OutdateJournals(ctx, tx, journals, account.Reassignments(before, after)); err != nil {
		return err
	}

	return markInitialized(ctx, tx)
}

// fitting returns the parts that the team can have: one without a general ledger gets what needs no books.
func fitting(ctx context.Context, tx *db.Tx, nouns []parts.Copy) ([]parts.Copy, error) {
	keeps, err := db.Get[bool](ctx, tx, `select is_general_ledger from team where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read the team: %w", err)
	}

	if keeps {
		return nouns, nil
	}

	return slices.DeleteFunc(slices.Clone(nouns), func(n parts.Copy) bool { return n.NeedsBooks }), nil
}

// installStandard adds the standard settings of every noun to a new team.
func installStandard(ctx context.Context, tx *db.Tx, nouns []parts.Copy) error {
	for i := range nouns {
		if nouns[i].Standard == nil {
			continue
		}

		if err := nouns[i].Standard(ctx, tx); err != nil {
			return err
		}
	}

	return nil
}

// copyNouns copies the parts from another team and leaves out what the team has already, so running it again adds
// nothing. Accounts are matched by name, code or reference. If the team lacks an account, the part that needs it is
// copied as far as possible.
func copyNouns(ctx context.Context, tx *db.Tx, nouns []parts.Copy, from id.ID, asks func(noun string) bool) error {
	pastes := make([]parts.Paste, len(nouns))

	// First read all parts as the other team.
	err := tx.Visit(ctx, from, func(ctx context.Context, tx *db.Tx) (err error) {
		for i := range nouns {
			if pastes[i], err = nouns[i].Read(ctx, tx, from); err != nil {
				return err
			}
		}

		return nil
	})
	if err != nil {
		return fmt.Errorf("read the team to copy: %w", err)
	}

	// Then add them here in their order: each can refer to what the parts before it added. Parts that were not
	// asked for still find their counterparts.
	here := parts.Counterparts{}

	for i := range nouns {
		if err := pastes[i](ctx, tx, asks(nouns[i].Name), here); err != nil {
			return err
		}
	}

	return nil
}
