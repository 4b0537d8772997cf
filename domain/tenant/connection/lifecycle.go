package connection

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/intake"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Status says whether a connection works.
type Status string

// The states. A connection is connecting while its app is asked whether it works, and then active, reconnectRequired
// when the app has refused the credentials, or disabled when it could not be connected for another reason. Active ones
// are switched off (disabled) and on by hand, and become reconnectRequired when the app refuses the credentials later.
// Nothing is sent over one that is not active. Archived is final.
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

// workable refuses changes of a connection that is archived, or that a job is connecting.
func (c *Connection) workable() error {
	switch c.Status {
	case Connecting:
		return ErrBusy
	case Archived:
		return errArchived
	case Active, ReconnectRequired, Disabled:
	}

	return nil
}

// connect sets the status for the time in which the app is asked; move ends it.
func (c *Connection) connect() { c.Status = Connecting }

// forget drops the credentials of a connection that has another address now: they were not meant for it.
func (c *Connection) forget() {
	c.Credentials, c.ConnectedAt, c.ExpiresAt, c.Status = nil, nil, nil, ReconnectRequired
}

// setStatus switches a connection off, or on again when it has worked.
func (c *Connection) setStatus(to Status) error {
	if to == Active && c.ConnectedAt == nil {
		return ErrReconnect
	}

	c.Status = to

	return nil
}

// move changes the status of a connection if it has one of some states, and reports whether it had. A connection
// that requires a reconnect loses the instant at which it last worked, so it cannot be made active by hand.
func move(ctx context.Context, tx *db.Tx, connection id.ID, to Status, from ...Status) (moved bool, err error) {
	type view struct {
		Status Status `json:"status"`
	}

	// One statement tests the old status and sets the new one, so that two moves at once cannot both happen. The
	// join with the row itself returns the status before.
	was, err := db.Select[Status](ctx, tx, `
		update connection c set status = @to::text, updated_at = @now,
			connected_at = case @to when 'active' then @now when 'reconnectRequired' then null else c.connected_at end
		from connection o
		where c.team_id = @team and c.id = @id and c.status = any(@from) and o.team_id = c.team_id and o.id = c.id returning o.status`,
		db.Args{"team": tx.Team, "id": connection, "to": to, "from": from, "now": tx.Now})
	if err != nil {
		return false, fmt.Errorf("make a connection %s: %w", to, err)
	}

	// Becoming active is an event of its own.
	for _, status := range was {
		what := audit.Updated
		if to == Active {
			what = audit.Connected
		}

		audit.Note(tx, what, audit.Connection, connection, view{status}, view{to})
	}

	return len(was) > 0, nil
}

// RequireReconnect records that the app has refused the credentials of a connection: nothing is sent over it until it
// is connected again.
func RequireReconnect(ctx context.Context, tx *db.Tx, connection id.ID) error {
	_, err := move(ctx, tx, connection, ReconnectRequired, Active)
	return err
}

// archiveUnused archives a connection over which nothing is under way. It keeps the credentials: a payment that was
// made over it can still be returned, and the provider's message about that must be read. Its conflicts end, since nothing
// comes over it any more.
func (w writer) archiveUnused(ctx context.Context, tx *db.Tx, connection id.ID) error {
	c, err := Lock(ctx, tx, connection)
	if err != nil || c.Status == Archived {
		return err
	}

	if c.Status == Connecting {
		return ErrBusy
	}

	// Payments that are under way must end first.
	used, err := w.used.Load(ctx, tx, connection)
	if err != nil {
		return err
	}

	if err := checkIdle(used); err != nil {
		return err
	}

	if _, err := move(ctx, tx, connection, Archived, Active, ReconnectRequired, Disabled); err != nil {
		return err
	}

	if err := w.settleBooks(ctx, tx); err != nil {
		return err
	}

	if err := ledger.FreeWaiting(ctx, tx, connection, nil); err != nil {
		return err
	}

	return intake.EndQuestions(ctx, tx, connection)
}

// auditView returns the connection as events show it. Its credentials are sealed, so events show only that they
// changed.
func auditView(c *Connection) any {
	return struct {
		*Connection
		App         *struct{} `json:"app,omitempty"`
		Issues      *struct{} `json:"issues,omitempty"`
		Credentials []byte    `json:"credentials,omitempty"`
	}{Connection: c, Credentials: c.Credentials}
}
