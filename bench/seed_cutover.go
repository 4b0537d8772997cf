package main

import (
	"context"
	"fmt"
)

// movingName is a team on the way from one property-management system to another.
const movingName = "moving"

// metricStays is how many stays the teams have whose metrics are compared.
const metricStays = 2_000

// The day of the cutover, on which the first stay of the seed begins, and the start of the books of the source.
const cutoverAt, sourceStart = "2026-01-01", "2025-01-01"

// cutoverSeed is a team with so many reservations, half of them at each of two systems, and two teams with the same stays
// that have counted few and many records of syncs. Nothing has a journal yet.
func cutoverSeed(reservations, few, many int) *seed {
	return &seed{name: "cutover", sizes: []int{reservations, few, many}, on: operationsSeed(fewOperations), fill: func(ctx context.Context, b *bed) error {
		for name, n := range map[string]int{movingName: reservations, fewName: few, manyName: many} {
			t, err := b.newBooks(ctx)
			if err != nil {
				return err
			}

			t.rows = n
			if err := b.keepTeam(ctx, name, t); err != nil {
				return err
			}

			fill := movingSQL(n / 2)
			if name != movingName {
				fill = append(staysSQL(metricStays), syncedSQL(n)...)
			}

			if err := b.asAdministrator(ctx, append(connectionsSQL(), fill...), t); err != nil {
				return err
			}
		}

		return nil
	}}
}

// connectionsSQL returns the statements that connect a team of newBooks to two systems: its listings are those of the
// first.
func connectionsSQL() []string {
	return []string{
		`insert into connection (team_id, id, short_ref, app_id, name, status, accounting_start_at, created_at, updated_at)
			select $1, md5($1::uuid::text || name)::uuid, name, '` + string(protocolApp()) + `', name, 'active', start, now(), now()
			from (values ('source', date '` + sourceStart + `'), ('target', null)) as s (name, start)`,
		`insert into sync_source (team_id, id, connection_id) select team_id, id, id from connection where team_id = $1`,
		`insert into listing_connection (team_id, id, connection_id, external_id, name, listing_id, is_decided, state, created_at)
			select team_id, gen_random_uuid(), md5($1::uuid::text || 'source')::uuid, short_ref, name, id, true, 'active', now() from listing where team_id = $1`,
	}
}

// movingSQL returns the statements that give both systems so many stays with the same codes, those of the target on
// listings of its own with the names of the source's.
func movingSQL(stays int) []string {
	lines := staysSQL(0)[1]

	return []string{
		`insert into listing (team_id, id, short_ref, name, default_currency, created_at, updated_at)
			select $1, md5($1::uuid::text || 'target' || n)::uuid, 't' || n, 'Listing ' || n, 'usd', now(), now()
			from generate_series(1, (select count(*) from listing where team_id = $1)) n`,
		`insert into listing_connection (team_id, id, connection_id, external_id, name, listing_id, is_decided, state, created_at)
			select team_id, gen_random_uuid(), md5($1::uuid::text || 'target')::uuid, short_ref, name, id, true, 'active', now()
			from listing where team_id = $1 and short_ref like 't%'`,
		fmt.Sprintf(`insert into reservation (team_id, id, short_ref, connection_id, listing_id, status, guest_name, confirmation_code, check_in, check_out,
				booked_at, booking_platform, currency, created_at, updated_at)
			select $1, gen_random_uuid(), s.name || n, md5($1::uuid::text || s.name)::uuid, md5($1::uuid::text || s.listing || (1 + n %% %d))::uuid, 'booked',
				'Guest ' || n, 'HM' || n, date '%s' + n %% 365, date '%[2]s' + n %% 365 + 1 + n %% 9, date '2025-12-01', 'airbnb', 'usd', now(), now()
			from generate_series(1, %d) n cross join (values ('source', ''), ('target', 'target')) as s (name, listing)`, portfolio, cutoverAt, stays),
		lines,
	}
}

// syncedSQL returns the statements that give the source of a team so many records of syncs of the last year: a sync a day,
// and the counts of its records.
func syncedSQL(records int) []string {
	const days = 250

	return []string{
		fmt.Sprintf(`insert into sync (team_id, id, source_id, operation_id, view, mode, trigger, kinds, status, items, queued_at, started_at, finished_at)
			select $1, md5($1::uuid::text || 'sync' || d)::uuid, md5($1::uuid::text || 'source')::uuid, gen_random_uuid(), 'automate', 'incremental', 'schedule',
				'{}', 'completed', %d, now() - d * interval '1 day', now() - d * interval '1 day', now() - d * interval '1 day'
			from generate_series(1, %d) d`, records/days, days),
		fmt.Sprintf(`insert into sync_item (team_id, sync_id, position, kind, external_id, entity_id, outcome, at)
			select $1, md5($1::uuid::text || 'sync' || d)::uuid, n, case when n %% 10 = 0 then 'listing' else 'reservation' end, 'r' || n, gen_random_uuid(),
				(array['completed', 'skipped', 'failed', 'queued'])[1 + n %% 4], now() - d * interval '1 day'
			from generate_series(1, %d) d cross join generate_series(1, %d) n`, days, records/days),
		`insert into sync_day (team_id, source_id, view, day, kind, outcome, items)
			select i.team_id, s.source_id, s.view, (i.at at time zone 'UTC')::date, i.kind, i.outcome, count(*)
			from sync_item i join sync s on s.team_id = i.team_id and s.id = i.sync_id where i.team_id = $1 group by 1, 2, 3, 4, 5, 6`,
	}
}
