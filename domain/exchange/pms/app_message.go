package pms

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"stayledger/domain/tenant/connection"
	"stayledger/platform/api"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/provider/pms"
)

// login is the name and password that messages of an app come with.
type login struct{ name, password string }

// minPassword is the least length of such a password in bytes: a shorter one could be guessed.
const minPassword = 16

// TakeMessages accepts messages that an app sends for all its accounts to one address, with a name and password that
// the operator has set at the system. It fails for a system without such messages, and for a weak password.
func (s *Systems) TakeMessages(name connection.AppID, user, password string) error {
	k := find(name)

	switch {
	case k == nil || k.appMessage == nil:
		return fmt.Errorf("%s sends no messages for all accounts", name)
	case user == "" || len(password) < minPassword:
		return fmt.Errorf("messages of %s: a name and a password of %d bytes or more are needed", name, minPassword)
	}

	s.messages[name] = login{user, password}

	return nil
}

type appMessageInput struct {
	AppID         connection.AppID `path:"appId"`
	Authorization string           `header:"authorization" maxLength:"2000"`
	Raw           api.Raw
}

// reader is a connection to the account in a message.
type reader struct {
	holder

	ID id.ID
}

// takeAppMessage takes a message for all accounts of an app: each connection to the account looks at the named
// records.
func (s *Systems) takeAppMessage(
	ctx context.Context, d *db.DB,
	scope db.Scope,
	in *appMessageInput,
) (*api.None, error) {
	k, known := find(in.AppID), s.messages[in.AppID]
	if k == nil || k.appMessage == nil || known == (login{}) {
		return nil, errMessage
	}

	h := http.Header{}
	h.Set("Authorization", in.Authorization)

	event, err := k.appMessage(known.name, known.password, h, in.Raw)
	if err != nil {
		return nil, errMessage.Because(err)
	}

	// Several teams can be connected to one account. The message names no team, so look at all teams.
	var readers []reader

	err = d.Read(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		readers, err = db.Select[reader](ctx, tx, `
			select c.id, c.team_id, t.time_zone as zone from connection c join team t on t.id = c.team_id
			where c.app_id = @app and c.external_account_id = @account and c.status = 'active' order by c.team_id, c.id`,
			db.Args{"app": in.AppID, "account": event.AccountID})

		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find the connections to an account: %w", err)
	}

	for _, r := range readers {
		of := scope
		of.Team, of.Zone, of.Actor = r.TeamID, r.Zone, db.Service

		err := d.Write(ctx, of, func(ctx context.Context, tx *db.Tx) error { return s.takeEvent(ctx, tx, r.ID, event) })
		if err != nil {
			return nil, fmt.Errorf("take a message for a connection: %w", err)
		}
	}

	return &api.None{}, nil
}

// takeEvent inserts hints for the records that a message names. If the account holder has revoked our access,
// connections with such access must be connected again; connections with a personal token go on.
func (s *Systems) takeEvent(ctx context.Context, tx *db.Tx, one id.ID, event *pms.Event) error {
	c, err := connection.Get(ctx, tx, one)
	if err != nil || c.Status != connection.Active {
		return err
	}

	if !event.Revoked {
		return insertHints(ctx, tx, one, event.ReservationIDs, event.Listings)
	}

	given, err := s.isGiven(c)
	if err != nil || !given {
		return err
	}

	return connection.RequireReconnect(ctx, tx, one)
}

// isGiven reports whether a connection has access given by the account holder through OAuth.
func (s *Systems) isGiven(c *connection.Connection) (bool, error) {
	access, err := find(c.AppID).Access(s.box, c)
	if err != nil {
		return false, fmt.Errorf("open the credentials of a connection: %w", err)
	}

	var has struct{ Given json.RawMessage }

	return json.Unmarshal(access.Credentials, &has) == nil && has.Given != nil, nil
}
