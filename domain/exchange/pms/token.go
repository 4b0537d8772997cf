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

// keptTokens keep the token of a connection in the database, so that all workers use one. A token is renewed while the
// row is locked, and kept before it is used: one that was given is not asked for again.
type keptTokens struct {
	db         *db.DB
	scope      db.Scope
	box        *seal.Box
	connection id.ID
	// sum is that of the sealed credentials. A token that was given for others is not used.
	sum []byte
}

// newTokens returns the tokens of a connection.
func newTokens(d *db.DB, scope db.Scope, box *seal.Box, c *connection.Connection) *keptTokens {
	sum := sha256.Sum256(c.Credentials)

	return &keptTokens{db: d, scope: scope, box: box, connection: c.ID, sum: sum[:]}
}

// tokenLabel returns the name that tokens are sealed under.
func tokenLabel(connection id.ID) string { return "connection-token:" + connection.String() }

// SealedColumn names the column that keeps tokens.
func SealedColumn() seal.Column {
	return seal.Column{Table: "connection_token", Name: "token", Label: tokenLabel}
}

// tokenRow is a token as it is stored.
type tokenRow struct {
	Token          []byte
	CredentialsSum []byte
	RenewAt        *time.Time
}

// Token returns the token that is kept, or renews it. It fails with the error of renew.
func (k *keptTokens) Token(ctx context.Context, renew func(ctx context.Context, old pms.Token) (pms.Token, error)) (t pms.Token, err error) {
	fresh := false

	err = k.db.ReadOne(ctx, k.scope, func(ctx context.Context, tx *db.Tx) (err error) {
		t, fresh, err = k.load(ctx, tx, "")
		return err
	})
	if err != nil || fresh {
		return t, err
	}

	// The call is made while the connection is locked: whoever waits finds the token that it gave.
	err = k.db.Write(ctx, k.scope, func(ctx context.Context, tx *db.Tx) (err error) {
		if _, err := db.One[bool](ctx, tx, apierr.NotFound, `select true from connection where team_id = @team and id = @id for no key update`,
			db.Args{"team": tx.Team, "id": k.connection}); err != nil {
			return fmt.Errorf("lock a connection: %w", err)
		}

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

// load loads the token. It returns false for one that is to be renewed; none is the zero token.
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

// save keeps a token.
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
		db.Args{"team": tx.Team, "id": k.connection, "token": k.box.Seal(plain, tokenLabel(k.connection)), "sum": k.sum, "renew": renewAt}); err != nil {
		return fmt.Errorf("keep the token of a connection: %w", err)
	}

	return nil
}

// Refused forgets a token that the system has refused, unless another one is kept by now. What it is renewed with stays.
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
