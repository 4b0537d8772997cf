package connection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// The jobs of the package.
var (
	connectKind = job.NewKind("connection.connect")
	archiveKind = job.NewKind("connection.archive")
	leaveKind   = job.NewKind("connection.leave")
	readKind    = job.NewKind("connection.read")
)

// connectFor bounds the attempts to reach an app: long enough to outlast a restart. Meanwhile the connection cannot be
// changed, not even to correct its address, so this is shorter than the day for which other work is retried.
const connectFor = 5 * time.Minute

// protocolTries is how often an app is asked whose answers are not of its protocol.
const protocolTries = 3

// checkTime bounds one call of App.Check.
const checkTime = 30 * time.Second

// readTime bounds one call of App.Connected: a system that takes a call a second has a thousand listings.
const readTime = 15 * time.Minute

// jobArgs name the connection. Jobs read its credentials from the row, never from their arguments.
type jobArgs struct {
	ConnectionID id.ID `json:"connectionId"`
}

// errNotConnecting ends a job if its connection has changed its status or was deleted.
var errNotConnecting = errors.New("the connection is not being connected")

// jobHandlers returns the handlers of the jobs of connections.
func (w writer) jobHandlers() map[job.Kind]job.Handler {
	connect := operation.External(checkTime+readTime+10*time.Second, func(ctx context.Context, d *db.DB, scope db.Scope,
		run operation.Run, args jobArgs,
	) (db.Work, error) {
		keep, err := w.tryConnect(ctx, d, scope, args.ConnectionID)
		if err == nil {
			return keep, nil
		}

		err = checkWait(err, d.Now())
		if errors.Is(err, errLong) || errors.Is(err, ErrProtocol) && run.Attempt >= protocolTries {
			return nil, operation.FailAs(operation.OperationFailed, err)
		}

		if isFinal(err) || errors.Is(err, errNotConnecting) {
			return nil, err
		}

		return nil, noteFault(ctx, d, scope, args.ConnectionID, err)
	})
	connect.TryFor = connectFor
	// The operation and the connection fail together, also when the workers themselves died.
	fail := connect.Exhausted
	connect.Exhausted = func(ctx context.Context, tx *db.Tx, j job.Job, cause error) error {
		// The last error decides: refused credentials can be replaced, anything else disables the connection.
		var args jobArgs
		if err := json.Unmarshal(j.Args, &args); err != nil {
			return fmt.Errorf("decode task arguments: %w", err)
		}

		to := Disabled
		if errors.Is(cause, ErrCredentials) {
			to = ReconnectRequired
		}

		moved, err := moveStatus(ctx, tx, args.ConnectionID, to, Connecting)
		if err != nil {
			return err
		}

		if moved {
			if err := saveFault(ctx, tx, args.ConnectionID, ReadFault(cause)); err != nil {
				return err
			}
		}

		return fail(ctx, tx, j, cause)
	}

	// The app is left in a job of its own: archiving must not wait for an app that is out of reach.
	return map[job.Kind]job.Handler{
		connectKind: connect,
		archiveKind: operation.Checked(operation.Work(time.Minute, func(ctx context.Context, tx *db.Tx, _ operation.Run,
			args jobArgs,
		) error {
			if err := w.archiveUnused(ctx, tx, args.ConnectionID); err != nil {
				return err
			}

			return job.Insert(ctx, tx, job.New{Kind: leaveKind, Args: args})
		})),
		leaveKind: {Timeout: checkTime, TryFor: job.OutsideTime, Do: func(ctx context.Context, d *db.DB,
			j job.Job,
		) error {
			return leaveApp(ctx, d, j, w.Apps)
		}},
		readKind: {Timeout: readTime, TryFor: job.OutsideTime, Do: func(ctx context.Context, d *db.DB,
			j job.Job,
		) error {
			return readMoved(ctx, d, j, w.Apps)
		}},
	}
}

// noteFault saves why a connection that is being connected does not work so far, and returns the cause.
func noteFault(ctx context.Context, d *db.DB, scope db.Scope, connection id.ID, cause error) error {
	type view struct {
		Fault *Fault `json:"fault"`
	}

	fault := ReadFault(cause)

	// The next attempts have the same fault, most times, which is no event.
	err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		was, err := db.Select[view](ctx, tx, `
			update connection c set fault = @fault::text from connection o
			where c.team_id = @team and c.id = @id and c.status = 'connecting' and c.fault is distinct from @fault and o.team_id = c.team_id and o.id = c.id
			returning o.fault`, db.Args{"team": tx.Team, "id": connection, "fault": fault})

		for _, before := range was {
			audit.Note(tx, audit.Updated, audit.Connection, connection, before, view{&fault})
		}

		return err
	})

	return errors.Join(cause, err)
}

// readMoved calls App.Connected for a connection that was moved here with its credentials from another team, so that
// its listings can be mapped before the first sync. An app that is out of reach for a day is read by the first sync.
func readMoved(ctx context.Context, d *db.DB, j job.Job, apps Apps) error {
	c, err := loadJobConnection(ctx, d, j)
	if err != nil {
		return err
	}

	// By default there is nothing to save, as for a connection that was switched off meanwhile.
	keep := func(context.Context, *db.Tx) error { return nil }

	if a := apps.find(c.AppID); c.Status == Active && a != nil && a.Connected != nil {
		read, err := a.Connected(ctx, d, j.Scope(), c)
		if err != nil && !isFinal(err) {
			return fmt.Errorf("read an app: %w", err)
		}

		if read != nil {
			keep = read
		}
	}

	return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
		if err := keep(ctx, tx); err != nil {
			return err
		}

		return job.Done(ctx, tx, j)
	})
}

