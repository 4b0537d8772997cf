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

// checkWorkable refuses to change a connection that is archived (errArchived) or that a job is connecting (ErrBusy).
func (c *Connection) checkWorkable() error {
	switch c.Status {
	case Connecting:
		return ErrBusy
	case Archived:
		return errArchived
	case Active, ReconnectRequired, Disabled:
	}

	return nil
}

// setConnecting sets the status that a connection has until the app has answered.
func (c *Connection) setConnecting() { c.Status, c.Fault = Connecting, nil }

// dropCredentials drops the credentials of a connection with a changed address, because they were meant for the old
// one.
func (c *Connection) dropCredentials() {
	c.Credentials, c.ConnectedAt, c.ExpiresAt = nil, nil, nil
	c.Status, c.Fault = ReconnectRequired, nil
}

// setStatus switches a connection off, or on again when it has worked.
func (c *Connection) setStatus(to Status) error {
	if to == Active && c.ConnectedAt == nil {
		return ErrReconnect
	}

	c.Status, c.Fault = to, nil

	return nil
}

// moveStatus changes the status of a connection from one of some statuses, and reports whether it had one of these. A
// connection that requires a reconnect loses the instant at which it last worked, so that a user cannot activate it. Its
// fault, if any, is over or another one.
func moveStatus(ctx context.Context, tx *db.Tx, connection id.ID, to Status, from ...Status) (moved bool, err error) {
	type view struct {
		Status Status `json:"status"`
	}

	// One statement tests the old status and sets the new one, so that of two moves at once only one happens. The join
	// with the same row returns the status before.
	was, err := db.Select[Status](ctx, tx, `
		update connection c set status = @to::text, updated_at = @now, fault = null,
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

// RequireReconnect sets an active connection to reconnectRequired, because the app has refused its credentials. Nothing
// is sent over it until it is connected again.
func RequireReconnect(ctx context.Context, tx *db.Tx, connection id.ID) error {
	moved, err := moveStatus(ctx, tx, connection, ReconnectRequired, Active)
	if err != nil || !moved {
		return err
	}

	return saveFault(ctx, tx, connection, FaultCredentials)
}

// archiveUnused archives a connection without payments under way; others fail with errInUse. It keeps the credentials:
// a payment can still be returned, and the message of the provider about this must be read.
func (w writer) archiveUnused(ctx context.Context, tx *db.Tx, connection id.ID) error {
	if err := intake.Hold(ctx, tx, connection); err != nil {
		return err
	}

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

	if _, err := moveStatus(ctx, tx, connection, Archived, Active, ReconnectRequired, Disabled); err != nil {
		return err
	}

	// Without this connection, others may belong into the books, and its open questions have no answer any more.
	if err := w.settleBooks(ctx, tx); err != nil {
		return err
	}

	if err := ledger.FreeWaiting(ctx, tx, connection, nil); err != nil {
		return err
	}

	if err := intake.EndAll(ctx, tx, connection); err != nil {
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
