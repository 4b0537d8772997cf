package calendar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stayledger/domain/record/intake"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/provider/pms"
)

const (
	// One attempt to tell a system, with all its calls, is bounded by this time.
	pushTime = 2 * time.Minute
	// A block is held so long for an attempt: its calls have ended by then.
	holdTime = pushTime + time.Minute
	// The pause before a block is looked at again that somebody else holds.
	heldPause = 2 * time.Second
	// The time after which a system that could not be notified is notified again, how often that is looked for, and how many blocks
	// one round looks at.
	retryAfter  = 15 * time.Minute
	retryEvery  = time.Minute
	retryAtOnce = 500
)

// pushKind is the kind of the job that notifies a system of a block.
var pushKind = job.NewKind("calendar.push")

type pushArgs struct {
	BlockID id.ID `json:"blockId"`
	// Does says what the job does: it leaves alone what its operation is not about. Empty does what the block needs.
	Does operation.Type `json:"does,omitempty"`
}

// needs reports whether a job has something to do for a block.
func (a *pushArgs) needs(b *held) bool {
	switch b.Status {
	case Pending:
		return a.Does != operation.CalendarUnblock
	case Unblocking:
		return a.Does != operation.CalendarBlock
	case Blocked, Refused:
	}

	return false
}

// hold notes who speaks with the system about a block, and until when.
func hold(ctx context.Context, tx *db.Tx, block id.ID, holder *id.ID, until *time.Time) error {
	_, err := tx.Exec(ctx, `update calendar_block set holder = @holder, held_until = @until where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": block, "holder": holder, "until": until})
	if err != nil {
		return fmt.Errorf("hold a calendar block: %w", err)
	}

	return nil
}

// push notifies a system of a block: it holds the block, makes the calls with no transaction open, and saves what has come of
// them in the transaction that settles the task. A worker that dies leaves the job, and calls that are made again change
// nothing.
func (c *calendar) push(ctx context.Context, d *db.DB, j job.Job) error {
	var args pushArgs
	if err := json.Unmarshal(j.Args, &args); err != nil {
		return job.Permanent(fmt.Errorf("decode task arguments: %w", err))
	}

	var (
		b       *held
		settled bool
	)

	err := d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
		b, settled, err = claim(ctx, tx, j, &args)
		return err
	})
	if err != nil || settled {
		return err
	}

	remoteID, err := c.tell(ctx, d, j.Scope(), b)

	// A system that takes no calls for a while is waited for without using up an attempt.
	if limited, is := errors.AsType[*pms.Error](err); is && !limited.Until.IsZero() {
		return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
			if err := hold(ctx, tx, b.ID, nil, nil); err != nil {
				return err
			}

			return waitUntil(ctx, tx, j, limited.Until)
		})
	}

	if isFinal(err) {
		return job.Permanent(err)
	}

	if err != nil {
		return err
	}

	return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
		if err := b.finish(ctx, tx, remoteID); err != nil {
			return err
		}

		operation.Settle(tx, j)

		return nil
	})
}

// claim holds a block for a job. It returns true when the job has ended: with nothing to do, or for another one that comes
// when the present holder is done.
func claim(ctx context.Context, tx *db.Tx, j job.Job, args *pushArgs) (b *held, settled bool, err error) {
	b, err = lockBlock(ctx, tx, args.BlockID)
	if err != nil {
		return nil, false, err
	}

	if b == nil || !args.needs(b) {
		operation.Settle(tx, j)
		return nil, true, nil
	}

	// What a worker of this operation has left behind is its own.
	if b.Holder != nil && *b.Holder != j.OperationID && b.HeldUntil.After(tx.Now) {
		return nil, true, waitUntil(ctx, tx, j, tx.Now.Add(heldPause))
	}

	until := tx.Now.Add(holdTime)

	return b, false, hold(ctx, tx, b.ID, &j.OperationID, &until)
}

// waitUntil ends a job for another one of the same task that comes later.
func waitUntil(ctx context.Context, tx *db.Tx, j job.Job, until time.Time) error {
	next := job.New{Kind: pushKind, Args: j.Args, OperationID: j.OperationID, DueAt: until}
	if err := job.Insert(ctx, tx, next); err != nil {
		return err
	}

	return job.Done(ctx, tx, j)
}

// tell makes the calls of a block, and returns what the system calls it. It makes none for a block whose connection is gone.
func (c *calendar) tell(ctx context.Context, d *db.DB, scope db.Scope, b *held) (string, error) {
	if b.ConnectionID == nil || b.ExternalListingID == nil {
		return "", nil
	}

	client, err := c.systems.Calendar(ctx, d, scope, *b.ConnectionID)
	if err != nil {
		return "", err
	}

	there := &pms.Block{ID: b.ID.String(), ListingID: *b.ExternalListingID, StartAt: b.StartAt, EndAt: b.EndAt, MadeAt: b.CreatedAt.Time}
	if b.Note != nil {
		there.Note = *b.Note
	}

	if b.RemoteID != nil {
		there.RemoteID = *b.RemoteID
	}

	if b.Status == Unblocking {
		return "", client.Unblock(ctx, there) //nolint:wrapcheck // It is a pms.Error.
	}

	return client.Block(ctx, there) //nolint:wrapcheck // It is a pms.Error.
}

// isFinal reports whether another attempt will fail as well.
func isFinal(err error) bool {
	return errors.Is(err, pms.ErrRefused) || errors.Is(err, pms.ErrCredentials) || errors.Is(err, intake.ErrRefused)
}

// finish saves that a system was notified of a block. One that was to be taken away meanwhile keeps what the system calls it,
// for those who take it away.
func (b *held) finish(ctx context.Context, tx *db.Tx, remoteID string) error {
	now, err := lockBlock(ctx, tx, b.ID)
	if err != nil || now == nil {
		return err
	}

	if b.Status == Unblocking {
		return now.delete(ctx, tx)
	}

	was := now.Block
	if remoteID != "" {
		now.RemoteID = &remoteID
	}

	now.Error = nil
	if now.Status == Pending {
		now.Status = Blocked
	}

	return now.update(ctx, tx, was, nil)
}

// giveUp saves why a system could not be notified of a block, and settles the task as failed. What the system refuses to block
// is refused for good, and what it refuses to open stays blocked; anything else is tried again later.
func giveUp(ctx context.Context, tx *db.Tx, j job.Job, cause error) error {
	var args pushArgs
	if err := json.Unmarshal(j.Args, &args); err != nil {
		return fmt.Errorf("decode task arguments: %w", err)
	}

	b, err := lockBlock(ctx, tx, args.BlockID)
	if err != nil {
		return err
	}

	if b != nil && args.needs(b) {
		if err := b.fail(ctx, tx, cause); err != nil {
			return err
		}
	}

	return operation.GiveUp(ctx, tx, j, cause)
}

// fail saves why a system could not be notified of a block.
func (b *held) fail(ctx context.Context, tx *db.Tx, cause error) error {
	was := b.Block

	code, err := b.fault(ctx, tx, cause)
	if err != nil {
		return err
	}

	b.Error = &Fault{code}

	switch {
	case code != FaultRefused:
	case b.Status == Pending:
		b.Status = Refused
	default:
		b.Status = Blocked
	}

	// Nights that are over need not be notified any more.
	var tryAt *time.Time
	if at := tx.Now.Add(retryAfter); code != FaultRefused && !b.EndAt.Before(tx.Today()) {
		tryAt = &at
	}

	return b.update(ctx, tx, was, tryAt)
}

// fault returns what a cause is to callers. Refused credentials end the connection until it is connected again.
func (b *held) fault(ctx context.Context, tx *db.Tx, cause error) (FaultCode, error) {
	switch {
	case errors.Is(cause, pms.ErrRefused):
		return FaultRefused, nil
	case errors.Is(cause, pms.ErrCredentials):
		return FaultReconnect, connection.RequireReconnect(ctx, tx, *b.ConnectionID)
	case errors.Is(cause, intake.ErrRefused):
		c, err := connection.Get(ctx, tx, *b.ConnectionID)
		if err != nil {
			return "", fmt.Errorf("read the connection of a calendar block: %w", err)
		}

		if c.Status == connection.ReconnectRequired {
			return FaultReconnect, nil
		}

		return FaultInactive, nil
	}

	if _, is := errors.AsType[*pms.Error](cause); is || errors.Is(cause, context.DeadlineExceeded) || errors.Is(cause, job.ErrWorkerDied) {
		return FaultUnavailable, nil
	}

	return FaultInternal, nil
}

// TellAgain has the system of a connection notified at once of all blocks that it could not be notified of before.
func TellAgain(ctx context.Context, tx *db.Tx, connectionID id.ID) error {
	waiting, err := db.Select[id.ID](ctx, tx, `
		select id from calendar_block where team_id = @team and connection_id = @connection and try_at is not null order by id for update`,
		db.Args{"team": tx.Team, "connection": connectionID})
	if err != nil {
		return fmt.Errorf("find calendar blocks of a connection: %w", err)
	}

	if _, err := tx.Exec(ctx, `update calendar_block set try_at = @now where team_id = @team and id = any(@ids)`,
		db.Args{"team": tx.Team, "ids": waiting, "now": tx.Now}); err != nil {
		return fmt.Errorf("try calendar blocks again: %w", err)
	}

	for _, v := range waiting {
		if err := retry(ctx, tx, v); err != nil {
			return err
		}
	}

	return nil
}

// retryDue starts the telling of blocks that could not be notified before, by the service itself, each in a transaction of its
// own: one that fails does not hold up the others.
func retryDue(ctx context.Context, d *db.DB) error {
	type due struct {
		TeamID, ID id.ID
		Zone       day.Zone
	}

	var all []due

	err := d.Read(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		all, err = db.Select[due](ctx, tx, `
			select b.team_id, b.id, (select m.time_zone from team m where m.id = b.team_id) as zone from calendar_block b where try_at is not null and try_at <= @now order by try_at limit @most`,
			db.Args{"now": tx.Now, "most": retryAtOnce})

		return err
	})
	if err != nil {
		return fmt.Errorf("find calendar blocks to try again: %w", err)
	}

	var failures []error

	for _, v := range all {
		failures = append(failures, d.Write(ctx, db.Scope{Team: v.TeamID, Zone: v.Zone, Actor: db.Service}, func(ctx context.Context, tx *db.Tx) error {
			return retry(ctx, tx, v.ID)
		}))
	}

	return errors.Join(failures...)
}

// retry starts the telling of a block that is still due. No caller has asked for it, so its operation is not shown.
func retry(ctx context.Context, tx *db.Tx, block id.ID) error {
	due, err := tx.Exec(ctx, `update calendar_block set try_at = null where team_id = @team and id = @id and try_at <= @now`,
		db.Args{"team": tx.Team, "id": block, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("try a calendar block again: %w", err)
	}

	if due == 0 {
		return nil
	}

	_, err = operation.Start(ctx, tx, operation.New{Tasks: []operation.Task{{Kind: pushKind, Args: pushArgs{BlockID: block}}}})

	return err
}
