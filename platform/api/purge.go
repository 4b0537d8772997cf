package api

import (
	"context"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/job"
)

const (
	// The answer to an Idempotency-Key counts for keepAnswers, an interval of the database.
	keepAnswers = "24 hours"
	// One transaction removes purgeBatch kept answers.
	purgeBatch = 2000
)

// Every lists the periodic tasks of the package: forgetting the answers whose time is over.
func Every() []job.Every {
	return []job.Every{{Name: "idempotency-purge", Interval: 10 * time.Minute, Do: purgeAnswers}}
}

// purgeAnswers leaves a key alone that a request is just taking again.
func purgeAnswers(ctx context.Context, d *db.DB) error {
	return d.Repeat(ctx, purgeBatch, db.Stmt{SQL: `
		with old as materialized (
			select team_id, user_id, key from api_idempotency where created_at <= @now::timestamptz - interval '` + keepAnswers + `'
			order by created_at limit @batch for update skip locked),
		gone as (
			delete from api_idempotency k using old
			where k.team_id = old.team_id and k.user_id = old.user_id and k.key = old.key returning 1)
		select count(*) from gone`, Args: db.Args{"now": d.Now(), "batch": purgeBatch}})
}
