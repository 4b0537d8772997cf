package access

import (
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/domain/tenant/team"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// AdmitMaker lets who makes the team of the transaction work in it: a person with the scopes that the person has in
// the team of, and a key that reaches several teams, which has to say already which of them it means. A key of one
// team would have to from then on, and those of the partner reach the team anyway.
func AdmitMaker(ctx context.Context, tx *db.Tx, of id.ID, reach []id.ID) error {
	switch tx.Actor.Kind {
	case db.Person:
		return admitPerson(ctx, tx, of)
	case db.TeamKey:
		if len(reach) > 1 {
			return admitKey(ctx, tx, reach)
		}
	case db.PartnerKey, db.System, db.Embedded:
	}

	return nil
}

// admitPerson lets the person of the request into the team of the transaction.
func admitPerson(ctx context.Context, tx *db.Tx, of id.ID) error {
	var scopes *[]string

	err := tx.Visit(ctx, of, func(ctx context.Context, tx *db.Tx) (err error) {
		scopes, err = db.Maybe[[]string](ctx, tx, `select scopes from access_member where team_id = @of and user_id = @user and contact_id is null`,
			db.Args{"of": of, "user": tx.Actor.User})

		return err
	})
	if err != nil || scopes == nil {
		return err
	}

	return SetMember(ctx, tx, Member{Team: tx.Team, User: tx.Actor.User, Scopes: *scopes})
}

// admitKey lets the key of the request, which reaches some teams, into the team of the transaction too.
func admitKey(ctx context.Context, tx *db.Tx, reach []id.ID) error {
	var found *keyTeam

	// One of the teams has issued the key.
	err := tx.VisitAll(ctx, reach, func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = db.Maybe[keyTeam](ctx, tx, `select id as key_id, team_id as home_team_id from access_key where user_id = @user and revoked_at is null`,
			db.Args{"user": tx.Actor.User})

		return err
	})
	if err != nil {
		return fmt.Errorf("find the key of a request: %w", err)
	}

	if found == nil {
		return nil
	}

	if err := found.letIn(ctx, tx); err != nil {
		return err
	}

	return team.Announce(ctx, tx)
}

// keyTeam names a key by the team that has issued it.
type keyTeam struct {
	KeyID      id.ID `json:"key_id"`
	HomeTeamID id.ID `json:"home_team_id"`
}

// letIn lets the key into the team of the transaction.
func (k *keyTeam) letIn(ctx context.Context, tx *db.Tx) error {
	_, err := tx.Exec(ctx, `insert into access_key_team (team_id, home_team_id, key_id) values (@team, @home, @key) on conflict do nothing`,
		db.Args{"team": tx.Team, "home": k.HomeTeamID, "key": k.KeyID})
	if err != nil {
		return fmt.Errorf("let a key into a team: %w", err)
	}

	audit.Note(tx, audit.Updated, audit.APIKey, k.KeyID, nil, map[string]any{"teamId": tx.Team})

	return nil
}

// DismissPartner keeps whoever works for a partner out of the team of the transaction, which leaves it: people of the
// partner, and keys that other teams have issued. Sessions and keys of the partner end by themselves.
func DismissPartner(ctx context.Context, tx *db.Tx, partner id.ID) error {
	var people []id.ID

	err := tx.Visit(ctx, partner, func(ctx context.Context, tx *db.Tx) (err error) {
		people, err = db.Select[id.ID](ctx, tx, `select user_id from access_member where team_id = @partner`, db.Args{"partner": partner})
		return err
	})
	if err != nil {
		return fmt.Errorf("read the people of a partner: %w", err)
	}

	// Who owns houses of the team stays its owner.
	if _, err := revokeGrants(ctx, tx, tx.Team, `user_id = any(@people::uuid[]) and contact_id is null`, db.Args{"people": people}); err != nil {
		return err
	}

	keys, err := db.Select[id.ID](ctx, tx, `delete from access_key_team where team_id = @team and home_team_id <> @team returning key_id`,
		db.Args{"team": tx.Team})
	if err != nil {
		return fmt.Errorf("keep the keys of other teams out: %w", err)
	}

	for _, key := range keys {
		audit.Note(tx, audit.Updated, audit.APIKey, key, map[string]any{"teamId": tx.Team}, map[string]any{"teamId": nil})
	}

	return nil
}

// NewRegionCheck returns a function that refuses regions which another deployment serves, or none does. Without
// regions it is nil.
func NewRegionCheck(here, elsewhere map[Region]string) func(region string) error {
	if len(here) == 0 {
		return nil
	}

	g := Gate{Config: Config{Regions: here, Elsewhere: elsewhere}}

	return func(region string) error { return g.here(Region(region), nil) }
}

// CopyGrants lets everybody into the team of the transaction who may work in another one: people with the same
// scopes, and keys that name several teams. The only other key is the one that asks: requests by a key of one team
// need not say which team they mean, and would fail from then on. An owner's grant is left out: it belongs to a
// contact of the other team.
func CopyGrants(ctx context.Context, tx *db.Tx, from id.ID) error {
	type grant struct {
		UserID id.ID    `json:"user_id"`
		Scopes []string `json:"scopes"`
	}

	var (
		people []grant
		keys   []keyTeam
	)

	err := tx.Visit(ctx, from, func(ctx context.Context, tx *db.Tx) (err error) {
		people, err = db.Select[grant](ctx, tx, `select user_id, scopes from access_member where team_id = @from and contact_id is null order by user_id`,
			db.Args{"from": from})
		if err != nil {
			return err
		}

		keys, err = db.Select[keyTeam](ctx, tx, `
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

	for i := range keys {
		if err := keys[i].letIn(ctx, tx); err != nil {
			return err
		}
	}

	return team.Announce(ctx, tx)
}
