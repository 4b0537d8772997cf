package pms

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"stayledger/domain/record/intake"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/provider/pms"
)

// messagePath is the path at which systems send messages, before the id of the connection.
const messagePath = "/pms-messages/"

// errMessage refuses a message that cannot be trusted. It does not say why: that would help to forge one.
var errMessage = apierr.New(apierr.CodeUnauthorized, "", "Message of the system is not to be believed")

// secrets returns the signing secrets for messages of a connection. The system gets the first; all are accepted.
func (s *Systems) secrets(connection id.ID) []string {
	return s.box.Secrets("pms-message:" + connection.String())
}

type messageInput struct {
	ConnectionID  id.ID  `path:"connectionId"`
	MessageID     string `header:"webhook-id" maxLength:"200"`
	Timestamp     string `header:"webhook-timestamp" maxLength:"20"`
	Signature     string `header:"webhook-signature" maxLength:"2000"`
	Authorization string `header:"authorization" maxLength:"2000"`
	Raw           api.Raw
}

// holder is the team that has a connection.
type holder struct {
	TeamID id.ID
	Zone   day.Zone
}

// takeMessage inserts hints for the records that a message names, and starts a sync that looks at them. Nothing else
// in the message is trusted. A message can come twice and late.
func (s *Systems) takeMessage(ctx context.Context, d *db.DB, scope db.Scope, in *messageInput) (*api.None, error) {
	// The message names no team, so this query looks at all teams. Its result is trusted only with the signature.
	err := d.Read(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) error {
		found, err := db.One[holder](ctx, tx, errMessage, `
			select c.team_id, t.time_zone as zone from connection c join team t on t.id = c.team_id where c.id = @id`, db.Args{"id": in.ConnectionID})
		scope.Team, scope.Zone = found.TeamID, found.Zone

		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the team of a connection: %w", err)
	}

	scope.Actor = db.Service

	err = d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		c, err := connection.Get(ctx, tx, in.ConnectionID)
		if err != nil {
			return err
		}

		event, err := s.verify(c, in, d)
		if err != nil {
			return err
		}

		// An inactive connection keeps no hints: connecting it again reads all records.
		if c.Status != connection.Active {
			return nil
		}

		if event.Revoked {
			return connection.RequireReconnect(ctx, tx, c.ID)
		}

		return insertHints(ctx, tx, c.ID, event.ReservationIDs, event.Listings)
	})
	if err != nil {
		return nil, err
	}

	return &api.None{}, nil
}

// verify returns the event of a message signed with a secret of its connection. It fails with errMessage.
func (s *Systems) verify(c *connection.Connection, in *messageInput, d *db.DB) (*pms.Event, error) {
	k := find(c.AppID)
	if k == nil || k.message == nil {
		return nil, errMessage
	}

	h := http.Header{}
	h.Set("Webhook-Id", in.MessageID)
	h.Set("Webhook-Timestamp", in.Timestamp)
	h.Set("Webhook-Signature", in.Signature)
	h.Set("Authorization", in.Authorization)

	// After a rotation the system may still use an older secret.
	var failures []error

	for _, secret := range s.secrets(c.ID) {
		got, err := k.message(secret, h, in.Raw, d.Now())
		if err == nil {
			return got, nil
		}

		failures = append(failures, err)
	}

	return nil, errMessage.Because(errors.Join(failures...))
}

// insertHints starts syncs for named reservations, and for all listings if some have changed. A connection that was
// never read waits for its first sync, which reads all records.
func insertHints(ctx context.Context, tx *db.Tx, one id.ID, reservations []string, listings bool) error {
	// Nothing of a source that was never read can have changed here.
	read, err := db.Get[bool](ctx, tx, `select exists (select from sync where team_id = @team and source_id = @source and view = 'automate')`,
		db.Args{"team": tx.Team, "source": one})
	if err != nil {
		return fmt.Errorf("find out whether a source was read: %w", err)
	}

	if !read {
		return nil
	}

	// Webhook syncs look at named records only, so listings need the trigger of the schedule.
	if listings {
		n := intake.New{
			ConnectionID: one, View: intake.Automate, Mode: intake.Incremental, Trigger: intake.Schedule,
			Kinds: []string{listingKind},
		}
		if _, err := intake.Start(ctx, tx, n); err != nil {
			return err
		}
	}

	if len(reservations) == 0 {
		return nil
	}

	return intake.Hint(ctx, tx, one, reservationKind, reservations)
}
