// Package migration moves teams without a general ledger into new teams that have one. A first operation makes the new
// team with listings, owners, connections and ownership periods (bootstrap.go). When the new team has a chart of accounts,
// a second one imports the owner statements of the legacy team into the historical ledger (statements.go), with an account
// for each legacy account (mapping.go). Both can be asked for by a partner for the teams it manages, and belong to the
// team that asks.
//
// The page docs/decisions/migration.md says what the contract leaves open and how it is answered here.
package migration

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"stayledger/domain/record/intake"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/team"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
)

const tag = "Migrations"

// mover has the kinds that fill a new team.
type mover struct {
	box                *seal.Box
	contacts, listings intake.Kind
}

// Part returns the part that moves legacy teams.
func Part(box *seal.Box, contacts, listings intake.Kind) parts.Part {
	m := mover{box, contacts, listings}

	return parts.Part{
		Endpoints: endpoints(),
		Handlers:  map[job.Kind]job.Handler{bootstrapKind: m.bootstrapHandler(), importKind: importHandler()},
		Tables:    parts.Owns("migration_mapping", "migration_record", "migration"),
	}
}

// endpoints returns the routes: each step once for the team that is selected, and once for partners.
func endpoints() []api.Endpoint {
	move := api.Endpoint{
		Method: http.MethodPost, Tag: tag, Scopes: []string{"migrations:execute"}, Status: http.StatusAccepted,
		Errors: apierr.List{apierr.Migrating},
		Doc: "Starts an operation of type vri-team-migration that makes a team with a general ledger: with the settings, listings, owners, connections and " +
			"ownership periods of the legacy team, and without accounts, layouts and statements. Its result is the new team. Nobody writes in the legacy " +
			"team meanwhile. Fails with 400 for a source that the caller does not reach (`notFound`) or that has a general ledger (`sourceNotLegacy`).",
	}
	statements := api.Endpoint{
		Method: http.MethodPost, Tag: tag, Scopes: []string{"migrations:execute"}, Status: http.StatusAccepted,
		Errors: append(apierr.List{apierr.Migrating}, importErrors...),
		Doc: "Starts an operation of type vri-statement-import that imports the final owner statements from before the cutover, all or none, and the " +
			"statement templates. It can be repeated: statements are replaced. An account for a legacy account is that of accountMappings, else the one " +
			"of the last import, else the one that is suggested; with 422 and an issue `accountMappingRequired` for each legacy account without any.",
	}

	var out []api.Endpoint

	for _, of := range []struct{ prefix, id, summary string }{
		{"/teams/migrate-vri-to-vrt", "", ""}, {"/partner/vri-to-vrt", "ForPartner", " for a partner"},
	} {
		m, s := move, statements
		m.Path, m.ID, m.Summary = of.prefix, "migrateLegacyTeam"+of.id, "Move a legacy team into a new one"+of.summary
		s.Path, s.ID = of.prefix+"/statements", "importLegacyStatements"+of.id
		s.Summary = "Import the statements of a legacy team" + of.summary
		m.PartnerOnly, s.PartnerOnly = of.id != "", of.id != ""

		out = append(out, api.Write(m, startMove), api.Write(s, startImport))
	}

	return append(out, api.Read(api.Endpoint{
		Method: http.MethodGet, Path: "/teams/migrate-vri-to-vrt/statements/account-mappings", ID: "getLegacyAccountMappings", Tag: tag,
		Summary: "See which accounts legacy lines would go to", Scopes: []string{"migrations:execute"}, Errors: previewErrors,
		Doc: "Lists the legacy accounts of the lines that would be imported: not of zero lines, payouts and statements that are left out, and not those that " +
			"only templates name. Without a suggestion an import needs a choice. Says also which statements are left out, and why.",
	}, previewMappings))
}

