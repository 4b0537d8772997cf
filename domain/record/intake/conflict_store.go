package intake

import (
	"context"
	"fmt"

	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

var conflictSorts = page.Sorts{{Name: "at", Expr: "c.at"}}

// recordJoin joins the external record and the source of a conflict.
const recordJoin = ` join external_record r on r.team_id = c.team_id and r.source_id = c.source_id and r.kind = c.kind and r.external_id = c.external_id
		and r.ordinal = c.ordinal
	join sync_source o on o.team_id = c.team_id and o.id = c.source_id`

// conflictQuery returns the query of the team's open conflicts.
func conflictQuery(tx *db.Tx) page.Query {
	q := page.Query{
		Columns: "c.id, o.connection_id, c.kind, c.external_id, r.entity_id, c.field, r.taken, c.at",
		From:    "sync_conflict c" + recordJoin,
		Where:   []string{"c.team_id = @team"}, Args: db.Args{"team": tx.Team}, Rows: "sync_conflict c", Joined: "r o",
		Sorts: conflictSorts, Default: "-at", ID: "c.id",
	}
	q.CountedAs("sync_conflict")

	return q
}

// recordKey names a record of any source.
type recordKey struct {
	SourceID   id.ID
	Kind       string
	ExternalID string
	Ordinal    int
}

// heldConflict is a conflict that the transaction has locked through its source.
type heldConflict struct {
	recordKey

	ID           id.ID
	ConnectionID *id.ID
	EntityID     id.ID
	Field        string
	Taken        Values
}

// lockConflicts locks the sources of conflicts in the order of ids, so that no sync or other request settles them
// until the transaction ends. It loads the conflicts that still exist.
func lockConflicts(ctx context.Context, tx *db.Tx, all []Choice) (map[id.ID]*heldConflict, error) {
	ids := make([]id.ID, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}

	args := db.Args{"team": tx.Team, "ids": ids}

	if _, err := db.Select[id.ID](ctx, tx, `
		select id from sync_source where team_id = @team and id in (select source_id from sync_conflict where team_id = @team and id = any(@ids))
		order by id for update`, args); err != nil {
		return nil, fmt.Errorf("lock the sources of conflicts: %w", err)
	}

	found, err := db.Select[heldConflict](ctx, tx, `
		select c.id, c.source_id, c.kind, c.external_id, c.ordinal, c.field, o.connection_id, r.entity_id, r.taken
		from sync_conflict c`+recordJoin+` where c.team_id = @team and c.id = any(@ids)`, args)
	if err != nil {
		return nil, fmt.Errorf("read conflicts: %w", err)
	}

	out := make(map[id.ID]*heldConflict, len(found))
	for i := range found {
		out[found[i].ID] = &found[i]
	}

	return out, nil
}

// deleteConflicts deletes settled conflicts.
func deleteConflicts(ctx context.Context, tx *db.Tx, ids []id.ID) error {
	if len(ids) == 0 {
		return nil
	}

	_, err := tx.Exec(ctx, `delete from sync_conflict where team_id = @team and id = any(@ids)`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return fmt.Errorf("delete conflicts: %w", err)
	}

	return nil
}

// EndQuestions deletes the open conflicts and issues of a source that is not read any more: its records keep their
// values. If its account is connected again, reopenConflicts opens the conflicts again.
func EndQuestions(ctx context.Context, tx *db.Tx, source id.ID) error {
	args := db.Args{"team": tx.Team, "source": source}

	// First note the fields with conflicts in the records, for reopenConflicts.
	err := tx.Pipeline(ctx,
		db.Stmt{SQL: `update external_record r set ended = c.fields from (
			select kind, external_id, ordinal, array_agg(field order by field) as fields from sync_conflict where team_id = @team and source_id = @source
			group by kind, external_id, ordinal) c
		where r.team_id = @team and r.source_id = @source and r.kind = c.kind and r.external_id = c.external_id and r.ordinal = c.ordinal`, Args: args},
		db.Stmt{SQL: `delete from sync_conflict where team_id = @team and source_id = @source`, Args: args},
		db.Stmt{SQL: `delete from sync_issue where team_id = @team and source_id = @source`, Args: args},
	)
	if err != nil {
		return fmt.Errorf("end the questions about a source: %w", err)
	}

	return nil
}

// reopenConflicts opens the conflicts that ended when the former source of the records was archived.
func reopenConflicts(ctx context.Context, tx *db.Tx, source id.ID) error {
	type row struct {
		recordKey

		Field string
	}

	found, err := db.Select[row](ctx, tx, `
		with reopened as (
			update external_record r set ended = null, hash = '' from external_record o
			where r.team_id = @team and r.source_id = @source and r.ended is not null and o.team_id = r.team_id and o.source_id = r.source_id
				and o.kind = r.kind and o.external_id = r.external_id and o.ordinal = r.ordinal
			returning r.source_id, r.kind, r.external_id, r.ordinal, o.ended)
		select source_id, kind, external_id, ordinal, unnest(ended) as field from reopened order by kind, external_id, ordinal, field`,
		db.Args{"team": tx.Team, "source": source})
	if err != nil {
		return fmt.Errorf("find conflicts that had ended: %w", err)
	}

	rows := make([]recordRow, len(found))
	for i, r := range found {
		rows[i] = recordRow{
			Kind: r.Kind, ExternalID: r.ExternalID, Ordinal: r.Ordinal,
			conflicts: []openConflict{{ID: tx.NewID(), Field: r.Field}},
		}
	}

	return saveConflicts(ctx, tx, Origin{SourceID: source}, rows)
}

// saveConflicts inserts conflicts that are open now and deletes conflicts that were open before and are not any more.
func saveConflicts(ctx context.Context, tx *db.Tx, from Origin, rows []recordRow) error {
	type row struct {
		ID         id.ID  `json:"id"`
		Kind       string `json:"kind"`
		ExternalID string `json:"external_id"`
		Ordinal    int    `json:"ordinal"`
		Field      string `json:"field"`
	}

	var (
		over []id.ID
		anew []row
	)

	for i := range rows {
		r := &rows[i]
		had := map[openConflict]bool{}

		for _, c := range r.had {
			had[c] = true
		}

		// A conflict that is about another path now is inserted again under its id.
		for _, c := range r.conflicts {
			if !had[c] {
				anew = append(anew, row{c.ID, r.Kind, r.ExternalID, r.Ordinal, c.Field})
			}

			delete(had, c)
		}

		for v := range had {
			over = append(over, v.ID)
		}
	}

	// Delete first: a new conflict can replace an old conflict about the same field, and fields are unique.
	if err := deleteConflicts(ctx, tx, over); err != nil || len(anew) == 0 {
		return err
	}

	_, err := tx.Exec(ctx, `
		insert into sync_conflict (team_id, id, source_id, kind, external_id, ordinal, field, at)
		select @team, id, @source, kind, external_id, ordinal, field, @now
		from jsonb_to_recordset(@rows) as c (id uuid, kind text, external_id text, ordinal integer, field text)`,
		db.Args{"team": tx.Team, "source": from.SourceID, "rows": anew, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("save conflicts: %w", err)
	}

	return nil
}
