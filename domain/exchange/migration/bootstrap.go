package migration

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"stayledger/domain/exchange/legacy"
	"stayledger/domain/exchange/pms"
	"stayledger/domain/property/contact"
	"stayledger/domain/property/listing"
	"stayledger/domain/record/intake"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/access"
	"stayledger/domain/tenant/connection"
	"stayledger/domain/tenant/team"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

var bootstrapKind = job.NewKind("vri-team-migration")

// bootstrapHandler returns the handler of the task that makes the new team. When the task ends, well or not, the
// legacy team is thawed.
func (m mover) bootstrapHandler() job.Handler {
	h := operation.External(10*time.Minute, m.bootstrap).InBulk()
	h.Exhausted = giveUpAndThaw(func(b *Bootstrap) []id.ID { return []id.ID{b.SourceTenantID} })

	return h
}

// giveUpAndThaw returns the function for a task that is given up: its operation fails, and the teams are thawed.
func giveUpAndThaw[A any](teams func(*A) []id.ID) func(context.Context, *db.Tx, job.Job, error) error {
	return func(ctx context.Context, tx *db.Tx, j job.Job, cause error) error {
		var args A
		if err := json.Unmarshal(j.Args, &args); err != nil {
			return fmt.Errorf("decode task arguments: %w", err)
		}

		if err := thaw(teams(&args)...)(ctx, tx); err != nil {
			return err
		}

		return operation.GiveUp(ctx, tx, j, cause)
	}
}

// bootstrap makes the new team in its own transaction. If a worker dies, the next one finds all of the team or
// nothing, by the id derived from the operation.
func (m mover) bootstrap(
	ctx context.Context, d *db.DB,
	scope db.Scope,
	run operation.Run,
	b Bootstrap,
) (db.Work, error) {
	if err := settle(ctx, d, run.OperationID, b.SourceTenantID); err != nil {
		return nil, err
	}

	// A token that is being renewed moves with its connection, once it is there.
	if err := pms.AwaitTokens(ctx, d, db.Scope{Team: b.SourceTenantID, Operation: run.OperationID}); err != nil {
		return nil, fmt.Errorf("bootstrap: %w", err)
	}

	target := id.Derive(run.OperationID.Time(), "migration", run.OperationID.String())
	requesting := scope.Team
	scope.Team, scope.Timeout = target, 10*time.Minute

	err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		made, err := db.Get[bool](ctx, tx, `select exists (select from team where id = @team)`, db.Args{"team": tx.Team})
		if err != nil || made {
			return err
		}

		return m.makeTeam(ctx, tx, requesting, run.OperationID, &b)
	})
	if err != nil {
		return nil, err
	}

	return func(ctx context.Context, tx *db.Tx) error {
		result := operation.Resource{Type: operation.Team, ID: target, Role: operation.Result}
		if err := operation.AddResult(ctx, tx, run.OperationID, result); err != nil {
			return err
		}

		return thaw(b.SourceTenantID)(ctx, tx)
	}, nil
}

// makeTeam makes the team of the transaction from a legacy team (MIG-07..MIG-17).
func (m mover) makeTeam(ctx context.Context, tx *db.Tx, requesting, operationID id.ID, b *Bootstrap) error {
	partner := id.Zero
	if b.TargetPartnerID != nil {
		partner = *b.TargetPartnerID
	}

	// Join the legacy team for writing: moving credentials deletes them there.
	from := b.SourceTenantID
	if err := tx.Join(ctx, from); err != nil {
		return fmt.Errorf("see the team to move: %w", err)
	}

	// First the team itself, with its settings, and a note of where it came from.
	if err := team.CopyShell(ctx, tx, from, b.TargetName, partner); err != nil {
		return err
	}

	_, err := tx.Exec(ctx, `
		insert into migration (team_id, source_team_id, requesting_team_id, operation_id, gl_start_at, moved_credentials, created_at)
		values (@team, @from, @requesting, @operation, @start, @moved, @now)`,
		db.Args{
			"team": tx.Team, "from": from, "requesting": requesting, "operation": operationID, "start": b.GLStartAt,
			"moved": b.MoveConnectionSecrets, "now": tx.Now,
		})
	if err != nil {
		return fmt.Errorf("note a migration: %w", err)
	}

	// Then the people with access, and the records of the legacy team.
	if err := access.CopyGrants(ctx, tx, from); err != nil {
		return err
	}

	owners, err := m.copyOwners(ctx, tx, from)
	if err != nil {
		return err
	}

	listings, err := m.copyListings(ctx, tx, from)
	if err != nil {
		return err
	}

	connections, err := m.moveConnections(ctx, tx, b)
	if err != nil {
		return err
	}

	// The import of statements looks records up by their legacy ids.
	for kind, copied := range map[string]map[id.ID]id.ID{
		"contact": owners, "listing": listings, "connection": connections,
	} {
		sources, targets := make([]string, 0, len(copied)), make([]id.ID, 0, len(copied))
		for source, target := range copied {
			sources, targets = append(sources, source.String()), append(targets, target)
		}

		if err := upsertRecords(ctx, tx, kind, sources, targets); err != nil {
			return err
		}
	}

	return copyOwnership(ctx, tx, from, listings, owners)
}

