package connection

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/seal"
)

// authorization is an attempt of a user to give access to an account at an app.
type authorization struct {
	ID           id.ID
	AppID        AppID
	ConnectionID *id.ID
	RedirectURI  string
	Code         []byte // sealed; nil until the person is back
	CreatedAt    time.Time
}

// insertAuthorization inserts an authorization of the acting user, and deletes expired authorizations of the team. The
// table keeps only a hash of the state, so that a reader of the database cannot complete an authorization.
func insertAuthorization(ctx context.Context, tx *db.Tx, state string, a authorization) error {
	sum := sha256.Sum256([]byte(state))

	if _, err := tx.Exec(ctx, `delete from connection_authorization where team_id = @team and created_at <= @over`,
		db.Args{"team": tx.Team, "over": tx.Now.Add(-authorizationTime)}); err != nil {
		return fmt.Errorf("forget authorizations: %w", err)
	}

	_, err := tx.Exec(ctx, `
		insert into connection_authorization (team_id, id, hash, user_id, app_id, connection_id, redirect_uri, created_at)
		values (@team, @id, @hash, @user, @app, @connection, @redirect, @now)`,
		db.Args{
			"team": tx.Team, "id": tx.NewID(), "hash": sum[:], "user": tx.Actor.User, "app": a.AppID,
			"connection": a.ConnectionID, "redirect": a.RedirectURI, "now": tx.Now,
		})
	if err != nil {
		return fmt.Errorf("begin an authorization: %w", err)
	}

	return nil
}

// lockAuthorization loads and locks the authorization with a state. An empty app means any app. It returns nil if the
// state is unknown, expired, or belongs to another user.
func lockAuthorization(ctx context.Context, tx *db.Tx, state string, at AppID) (*authorization, error) {
	sum := sha256.Sum256([]byte(state))

	found, err := db.Maybe[authorization](ctx, tx, `
		select id, app_id, connection_id, redirect_uri, code, created_at from connection_authorization
		where team_id = @team and hash = @hash and user_id = @user and created_at > @over and (@app::text = '' or app_id = @app) for update`,
		db.Args{
			"app": at, "team": tx.Team, "hash": sum[:], "user": tx.Actor.User,
			"over": tx.Now.Add(-authorizationTime),
		})
	if err != nil {
		return nil, fmt.Errorf("find an authorization: %w", err)
	}

	return found, nil
}

// updateCode sets the sealed code of an authorization.
func updateCode(ctx context.Context, tx *db.Tx, one id.ID, code []byte) error {
	_, err := tx.Exec(ctx, `update connection_authorization set code = @code where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": one, "code": code})
	if err != nil {
		return fmt.Errorf("keep the code of an authorization: %w", err)
	}

	return nil
}

// deleteAuthorization deletes an authorization, which can be used only once.
func deleteAuthorization(ctx context.Context, tx *db.Tx, one id.ID) error {
	_, err := tx.Exec(ctx, `delete from connection_authorization where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": one})
	if err != nil {
		return fmt.Errorf("use up an authorization: %w", err)
	}

	return nil
}

// codeLabel returns the label under which the code of an authorization is sealed.
func codeLabel(authorization id.ID) string {
	return "connection-authorization:" + authorization.String()
}

// CodeColumn returns the column of sealed codes, for a change of the key.
func CodeColumn() seal.Column {
	return seal.Column{Table: "connection_authorization", Name: "code", Label: codeLabel}
}
