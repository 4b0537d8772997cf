package intake

import (
	"context"
	"fmt"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// loadMemorySQL selects the known state of records with news, and whether a record is known at all. In the same round
// trip it advances the stamps of unchanged records and deletes their issues about failures. A complete reading sets the
// stamps back, too, notes the records on its pages and deletes the notes of earlier readings. Its cached plan suits an
// empty table, too: among the indexes over all records only the primary key begins with the team (migration 0072).
const loadMemorySQL = `
	with given as materialized (
		select * from unnest(@kinds::text[], @ids::text[], @ordinals::integer[], @hashes::bytea[], @stamps::timestamptz[])
			as g (kind, external_id, ordinal, hash, stamp)
	), recalled as materialized (
		select g.kind, g.external_id, g.ordinal, g.stamp, r.*, r.hash = g.hash as equal,
			g.stamp > r.changed_at or @complete and g.stamp < r.changed_at as is_moved
		from given g
		left join lateral (
			select true as known, ctid as place, entity_id, hash, taken, refs, waiting, changed_at, day, state from external_record e
			where e.team_id = @team and e.source_id = @source and e.kind = g.kind and e.external_id = g.external_id and e.ordinal = g.ordinal` + db.Fence + `
			) r on true
	), moved as (
		update external_record e set changed_at = r.stamp from recalled r where r.equal and r.is_moved and e.ctid = r.place and e.team_id = @team
	), ended as (
		delete from sync_issue i using recalled r where r.equal and r.state = 'active' and r.waiting is null and i.team_id = @team and i.source_id = @source
			and i.kind = r.kind and i.external_id = r.external_id and i.ordinal = r.ordinal and i.code in ('` + recordFailed + `', '` + ambiguous + `')
	), before as (
		delete from sync_seen where @complete and team_id = @team and source_id = @source and reading_id <> @reading
	), seen as (
		insert into sync_seen (team_id, source_id, reading_id, kind, external_ids, ordinals)
		select @team, @source, @reading, kind, array_agg(external_id), array_agg(ordinal) from given where @complete group by kind)
	select kind, external_id, ordinal, known is not null as known, entity_id, hash, taken, refs, waiting, changed_at, day, coalesce(state, '') as state, (
		select jsonb_agg(jsonb_build_object('id', c.id, 'field', c.field) order by c.field) from sync_conflict c
		where c.team_id = @team and c.source_id = @source and c.kind = r.kind and c.external_id = r.external_id and c.ordinal = r.ordinal) as conflicts
	from recalled r where (equal and state = 'active' and waiting is null) is not true`

// loadMemory loads the external records of changes, and notes that a complete reading has seen them. A change with
// the same content as before is in same instead, and its record is not loaded.
func loadMemory(
	ctx context.Context, tx *db.Tx,
	from Origin,
	changes []Change,
	complete bool,
) (known map[key]*memory, same map[key]bool, err error) {
	kinds, ids, ordinals := make([]string, len(changes)), make([]string, len(changes)), make([]int, len(changes))
	hashes, stamps := make([][]byte, len(changes)), make([]*time.Time, len(changes))
	known, same = map[key]*memory{}, make(map[key]bool, len(changes))

	for i := range changes {
		c := &changes[i]
		kinds[i], ids[i], ordinals[i], same[c.key()] = c.Kind, c.ExternalID, c.Ordinal, true

		// A removal never equals stored content, and what wins is looked at in any case.
		if hashes[i] = c.sum; c.Gone || c.wins {
			hashes[i] = []byte{1}
		}

		if !c.ChangedAt.IsZero() {
			stamps[i] = &c.ChangedAt
		}
	}

	type row struct {
		memory

		Known bool
	}

	rows, err := db.Select[row](ctx, tx, loadMemorySQL, db.Args{
		"team": tx.Team, "source": from.SourceID, "reading": from.reading, "complete": complete,
		"kinds": kinds, "ids": ids, "ordinals": ordinals, "hashes": hashes, "stamps": stamps,
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read external records: %w", err)
	}

	// Every change counted as the same until its row says otherwise.
	for i := range rows {
		m := &rows[i].memory
		k := key{m.Kind, m.ExternalID, m.Ordinal}

		if same[k] = false; rows[i].Known {
			known[k] = m
		}
	}

	return known, same, nil
}

// loadEntities returns the ids here of the source records that changes refer to. Records that are not known here are
// absent.
func loadEntities(ctx context.Context, tx *db.Tx, from Origin, changes []*Change) (map[Reference]id.ID, error) {
	var kinds, ids []string

	for _, c := range changes {
		for _, r := range c.Refs {
			kinds, ids = append(kinds, r.Kind), append(ids, r.ExternalID)
		}
	}

	out := map[Reference]id.ID{}
	if len(ids) == 0 {
		return out, nil
	}

	type row struct {
		Kind, ExternalID string
		EntityID         id.ID
	}

	found, err := db.Select[row](ctx, tx, `
		select distinct r.kind, r.external_id, r.entity_id
		from unnest(@kinds::text[], @ids::text[]) g (kind, external_id)
		cross join lateral (
			select * from external_record e where e.team_id = @team and e.source_id = @source and e.kind = g.kind and e.external_id = g.external_id
				and e.ordinal = 0 and e.entity_id is not null`+db.Fence+`) r`,
		db.Args{"team": tx.Team, "source": from.SourceID, "kinds": kinds, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read what records of a source are: %w", err)
	}

	for _, r := range found {
		out[Reference{r.Kind, r.ExternalID}] = r.EntityID
	}

	return out, nil
}

// loadBound returns the matched records here that already belong to a record of the source.
func loadBound(ctx context.Context, tx *db.Tx, from Origin, kind string, matches []Match) (map[id.ID]bool, error) {
	var ids []id.ID

	for _, m := range matches {
		if m.ID != nil {
			ids = append(ids, *m.ID)
		}
	}

	bound := map[id.ID]bool{}
	if len(ids) == 0 {
		return bound, nil
	}

	found, err := db.Select[id.ID](ctx, tx, `
		select g.id from unnest(@ids::uuid[]) g (id)
		cross join lateral (
			select from external_record e where e.team_id = @team and e.entity_id = g.id and e.source_id = @source and e.kind = @kind and e.state = 'active'
			limit 1) r`,
		db.Args{"team": tx.Team, "source": from.SourceID, "kind": kind, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read which records belong to the source: %w", err)
	}

	for _, v := range found {
		bound[v] = true
	}

	return bound, nil
}

// loadInherited sets the last values of other sources for changes that are the first of their source about a record:
// values that people have not changed since follow the new source.
func loadInherited(ctx context.Context, tx *db.Tx, kind string, changes []*pending) error {
	var (
		taken []*pending
		ids   []id.ID
	)

	for _, p := range changes {
		if p.write.ID != nil && !p.was.wasTaken() {
			taken, ids = append(taken, p), append(ids, *p.write.ID)
		}
	}

	if len(taken) == 0 {
		return nil
	}

	said, err := loadSaid(ctx, tx, kind, ids)
	if err != nil {
		return err
	}

	for _, p := range taken {
		p.inherited = said[*p.write.ID]
	}

	return nil
}

// loadSaid loads the last values of any source for records here; the source connected last wins.
func loadSaid(ctx context.Context, tx *db.Tx, kind string, ids []id.ID) (map[id.ID]Values, error) {
	type row struct {
		EntityID id.ID
		Taken    Values
	}

	found, err := db.Select[row](ctx, tx, `
		select g.id as entity_id, r.taken from unnest(@ids::uuid[]) g (id)
		cross join lateral (
			select taken from external_record e where e.team_id = @team and e.entity_id = g.id and e.kind = @kind and e.taken <> '{}'
			order by e.source_id desc limit 1) r`, db.Args{"team": tx.Team, "kind": kind, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read what other sources said of records: %w", err)
	}

	said := map[id.ID]Values{}
	for _, r := range found {
		said[r.EntityID] = r.Taken
	}

	return said, nil
}

// upsertRecords upserts external records with their conflicts.
func upsertRecords(ctx context.Context, tx *db.Tx, from Origin, rows []recordRow) error {
	if len(rows) == 0 {
		return nil
	}

	for i := range rows {
		rows[i].SourceID = from.SourceID
	}

	// Records come first: conflicts refer to them.
	return tx.Together(ctx, db.Send(recordTable.Upsert(tx, db.Refs(rows)...)), func(ctx context.Context, tx *db.Tx) error {
		return saveConflicts(ctx, tx, from, rows)
	})
}

// listUnseen returns the external ids that a complete reading of a kind lacked, and how many records of the kind were
// taken in or wait. It deletes the notes about the reading, and issues about failed records that the reading lacked.
func listUnseen(
	ctx context.Context, tx *db.Tx,
	from Origin,
	kind string,
	w *Window,
) (unseen []string, all int64, err error) {
	args := db.Args{"team": tx.Team, "source": from.SourceID, "kind": kind, "reading": from.reading}
	within := ""

	// A record without a day is in no window, so the reading need not have it.
	if w != nil {
		args["from"], args["to"] = w.From, w.To
		within = ` and day >= coalesce(@from::date, '-infinity') and day <= coalesce(@to::date, 'infinity')`
	}

	type row struct {
		ExternalID string
		Total      int64
	}

	rows, err := db.Select[row](ctx, tx, `
		with seen as materialized (
			select distinct g.external_id, g.ordinal from sync_seen s cross join lateral unnest(s.external_ids, s.ordinals) g (external_id, ordinal)
			where s.team_id = @team and s.source_id = @source and s.kind = @kind and s.reading_id = @reading
		), known as materialized (
			select external_id, ordinal from external_record
			where team_id = @team and source_id = @source and kind = @kind and state = 'active' and (entity_id is not null or waiting is not null)`+within+`
		), over as (
			delete from sync_issue i where team_id = @team and source_id = @source and kind = @kind and code in ('`+recordFailed+`', '`+ambiguous+`')`+within+`
				and not exists (select from seen s where s.external_id = i.external_id and s.ordinal = i.ordinal)
				and not exists (select from external_record e where e.team_id = @team and e.source_id = @source and e.kind = @kind
					and e.external_id = i.external_id and e.ordinal = i.ordinal and e.state = 'active')
		), ended as (
			delete from sync_seen where team_id = @team and source_id = @source and kind = @kind)
		select distinct external_id, (select count(*) from known) as total from (select * from known except select * from seen) unseen
		order by external_id`, args)
	if err != nil {
		return nil, 0, fmt.Errorf("find records that are gone: %w", err)
	}

	for _, r := range rows {
		all = r.Total
		unseen = append(unseen, r.ExternalID)
	}

	return unseen, all, nil
}

// place is the SQL of the order in which waiting records are tried; position returns the same text for a change.
const place = `(kind || ' ' || external_id || ' ' || lpad(ordinal::text, 10, '0')) collate "C"`

// loadWaiting returns waiting records as changes, beginning after a position.
func loadWaiting(ctx context.Context, tx *db.Tx, from Origin, after string, most int) ([]Change, error) {
	return selectWaiting(ctx, tx, place+` > @after order by `+place+` limit @most`, db.Args{"source": from.SourceID, "after": after, "most": most})
}

// selectWaiting returns the waiting records of a source that meet a condition, as changes.
func selectWaiting(ctx context.Context, tx *db.Tx, condition string, args db.Args) ([]Change, error) {
	args["team"] = tx.Team

	rows, err := db.Select[memory](ctx, tx, `
		select kind, external_id, ordinal, entity_id, hash, taken, refs, waiting, '[]'::jsonb as conflicts, changed_at, day, state
		from external_record where team_id = @team and source_id = @source and waiting is not null and `+condition, args)
	if err != nil {
		return nil, fmt.Errorf("read records that wait: %w", err)
	}

	out := make([]Change, len(rows))
	for i := range rows {
		r := &rows[i]
		out[i] = Change{
			Kind: r.Kind, ExternalID: r.ExternalID, Ordinal: r.Ordinal, Values: r.Waiting, Refs: r.Refs,
			Gone: len(r.Waiting) == 0, At: r.Day,
		}

		if r.ChangedAt != nil {
			out[i].ChangedAt = *r.ChangedAt
		}
	}

	return out, nil
}

// position returns the position of a change in the order of place.
func position(c *Change) string { return fmt.Sprintf("%s %s %010d", c.Kind, c.ExternalID, c.Ordinal) }
