package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"stayledger/platform/pgserver"
)

// inFlight is how many operations of each team are not settled, and so counted live.
const inFlight = 20

// insertOperations is SQL that spreads $2 operations of the team $1 over 300 days. An id is made from its instant
// as the service makes it: 48 bits of milliseconds, the version, and digits of a hash for the random part. Every
// second operation has a resource.
const insertOperations = `
	insert into operation (team_id, id, type, status, initiated_by, resource_type, resource_id, resource_role, failure_code, tasks_open,
		counted, created_at, started_at, finished_at)
	select $1::uuid, (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || left(h, 3) || '8' || substr(h, 4, 15))::uuid,
		(array['export', 'connection-sync', 'recurring-transaction-run', 'reservation-journal-refresh', 'listing-journal-refresh',
			'transaction-journal-refresh', 'provider-payment', 'csv-import'])[1 + n % 8],
		case when n > $2 - $4::bigint then 'queued' when n % 50 = 0 then 'failed' else 'completed' end,
		case when n % 3 = 0 then $3::uuid else md5((n % 4)::text)::uuid end,
		case when n % 2 = 0 then 'listing' end, case when n % 2 = 0 then md5((n % 200)::text)::uuid end, case when n % 2 = 0 then 'target' end,
		case when n <= $2 - $4 and n % 50 = 0 then 'operationFailed' end,
		case when n > $2 - $4::bigint then 1 else 0 end, n <= $2 - $4, at,
		case when n <= $2 - $4 then at + interval '4 ms' end, case when n <= $2 - $4 then at + interval '90 ms' end
	from (
		select n, md5($1::uuid::text || n) as h, date_trunc('milliseconds', now() - (1 - n::float8 / $2::bigint) * interval '300 days' - interval '1 s') as at
		from generate_series(1, $2::bigint) n) g`

// insertResources is SQL that adds the resource of each operation to the list of its resources.
const insertResources = `
	insert into operation_resource (team_id, operation_id, position, type, resource_id, role)
	select team_id, id, 0, resource_type, resource_id, resource_role from operation where team_id = $1 and resource_id is not null`

// insertCounts is SQL that adds up operations as the periodic fold of the service does. The benchmark checks
// through the API that both agree.
const insertCounts = `
	insert into operation_count (team_id, day, resource_type, type, initiated_by, status, count)
	select o.team_id, d.day, s.resource_type, o.type, o.initiated_by, o.status, count(*)
	from operation o
	cross join lateral (values ('-infinity'::date), (o.created_at::date)) as d (day)
	cross join lateral (select '' as resource_type union all select o.resource_type where o.resource_type is not null) as s
	where o.team_id = $1 and o.counted
	group by 1, 2, 3, 4, 5, 6`

// seed fills both teams, as the administrator: the checks of row-level security on a million rows would only cost
// time.
func (b *bed) seed(ctx context.Context) (err error) {
	conn, err := pgx.Connect(ctx, b.server.URL("postgres", pgserver.Role))
	if err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()

	// Nothing has to survive a crash yet, and triggers would count each row by itself.
	for _, setting := range []string{
		"synchronous_commit = off",
		"session_replication_role = replica",
		"timezone = 'UTC'",
		"work_mem = '256MB'",
	} {
		if _, err := conn.Exec(ctx, "set "+setting); err != nil {
			return fmt.Errorf("seed: %w", err)
		}
	}

	// Resources and counts come from the operations, so they follow them.
	for _, t := range []tenant{b.large, b.small} {
		if _, err := conn.Exec(ctx, insertOperations, t.team, t.rows, t.user, inFlight); err != nil {
			return fmt.Errorf("seed operations: %w", err)
		}

		if _, err := conn.Exec(ctx, insertResources, t.team); err != nil {
			return fmt.Errorf("seed resources: %w", err)
		}

		if _, err := conn.Exec(ctx, insertCounts, t.team); err != nil {
			return fmt.Errorf("seed counts: %w", err)
		}
	}

	// Last, statistics and clean pages, so that neither autovacuum nor a checkpoint disturbs the first measurement.
	for _, command := range []string{"vacuum analyze", "checkpoint"} {
		if _, err := conn.Exec(ctx, command); err != nil {
			return fmt.Errorf("seed: %w", err)
		}
	}

	return nil
}