// loadJobConnection loads the connection of a job.
func loadJobConnection(ctx context.Context, d *db.DB, j job.Job) (c *Connection, err error) {
	var args jobArgs
	if err := json.Unmarshal(j.Args, &args); err != nil {
		return nil, job.Permanent(fmt.Errorf("decode task arguments: %w", err))
	}

	err = d.ReadOne(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
		c, err = Get(ctx, tx, args.ConnectionID)
		return err
	})

	return c, err
}

// leaveApp ends the services of the app for an archived connection. If the app is out of reach for a day, it goes on
// sending messages, which are refused.
func leaveApp(ctx context.Context, d *db.DB, j job.Job, apps Apps) error {
	c, err := loadJobConnection(ctx, d, j)
	if err != nil {
		return err
	}

	if a := apps.find(c.AppID); a.Leave != nil {
		if err := a.Leave(ctx, d, j.Scope(), c); err != nil && !isFinal(err) {
			return fmt.Errorf("leave an app: %w", err)
		}
	}

	return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error { return job.Done(ctx, tx, j) })
}

// tryConnect asks the app whether the connection works, outside any transaction, and returns the work that activates
// it. Refused credentials and an app that cannot be used end the operation; an app that is out of reach is tried again,
// which does no harm.
func (w writer) tryConnect(ctx context.Context, d *db.DB, scope db.Scope, connection id.ID) (db.Work, error) {
	// A read of its own, so that no transaction is open while the app is asked.
	var c *Connection

	err := d.ReadOne(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		c, err = Get(ctx, tx, connection)
		return err
	})
	if err != nil {
		return nil, err
	}

	// Its status has changed since the operation started.
	if c.Status != Connecting {
		return nil, operation.FailAs(operation.OperationFailed, errNotConnecting)
	}

	account, keep, err := w.Apps.find(c.AppID).askApp(ctx, d, scope, c)

	switch {
	case errors.Is(err, ErrCredentials), errors.Is(err, ErrUnusable):
		return nil, operation.FailAs(operation.OperationFailed, err)
	case err != nil:
		return nil, fmt.Errorf("connect: %w", err)
	}

	return func(ctx context.Context, tx *db.Tx) error {
		// The connection becomes active only if it is still connecting when the task settles.
		moved, err := moveStatus(ctx, tx, connection, Active, Connecting)
		if err != nil {
			return err
		}

		if !moved {
			return operation.FailAs(operation.OperationFailed, errNotConnecting)
		}

		// Save the account before the work of the app runs, which may look for other connections to this account.
		if account != nil {
			if err := w.Apps.find(c.AppID).claimAccount(ctx, tx, c, account); err != nil {
				return err
			}
		}

		if keep != nil {
			if err := keep(ctx, tx); err != nil {
				return err
			}
		}

		return w.settleBooks(ctx, tx)
	}, nil
}

// claimAccount saves the account of a connection that becomes active. If two connections to the same account become
// active at once, the later one fails, and its job disables it.
func (a *App) claimAccount(ctx context.Context, tx *db.Tx, c *Connection, account *Account) error {
	if err := lockAccounts(ctx, tx, c.AppID); err != nil {
		return err
	}

	by, err := a.listAccount(ctx, tx, c, account.ID, Active)
	if err != nil {
		return err
	}

	if len(by) > 0 {
		return operation.FailAs(operation.AlreadyConnected, fmt.Errorf("%w: %v", errSameAccount, by))
	}

	return updateAccount(ctx, tx, c.ID, account)
}

// askApp calls Check and then Connected of the app, each for a limited time. It fails with errOtherAccount if the
// credentials open another account than before.
func (a *App) askApp(
	ctx context.Context, d *db.DB, scope db.Scope, c *Connection,
) (account *Account, keep db.Work, err error) {
	checking, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()

	if account, err = a.Check(checking, d, scope, c); err != nil {
		return nil, nil, err
	}

	// New credentials must open the account that the records of this connection came from.
	if account != nil && c.ExternalAccountID != nil && *c.ExternalAccountID != account.ID {
		return nil, nil, errOtherAccount
	}

	if a.Connected == nil {
		return account, nil, nil
	}

	reading, cancelReading := context.WithTimeout(ctx, readTime)
	defer cancelReading()

	keep, err = a.Connected(reading, d, scope, c)

	return account, keep, err
}

// startConnect starts the operation that connects a connection.
func startConnect(ctx context.Context, tx *db.Tx, connection id.ID) (*operation.Acknowledgement, error) {
	return operation.Start(ctx, tx, newOperation(operation.ConnectionConnect, connectKind, connection))
}

// newOperation returns an operation on a connection that runs one job.
func newOperation(typ operation.Type, kind job.Kind, connection id.ID) operation.New {
	r := operation.Resource{Type: operation.Connection, ID: connection, Role: operation.Target}

	return operation.New{
		Type: typ, Primary: &r, Resources: []operation.Resource{r},
		Tasks: []operation.Task{{Kind: kind, Args: jobArgs{ConnectionID: connection}}},
	}
}
