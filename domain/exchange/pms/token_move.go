package pms

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"stayledger/domain/tenant/connection"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/seal"
)

// AwaitTokens returns when no token of a team is being renewed. In a frozen team no renewal begins after that. It runs
// outside any transaction, and fails when the context ends.
func AwaitTokens(ctx context.Context, d *db.DB, scope db.Scope) error {
	for {
		renewing := false

		err := d.ReadOne(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
			renewing, err = db.Get[bool](ctx, tx, `select exists (select from connection_token where team_id = @team and renewing_until > clock_timestamp())`,
				db.Args{"team": tx.Team})

			return err
		})
		if err != nil || !renewing {
			return err
		}

		select {
		case <-time.After(renewPause):
		case <-ctx.Done():
			return fmt.Errorf("wait for the renewal of tokens: %w", ctx.Err())
		}
	}
}

// Taken are tokens on their way to connections of another team.
type Taken []takenToken

type takenToken struct {
	connection id.ID
	plain      []byte
	renewAt    *time.Time
}

// TakeTokens deletes and returns the tokens of the connections of another visible team, before their credentials
// move: with OAuth a system gives a new token only for the old one. Tokens for earlier credentials are dropped.
func TakeTokens(ctx context.Context, tx *db.Tx, box *seal.Box, from id.ID) (Taken, error) {
	type row struct {
		ID      id.ID
		Token   []byte
		RenewAt *time.Time
		Counts  bool
	}

	rows, err := db.Select[row](ctx, tx, `
		delete from connection_token t using connection c where t.team_id = @from and c.team_id = @from and c.id = t.id
		returning t.id, t.token, t.renew_at, t.token is not null and coalesce(t.credentials_sum = sha256(c.credentials), false) as counts`, db.Args{"from": from})
	if err != nil {
		return nil, fmt.Errorf("take the tokens of connections: %w", err)
	}

	var out Taken

	for _, r := range rows {
		if !r.Counts {
			continue
		}

		plain, err := box.Open(r.Token, tokenLabel(r.ID))
		if err != nil {
			return nil, fmt.Errorf("the token of connection %v: %w", r.ID, err)
		}

		out = append(out, takenToken{r.ID, plain, r.RenewAt})
	}

	return out, nil
}

// Keep inserts the tokens for the moved connections of this team; moved maps the old connections to the new ones.
func (t Taken) Keep(ctx context.Context, tx *db.Tx, box *seal.Box, moved map[id.ID]id.ID) error {
	for i := range t {
		c, err := connection.Get(ctx, tx, moved[t[i].connection])
		if err != nil {
			return fmt.Errorf("read a connection that has moved: %w", err)
		}

		// A token is valid only for the sealed credentials it was given for, and moving has sealed them anew.
		sum := sha256.Sum256(c.Credentials)

		if _, err := tx.Exec(ctx, `insert into connection_token (team_id, id, token, credentials_sum, renew_at) values (@team, @id, @token, @sum, @renew)`,
			db.Args{
				"team": tx.Team, "id": c.ID, "token": box.Seal(t[i].plain, tokenLabel(c.ID)), "sum": sum[:],
				"renew": t[i].renewAt,
			}); err != nil {
			return fmt.Errorf("keep the token of a connection: %w", err)
		}
	}

	return nil
}
