package team

import (
	"context"
	"fmt"
	"slices"
	"time"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// Duplicated is a part of a team that a duplicate can have.
type Duplicated string

// duplicated names the noun of each part.
var duplicated = []struct {
	part Duplicated
	noun string
}{
	{"accounts", string(Accounts)},
	{"layouts", string(StatementLayouts)},
	{"lineMappings", string(LineMappings)},
	{"recurringFees", string(RecurringFees)},
	{"taxRates", string(TaxRates)},
	{"listings", "listings"},
	{"contacts", "contacts"},
}

// Enum lists the parts.
func (Duplicated) Enum() []string {
	out := make([]string, len(duplicated))
	for i := range duplicated {
		out[i] = string(duplicated[i].part)
	}

	return out
}

// Duplicate is the body of a duplication of a team.
type Duplicate struct {
	Name    string       `json:"name" minLength:"1" maxLength:"200"`
	Include []Duplicated `json:"include,omitzero" maxItems:"10" doc:"Parts to copy; all when absent."`
}

// asks reports whether the part of a noun is copied: because it is asked for, or because a part needs it that is.
func (d *Duplicate) asks(noun string) bool {
	if d.Include == nil {
		return true
	}

	for _, p := range duplicated {
		if slices.Contains(d.Include, p.part) && (p.noun == noun || slices.Contains(needs[p.noun], noun)) {
			return true
		}
	}

	return false
}

// needs names the parts without which a part is of no use in a team that has nothing yet.
var needs = map[string][]string{
	string(RecurringFees):    {string(Accounts), string(TaxRates)},
	string(LineMappings):     {string(Accounts)},
	string(StatementLayouts): {string(Accounts)},
	string(TaxRates):         {string(Accounts)},
}

type duplicateInput struct{ Body Duplicate }

// duplicateArgs are what a task knows of the request: what it asks for, and the teams that its credential reached.
type duplicateArgs struct {
	Duplicate

	Reach []id.ID `json:"reach"`
}

var kindDuplicate = job.NewKind("team-duplicate")

// duplicateTime bounds one attempt at a duplication, which is one transaction.
const duplicateTime = 10 * time.Minute

// duplicateEndpoint returns the route that duplicates the selected team (INIT-02).
func duplicateEndpoint() api.Endpoint {
	return api.Write(api.Endpoint{
		Method:  "POST",
		Path:    "/team/duplicate",
		ID:      "duplicateTeam",
		Tag:     "Teams",
		Summary: "Make a new team with the settings of the selected one",
		Doc: "Starts an operation of type team-duplicate; its result is the new team, of the same " +
			"partner, region and type. The partner works in it, and who asks: a person, or a key that " +
			"has several teams already. It has no stays, no books, no connections, and nothing that " +
			"says whose company it is. Recurring fees, line mappings and layouts bring the accounts " +
			"and tax rates that they name; an ownership period is copied when its owners are.",
		Errors: apierr.List{errPartnerTeam},
		Scopes: []string{"team:execute"}, Status: 202,
	}, func(ctx context.Context, tx *db.Tx, in *duplicateInput) (*operation.Acknowledgement, error) {
		// Customers belong to one partner, so there is no second one like it.
		of, err := db.Get[Type](ctx, tx, `select type from team where id = @team`, db.Args{"team": tx.Team})
		if err != nil {
			return nil, fmt.Errorf("read the team to duplicate: %w", err)
		}

		if of == Partner {
			return nil, errPartnerTeam
		}

		self := operation.Resource{Type: operation.Team, ID: tx.Team, Role: operation.Source}

		return operation.Start(ctx, tx, operation.New{
			Type: operation.TeamDuplicate, Primary: &self, Resources: []operation.Resource{self},
			Tasks: []operation.Task{{Kind: kindDuplicate, Args: duplicateArgs{in.Body, tx.Actor.Teams}}},
		})
	})
}

// duplicateHandler returns the handler of the task that makes the new team. A worker that takes over from one that died
// finds all of the team or nothing, by the id derived from the operation.
func (b beginning) duplicateHandler() job.Handler {
	return operation.External(duplicateTime, func(
		ctx context.Context, d *db.DB, scope db.Scope, run operation.Run, in duplicateArgs,
	) (db.Work, error) {
		from := scope.Team
		scope.Team = id.Derive(run.OperationID.Time(), "duplicate", run.OperationID.String())
		scope.Timeout, scope.Exclusive, scope.Snapshot = duplicateTime, true, true

		// An earlier attempt may have made the team and died before it could say so.
		err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
			made, err := db.Get[bool](ctx, tx, `select exists (select from team where id = @team)`, db.Args{"team": tx.Team})
			if err != nil || made {
				return err
			}

			return b.duplicate(ctx, tx, from, &in)
		})

		return func(ctx context.Context, tx *db.Tx) error {
			result := operation.Resource{Type: operation.Team, ID: scope.Team, Role: operation.Result}

			return operation.AddResult(ctx, tx, run.OperationID, result)
		}, err
	}).InBulk()
}

// duplicate makes the team of the transaction like another one.
func (b beginning) duplicate(ctx context.Context, tx *db.Tx, from id.ID, in *duplicateArgs) error {
	// First the team itself, with its settings.
	if err := insertLike(ctx, tx, from, in.Name, identity()); err != nil {
		return err
	}

	audit.Note(tx, audit.Created, audit.Team, tx.Team, nil, map[string]any{"name": in.Name, "duplicateOfId": from})

	// Then who may work in it, and the records that are asked for.
	if err := b.admit(ctx, tx, from, in.Reach); err != nil {
		return err
	}

	nouns, err := fitting(ctx, tx, b.nouns)
	if err != nil {
		return err
	}

	if err := copyNouns(ctx, tx, nouns, from, in.asks); err != nil {
		return err
	}

	// Without a chart somebody has to initialize it yet.
	if !in.asks(string(Accounts)) {
		return Announce(ctx, tx)
	}

	return markInitialized(ctx, tx)
}

// identity returns the columns that name the company of a team, as a duplicate has them: a copy is for another company.
func identity() map[string]any {
	return map[string]any{
		"migrated_from_tenant_id": nil, "company_name": nil, "email": nil, "support_email": nil, "phone": nil, "tax_id": nil,
		"statement_address": nil, "billing_address": nil,
	}
}
