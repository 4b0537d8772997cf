// Package connection owns the connections of a team to apps outside: which app, its settings and its sealed credentials, and whether it
// works. What is sent over a connection belongs to other packages.
package connection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"stayledger/domain/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/seal"
	"stayledger/provider/pay"
)

// Status says whether a connection works.
type Status string

// The states. Nothing is sent over a connection that is not active. Of those that require a reconnect the app has refused the credentials;
// disabled ones were switched off, or could not be connected for another reason. Archived is final.
const (
	Connecting        Status = "connecting"
	Active            Status = "active"
	ReconnectRequired Status = "reconnectRequired"
	Disabled          Status = "disabled"
	Archived          Status = "archived"
)

// Enum lists the states.
func (Status) Enum() []string {
	return []string{string(Connecting), string(Active), string(ReconnectRequired), string(Disabled), string(Archived)}
}

// Connection is a connection as its team sees it.
type Connection struct {
	ID          id.ID           `json:"id"`
	ShortRef    string          `json:"shortRef"`
	UniqueRef   *string         `json:"uniqueRef"`
	AppID       App             `json:"appId"`
	App         AppInfo         `json:"app" db:"-"`
	Name        string          `json:"name"`
	Status      Status          `json:"status"`
	Settings    json.RawMessage `json:"settings" doc:"As the app wants them; never the credentials."`
	ConnectedAt *day.Instant    `json:"connectedAt" doc:"When the app last answered with the present credentials; null when it never has."`
	CreatedAt   day.Instant     `json:"createdAt"`
	UpdatedAt   day.Instant     `json:"updatedAt"`

	Operations *operation.Summary `json:"operations,omitempty" db:"-" doc:"Only in lists with include=operations."`

	Credentials []byte `json:"-"`
}

// Opener opens the provider behind a connection; package app gives one that knows the keys and the providers.
type Opener func(c *Connection) (pay.Provider, error)

// What can be wrong with a request on a connection.
var (
	errDuplicateUniqueRef = apierr.New(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef, "A connection with this reference already exists")
	errInUse              = apierr.New(apierr.CodeBadRequest, apierr.ReasonInUse, "Connection is still in use")
	errBusy               = apierr.New(apierr.CodeLocked, "", "Connection is being worked on")
	errArchived           = apierr.New(apierr.CodeBadRequest, "", "Connection is archived")
	errReconnect          = apierr.New(apierr.CodeConnectionReconnectRequired, "", "Connection must be connected again")
	errNotBank            = apierr.New(apierr.CodeBadRequest, apierr.ReasonNotBankAccount, "Funding account is not a bank account")
)

// LockContext tells the caller of a refused deletion what still uses the connection, and what is possible instead.
type LockContext struct {
	LockReasons       []string `json:"lockReasons"`
	SuggestedOnLocked string   `json:"suggestedOnLocked,omitempty"`
}

// label is what credentials are sealed under.
func label(connection id.ID) string { return "connection:" + connection.String() }

// Sealed is where credentials are kept.
func Sealed() seal.Column { return seal.Column{Table: "connection", Name: "credentials", Label: label} }

// OpenCredentials gives the credentials of a connection; nil when it has none.
func (c *Connection) OpenCredentials(box *seal.Box) (json.RawMessage, error) {
	if c.Credentials == nil {
		return nil, nil
	}
	plain, err := box.Open(c.Credentials, label(c.ID))
	if err != nil {
		return nil, fmt.Errorf("credentials of connection %v: %w", c.ID, err)
	}
	return plain, nil
}

// FundingAccount is the bank account that the settings name to pay from; the zero id when they name none.
func (c *Connection) FundingAccount() id.ID {
	var s struct {
		FundingAccountID id.ID `json:"fundingAccountId"`
	}
	if err := json.Unmarshal(c.Settings, &s); err != nil {
		return id.Zero // they were checked when they were written
	}
	return s.FundingAccountID
}

// workable refuses changes of a connection that is archived, or that a job is connecting.
func (c *Connection) workable() error {
	switch c.Status {
	case Connecting:
		return errBusy
	case Archived:
		return errArchived
	case Active, ReconnectRequired, Disabled:
	}
	return nil
}

// Get reads a connection of the team, or fails with apierr.NotFound.
func Get(ctx context.Context, tx *db.Tx, connection id.ID) (*Connection, error) {
	return read(ctx, tx, connection, "")
}

// Verifier is the team's oldest active connection to an app that can tell whether money reaches a bank account; nil when there is none.
func Verifier(ctx context.Context, tx *db.Tx) (*Connection, error) {
	var apps []string
	for _, a := range known {
		if a.verifies {
			apps = append(apps, string(a.id))
		}
	}
	c, err := db.Get[Connection](ctx, tx, `
		select `+columns+` from connection c where c.team_id = @team and c.app_id = any(@apps) and c.status = 'active' order by c.id limit 1`,
		db.Args{"team": tx.Team, "apps": apps})
	if errors.Is(err, db.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find a verifying connection: %w", err)
	}
	c.App = appOf(c.AppID).info()
	return &c, nil
}

// Refused notes that the app behind a connection has refused its credentials: nothing is sent over it until it is connected again.
func Refused(ctx context.Context, tx *db.Tx, connection id.ID) error {
	_, err := tx.Exec(ctx, `
		update connection set status = 'reconnectRequired', connected_at = null, updated_at = @now
		where team_id = @team and id = @id and status = 'active'`, db.Args{"team": tx.Team, "id": connection, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("note refused credentials: %w", err)
	}
	return nil
}
