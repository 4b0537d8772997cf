package payment

import (
	"context"
	"fmt"

	"stayledger/domain/settlement/payapp"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/provider/pay"
)

type callbackInput struct {
	ConnectionID id.ID  `path:"connectionId"`
	MessageID    string `header:"webhook-id" maxLength:"200"`
	Timestamp    string `header:"webhook-timestamp" maxLength:"20"`
	Signature    string `header:"webhook-signature" maxLength:"2000"`
	Raw          api.Raw
}

// callback applies news that a provider signed with the secret of the connection. The answer is the same for an
// unknown connection and for a wrong signature. News can come before our own note of the submission has committed:
// they name our key, which has.
func (s *Gateway) callback(ctx context.Context, d *db.DB, scope db.Scope, in *callbackInput) (*api.None, error) {
	c, of, err := s.findCalledConnection(ctx, d, in.ConnectionID)
	if err != nil {
		return nil, err
	}

	secret, err := payapp.CallbackSecret(s.Box, c)
	if err != nil {
		return nil, err
	}

	// A connection without a secret takes no callbacks.
	if secret == "" {
		return nil, errCallback
	}

	// Only the signature proves that the provider sent this.
	signature := pay.Signature{ID: in.MessageID, Timestamp: in.Timestamp, Value: in.Signature}

	message, err := pay.VerifyCallback(secret, signature, in.Raw, d.Now())
	if err != nil {
		return nil, errCallback.Because(err)
	}

	// From here on work for the team of the connection.
	scope.Team, scope.Zone = of.Team, of.Zone

	err = d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		return applyCallback(ctx, tx, c.ID, message)
	})
	if err != nil {
		return nil, err
	}

	return &api.None{}, nil
}

// findCalledConnection loads the connection that a callback names. The callback names no team, so this one query looks
// at all teams. The result is trusted only after the signature was checked with the connection's own secret.
func (s *Gateway) findCalledConnection(
	ctx context.Context,
	d *db.DB,
	one id.ID,
) (c *connection.Connection, of db.Scope, err error) {
	type holder struct {
		TeamID id.ID
		Zone   day.Zone
	}

	err = d.Read(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		found, err := db.One[holder](ctx, tx, errCallback, `
			select c.team_id, t.time_zone as zone from connection c join team t on t.id = c.team_id where c.id = @id and c.credentials is not null limit 1`,
			db.Args{"id": one})
		of = db.Scope{Team: found.TeamID, Zone: found.Zone}

		return err
	})
	if err != nil {
		return nil, of, fmt.Errorf("find the team of a connection: %w", err)
	}

	// Then read it as the team itself would.
	err = d.Read(ctx, of, func(ctx context.Context, tx *db.Tx) (err error) {
		c, err = connection.Get(ctx, tx, one)
		return err
	})

	return c, of, err
}

// applyCallback applies the news of a callback once. It fails with apierr.NotFound for a message about a payment of
// another connection, or of none.
func applyCallback(ctx context.Context, tx *db.Tx, one id.ID, message pay.Callback) error {
	key, err := id.Parse(message.Outcome.Key)
	if err != nil {
		return apierr.NotFound
	}

	// If the same message comes twice at a time, the second one waits here for the first and then changes nothing.
	n, err := tx.Exec(ctx, `
		insert into payment_callback (team_id, connection_id, message_id, created_at) values (@team, @connection, @message, @now)
		on conflict do nothing`, db.Args{"team": tx.Team, "connection": one, "message": message.ID, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("remember a callback: %w", err)
	}

	if n == 0 {
		return nil
	}

	// A provider may only bring news of payments over its own connection.
	exists, err := db.Get[bool](ctx, tx, `select exists (select from payment where team_id = @team and id = @id and connection_id = @connection)`,
		db.Args{"team": tx.Team, "id": key, "connection": one})
	if err != nil {
		return fmt.Errorf("find the payment of a callback: %w", err)
	}

	if !exists {
		return apierr.NotFound
	}

	return apply(ctx, tx, []pay.Outcome{message.Outcome})
}
