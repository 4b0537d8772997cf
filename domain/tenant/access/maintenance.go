package access

import (
	"context"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/job"
)

const purgeBatch = 2000

// every lists the periodic tasks of the package: forgetting the sessions of owners that are over. Their links stay, as
// a record of who was given access.
func every() []job.Every {
	return []job.Every{{Name: "owner-session-purge", Interval: time.Hour, Do: purgeSessions}}
}

// purgeSessions deletes sessions of owners that have expired.
func purgeSessions(ctx context.Context, d *db.DB) error {
	return d.Repeat(ctx, purgeBatch, db.Stmt{SQL: `
		with over as materialized (
			select team_id, id from access_owner_session where expires_at <= @now::timestamptz limit @batch for update skip locked),
		gone as (
			delete from access_owner_session s using over where s.team_id = over.team_id and s.id = over.id returning 1)
		select count(*) from gone`, Args: db.Args{"now": d.Now(), "batch": purgeBatch}})
}
