package webhook

import (
	"context"
	"errors"
	"fmt"

	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/outbound"
)

// errNotTaken is the cause of an operation whose message the receiver has not taken.
var errNotTaken = errors.New("the receiver has not taken the message")

// sendOnce sends a message once, for the operation of a test or a replay. It saves the answer, and makes a webhook
// active if its receiver takes a test.
func (c Config) sendOnce(
	ctx context.Context, d *db.DB, scope db.Scope, _ operation.Run, args sendArgs,
) (db.Work, error) {
	var (
		r  *receiver
		m  *deliveryRow
		at = d.Now()
	)

	err := d.Read(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		if m, err = loadDelivery(ctx, tx, args.DeliveryID); err != nil {
			return err
		}

		r, err = loadReceiver(ctx, tx, m)

		return err
	})
	if err != nil {
		return nil, err
	}

	if err := r.openSecrets(c, at); err != nil {
		return nil, err
	}

	// No transaction is open while the receiver is waited for.
	sent := message{url: r.URL, secrets: r.secrets, eventID: m.EventID, payload: m.Payload}

	a, err := sent.send(ctx, outbound.Client(c.Private), c.Within, at)
	if err != nil {
		return nil, err
	}

	o := outcome{m.ID, m.Attempts + 1, a, at}
	work := func(ctx context.Context, tx *db.Tx) error { return saveOnce(ctx, tx, m, &o) }

	if o.hasFailed() {
		// The operation fails, but the answer is saved all the same.
		if err := d.Write(ctx, scope, work); err != nil {
			return nil, err
		}

		return nil, operation.FailAs(operation.OperationFailed, fmt.Errorf("%w: %s", errNotTaken, a.failure))
	}

	return work, nil
}

// loadReceiver loads the receiver of a message, also of a webhook that is not active.
func loadReceiver(ctx context.Context, tx *db.Tx, m *deliveryRow) (*receiver, error) {
	r, err := db.One[receiver](ctx, tx, apierr.NotFound, `
		select `+receiverColumns+` from webhook w where w.team_id = @team and w.id = @id`, db.Args{"team": tx.Team, "id": m.WebhookID})
	if err != nil {
		return nil, fmt.Errorf("read the receiver of a message: %w", err)
	}

	return &r, nil
}

// saveOnce saves the outcome of an attempt that an operation made. Later attempts of the sender stay as they are unless
// the receiver took the message.
func saveOnce(ctx context.Context, tx *db.Tx, m *deliveryRow, o *outcome) error {
	w, err := lock(ctx, tx, m.WebhookID)
	if err != nil {
		return err
	}

	args := db.Args{
		"team": tx.Team, "id": m.ID, "at": o.at, "answer": o.answer.status, "body": o.body,
		"duration": o.took.Milliseconds(), "failure": o.failure,
	}

	_, err = tx.Exec(ctx, `
		update webhook_delivery set attempts = attempts + 1, attempted_at = @at, failure = nullif(@failure, ''), duration_ms = @duration,
			response_status = nullif(@answer::integer, 0), response_body = case when @answer::integer <> 0 then @body end,
			status = case when @failure = '' then 'succeeded' when due_at is null and status <> 'succeeded' then 'exhausted' else status end,
			due_at = case when @failure = '' then null else due_at end,
			delivered_at = case when @failure = '' then @at::timestamptz else delivered_at end
		where team_id = @team and id = @id`, args)
	if err != nil {
		return fmt.Errorf("save what became of a message: %w", err)
	}

	// Only a test verifies: a replayed message may be taken by a receiver that was never asked.
	if o.hasFailed() || m.EventType != Test {
		return nil
	}

	return w.verify(ctx, tx)
}
