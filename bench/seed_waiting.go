package main

import (
	"context"
	"fmt"

	"stayledger/domain/tenant/access"
	"stayledger/domain/tenant/team"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Keys that reach some and many teams.
const someTeamsName, manyTeamsName = "some teams", "many teams"

// someTeams and manyTeams are how many teams they reach, and issuesOfTeam how many issues each team has.
const someTeams, manyTeams, issuesOfTeam = 10, 300, 334

// linesOfHeld is how many entries each change has that a lock holds back.
const linesOfHeld = 10

// waitingSeed is a key of few and one of many teams with issues, and two teams whose locks hold back a number of entries and a tenth of it.
func waitingSeed(entries int) *seed {
	return &seed{name: "waiting", sizes: []int{entries}, on: operationsSeed(fewOperations), fill: func(ctx context.Context, b *bed) error {
		for name, n := range map[string]int{someTeamsName: someTeams, manyTeamsName: manyTeams} {
			t, teams, err := b.newTenants(ctx, n)
			if err != nil {
				return err
			}

			if err := b.keepTeam(ctx, name, t); err != nil {
				return err
			}

			for _, one := range teams {
				if err := b.asAdministrator(ctx, issuesSQL(), tenant{team: one}); err != nil {
					return err
				}
			}
		}

		for name, n := range map[string]int{fewName: entries / 10, manyName: entries} {
			t, err := b.newBooks(ctx)
			if err != nil {
				return err
			}

			t.rows = n
			if err := b.keepTeam(ctx, name, t); err != nil {
				return err
			}

			if err := b.asAdministrator(ctx, heldSQL(n/linesOfHeld), t); err != nil {
				return err
			}
		}

		return b.asAdministrator(ctx, []string{"analyze"}, tenant{})
	}}
}

// newTenants creates so many teams, and a key that reaches all of them. The tenant is the first team with this key.
func (b *bed) newTenants(ctx context.Context, n int) (t tenant, teams []id.ID, err error) {
	err = b.db.Write(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		for i := range n {
			one, err := team.Create(ctx, tx, team.New{Name: fmt.Sprintf("Team %d of %d", i, n), Type: team.PropertyManager, Region: "us"})
			if err != nil {
				return err
			}

			teams = append(teams, one)
		}

		key, err := access.IssueKey(ctx, tx, access.NewKey{Name: "bench", Teams: teams, Scopes: []string{"admin"}})
		if err != nil {
			return err
		}

		t = tenant{team: teams[0], user: key.UserID, secret: key.Secret, rows: n}

		return nil
	})

	return t, teams, err
}

// issuesSQL returns the statements that give a team a connection with issues of each kind that records have.
func issuesSQL() []string {
	return []string{
		`insert into connection (team_id, id, short_ref, app_id, name, status, created_at, updated_at)
			values ($1, md5($1::uuid::text || 'source')::uuid, 'source', '` + string(protocolApp()) + `', 'source', 'active', now(), now())`,
		`insert into sync_source (team_id, id, connection_id) select team_id, id, id from connection where team_id = $1`,
		fmt.Sprintf(`insert into sync_issue (team_id, id, source_id, kind, external_id, ordinal, code, context, at, day)
			select $1, gen_random_uuid(), md5($1::uuid::text || 'source')::uuid, 'reservation', 'r' || n, 0,
				(array['recordFailed', 'recordLocked', 'recordUnmapped', 'ambiguous'])[1 + n %% 4],
				jsonb_build_object('kind', 'reservation', 'externalId', 'r' || n, 'centTotal', n, 'currency', 'usd'), now() - n * interval '1 hour', current_date
			from generate_series(1, %d) n`, issuesOfTeam),
		`insert into list_delta (team_id, list, rows) select team_id, 'sync_issue', count(*) from sync_issue where team_id = $1 group by team_id`,
	}
}

// heldSQL returns the statements that give a team of newBooks so many stays of which a lock holds changes back.
func heldSQL(changes int) []string {
	return []string{
		fmt.Sprintf(`insert into ledger_held (team_id, id, source, source_id, name, reason, held_at, since)
			select $1, md5($1::uuid::text || 'held' || n)::uuid, 'reservation', s, s::text, 'books', date '2026-01-01' + n %% 300, now() - n * interval '1 minute'
			from generate_series(1, %d) n cross join lateral (select md5($1::uuid::text || 'stay' || n)::uuid) s (s)`, changes),
		fmt.Sprintf(`insert into ledger_held_line (team_id, held_id, position, ledger, txn_at, currency, account_id, cent_total, party, listing_id,
				ownership_period_id, trigger_type)
			select $1, md5($1::uuid::text || 'held' || n)::uuid, k, 'reservation', date '2026-01-01' + n %% 300, 'usd', a.id, case when k %% 2 = 0 then n else -n end,
				case when k %% 2 = 0 then 'owners' else 'manager' end, p.listing_id, p.id, 'checkIn'
			from generate_series(1, %d) n cross join generate_series(0, %d) k
			join listing_ownership_period p on p.team_id = $1 and p.listing_id = md5($1::uuid::text || (1 + n %% %d))::uuid
			join account a on a.team_id = $1 and a.code = '4100'`, changes, linesOfHeld-1, portfolio),
		`insert into list_delta (team_id, list, rows) select team_id, 'ledger_held', count(*) from ledger_held where team_id = $1 group by team_id`,
	}
}
