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

// login is the name and the password that messages come with.
type login struct{ name, password string }

// minPassword is how many bytes a password of messages has at least: a shorter one could be guessed.
const minPassword = 16

// TakeMessages has messages of an app taken that come for all accounts, at one address and with one name and password, which the operator
// has set at the system. It fails for a system without such messages, and for a password that could be guessed.
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

// reader is a connection to an account that a message is about.
type reader struct {
	holder

	ID id.ID
}

// takeAppMessage takes a message that an app gets for all of its accounts: each connection to the account has what it names looked at.
func (s *Systems) takeAppMessage(ctx context.Context, d *db.DB, scope db.Scope, in *appMessageInput) (*api.None, error) {
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

		if err := d.Write(ctx, of, func(ctx context.Context, tx *db.Tx) error { return s.takeEvent(ctx, tx, r.ID, event) }); err != nil {
			return nil, fmt.Errorf("take a message for a connection: %w", err)
		}
	}

	return &api.None{}, nil
}

// takeEvent has a connection look at what a message of its app names. Access that an account holder takes back is that of connections with
// such access: a token of a person's own goes on to work.
func (s *Systems) takeEvent(ctx context.Context, tx *db.Tx, one id.ID, event *pms.Event) error {
	c, err := connection.Get(ctx, tx, one)
	if err != nil || c.Status != connection.Active {
		return err
	}

	if !event.Revoked {
		return hint(ctx, tx, one, event.ReservationIDs, event.Listings)
	}

	given, err := s.isGiven(c)
	if err != nil || !given {
		return err
	}

	return connection.RequireReconnect(ctx, tx, one)
}

// isGiven reports whether an account holder has given the access of a connection, by OAuth.
func (s *Systems) isGiven(c *connection.Connection) (bool, error) {
	access, err := find(c.AppID).Access(s.box, c)
	if err != nil {
		return false, fmt.Errorf("open the credentials of a connection: %w", err)
	}

	var has struct{ Given json.RawMessage }

	return json.Unmarshal(access.Credentials, &has) == nil && has.Given != nil, nil
}
