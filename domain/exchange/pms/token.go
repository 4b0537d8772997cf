package pms

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"stayledger/domain/tenant/connection"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/seal"
	"stayledger/provider/pms"
)

// keptTokens keeps the token of a connection in the database, so that all workers share it. A token is renewed under
// a lock and saved before it is used, so that it is never asked for twice.
type keptTokens struct {
	db         *db.DB
	scope      db.Scope
	box        *seal.Box
	connection id.ID
	// sum is the hash of the sealed credentials. A token for other credentials is not used.
	sum []byte
}

// newTokens returns the token store of a connection.
func newTokens(d *db.DB, scope db.Scope, box *seal.Box, c *connection.Connection) *keptTokens {
	sum := sha256.Sum256(c.Credentials)

	return &keptTokens{db: d, scope: scope, box: box, connection: c.ID, sum: sum[:]}
}

// tokenLabel returns the label that seals the token of a connection.
func tokenLabel(connection id.ID) string { return "connection-token:" + connection.String() }

// TokenColumn names the column with sealed tokens.
func TokenColumn() seal.Column {
	return seal.Column{Table: "connection_token", Name: "token", Label: tokenLabel}
}

// tokenRow is a token as the database has it.
type tokenRow struct {
	Token          []byte
	CredentialsSum []byte
	RenewAt        *time.Time
}

// Token returns the saved token, or renews it. It fails with the error of renew.
func (k *keptTokens) Token(
	ctx context.Context,
	renew func(ctx context.Context, old pms.Token) (pms.Token, error),
) (t pms.Token, err error) {
	fresh := false

	err = k.db.ReadOne(ctx, k.scope, func(ctx context.Context, tx *db.Tx) (err error) {
		t, fresh, err = k.load(ctx, tx, "")
		return err
	})
	if err != nil || fresh {
		return t, err
	}

	// Renew under the lock of the connection: other workers wait and then find the new token.
	err = k.db.Write(ctx, k.scope, func(ctx context.Context, tx *db.Tx) (err error) {
		if _, err := db.One[bool](ctx, tx, apierr.NotFound, `select true from connection where team_id = @team and id = @id for no key update`,
			db.Args{"team": tx.Team, "id": k.connection}); err != nil {
			return fmt.Errorf("lock a connection: %w", err)
		}

		// Another worker may have renewed it meanwhile.
		if t, fresh, err = k.load(ctx, tx, "for update"); err != nil || fresh {
			return err
		}

		if t, err = renew(ctx, t); err != nil {
			return err
		}

		return k.save(ctx, tx, t)
	})

	return t, err
}

// load loads the token, the zero token if there is none. It returns false if the token must be renewed.
func (k *keptTokens) load(ctx context.Context, tx *db.Tx, lock string) (t pms.Token, fresh bool, err error) {
	row, err := db.Maybe[tokenRow](ctx, tx, `select token, credentials_sum, renew_at from connection_token where team_id = @team and id = @id `+lock,
		db.Args{"team": tx.Team, "id": k.connection})
	if err != nil {
		return t, false, fmt.Errorf("read the token of a connection: %w", err)
	}

	if row == nil || !bytes.Equal(row.CredentialsSum, k.sum) {
		return t, false, nil
	}

	plain, err := k.box.Open(row.Token, tokenLabel(k.connection))
	if err != nil {
		return t, false, fmt.Errorf("the token of connection %v: %w", k.connection, err)
	}

	if err := json.Unmarshal(plain, &t); err != nil {
		return t, false, fmt.Errorf("the token of connection %v: %w", k.connection, err)
	}

	return t, t.Access != "" && (row.RenewAt == nil || tx.Now.Before(*row.RenewAt)), nil
}

// save upserts a token.
func (k *keptTokens) save(ctx context.Context, tx *db.Tx, t pms.Token) error {
	plain, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encode a token: %w", err)
	}

	var renewAt *time.Time
	if at := pms.RenewAt(tx.Now, t.ExpiresAt); !at.IsZero() {
		renewAt = &at
	}

	if _, err := tx.Exec(ctx, `
		insert into connection_token (team_id, id, token, credentials_sum, renew_at) values (@team, @id, @token, @sum, @renew)
		on conflict (team_id, id) do update set token = excluded.token, credentials_sum = excluded.credentials_sum, renew_at = excluded.renew_at`,
		db.Args{
			"team": tx.Team, "id": k.connection, "token": k.box.Seal(plain, tokenLabel(k.connection)), "sum": k.sum,
			"renew": renewAt,
		}); err != nil {
		return fmt.Errorf("keep the token of a connection: %w", err)
	}

	return nil
}

// Refused drops a token that the system has refused, unless another token was saved meanwhile. Its means of renewal
// stay.
func (k *keptTokens) Refused(ctx context.Context, t pms.Token) error {
	return k.db.Write(ctx, k.scope, func(ctx context.Context, tx *db.Tx) error {
		kept, _, err := k.load(ctx, tx, "for update")
		if err != nil || kept.Access != t.Access {
			return err
		}

		kept.Access = ""

		return k.save(ctx, tx, kept)
	})
}
