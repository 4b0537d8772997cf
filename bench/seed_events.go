package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// The teams of the section events: two whose trails differ in size, and two equal ones that write.
const manyEventsName, fewEventsName, toldName, untoldName = "manyEvents", "fewEvents", "told", "untold"

// fewEvents is how many events the smaller trail has.
const fewEvents = 10_000

// Events of a trail are of actions with some each, of reservations with some each, and refer to few listings.
const (
	eventsOfAction      = 4
	eventsOfReservation = 200
	listingsOfTrail     = 40
)

// madeID is SQL for an identifier as the service makes it, from the instant at and the digits h.
const madeID = `(lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || left(h, 3) || '8' || substr(h, 4, 15))::uuid`

// trailSQL is SQL that fills the trail of the team $1 with $events events over 300 days: actions, events and references.
var trailSQL = []string{
	`insert into audit_action (team_id, id, actor_type, actor_id, endpoint, request_id, created_at)
	select $1::uuid, ` + madeID + `, 'user', md5('actor' || n % 5)::uuid, 'updateReservation', 'request-' || n, at
	from (select n, md5($1::uuid::text || 'action' || n) as h, date_trunc('milliseconds', now() - (1 - n::float8 / ($events / $perAction)) * interval '300 days' - interval '1 s') as at
		from generate_series(1, $events / $perAction) n) g`,
	`insert into audit_event (team_id, id, revision, action_id, actor_type, actor_id, type, entity_type, entity_id, entity_name, refs, source_type, changes,
		occurred_at, recorded_at, settled_at)
	select a.team_id, ` + madeID + `, 1, a.id, 'user', a.actor_id, 'updated', 'reservation', md5('stay' || n % ($events / $perReservation))::uuid, 'HM' || n,
		jsonb_build_array(jsonb_build_object('role', 'listing', 'type', 'listing', 'id', md5('listing' || n % $listings)::uuid)), 'user',
		'[{"key": "guestName", "old": "Ada", "new": "Ada Lovelace"}, {"key": "financials.total", "old": 90000, "new": 95000}]', at, at + n % 1000 * interval '1 us', at
	from (select a.team_id, a.id, a.actor_id, a.created_at as at, (a.n - 1) * $perAction + e as n, md5($1::uuid::text || 'event' || a.n || ' ' || e) as h
		from (select *, row_number() over (order by id) as n from audit_action where team_id = $1 and endpoint = 'updateReservation') a cross join generate_series(1, $perAction) e) a`,
	`insert into audit_reference (team_id, entity_id, recorded_at, event_id, revision, entity_type)
	select team_id, (refs -> 0 ->> 'id')::uuid, recorded_at, id, revision, 'listing' from audit_event where team_id = $1 and entity_type = 'reservation'`,
}

// eventsSeed is a team with a long trail and one with a short one, and two equal teams that manage listings.
func eventsSeed(events int) *seed {
	return &seed{name: "events", sizes: []int{events}, on: operationsSeed(fewOperations), fill: func(ctx context.Context, b *bed) error {
		for _, name := range []string{toldName, untoldName} {
			t, err := b.newBooks(ctx)
			if err != nil {
				return err
			}

			if err := b.keepTeam(ctx, name, t); err != nil {
				return err
			}
		}

		for name, n := range map[string]int{manyEventsName: events, fewEventsName: fewEvents} {
			t, err := newTenant(ctx, b.db, n)
			if err != nil {
				return err
			}

			if err := b.keepTeam(ctx, name, t); err != nil {
				return err
			}

			// References come from the events, which come from the actions.
			fill := strings.NewReplacer("$events", strconv.Itoa(n), "$perAction", strconv.Itoa(eventsOfAction),
				"$perReservation", strconv.Itoa(eventsOfReservation), "$listings", strconv.Itoa(listingsOfTrail))

			for _, sql := range trailSQL {
				if err := b.asAdministrator(ctx, []string{fill.Replace(sql)}, t); err != nil {
					return fmt.Errorf("fill a trail of %d events: %w", n, err)
				}
			}
		}

		return nil
	}}
}
