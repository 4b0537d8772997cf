package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stayledger/domain/record/audit"
	"stayledger/domain/tenant/team"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Directory is what deployments of other regions know of a partner: its team and customers, each by name and region,
// and its keys by their hashes. It has no books, and no secret that opens anything.
type Directory struct {
	Teams []DirectoryTeam `json:"teams"` // the partner first
	Keys  []DirectoryKey  `json:"keys"`
}

// DirectoryTeam is a team of a directory.
type DirectoryTeam struct {
	ID        id.ID     `json:"id"`
	Type      team.Type `json:"type"`
	Name      string    `json:"name"`
	Status    string    `json:"status"`
	Region    Region    `json:"region"`
	PartnerID *id.ID    `json:"partnerId"`
}

// DirectoryKey is a partner key of a directory. The service user that it acts as comes with it.
type DirectoryKey struct {
	ID        id.ID      `json:"id"`
	UserID    id.ID      `json:"userId"`
	Name      string     `json:"name"`
	Audience  Audience   `json:"audience"`
	Prefix    string     `json:"prefix"`
	Hash      []byte     `json:"hash"`
	Scopes    []string   `json:"scopes"`
	ExpiresAt *time.Time `json:"expiresAt"`
	RevokedAt *time.Time `json:"revokedAt"`
}

// ExportDirectory returns the directory of a partner. Tx works across teams. It fails with apierr.NotFound.
func ExportDirectory(ctx context.Context, tx *db.Tx, partner id.ID) (*Directory, error) {
	teams, err := db.Select[DirectoryTeam](ctx, tx, `
		select id, type, name, status, region, partner_id from team where id = @partner and type = 'partner' or partner_id = @partner
		order by id <> @partner, id`, db.Args{"partner": partner})
	if err != nil {
		return nil, fmt.Errorf("list the teams of a partner: %w", err)
	}

	if len(teams) == 0 {
		return nil, apierr.NotFound
	}

	keys, err := db.Select[DirectoryKey](ctx, tx, `
		select id, user_id, name, audience, prefix, hash, scopes, expires_at, revoked_at from access_key where team_id = @partner and kind = 'partner' order by id`,
		db.Args{"partner": partner})
	if err != nil {
		return nil, fmt.Errorf("list the keys of a partner: %w", err)
	}

	return &Directory{teams, keys}, nil
}

// errNoPartner is a directory that does not begin with a partner.
var errNoPartner = errors.New("the directory does not begin with its partner")

// ImportDirectory takes in what another deployment knows of a partner. Tx works across teams. A team that lives in a
// region served here is known better here and stays as it is; others are added or changed. Keys that were revoked
// there are revoked here. Taking the same directory in again changes nothing.
func ImportDirectory(ctx context.Context, tx *db.Tx, d *Directory, here []Region) error {
	if len(d.Teams) == 0 || d.Teams[0].Type != team.Partner {
		return errNoPartner
	}

	rows, err := json.Marshal(d.Teams)
	if err != nil {
		return fmt.Errorf("encode teams: %w", err)
	}

	changed, err := db.Select[id.ID](ctx, tx, `
		insert into team (id, type, name, status, region, partner_id, created_at, updated_at)
		select x.id, x.type, x.name, x.status, x.region, x."partnerId", @now, @now
		from jsonb_to_recordset(@rows::jsonb) as x (id uuid, type text, name text, status text, region text, "partnerId" uuid)
		on conflict (id) do update set name = excluded.name, status = excluded.status, partner_id = excluded.partner_id, updated_at = @now
		where team.region = excluded.region and not team.region = any(@here::text[])
			and (team.name, team.status, team.partner_id) is distinct from (excluded.name, excluded.status, excluded.partner_id)
		returning id`, db.Args{"rows": string(rows), "now": tx.Now, "here": here})
	if err != nil {
		return fmt.Errorf("take in the teams of a directory: %w", err)
	}

	for _, v := range changed {
		audit.NoteIn(tx, v, audit.Updated, audit.Team, v, nil, map[string]any{"directory": true})
	}

	for i := range d.Keys {
		if err := importKey(ctx, tx, d.Teams[0].ID, &d.Keys[i]); err != nil {
			return err
		}
	}

	return team.Announce(ctx, tx)
}

// importKey takes in a key, or that it was revoked.
func importKey(ctx context.Context, tx *db.Tx, partner id.ID, k *DirectoryKey) error {
	if _, err := tx.Exec(ctx, `insert into access_user (id, kind, name, created_at) values (@id, 'service', @name, @now) on conflict (id) do nothing`,
		db.Args{"id": k.UserID, "name": k.Name, "now": tx.Now}); err != nil {
		return fmt.Errorf("take in the user of a key: %w", err)
	}

	n, err := tx.Exec(ctx, `
		insert into access_key as a (team_id, id, user_id, name, kind, audience, prefix, hash, scopes, expires_at, revoked_at, created_at)
		values (@team, @id, @user, @name, 'partner', @audience, @prefix, @hash, @scopes, @expires, @revoked, @now)
		on conflict (team_id, id) do update set revoked_at = coalesce(a.revoked_at, excluded.revoked_at)
		where a.revoked_at is null and excluded.revoked_at is not null`,
		db.Args{
			"team": partner, "id": k.ID, "user": k.UserID, "name": k.Name, "audience": k.Audience, "prefix": k.Prefix, "hash": k.Hash,
			"scopes": k.Scopes, "expires": k.ExpiresAt, "revoked": k.RevokedAt, "now": tx.Now,
		})
	if err != nil {
		return fmt.Errorf("take in a key: %w", err)
	}

	if n > 0 {
		audit.NoteIn(tx, partner, audit.Updated, audit.APIKey, k.ID, nil, map[string]any{"directory": true, "revokedAt": k.RevokedAt})
	}

	return nil
}
