package intake

import (
	"context"
	"slices"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/platform/outbound"
	"stayledger/platform/parts"
)

// keepItems is how long the items of a sync are kept; its counts stay.
const keepItems = 365 * 24 * time.Hour

// Config has the dependencies of the intake.
type Config struct {
	Open Open
	// Refused is called with a connection when its app refuses the credentials.
	Refused func(ctx context.Context, tx *db.Tx, connection id.ID) error
	// MakeFile makes the files of extracts.
	MakeFile MakeFile
	// Most is how much of one kind a sync reads: a source that never ends would fill the books with its records.
	Most outbound.Reading
	// Kinds are the kinds of all nouns in the order of sources: a stay comes after its listing.
	Kinds []Kind
}

// Part returns the endpoints, the jobs and the tables of the intake.
func Part(c Config) parts.Part {
	r := &runner{open: c.Open, refused: c.Refused, makeFile: c.MakeFile, most: c.Most, kinds: map[string]*Kind{}}
	for i := range c.Kinds {
		c.Kinds[i].bounds = c.Kinds[i].readBounds()
		r.kinds[c.Kinds[i].Name] = &c.Kinds[i]
		r.order = append(r.order, c.Kinds[i].Name)
	}

	return parts.Part{
		Endpoints: slices.Concat(endpoints(), r.conflictEndpoints(), issueEndpoints()),
		Handlers:  map[job.Kind]job.Handler{taskKind: r.handler(), retryKind: {Do: retry}, extractKind: r.extractor()},
		Every: []job.Every{{
			Name: "sync-item-purge", Interval: time.Hour,
			Do: func(ctx context.Context, d *db.DB) error { return Purge(ctx, d, keepItems) },
		}},
		Waits:    waits(),
		MonthEnd: findWaiting,
		// A connection that was synced is archived instead of deleted, so that its external records stay.
		Uses: []parts.Use{{Of: "connection", Reason: "syncs", Columns: []string{"sync_source.connection_id"}}},
		Tables: append(
			parts.Owns("sync_source", "sync_item", "sync_day", "external_record", "sync_conflict", "sync_issue"),
			append(parts.Keeps("sync_cursor", "sync_seen", "sync_hint"), parts.Table{Name: "sync", Instead: map[string]string{
				"status": "case when s.status in ('queued', 'started') then 'failed' else s.status end", // nobody goes on with it
			}})...,
		),
	}
}

// Purge deletes the items of syncs that were queued longer ago than keep.
func Purge(ctx context.Context, d *db.DB, keep time.Duration) error {
	const batch = 5000

	// At most 500 rows of a team in one batch, so that a team with many old items does not delay the others.
	return d.Repeat(ctx, 1, db.Stmt{SQL: `
		with b as materialized (
			select v.* from team t cross join lateral (
				select team_id, sync_id, position from sync_item where team_id = t.id and sync_id < @oldest order by sync_id, position limit 500) v
			limit @batch),
		x as (
			delete from sync_item i using b
			where i.team_id = b.team_id and i.sync_id = b.sync_id and i.position = b.position returning 1)
		select count(*) from x`, Args: db.Args{"batch": batch, "oldest": id.First(d.Now().Add(-keep))}})
}
