package intake

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Moves map records here to other records: From[i] becomes To[i].
type Moves struct{ From, To []id.ID }

// Rebind moves the external records of a source to other records here, which follow the source from now on.
func Rebind(ctx context.Context, tx *db.Tx, source id.ID, kind string, m Moves) error {
	_, err := tx.Exec(ctx, `
		update external_record r set entity_id = g.to_id from unnest(@from::uuid[], @to::uuid[]) g (from_id, to_id)
		where r.team_id = @team and r.source_id = @source and r.kind = @kind and r.entity_id = g.from_id`,
		db.Args{"team": tx.Team, "source": source, "kind": kind, "from": m.From, "to": m.To})
	if err != nil {
		return fmt.Errorf("bind records of a source anew: %w", err)
	}

	return nil
}

// RebindAll moves the external records of all sources from one record here to another.
func RebindAll(ctx context.Context, tx *db.Tx, kind string, from, into id.ID) error {
	_, err := tx.Exec(ctx, `update external_record set entity_id = @into where team_id = @team and kind = @kind and entity_id = @from`,
		db.Args{"team": tx.Team, "kind": kind, "from": from, "into": into})
	if err != nil {
		return fmt.Errorf("bind records of all sources anew: %w", err)
	}

	return nil
}

// Referring are records of a kind with a field that refers to other records.
type Referring struct {
	Kind, Field string
	Records     []id.ID
}

// MoveReferences changes references in the values last taken over, after the service has moved records. Otherwise the
// move would look like an edit of a person.
func MoveReferences(ctx context.Context, tx *db.Tx, r Referring, m Moves) error {
	_, err := tx.Exec(ctx, `
		update external_record r set taken = jsonb_set(r.taken, array[@field::text], to_jsonb(g.to_id))
		from unnest(@records::uuid[]) v (id), unnest(@from::uuid[], @to::uuid[]) g (from_id, to_id)
		where r.team_id = @team and r.kind = @kind and r.entity_id = v.id and r.taken ->> @field = g.from_id::text`,
		db.Args{"team": tx.Team, "kind": r.Kind, "records": r.Records, "field": r.Field, "from": m.From, "to": m.To})
	if err != nil {
		return fmt.Errorf("move what was taken over along: %w", err)
	}

	return nil
}

// Retake changes the values last taken over after the service has changed records, so that these changes do not look
// like edits of a person. Fields that the source has never mentioned stay absent.
func Retake(ctx context.Context, tx *db.Tx, kind string, values map[id.ID]Values) error {
	type row struct {
		ID     id.ID  `json:"id"`
		Values Values `json:"said"`
	}

	rows := make([]row, 0, len(values))
	for _, v := range slices.SortedFunc(maps.Keys(values), id.ID.Compare) {
		rows = append(rows, row{v, values[v]})
	}

	if len(rows) == 0 {
		return nil
	}

	_, err := tx.Exec(ctx, `
		update external_record r set taken = r.taken || coalesce((
			select jsonb_object_agg(f.key, f.value) from jsonb_each(g.said) f where r.taken ? f.key), '{}')
		from jsonb_to_recordset(@rows) g (id uuid, said jsonb)
		where r.team_id = @team and r.kind = @kind and r.entity_id = g.id`, db.Args{"team": tx.Team, "kind": kind, "rows": rows})
	if err != nil {
		return fmt.Errorf("change what was taken over: %w", err)
	}

	return nil
}

// Adopt moves everything known from one source to another source of the same account outside, where equal ids name
// equal records. Records that the new source has brought already stay.
func Adopt(ctx context.Context, tx *db.Tx, into, from id.ID) error {
	if err := lockSource(ctx, tx, into, true); err != nil {
		return err
	}

	one, both := db.Args{"team": tx.Team, "from": from}, db.Args{"team": tx.Team, "into": into, "from": from}

	// Lock the old source; then copy the records before the conflicts, which refer to them.
	err := tx.Pipeline(ctx, []db.Stmt{
		{SQL: `select from sync_source where team_id = @team and id = @from for update`, Args: one},
		{SQL: `insert into external_record (team_id, source_id, kind, external_id, ordinal, entity_id, hash, taken, refs, waiting, locked, changed_at, day, state, ended)
			select team_id, @into, kind, external_id, ordinal, entity_id, hash, taken, refs, waiting, locked, changed_at, day, state, ended
			from external_record where team_id = @team and source_id = @from
			on conflict (team_id, source_id, kind, external_id, ordinal) do nothing`, Args: both},
		{SQL: `update sync_conflict c set source_id = @into where team_id = @team and source_id = @from and not exists (
			select from sync_conflict o where o.team_id = @team and o.source_id = @into and o.kind = c.kind and o.external_id = c.external_id
				and o.ordinal = c.ordinal and o.field = c.field)`, Args: both},
		{SQL: `update sync_issue i set source_id = @into where team_id = @team and source_id = @from and external_id <> '' and not exists (
			select from sync_issue o where o.team_id = @team and o.source_id = @into and o.kind = i.kind and o.external_id = i.external_id
				and o.ordinal = i.ordinal and o.code = i.code)`, Args: both},
		{SQL: `delete from sync_issue where team_id = @team and source_id = @from`, Args: one},
		{SQL: `delete from external_record where team_id = @team and source_id = @from`, Args: one},
	}...)
	if err != nil {
		return fmt.Errorf("give a source what another one has brought: %w", err)
	}

	return reopenConflicts(ctx, tx, into)
}

// IdentifyAnew unbinds the external records of these records here and starts syncs that identify them once more, as
// if they came for the first time.
func IdentifyAnew(ctx context.Context, tx *db.Tx, kind string, records []id.ID) error {
	args := db.Args{"team": tx.Team, "kind": kind, "records": records}

	// Lock sources before their records, as syncs do.
	sources, err := db.Select[id.ID](ctx, tx, `
		select id from sync_source where team_id = @team and id in (
			select source_id from external_record where team_id = @team and kind = @kind and entity_id = any(@records) and state = 'active')
		order by id for update`, args)
	if err != nil {
		return fmt.Errorf("lock the sources of records: %w", err)
	}

	// Conflicts end first: they are found by the binding that is about to go.
	err = tx.Pipeline(ctx,
		db.Stmt{SQL: `
		delete from sync_conflict c using external_record r
		where r.team_id = @team and r.kind = @kind and r.entity_id = any(@records) and r.state = 'active'
			and c.team_id = r.team_id and c.source_id = r.source_id and c.kind = r.kind and c.external_id = r.external_id and c.ordinal = r.ordinal`, Args: args},
		db.Stmt{SQL: `
		update external_record set entity_id = null, waiting = taken, taken = '{}', hash = '', locked = false
		where team_id = @team and kind = @kind and entity_id = any(@records) and state = 'active'`, Args: args},
	)
	if err != nil {
		return fmt.Errorf("have records identified anew: %w", err)
	}

	for _, source := range sources {
		again := New{ConnectionID: source, View: Automate, Mode: Incremental, Trigger: Unlocked}
		if _, err := Start(ctx, tx, again); err != nil {
			return err
		}
	}

	return nil
}
