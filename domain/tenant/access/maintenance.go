package access

import (
	"context"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/job"
)

const purgeBatch = 2000

// every lists the periodic tasks of the package: forgetting the sessions of owners and of frames that are over. The
// links of owners stay, as a record of who was given access; that of an embedded session is in the audit trail.
func every() []job.Every {
	return []job.Every{
		{Name: "owner-session-purge", Interval: time.Hour, Do: purge("access_owner_session", "expires_at", 0)},
		{Name: "embed-session-purge", Interval: time.Hour, Do: purge("access_embed_session", "created_at", embedKept)},
	}
}

// purge returns a task that deletes the rows of a table a time after the instant in a column.
func purge(table, column string, after time.Duration) func(context.Context, *db.DB) error {
	return func(ctx context.Context, d *db.DB) error {
		return d.Repeat(ctx, purgeBatch, db.Stmt{SQL: `
		with over as materialized (
			select team_id, id from ` + table + ` where ` + column + ` <= @before::timestamptz limit @batch for update skip locked),
		gone as (
			delete from ` + table + ` s using over where s.team_id = over.team_id and s.id = over.id returning 1)
		select count(*) from gone`, Args: db.Args{"before": d.Now().Add(-after), "batch": purgeBatch}})
	}
}
