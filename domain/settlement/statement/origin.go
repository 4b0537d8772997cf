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

// NoteOrigins notes from which statements of another team some imported ones come, sources[i] of statements[i] (MIG-42).
func NoteOrigins(ctx context.Context, tx *db.Tx, from, operation id.ID, statements []id.ID, sources []string) error {
	_, err := tx.Exec(ctx, `
		insert into statement_origin (team_id, statement_id, source_team_id, source_id, operation_id, imported_at)
		select @team, s.id, @from, s.source, @operation, @now from unnest(@statements::uuid[], @sources::text[]) s (id, source)
		on conflict (team_id, statement_id) do update set source_team_id = excluded.source_team_id, source_id = excluded.source_id,
			operation_id = excluded.operation_id, imported_at = excluded.imported_at`,
		db.Args{"team": tx.Team, "from": from, "operation": operation, "statements": statements, "sources": sources, "now": tx.Now})
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