// Bootstrap says which legacy team moves.
type Bootstrap struct {
	SourceTenantID        id.ID   `json:"sourceTenantId" doc:"The legacy team."`
	TargetPartnerID       *id.ID  `json:"targetPartnerId,omitempty" doc:"The partner that manages the new team; that of the legacy team when absent."`
	TargetName            string  `json:"targetName" minLength:"1" maxLength:"200" doc:"Name of the new team."`
	GLStartAt             day.Day `json:"glStartAt" doc:"The first day of its books at the earliest."`
	MoveConnectionSecrets bool    `json:"moveConnectionCredentials,omitempty" doc:"Credentials go along, and the legacy team loses them; else the new connections are disabled and have none."`
}

type moveInput struct{ Body Bootstrap }

// startMove checks a migration and starts its operation. The legacy team is frozen meanwhile.
func startMove(ctx context.Context, tx *db.Tx, in *moveInput) (*operation.Acknowledgement, error) {
	source, err := reach(ctx, tx, in.Body.SourceTenantID, "sourceTenantId")
	if err != nil {
		return nil, err
	}

	if !source.IsLegacy() {
		return nil, apierr.BadRequest.At(apierr.IssueSourceNotLegacy.InBody("sourceTenantId"))
	}

	if err := checkPartner(ctx, tx, in.Body.TargetPartnerID); err != nil {
		return nil, err
	}

	from := operation.Resource{Type: operation.Team, ID: source.ID, Role: operation.Source}

	return start(ctx, tx, &operation.New{
		Type: operation.LegacyTeamMigration, Primary: &from, Resources: []operation.Resource{from},
		Tasks: []operation.Task{{Kind: bootstrapKind, Args: in.Body}},
	}, source.ID)
}

// reach loads a team within the reach of the credential. For any other team it fails with 400 at a field of the body.
func reach(ctx context.Context, tx *db.Tx, of id.ID, field string) (s *team.Shell, err error) {
	missing := apierr.BadRequest.At(apierr.IssueNotFound.InBody(field))
	if of != tx.Team && !tx.Actor.Reaches(of) {
		return nil, missing
	}

	err = tx.Visit(ctx, of, func(ctx context.Context, tx *db.Tx) (err error) {
		s, err = team.LoadShell(ctx, tx, of)
		return err
	})
	if errors.Is(err, apierr.NotFound) {
		return nil, missing
	}

	return s, err
}

// checkPartner refuses a partner that the caller does not act for.
func checkPartner(ctx context.Context, tx *db.Tx, partner *id.ID) error {
	if partner == nil {
		return nil
	}

	s, err := reach(ctx, tx, *partner, "targetPartnerId")
	if err == nil && s.Type != team.Partner {
		return apierr.BadRequest.At(apierr.IssueNotFound.InBody("targetPartnerId"))
	}

	return err
}

// start starts an operation and freezes teams until it ends. It fails with apierr.Migrating if a team is frozen already.
func start(ctx context.Context, tx *db.Tx, o *operation.New, teams ...id.ID) (*operation.Acknowledgement, error) {
	started, err := operation.Start(ctx, tx, *o)
	if err != nil {
		return nil, err
	}

	for _, t := range id.Distinct(teams) {
		if err := tx.Join(ctx, t); err != nil {
			return nil, fmt.Errorf("freeze a team: %w", err)
		}

		done, err := team.Freeze(ctx, tx, t, started.OperationID)
		if err != nil {
			return nil, fmt.Errorf("freeze a team: %w", err)
		}

		if !done {
			return nil, apierr.Migrating
		}
	}

	return started, nil
}

// settle waits until nobody else writes in the frozen teams of an operation.
func settle(ctx context.Context, d *db.DB, operationID id.ID, teams ...id.ID) error {
	for _, t := range id.Distinct(teams) {
		if err := d.Settle(ctx, db.Scope{Team: t, Operation: operationID}); err != nil {
			return err
		}
	}

	return nil
}

// thaw returns work that ends the freeze of teams.
func thaw(teams ...id.ID) db.Work {
	return func(ctx context.Context, tx *db.Tx) error {
		for _, t := range id.Distinct(teams) {
			if err := tx.Join(ctx, t); err != nil {
				return fmt.Errorf("end the freeze of a team: %w", err)
			}

			if err := team.Thaw(ctx, tx, t); err != nil {
				return fmt.Errorf("end the freeze of a team: %w", err)
			}
		}

		return nil
	}
}
