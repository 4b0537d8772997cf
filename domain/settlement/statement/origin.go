package statement

import (
	"context"
	"fmt"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Origin is where a statement that a migration has imported comes from.
type Origin struct {
	SourceTenantID id.ID       `json:"sourceTenantId" doc:"The legacy team."`
	SourceID       string      `json:"sourceId" doc:"The statement's id there."`
	OperationID    id.ID       `json:"operationId" doc:"The operation that imported it last."`
	ImportedAt     day.Instant `json:"importedAt"`
}

// Origins are where some statements come from: Statements[i] from SourceIDs[i] of another team.
type Origins struct {
	SourceTenantID, OperationID id.ID
	Statements                  []id.ID
	SourceIDs                   []string
}

// NoteOrigins notes where statements that were imported come from (MIG-42).
func NoteOrigins(ctx context.Context, tx *db.Tx, o *Origins) error {
	_, err := tx.Exec(ctx, `
		insert into statement_origin (team_id, statement_id, source_team_id, source_id, operation_id, imported_at)
		select @team, s.id, @from, s.source, @operation, @now from unnest(@statements::uuid[], @sources::text[]) s (id, source)
		on conflict (team_id, statement_id) do update set source_team_id = excluded.source_team_id, source_id = excluded.source_id,
			operation_id = excluded.operation_id, imported_at = excluded.imported_at`,
		db.Args{
			"team": tx.Team, "from": o.SourceTenantID, "operation": o.OperationID, "statements": o.Statements,
			"sources": o.SourceIDs, "now": tx.Now,
		})
	if err != nil {
		return fmt.Errorf("note where statements come from: %w", err)
	}

	return nil
}

// loadOrigin loads where a statement comes from, nil for one that no migration has imported.
func loadOrigin(ctx context.Context, tx *db.Tx, statement id.ID) (*Origin, error) {
	o, err := db.Maybe[Origin](ctx, tx, `
		select source_team_id as source_tenant_id, source_id, operation_id, imported_at from statement_origin where team_id = @team and statement_id = @id`,
		db.Args{"team": tx.Team, "id": statement})
	if err != nil {
		return nil, fmt.Errorf("read where a statement comes from: %w", err)
	}

	return o, nil
}
