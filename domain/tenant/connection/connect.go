package connection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

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

// connectFor is how long an app that is out of reach is tried: long enough to outlast a restart. A connection cannot be
// changed meanwhile, not even its mistyped address, so this is shorter than the day for which other work is tried.
const connectFor = 5 * time.Minute

// checkTime bounds the time in which an app is asked once.
const checkTime = 30 * time.Second

// readTime bounds the time in which what is kept of the app is read.
const readTime = 2 * time.Minute

// jobArgs name the connection; what is secret is read from its row.
type jobArgs struct {
	ConnectionID id.ID `json:"connectionId"`
}

// errNotConnecting ends a job if its connection has another status by now, or was removed.
var errNotConnecting = errors.New("the connection is not being connected")

// handlers returns the jobs of connections: connecting and archiving.
func (w writer) handlers() map[job.Kind]job.Handler {
	connect := operation.External(checkTime+readTime+10*time.Second, func(ctx context.Context, d *db.DB, scope db.Scope, _ operation.Run, args jobArgs) (db.Work, error) {
		return w.try(ctx, d, scope, args.ConnectionID)
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

		if _, err := move(ctx, tx, args.ConnectionID, to, Connecting); err != nil {
			return err
		}

		return fail(ctx, tx, j, cause)
	}

	return map[job.Kind]job.Handler{
		connectKind: connect,
		archiveKind: operation.Work(time.Minute, func(ctx context.Context, tx *db.Tx, _ operation.Run, args jobArgs) error {
			if err := w.archiveUnused(ctx, tx, args.ConnectionID); err != nil {
				return err
			}

			return job.Insert(ctx, tx, job.New{Kind: leaveKind, Args: args})
		}),
		leaveKind: {Timeout: checkTime, TryFor: job.OutsideTime, Do: func(ctx context.Context, d *db.DB, j job.Job) error {
			return leave(ctx, d, j, w.Apps)
		}},
		readKind: {Timeout: readTime, TryFor: job.OutsideTime, Do: func(ctx context.Context, d *db.DB, j job.Job) error {
			return readMoved(ctx, d, j, w.Apps)
		}},
	}
}

// readMoved reads what is kept of an app over a connection that came with its credentials from another team, as is done for
// one that is connected: its listings can be mapped then. An app that cannot be reached for a day is read by the first sync.
func readMoved(ctx context.Context, d *db.DB, j job.Job, apps Apps) error {
	c, err := jobConnection(ctx, d, j)
	if err != nil {
		return err
	}

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

// jobConnection reads the connection that a job is about.
func jobConnection(ctx context.Context, d *db.DB, j job.Job) (c *Connection, err error) {
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

// leave has the app of an archived connection end what it does for it. An app that cannot be reached for a day goes on, and
// what it sends is refused.
func leave(ctx context.Context, d *db.DB, j job.Job, apps Apps) error {
	c, err := jobConnection(ctx, d, j)
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

// try asks the app whether it would work, outside any transaction. Asking twice does no harm. Refused credentials
// and an app that cannot be used are final; an app that is out of reach is tried again.
func (w writer) try(ctx context.Context, d *db.DB, scope db.Scope, connection id.ID) (db.Work, error) {
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

	account, keep, err := w.Apps.find(c.AppID).ask(ctx, d, scope, c)

	switch {
	case errors.Is(err, ErrCredentials), errors.Is(err, ErrUnusable):
		return nil, operation.FailAs(operation.OperationFailed, err)
	case err != nil:
		return nil, fmt.Errorf("connect: %w", err)
	}

	return func(ctx context.Context, tx *db.Tx) error {
		// The connection becomes active only if it is still connecting when the task settles.
		moved, err := move(ctx, tx, connection, Active, Connecting)
		if err != nil {
			return err
		}

		if !moved {
			return operation.FailAs(operation.OperationFailed, errNotConnecting)
		}

		// Its account is known before the app's own work runs, which may look for other connections to it.
		if account != nil {
			if err := w.Apps.find(c.AppID).takeAccount(ctx, tx, c, account); err != nil {
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

// takeAccount saves the account of a connection that becomes active. Of two connections that become active at once with
// one account the later one fails, and is disabled by that.
func (a *App) takeAccount(ctx context.Context, tx *db.Tx, c *Connection, account *Account) error {
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

	return saveAccount(ctx, tx, c.ID, account)
}

// ask asks the app of a connection whether it works, for a limited time, and for what is kept when it does.
func (a *App) ask(ctx context.Context, d *db.DB, scope db.Scope, c *Connection) (account *Account, keep db.Work, err error) {
	checking, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()

	if account, err = a.Check(checking, d, scope, c); err != nil {
		return nil, nil, err
	}

	// Other credentials must be of the account that the records here came from.
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

// start starts the operation that connects a connection.
func start(ctx context.Context, tx *db.Tx, connection id.ID) (*operation.Acknowledgement, error) {
	return operation.Start(ctx, tx, work(operation.ConnectionConnect, connectKind, connection))
}

func work(typ operation.Type, kind job.Kind, connection id.ID) operation.New {
	r := operation.Resource{Type: operation.Connection, ID: connection, Role: operation.Target}

	return operation.New{
		Type: typ, Primary: &r, Resources: []operation.Resource{r},
		Tasks: []operation.Task{{Kind: kind, Args: jobArgs{ConnectionID: connection}}},
	}
}
