package intake

import (
	"context"
	"fmt"
	"slices"
	"time"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

const syncColumns = `s.id, s.source_id, o.connection_id, s.operation_id, s.view, s.mode, s.trigger, s.extractor, s.kinds, s.range_start, s.range_end, s.status,
	s.error as code, s.progress, s.counts, s.reasons, s.items, s.queued_at, s.started_at, s.finished_at`

const syncTables = `sync s join sync_source o on o.team_id = s.team_id and o.id = s.source_id`

var sorts = page.Sorts{{Name: "queuedAt", Expr: "s.queued_at"}}

// syncQuery returns the query of the syncs of the team.
func syncQuery(tx *db.Tx) page.Query {
	return page.Query{
		Columns: syncColumns, From: syncTables, Where: []string{"s.team_id = @team"}, Args: db.Args{"team": tx.Team},
		Sorts: sorts, Default: "-queuedAt", ID: "s.id",
	}
}

// lockSource keeps other syncs of a source from starting and ending until the transaction ends. With create it
// inserts the source of a connection if it has none.
func lockSource(ctx context.Context, tx *db.Tx, source id.ID, create bool) error {
	args := db.Args{"team": tx.Team, "source": source}

	if create {
		_, err := tx.Exec(ctx, `
			insert into sync_source (team_id, id, connection_id) values (@team, @source, @source) on conflict do nothing`, args)
		if err != nil {
			return fmt.Errorf("make the source of a connection: %w", err)
		}
	}

	_, err := db.One[bool](ctx, tx, apierr.NotFound, `select true from sync_source where team_id = @team and id = @source for update`, args)
	if err != nil {
		return fmt.Errorf("lock a source: %w", err)
	}

	return nil
}

// lockSync locks a sync and its source, and loads the sync. It fails with apierr.NotFound.
func lockSync(ctx context.Context, tx *db.Tx, sync id.ID) (*Sync, error) {
	source, err := db.One[id.ID](ctx, tx, apierr.NotFound, `select source_id from sync where team_id = @team and id = @sync`,
		db.Args{"team": tx.Team, "sync": sync})
	if err != nil {
		return nil, fmt.Errorf("find a sync: %w", err)
	}

	return lockFromSource(ctx, tx, source, sync)
}

// lockFromSource locks a known source and then loads a sync, as it is under the lock. It fails with apierr.NotFound.
func lockFromSource(ctx context.Context, tx *db.Tx, source, sync id.ID) (s *Sync, err error) {
	// One round trip: syncs take turns on the lock of the source, and the sync is read after it.
	err = tx.Together(ctx,
		func(ctx context.Context, tx *db.Tx) error { return lockSource(ctx, tx, source, false) },
		func(ctx context.Context, tx *db.Tx) (err error) {
			s, err = loadSync(ctx, tx, sync)
			return err
		})

	return s, err
}

// loadSync loads a sync. It fails with apierr.NotFound.
func loadSync(ctx context.Context, tx *db.Tx, sync id.ID) (*Sync, error) {
	q := syncQuery(tx)
	q.And("s.id = @sync", db.Args{"sync": sync})

	s, err := db.One[Sync](ctx, tx, apierr.NotFound, q.SQL(""), q.Args)
	if err != nil {
		return nil, fmt.Errorf("read a sync: %w", err)
	}

	s.deriveFields()

	return &s, nil
}

// findBySource returns the record-writing sync of a source with this status, or nil: at most one waits and one runs.
func findBySource(ctx context.Context, tx *db.Tx, source id.ID, status Status) (*Sync, error) {
	q := syncQuery(tx)
	q.And("s.source_id = @source and s.status = @status and s.view = 'automate'",
		db.Args{"source": source, "status": status})

	s, err := db.Maybe[Sync](ctx, tx, q.SQL(""), q.Args)
	if err != nil {
		return nil, fmt.Errorf("find the %s sync of a source: %w", status, err)
	}

	return s, nil
}

// syncTable has the columns of a sync that waits. Which records it reads can change until it starts.
var syncTable = db.NewTable[Sync]("sync", `
	id uuid key, source_id uuid fixed, operation_id uuid fixed, view text fixed, mode text, trigger text, extractor text fixed, kinds text[],
	range_start date, range_end date, status text computed fixed, queued_at now fixed`).
	Compute("status", "'queued'")

// insertSync inserts a waiting sync.
func insertSync(ctx context.Context, tx *db.Tx, s *Sync) error {
	if s.Kinds == nil {
		s.Kinds = []string{}
	}

	err := tx.Pipeline(ctx, syncTable.Insert(tx, s))
	if err != nil {
		return fmt.Errorf("insert a sync: %w", err)
	}

	return nil
}

// updateRequest updates which records a waiting sync reads.
func updateRequest(ctx context.Context, tx *db.Tx, s *Sync) error {
	if s.Kinds == nil {
		s.Kinds = []string{}
	}

	err := tx.Pipeline(ctx, syncTable.Update(tx, s))
	if err != nil {
		return fmt.Errorf("widen a sync: %w", err)
	}

	return nil
}

// startSync updates a sync to started.
func startSync(ctx context.Context, tx *db.Tx, s *Sync) error {
	_, err := tx.Exec(ctx, `update sync set status = 'started', started_at = coalesce(started_at, @now) where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": s.ID, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("start a sync: %w", err)
	}

	return nil
}

// updateFault saves why a sync cannot go on for now.
func updateFault(ctx context.Context, tx *db.Tx, s *Sync) error {
	_, err := tx.Exec(ctx, `update sync set error = @code where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": s.ID, "code": s.Code})
	if err != nil {
		return fmt.Errorf("save why a sync waits: %w", err)
	}

	return nil
}

// endSync updates a sync to ended, and counts why records failed or were skipped: each counts once, by its last item.
func endSync(ctx context.Context, tx *db.Tx, s *Sync) error {
	_, err := tx.Exec(ctx, `
		update sync set status = @status, error = @code::text, started_at = coalesce(started_at, @now), finished_at = @now, reasons = (
			select coalesce(jsonb_object_agg(r.reason, r.records), '{}') from (
				select i.reason, count(*) as records from sync_item i
				where i.team_id = @team and i.sync_id = @id and i.reason is not null and not exists (
					select from sync_item o where o.team_id = @team and o.sync_id = @id and o.kind = i.kind and o.external_id = i.external_id
						and o.position > i.position)
				group by i.reason) r)
		where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": s.ID, "status": s.Status, "code": s.Code, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("end a sync: %w", err)
	}

	return nil
}

// savePage saves, with the commit, the items of a page and where the sync goes on.
func savePage(tx *db.Tx, s *Sync, items []item) {
	type row struct {
		Position   int64   `json:"position"`
		Kind       string  `json:"kind"`
		ExternalID string  `json:"external_id"`
		EntityID   *id.ID  `json:"entity_id"`
		Outcome    Outcome `json:"outcome"`
		Reason     Reason  `json:"reason"`
	}

	if s.Counts == nil {
		s.Counts = Counts{}
	}

	// Unchanged records are counted but not listed: a nightly sync repeats nearly everything.
	rows, page := []row{}, Counts{}

	for i := range items {
		it := &items[i]

		for _, counts := range []Counts{s.Counts, page} {
			if counts[it.change.Kind] == nil {
				counts[it.change.Kind] = map[Outcome]int64{}
			}

			counts[it.change.Kind][it.outcome]++
		}

		if it.reason != Unchanged {
			position := s.Items + int64(i) + 1
			rows = append(rows, row{position, it.change.Kind, it.change.ExternalID, it.entityID, it.outcome, it.reason})
		}
	}

	stmts := saveCounts(tx, s, int64(len(items)), page)
	if len(rows) > 0 {
		stmts = append(stmts, db.Stmt{
			SQL: `
			insert into sync_item (team_id, sync_id, position, kind, external_id, entity_id, outcome, reason, at)
			select @team, @sync, position, kind, external_id, entity_id, outcome, nullif(reason, ''), @now
			from jsonb_to_recordset(@rows) as i (position bigint, kind text, external_id text, entity_id uuid, outcome text, reason text)`,
			Args: db.Args{"team": tx.Team, "sync": s.ID, "now": tx.Now, "rows": rows},
		})
	}

	for _, stmt := range stmts {
		tx.AtEnd(stmt)
	}

	s.Items += int64(len(items))
}

// saveCounts returns the statements that save the progress of a sync and its counts, in all and by day.
func saveCounts(tx *db.Tx, s *Sync, items int64, added Counts) []db.Stmt {
	type count struct {
		Kind    string  `json:"kind"`
		Outcome Outcome `json:"outcome"`
		Items   int64   `json:"items"`
	}

	stmts := []db.Stmt{{
		SQL: `update sync set progress = @progress, counts = @counts, items = @items, error = case when finished_at is not null then error end
			where team_id = @team and id = @id`,
		Args: db.Args{
			"team": tx.Team, "id": s.ID, "progress": s.Progress, "counts": s.Counts, "items": s.Items + items,
		},
	}}

	counts := []count{}

	for kind, of := range added {
		for outcome, n := range of {
			counts = append(counts, count{kind, outcome, n})
		}
	}

	if len(counts) == 0 {
		return stmts
	}

	return append(stmts, db.Stmt{
		SQL: `
		insert into sync_day (team_id, source_id, view, day, kind, outcome, items)
		select @team, @source, @view::text, @day::date, kind, outcome, items
		from jsonb_to_recordset(@counts) as c (kind text, outcome text, items bigint) order by kind, outcome
		on conflict (team_id, source_id, view, day, kind, outcome) do update set items = sync_day.items + excluded.items`,
		Args: db.Args{
			"team": tx.Team, "source": s.SourceID, "view": s.View, "day": tx.Now.UTC().Format(time.DateOnly),
			"counts": counts,
		},
	})
}

// loadWatermark returns how far a kind of a source was read, "" if not at all.
func loadWatermark(ctx context.Context, tx *db.Tx, source id.ID, kind string) (string, error) {
	mark, err := db.Maybe[string](ctx, tx, `select watermark from sync_cursor where team_id = @team and source_id = @source and kind = @kind`,
		db.Args{"team": tx.Team, "source": source, "kind": kind})
	if err != nil {
		return "", fmt.Errorf("read how far a source was read: %w", err)
	}

	if mark == nil {
		return "", nil
	}

	return *mark, nil
}

// upsertWatermark saves how far a kind of a source was read.
func upsertWatermark(ctx context.Context, tx *db.Tx, source id.ID, kind, mark string) error {
	_, err := tx.Exec(ctx, `
		insert into sync_cursor (team_id, source_id, kind, watermark) values (@team, @source, @kind, @mark)
		on conflict (team_id, source_id, kind) do update set watermark = excluded.watermark`,
		db.Args{"team": tx.Team, "source": source, "kind": kind, "mark": mark})
	if err != nil {
		return fmt.Errorf("save how far a source was read: %w", err)
	}

	return nil
}

// loadHints returns the oldest hints of a source: external ids by kind.
func loadHints(ctx context.Context, tx *db.Tx, source id.ID, most int) (map[string][]string, error) {
	type hint struct{ Kind, ExternalID string }

	found, err := db.Select[hint](ctx, tx, `
		select kind, external_id from sync_hint where team_id = @team and source_id = @source order by at, kind, external_id limit @most`,
		db.Args{"team": tx.Team, "source": source, "most": most})
	if err != nil {
		return nil, fmt.Errorf("read hints: %w", err)
	}

	out := map[string][]string{}
	for _, h := range found {
		out[h.Kind] = append(out[h.Kind], h.ExternalID)
	}

	return out, nil
}

// deleteHints deletes the hints that were looked up, except hints that came again meanwhile.
func deleteHints(ctx context.Context, tx *db.Tx, source id.ID, f *fetched) error {
	for kind, ids := range f.hints {
		_, err := tx.Exec(ctx, `
			delete from sync_hint where team_id = @team and source_id = @source and kind = @kind and external_id = any(@ids) and at <= @read`,
			db.Args{"team": tx.Team, "source": source, "kind": kind, "ids": ids, "read": f.read})
		if err != nil {
			return fmt.Errorf("delete hints: %w", err)
		}
	}

	return nil
}

// upsertHints inserts hints; a repeated hint gets the present time.
func upsertHints(ctx context.Context, tx *db.Tx, source id.ID, kind string, externalIDs []string) error {
	_, err := tx.Exec(ctx, `
		insert into sync_hint (team_id, source_id, kind, external_id, at)
		select distinct @team::uuid, @source::uuid, @kind::text, v, @now::timestamptz from unnest(@ids::text[]) v order by v
		on conflict (team_id, source_id, kind, external_id) do update set at = excluded.at`,
		db.Args{"team": tx.Team, "source": source, "kind": kind, "ids": externalIDs, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("keep hints: %w", err)
	}

	return nil
}

// Hint inserts hints to look at records of a source, and starts a sync that does. Texts that cannot be names of
// records are left out.
func Hint(ctx context.Context, tx *db.Tx, connection id.ID, kind string, externalIDs []string) error {
	if err := lockSource(ctx, tx, connection, true); err != nil {
		return err
	}

	names := slices.DeleteFunc(slices.Clone(externalIDs), func(name string) bool { return !isName(name) })
	if err := upsertHints(ctx, tx, connection, kind, names); err != nil {
		return err
	}

	_, err := Start(ctx, tx, New{ConnectionID: connection, View: Automate, Mode: Incremental, Trigger: Webhook})

	return err
}

// queueAgain updates an ended sync to wait in a new operation.
func queueAgain(ctx context.Context, tx *db.Tx, s *Sync) error {
	_, err := tx.Exec(ctx, `
		update sync set status = 'queued', operation_id = @operation, progress = @progress, error = null, started_at = null, finished_at = null,
			queued_at = @now
		where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": s.ID, "operation": s.OperationID, "progress": s.Progress, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("queue a sync again: %w", err)
	}

	return nil
}
