package access

import (
	"context"
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
	Teams []team.Known   `json:"teams"` // the partner first
	Keys  []DirectoryKey `json:"keys"`
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
	teams, err := team.LoadKnown(ctx, tx, partner)
	if err != nil {
		return nil, err
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
func ImportDirectory(ctx context.Context, tx *db.Tx, d *Directory, here []string) error {
	if len(d.Teams) == 0 || d.Teams[0].Type != team.Partner {
		return errNoPartner
	}

	if err := team.Learn(ctx, tx, d.Teams, here); err != nil {
		return err
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
