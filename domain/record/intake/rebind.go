package intake

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Moves say that records here are others now: From[i] is To[i].
type Moves struct{ From, To []id.ID }

// Rebind says that records of a source are others here: what the source says of them goes there from now on.
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

// RebindAll says that a record is another one here, as every source knows it.
func RebindAll(ctx context.Context, tx *db.Tx, kind string, from, into id.ID) error {
	_, err := tx.Exec(ctx, `update external_record set entity_id = @into where team_id = @team and kind = @kind and entity_id = @from`,
		db.Args{"team": tx.Team, "kind": kind, "from": from, "into": into})
	if err != nil {
		return fmt.Errorf("bind records of all sources anew: %w", err)
	}

	return nil
}

// Referring are records of a kind with a field that names other records.
type Referring struct {
	Kind, Field string
	Records     []id.ID
}

// Moved says that the service has moved records: what they refer to is another record now. What was last taken over moves
// along, so that the move is not taken for an edit of a person.
func Moved(ctx context.Context, tx *db.Tx, r Referring, m Moves) error {
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

// Retake says that the service has changed records: what was last taken over has these values now, so that they are not taken
// for edits of a person. Fields that the source has said nothing of stay unsaid.
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

// Adopt gives a source what another one has brought, since both are of one account outside: the same ids name the same
// records. A record that the source has brought itself already stays as it is.
func Adopt(ctx context.Context, tx *db.Tx, into, from id.ID) error {
	if err := lockSource(ctx, tx, into, true); err != nil {
		return err
	}

	one, both := db.Args{"team": tx.Team, "from": from}, db.Args{"team": tx.Team, "into": into, "from": from}

	// Conflicts refer to their records, so these are copied first.
	for _, stmt := range []db.Stmt{
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
	} {
		if _, err := tx.Exec(ctx, stmt.SQL, stmt.Args); err != nil {
			return fmt.Errorf("give a source what another one has brought: %w", err)
		}
	}

	return reopenConflicts(ctx, tx, into)
}

// IdentifyAnew has the records of sources that are records here identified once more, as if they came for the first time,
// and starts syncs that do so. Until then they are no record here.
func IdentifyAnew(ctx context.Context, tx *db.Tx, kind string, records []id.ID) error {
	args := db.Args{"team": tx.Team, "kind": kind, "records": records}

	// Sources come before their records in the order of locks.
	sources, err := db.Select[id.ID](ctx, tx, `
		select id from sync_source where team_id = @team and id in (
			select source_id from external_record where team_id = @team and kind = @kind and entity_id = any(@records) and state = 'active')
		order by id for update`, args)
	if err != nil {
		return fmt.Errorf("lock the sources of records: %w", err)
	}

	if _, err := tx.Exec(ctx, `
		delete from sync_conflict c using external_record r
		where r.team_id = @team and r.kind = @kind and r.entity_id = any(@records) and r.state = 'active'
			and c.team_id = r.team_id and c.source_id = r.source_id and c.kind = r.kind and c.external_id = r.external_id and c.ordinal = r.ordinal`, args); err != nil {
		return fmt.Errorf("end the conflicts of records: %w", err)
	}

	if _, err := tx.Exec(ctx, `
		update external_record set entity_id = null, waiting = taken, taken = '{}', hash = '', locked = false
		where team_id = @team and kind = @kind and entity_id = any(@records) and state = 'active'`, args); err != nil {
		return fmt.Errorf("have records identified anew: %w", err)
	}

	for _, source := range sources {
		if _, err := Start(ctx, tx, New{ConnectionID: source, View: Automate, Mode: Incremental, Trigger: Unlocked}); err != nil {
			return err
		}
	}

	return nil
}