// moveConnections copies the connections of a legacy team, on request with credentials and tokens. It returns the new
// ids by old id.
func (m mover) moveConnections(ctx context.Context, tx *db.Tx, b *Bootstrap) (map[id.ID]id.ID, error) {
	var tokens pms.Taken

	if b.MoveConnectionSecrets {
		var err error
		if tokens, err = pms.TakeTokens(ctx, tx, m.box, b.SourceTenantID); err != nil {
			return nil, fmt.Errorf("move connections: %w", err)
		}
	}

	moved, err := connection.Move(ctx, tx, m.box, b.SourceTenantID, b.MoveConnectionSecrets)
	if err != nil {
		return nil, fmt.Errorf("move connections: %w", err)
	}

	return moved, tokens.Keep(ctx, tx, m.box, moved)
}

// copyOwners copies the owners of a legacy team as contacts, and returns the new ids by old id.
func (m mover) copyOwners(ctx context.Context, tx *db.Tx, from id.ID) (map[id.ID]id.ID, error) {
	visit := func() (ids []id.ID, values []intake.Values, err error) {
		err = tx.Visit(ctx, from, func(ctx context.Context, tx *db.Tx) (err error) {
			ids, values, err = contact.LoadAll(ctx, tx, m.box, from, contact.Owner)
			return err
		})

		return ids, values, err
	}

	return copyRecords(ctx, tx, &m.contacts, visit)
}

// copyListings copies the listings of a legacy team, and returns the new ids by old id.
func (m mover) copyListings(ctx context.Context, tx *db.Tx, from id.ID) (map[id.ID]id.ID, error) {
	visit := func() (ids []id.ID, values []intake.Values, err error) {
		err = tx.Visit(ctx, from, func(ctx context.Context, tx *db.Tx) (err error) {
			ids, values, err = listing.LoadAll(ctx, tx, from)
			return err
		})

		return ids, values, err
	}

	return copyRecords(ctx, tx, &m.listings, visit)
}

// copyRecords saves records of a legacy team as a kind, and returns the new ids by old id. It fails with the first
// refusal.
func copyRecords(
	ctx context.Context, tx *db.Tx,
	kind *intake.Kind,
	load func() ([]id.ID, []intake.Values, error),
) (map[id.ID]id.ID, error) {
	ids, values, err := load()
	if err != nil {
		return nil, err
	}

	return kind.CopyAll(ctx, tx, ids, values)
}

// upsertRecords saves the new record of each legacy record: targets[i] for sources[i].
func upsertRecords(ctx context.Context, tx *db.Tx, kind string, sources []string, targets []id.ID) error {
	_, err := tx.Exec(ctx, `
		insert into migration_record (team_id, kind, source_id, target_id)
		select @team, @kind, r.source, r.target from unnest(@sources::text[], @targets::uuid[]) r (source, target)
		on conflict (team_id, kind, source_id) do update set target_id = excluded.target_id`,
		db.Args{"team": tx.Team, "kind": kind, "sources": sources, "targets": targets})
	if err != nil {
		return fmt.Errorf("note the records of a migration: %w", err)
	}

	return nil
}

// copyOwnership derives the ownership periods of listings from the shares of their owners (MIG-11).
func copyOwnership(ctx context.Context, tx *db.Tx, from id.ID, listings, owners map[id.ID]id.ID) error {
	var shares map[id.ID][]legacy.OwnerShare

	err := tx.Visit(ctx, from, func(ctx context.Context, tx *db.Tx) (err error) {
		shares, err = legacy.LoadShares(ctx, tx, from)
		return err
	})
	if err != nil {
		return err
	}

	// Owners and listings have new ids in the new team.
	var periods []listing.Period

	for source, target := range listings {
		for _, p := range legacy.DerivePeriods(shares[source]) {
			p.ID, p.ListingID = tx.NewID(), target
			for i := range p.Members {
				p.Members[i].ContactID = owners[p.Members[i].ContactID]
			}

			periods = append(periods, p)
		}
	}

	return listing.AddPeriods(ctx, tx, periods)
}
