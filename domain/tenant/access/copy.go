package access

import (
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/domain/tenant/team"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// AdmitMaker lets the person who makes the team of the transaction work in it, with the scopes that the request has. Keys of
// the partner reach it anyway.
func AdmitMaker(ctx context.Context, tx *db.Tx) error {
	if tx.Actor.Kind != db.Person {
		return nil
	}

	return SetMember(ctx, tx, Member{Team: tx.Team, User: tx.Actor.User, Scopes: tx.Actor.Scopes})
}

// NewRegionCheck returns a function that refuses regions which another deployment serves, or none does. Without regions it is nil.
func NewRegionCheck(here, elsewhere map[Region]string) func(region string) error {
	if len(here) == 0 {
		return nil
	}

	g := Gate{Config: Config{Regions: here, Elsewhere: elsewhere}}

	return func(region string) error { return g.here(Region(region), nil) }
}

// CopyGrants lets everybody into the team of the transaction who may work in another one: people with the same scopes, and
// keys that name several teams. The only other key is the one that asks: requests by a key of one team need not say which
// team they mean, and would fail from then on. An owner's grant is left out: it belongs to a contact of the other team.
func CopyGrants(ctx context.Context, tx *db.Tx, from id.ID) error {
	type grant struct {
		UserID id.ID    `json:"user_id"`
		Scopes []string `json:"scopes"`
	}

	type reach struct {
		KeyID      id.ID `json:"key_id"`
		HomeTeamID id.ID `json:"home_team_id"`
	}

	var (
		people []grant
		keys   []reach
	)

	err := tx.Visit(ctx, from, func(ctx context.Context, tx *db.Tx) (err error) {
		people, err = db.Select[grant](ctx, tx, `select user_id, scopes from access_member where team_id = @from and contact_id is null order by user_id`,
			db.Args{"from": from})
		if err != nil {
			return err
		}

		keys, err = db.Select[reach](ctx, tx, `
			select t.key_id, t.home_team_id from access_key_team t where t.team_id = @from and (t.home_team_id <> @from or exists (
				select from access_key k where k.team_id = @from and k.id = t.key_id and k.user_id = @actor)) order by t.key_id`,
			db.Args{"from": from, "actor": tx.Actor.User})

		return err
	})
	if err != nil {
		return fmt.Errorf("read who may work in a team: %w", err)
	}

	for _, g := range people {
		if err := SetMember(ctx, tx, Member{Team: tx.Team, User: g.UserID, Scopes: g.Scopes}); err != nil {
			return err
		}
	}

	for _, k := range keys {
		_, err := tx.Exec(ctx, `insert into access_key_team (team_id, home_team_id, key_id) values (@team, @home, @key) on conflict do nothing`,
			db.Args{"team": tx.Team, "home": k.HomeTeamID, "key": k.KeyID})
		if err != nil {
			return fmt.Errorf("let a key into a team: %w", err)
		}

		audit.Note(tx, audit.Updated, audit.APIKey, k.KeyID, nil, map[string]any{"teamId": tx.Team})
	}

	return team.Announce(ctx, tx)
}
