package trail

import (
	"context"

	"stayledger/domain/record/export"
	"stayledger/platform/api"
	"stayledger/platform/csv"
	"stayledger/platform/db"
	"stayledger/platform/page"
	"stayledger/platform/parts"
)

// Callers know these schemas by names from package export.
var (
	_ = api.PublishAs[exportSelection]("ExportAuditSelection")
	_ = api.PublishAs[exportColumn]("ExportAuditColumn")
)

// exportSelection selects events as GET /audit/events does, and columns for the CSV.
type exportSelection struct {
	Filter

	Sort    sort           `query:"sort" json:"sort,omitempty" doc:"Default -recordedAt."`
	Columns []exportColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all."`
}

// exportColumn names a column for the CSV.
type exportColumn string

// Enum returns the column names in file order.
func (exportColumn) Enum() []string { return export.ColumnNames(exportColumns) }

// exportColumns lists the columns; the CSV has a row per event. Field values are left out, since not everybody who may
// read the trail may read every record.
var exportColumns = []export.SQLColumn{
	export.FromSQL("id", csv.ID, "e.id"),
	export.FromSQL("revision", csv.Integer, "e.revision::bigint"),
	export.FromSQL("recordedAt", csv.Instant, "e.recorded_at"),
	export.FromSQL("occurredAt", csv.Instant, "e.occurred_at"),
	export.FromSQL("type", csv.Text, "e.type"),
	export.FromSQL("entityType", csv.Text, "e.entity_type"),
	export.FromSQL("entityId", csv.ID, "e.entity_id"),
	export.FromSQL("entity", csv.Text, "e.entity_name"),
	export.FromSQL("changedKeys", csv.Text, `(select string_agg(distinct c ->> 'key', ' ' order by c ->> 'key')
		from audit_event p cross join jsonb_array_elements(p.changes) c where p.team_id = e.team_id and p.id = e.id)`),
	export.FromSQL("entriesAdded", csv.Integer, sumSQL("entriesAdded")),
	export.FromSQL("entriesRetired", csv.Integer, sumSQL("entriesRetired")),
	export.FromSQL("actorType", csv.Text, "e.actor_type"),
	export.FromSQL("actorId", csv.ID, "e.actor_id"),
	export.FromSQL("sourceType", csv.Text, "e.source_type"),
	export.FromSQL("connectionId", csv.ID, "e.connection_id"),
	export.FromSQL("syncId", csv.ID, "e.sync_id"),
	export.FromSQL("importId", csv.ID, "e.import_id"),
	export.FromSQL("operationId", csv.ID, "e.operation_id"),
	export.FromSQL("actionId", csv.ID, "e.action_id"),
	export.FromSQL("isOverride", csv.Bool, "e.is_override"),
}

// sumSQL returns the SQL for a count in the effect on the books, over all revisions; null without an effect.
func sumSQL(count string) string {
	return `(select sum((p.journal ->> '` + count + `')::bigint)::bigint from audit_event p where p.team_id = e.team_id and p.id = e.id)`
}

// listQuery returns the query for the selected events.
func (s *exportSelection) listQuery(tx *db.Tx) page.Query {
	args := db.Args{"team": tx.Team}
	where := []string{"e.team_id = @team", s.conditionsSQL(args)}

	// A whole file reads all events anyway: one condition is enough, where a page uses an index for each part.
	if s.entity != nil {
		args["entity"], args["kinds"] = s.entity, s.kinds()

		where = append(where, `(e.entity_id = @entity and (@kinds::text[] is null or e.entity_type = any(@kinds))
			or exists (select from audit_reference r where r.team_id = e.team_id and r.entity_id = @entity and r.event_id = e.id
				and r.revision = e.revision and (@kinds::text[] is null or r.entity_type = any(@kinds))))`)
	}

	return page.Query{
		From: "audit_event e", Where: where, Args: args, Default: string(newest), ID: "e.id",
		Sorts: page.Sorts{{Name: "recordedAt", Expr: "e.recorded_at"}},
	}
}

// exports declares the event CSV.
func exports() []parts.Export {
	return []parts.Export{export.Declare(export.Declaration[exportSelection]{
		Path: "/audit/events/csv", ID: "AuditEventsCSV", Tag: tag,
		Summary: "Export what was changed as CSV",
		Doc:     "One row per event, with the names of the changed fields and without their values.",
		Format:  export.CSV, Scopes: []string{scopeRead}, Name: "audit-events",
		Count: func(ctx context.Context, tx *db.Tx, s *exportSelection) (export.Size, error) {
			return export.CountRows(ctx, tx, s.listQuery(tx))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *exportSelection, out *export.Sink) error {
			return export.RowList{
				Columns: export.SelectColumns(exportColumns, s.Columns), Query: s.listQuery(tx), Sort: string(s.Sort),
			}.Write(ctx, tx, out)
		},
	})}
}
