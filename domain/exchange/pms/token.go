package pms

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stayledger/domain/tenant/connection"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/seal"
	"stayledger/provider/pms"
)

// keptTokens keeps the token of a connection in the database, so that all workers share it. A token is renewed by one
// worker at a time, under a lease, and saved before it is used, so that it is never asked for twice. No transaction is
// open while the system is asked.
type keptTokens struct {
	db         *db.DB
	scope      db.Scope
	box        *seal.Box
	connection id.ID
	// sum is the hash of the sealed credentials. A token for other credentials is not used.
	sum []byte
}

// renewTime is how long others wait for a renewal, at most: a call and the time until a token can be used are shorter.
// A worker that dies while it renews holds the others up for as long.
const renewTime = 40 * time.Second

// renewPause is the wait before a worker looks again whether another one has renewed the token.
const renewPause = 100 * time.Millisecond

// settleTime bounds the transaction that ends a renewal. It runs also when the caller has gone.
const settleTime = 10 * time.Second

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

// tokenRow is a token as the database has it. The token is nil while the first one is asked for.
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

	// Wait while another worker renews it, and then find the new one.
	lease := id.New(k.db.Now())

	for {
		t, next, err := k.claim(ctx, lease)

		switch {
		case err != nil || next == useIt:
			return t, err
		case next == renewIt:
			return k.renew(ctx, lease, t, renew)
		}

		select {
		case <-time.After(renewPause):
		case <-ctx.Done():
			return pms.Token{}, &pms.Error{Kind: pms.ErrTimeout}
		}
	}
}

// next is what a worker does about the token of a connection.
type next int

const (
	// Another worker renews it.
	awaitIt next = iota
	useIt
	// This worker has the lease.
	renewIt
)

// claim loads the token, the zero token for none. One that is not fresh is to be renewed, under the lease that is taken
// for it unless another worker has one.
func (k *keptTokens) claim(ctx context.Context, lease id.ID) (t pms.Token, then next, err error) {
	err = k.db.Write(ctx, k.scope, func(ctx context.Context, tx *db.Tx) error {
		// The first renewal of a connection needs a row, too, on which others wait for this transaction.
		if _, err := tx.Exec(ctx, `
			insert into connection_token (team_id, id, credentials_sum)
			select @team, c.id, @sum from connection c where c.team_id = @team and c.id = @id on conflict do nothing`,
			db.Args{"team": tx.Team, "id": k.connection, "sum": k.sum}); err != nil {
			return err
		}

		var fresh bool

		if t, fresh, err = k.load(ctx, tx, "for update"); err != nil {
			return err
		}

		if fresh {
			then = useIt
			return nil
		}

		// Nobody waits for a renewal with earlier credentials. Their token is dropped.
		n, err := tx.Exec(ctx, `
			update connection_token set renewing_by = @lease, renewing_until = clock_timestamp() + @time::interval, credentials_sum = @sum,
				token = case when credentials_sum = @sum then token end
			where team_id = @team and id = @id and (renewing_until is null or renewing_until <= clock_timestamp() or credentials_sum <> @sum)`,
			db.Args{"team": tx.Team, "id": k.connection, "sum": k.sum, "lease": lease, "time": renewTime})
		if n > 0 {
			then = renewIt
		}

		return err
	})
	if err != nil {
		return t, awaitIt, fmt.Errorf("claim the renewal of a token: %w", err)
	}

	return t, then, nil
}

// renew renews a token under the lease, saves it and ends the lease. A token is saved only under the lease: if the
// credentials have changed meanwhile, it is of no use to others. The caller may have gone by then, and its team may be
// frozen; the system has given the token all the same, and may take no other one for the next.
func (k *keptTokens) renew(
	ctx context.Context,
	lease id.ID,
	old pms.Token,
	renew func(ctx context.Context, old pms.Token) (pms.Token, error),
) (pms.Token, error) {
	renewed, err := renew(ctx, old)

	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer stop()

	scope := k.scope
	scope.Frozen, scope.Ungated = true, true

	settling := k.db.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		if err == nil {
			return k.save(ctx, tx, lease, renewed)
		}

		_, failed := tx.Exec(ctx, `update connection_token set renewing_by = null, renewing_until = null where team_id = @team and id = @id and renewing_by = @lease`,
			db.Args{"team": tx.Team, "id": k.connection, "lease": lease})

		return failed
	})

	return renewed, errors.Join(err, settling)
}

// load loads the token, the zero token if there is none. It returns false if the token must be renewed.
func (k *keptTokens) load(ctx context.Context, tx *db.Tx, lock string) (t pms.Token, fresh bool, err error) {
	row, err := db.Maybe[tokenRow](ctx, tx, `select token, credentials_sum, renew_at from connection_token where team_id = @team and id = @id `+lock,
		db.Args{"team": tx.Team, "id": k.connection})
	if err != nil {
		return t, false, fmt.Errorf("read the token of a connection: %w", err)
	}

	if row == nil || row.Token == nil || !bytes.Equal(row.CredentialsSum, k.sum) {
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

// save saves a token under the lease and ends that.
func (k *keptTokens) save(ctx context.Context, tx *db.Tx, lease id.ID, t pms.Token) error {
	var renewAt *time.Time
	if at := pms.RenewAt(tx.Now, t.ExpiresAt); !at.IsZero() {
		renewAt = &at
	}

	sealed, err := k.seal(t)
	if err != nil {
		return err
	}

	if _, err := tx.Exec(ctx, `
		update connection_token set token = @token, renew_at = @renew::timestamptz, renewing_by = null, renewing_until = null
		where team_id = @team and id = @id and renewing_by = @lease`,
		db.Args{"team": tx.Team, "id": k.connection, "token": sealed, "renew": renewAt, "lease": lease}); err != nil {
		return fmt.Errorf("keep the token of a connection: %w", err)
	}

	return nil
}

// seal returns a token as the database keeps it.
func (k *keptTokens) seal(t pms.Token) ([]byte, error) {
	plain, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("encode a token: %w", err)
	}

	return k.box.Seal(plain, tokenLabel(k.connection)), nil
}

// Refused drops a token that the system has refused, unless another token was saved meanwhile. Its means of renewal
// stay.
func (k *keptTokens) Refused(ctx context.Context, t pms.Token) error {
	return k.db.Write(ctx, k.scope, func(ctx context.Context, tx *db.Tx) error {
		kept, _, err := k.load(ctx, tx, "for update")
		if err != nil || kept.Access == "" || kept.Access != t.Access {
			return err
		}

		kept.Access = ""

		sealed, err := k.seal(kept)
		if err != nil {
			return err
		}

		if _, err := tx.Exec(ctx, `update connection_token set token = @token where team_id = @team and id = @id`,
			db.Args{"team": tx.Team, "id": k.connection, "token": sealed}); err != nil {
			return fmt.Errorf("drop the token of a connection: %w", err)
		}

		return nil
	})
}
