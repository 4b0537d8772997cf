package main

import (
	"context"
	"strconv"
	"strings"
)

// inFlight is how many operations of each team are not settled, and so counted live.
const inFlight = 20

// insertOperations is SQL that spreads $2 operations of the team $1 over 300 days, some of them by the user $3. The last $4
// are not settled. An id is made from its instant as the service makes it: 48 bits of milliseconds, the version, and
// digits of a hash for the random part. Every second operation has a resource.
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

// fewOperations is how many operations the small team has, and the large one of seeds that are not about operations.
const fewOperations = 10_000

// operationsSeed is a large and a small team with operations: the difference shows what grows with the number of rows.
func operationsSeed(rows int) *seed {
	return &seed{name: "operations", sizes: []int{rows}, fill: func(ctx context.Context, b *bed) error {
		for name, n := range map[string]int{"large": rows, "small": fewOperations} {
			t, err := newTenant(ctx, b.db, n)
			if err != nil {
				return err
			}

			if err := b.keepTeam(ctx, name, t); err != nil {
				return err
			}

			// Resources and counts come from the operations, so they follow them.
			operations := strings.NewReplacer("$2", strconv.Itoa(n), "$3", "'"+t.user.String()+"'", "$4", strconv.Itoa(inFlight)).Replace(insertOperations)
			if err := b.asAdministrator(ctx, []string{operations, insertResources, insertCounts}, t); err != nil {
				return err
			}
		}

		// Bare code writes into tables of the same size: an index over many rows costs more to keep than an empty one.
		return b.asAdministrator(ctx, []string{"insert into bench_operation select * from operation where team_id = $1"}, b.teams["large"])
	}}
}

// createBench is SQL that creates the bench's own tables: the teams of the seed with their keys, and copies of tables
// that bare code writes, with the indexes of the originals and without row-level security.
const createBench = `
	create table bench_team (name text primary key, team uuid not null, actor uuid not null, secret text not null, rows integer not null);
	create table bench_operation (like operation including all) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
	create table bench_trail (like audit_action including all);
	alter table bench_operation owner to stayledger;
	alter table bench_trail owner to stayledger`
