package operation

import (
	"context"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// batch bounds what one statement of the maintenance touches.
const batch = 5000

// every lists the periodic tasks of the package. Settled operations stay readable for as long as keep says
// (OPEN-31).
func every(keep time.Duration) []job.Every {
	return []job.Every{
		{Name: "operation-fold", Interval: 2 * time.Second, Do: Fold},
		{
			Name:     "operation-purge",
			Interval: time.Hour,
			Do:       func(ctx context.Context, d *db.DB) error { return Purge(ctx, d, keep) },
		},
	}
}

const spread = `
	spread as (
		select x.team_id, x.id, x.type, x.initiated_by, x.status, x.created_at, '' as resource_type from x where x.type is not null
		union all
		select distinct x.team_id, x.id, x.type, x.initiated_by, x.status, x.created_at, r.type
		from x join operation_resource r on r.team_id = x.team_id and r.operation_id = x.id where x.type is not null),
	sums as (
		select team_id, d.day, resource_type, type, initiated_by, status, count(*) as n
		from spread cross join lateral (values ('-infinity'::date), (created_at::date)) as d (day)
		group by 1, 2, 3, 4, 5, 6)`

// Fold moves settled operations from the live count into operation_count, exactly once each.
func Fold(ctx context.Context, d *db.DB) error {
	return d.Repeat(ctx, batch, db.Stmt{SQL: `
		with b as materialized (
			select team_id, id from operation where not counted and status in ('completed', 'failed')
			limit @batch for update skip locked),
		x as (
			update operation o set counted = true from b
			where o.team_id = b.team_id and o.id = b.id
			returning o.team_id, o.id, o.type, o.initiated_by, o.status, o.created_at),
		` + spread + `,
		kept as (
			insert into operation_count as k (team_id, day, resource_type, type, initiated_by, status, count)
			select * from sums order by 1, 2, 3, 4, 5, 6
			on conflict (team_id, day, resource_type, type, initiated_by, status) do update set count = k.count + excluded.count)
		select count(*) from x`, Args: db.Args{"batch": batch}})
}

// Purge removes settled operations older than keep, and their part of the counts.
func Purge(ctx context.Context, d *db.DB, keep time.Duration) error {
	// At most 500 of a team in one batch, so that a team with many old operations does not keep the others waiting.
	err := d.Repeat(ctx, 1, db.Stmt{SQL: `
		with b as materialized (
			select v.team_id, v.id from team t cross join lateral (
				select team_id, id from operation where team_id = t.id and id < @oldest and counted order by id limit 500) v
			limit @batch),
		x as (
			delete from operation o using b
			where o.team_id = b.team_id and o.id = b.id
			returning o.team_id, o.id, o.type, o.initiated_by, o.status, o.created_at),
		` + spread + `,
		kept as (
			update operation_count k set count = k.count - s.n from sums s
			where (k.team_id, k.day, k.resource_type, k.type, k.initiated_by, k.status)
			    = (s.team_id, s.day, s.resource_type, s.type, s.initiated_by, s.status))
		select count(*) from x`, Args: db.Args{"batch": batch, "oldest": id.First(d.Now().Add(-keep))}})
	if err != nil {
		return err
	}

	// Counts of days that have no operation left only slow the sums down.
	return d.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		_, err := tx.Exec(ctx, `delete from operation_count where count = 0`, nil)
		return err
	})
}
