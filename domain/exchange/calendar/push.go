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
	// One attempt to notify a system, with all its calls, takes at most this long.
	pushTime = 2 * time.Minute
	// An attempt holds its block for this long: its calls have ended by then.
	holdTime = pushTime + time.Minute
	// The pause before looking again at a block that another operation holds.
	heldPause = 2 * time.Second
	// A failed notification is tried again after retryAfter. Each round looks at retryAtOnce blocks at most.
	retryAfter  = 15 * time.Minute
	retryEvery  = time.Minute
	retryAtOnce = 500
)

// pushKind names the jobs that notify a system of a block.
var pushKind = job.NewKind("calendar.push")

type pushArgs struct {
	BlockID id.ID `json:"blockId"`
	// Does is the operation of the job, which leaves the work of other operations alone; empty does whatever the
	// block needs.
	Does operation.Type `json:"does,omitempty"`
}

// needs reports whether a block needs the work of the job.
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

// updateHolder updates which operation speaks with the system about a block, and until when.
func updateHolder(ctx context.Context, tx *db.Tx, block id.ID, holder *id.ID, until *time.Time) error {
	_, err := tx.Exec(ctx, `update calendar_block set holder = @holder, held_until = @until where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": block, "holder": holder, "until": until})
	if err != nil {
		return fmt.Errorf("hold a calendar block: %w", err)
	}

	return nil
}

// push notifies a system of a block: it claims the block, calls the system with no transaction open, and saves the
// result in the transaction that settles the task. If a worker dies the job is done again, and repeated calls change
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

	// First claim the block, so that no other job speaks about it meanwhile.
	err := d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
		b, settled, err = claim(ctx, tx, j, &args)
		return err
	})
	if err != nil || settled {
		return err
	}

	remoteID, err := c.callSystem(ctx, d, j.Scope(), b)

	// Waiting for a system that takes no calls for a while is no failed attempt.
	if limited, is := errors.AsType[*pms.Error](err); is && !limited.Until.IsZero() {
		return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
			if err := updateHolder(ctx, tx, b.ID, nil, nil); err != nil {
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

// claim holds a block for a job. It returns true if the job has ended: there is nothing to do, or another operation
// holds the block and a later job takes over.
func claim(ctx context.Context, tx *db.Tx, j job.Job, args *pushArgs) (b *held, settled bool, err error) {
	b, err = lockBlock(ctx, tx, args.BlockID)
	if err != nil {
		return nil, false, err
	}

	if b == nil || !args.needs(b) {
		operation.Settle(tx, j)
		return nil, true, nil
	}

	// The job may take over a hold that a dead worker of the same operation has left.
	if b.Holder != nil && *b.Holder != j.OperationID && b.HeldUntil.After(tx.Now) {
		return nil, true, waitUntil(ctx, tx, j, tx.Now.Add(heldPause))
	}

	until := tx.Now.Add(holdTime)

	return b, false, updateHolder(ctx, tx, b.ID, &j.OperationID, &until)
}

// waitUntil replaces the job with a later one of the same task.
func waitUntil(ctx context.Context, tx *db.Tx, j job.Job, until time.Time) error {
	next := job.New{Kind: pushKind, Args: j.Args, OperationID: j.OperationID, DueAt: until}
	if err := job.Insert(ctx, tx, next); err != nil {
		return err
	}

	return job.Done(ctx, tx, j)
}

// callSystem makes the calls for a block, and returns its id at the system. It makes none if the connection or the
// listing is gone.
func (c *calendar) callSystem(ctx context.Context, d *db.DB, scope db.Scope, b *held) (string, error) {
	if b.ConnectionID == nil || b.ExternalListingID == nil {
		return "", nil
	}

	client, err := c.systems.Calendar(ctx, d, scope, *b.ConnectionID)
	if err != nil {
		return "", err
	}

	there := &pms.Block{
		ID: b.ID.String(), ListingID: *b.ExternalListingID, StartAt: b.StartAt, EndAt: b.EndAt, MadeAt: b.CreatedAt.Time,
	}
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

// finish saves that a system was notified. A block that was released meanwhile keeps its id at the system, which
// removing it needs.
func (b *held) finish(ctx context.Context, tx *db.Tx, remoteID string) error {
	now, err := lockBlock(ctx, tx, b.ID)
	if err != nil || now == nil {
		return err
	}

	// The system has opened the nights.
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

// giveUp saves why a system could not be notified, and settles the task as failed. A block that the system refuses is
// refused for good, and nights it refuses to open stay blocked; all else is tried again later.
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
		if err := b.saveFailure(ctx, tx, cause); err != nil {
			return err
		}
	}

	return operation.GiveUp(ctx, tx, j, cause)
}

// saveFailure saves why a system could not be notified of a block.
func (b *held) saveFailure(ctx context.Context, tx *db.Tx, cause error) error {
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

	// Past nights are not tried again.
	var tryAt *time.Time
	if at := tx.Now.Add(retryAfter); code != FaultRefused && !b.EndAt.Before(tx.Today()) {
		tryAt = &at
	}

	return b.update(ctx, tx, was, tryAt)
}

// fault returns the fault for a cause. After refused credentials the connection must be connected again.
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

	_, isCall := errors.AsType[*pms.Error](cause)
	if isCall || errors.Is(cause, context.DeadlineExceeded) || errors.Is(cause, job.ErrWorkerDied) {
		return FaultUnavailable, nil
	}

	return FaultInternal, nil
}

// NotifyAgain notifies the system of a connection at once of all blocks it could not be notified of before.
func NotifyAgain(ctx context.Context, tx *db.Tx, connectionID id.ID) error {
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
		if err := startRetry(ctx, tx, v); err != nil {
			return err
		}
	}

	return nil
}

// retryDue starts the notification of due blocks, as the service. Each block has its own transaction: one failure
// does not stop the others.
func retryDue(ctx context.Context, d *db.DB) error {
	type due struct {
		TeamID, ID id.ID
		Zone       day.Zone
	}

	var all []due

	err := d.Read(ctx, db.AcrossTeams(), func(ctx context.Context, tx *db.Tx) (err error) {
		all, err = db.Select[due](ctx, tx, `
			select b.team_id, b.id, m.time_zone as zone from calendar_block b join team m on m.id = b.team_id and m.freeze_reason is null
			where try_at is not null and try_at <= @now order by try_at limit @most`,
			db.Args{"now": tx.Now, "most": retryAtOnce})

		return err
	})
	if err != nil {
		return fmt.Errorf("find calendar blocks to try again: %w", err)
	}

	var failures []error

	for _, v := range all {
		scope := db.Scope{Team: v.TeamID, Zone: v.Zone, Actor: db.Service}

		failures = append(failures, d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
			return startRetry(ctx, tx, v.ID)
		}))
	}

	return errors.Join(failures...)
}

// startRetry starts the notification of a block if it is still due. No caller has asked for it, so its operation is not
// shown.
func startRetry(ctx context.Context, tx *db.Tx, block id.ID) error {
	due, err := tx.Exec(ctx, `update calendar_block set try_at = null where team_id = @team and id = @id and try_at <= @now`,
		db.Args{"team": tx.Team, "id": block, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("try a calendar block again: %w", err)
	}

	if due == 0 {
		return nil
	}

	task := operation.Task{Kind: pushKind, Args: pushArgs{BlockID: block}}
	_, err = operation.Start(ctx, tx, operation.New{Tasks: []operation.Task{task}})

	return err
}
