package payment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
	"stayledger/provider/pay"
)

// recoverKind is the kind of the task that recovers a payment.
var recoverKind = job.NewKind("payment.recover")

// recoverTime bounds an attempt to recover a payment.
const recoverTime = 2 * time.Minute

type recoverArgs struct {
	PaymentID id.ID `json:"paymentId"`
	// Cancel takes the payment back from the provider first.
	Cancel bool `json:"cancel,omitempty"`
}

type recoverInput struct {
	ID        id.ID `path:"id"`
	PaymentID id.ID `path:"providerPaymentId"`
}

func cancel(ctx context.Context, tx *db.Tx, in *recoverInput) (*operation.Acknowledgement, error) {
	return startRecovery(ctx, tx, in, true)
}

func archive(ctx context.Context, tx *db.Tx, in *recoverInput) (*operation.Acknowledgement, error) {
	return startRecovery(ctx, tx, in, false)
}

// startRecovery marks the payment as being recovered, so that no second recovery begins (RSN-44, RSN-45).
func startRecovery(ctx context.Context, tx *db.Tx, in *recoverInput, cancel bool) (*operation.Acknowledgement, error) {
	if cancel {
		if ack, err := cancelWaiting(ctx, tx, in); ack != nil || err != nil {
			return ack, err
		}
	}

	found, err := hold(ctx, tx, []id.ID{in.PaymentID})
	if err != nil {
		return nil, err
	}

	if len(found) == 0 || found[0].TransactionID != in.ID {
		return nil, apierr.NotFound
	}

	h := &found[0]
	if h.RecoveryOperationID != nil {
		return nil, errRecovering.With(map[string]any{"operationId": h.RecoveryOperationID})
	}

	possible, err := h.recoverable(ctx, tx)
	if err != nil {
		return nil, err
	}

	if cancel {
		possible = h.cancelable()
	}

	if !possible {
		return nil, errUnrecoverable
	}

	target := operation.Resource{Type: operation.Transaction, ID: h.TransactionID, Role: operation.Target}

	ack, err := operation.Start(ctx, tx, operation.New{
		Type: operation.ProviderPaymentRecovery, Primary: &target,
		Resources: []operation.Resource{target, {Type: operation.Connection, ID: h.ConnectionID, Role: operation.Source}},
		Tasks:     []operation.Task{{Kind: recoverKind, Args: recoverArgs{PaymentID: h.ID, Cancel: cancel}}},
	})
	if err != nil {
		return nil, fmt.Errorf("start a recovery: %w", err)
	}

	_, err = tx.Exec(ctx, `update payment set recovery_operation_id = @operation, updated_at = @now where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": h.ID, "operation": ack.OperationID, "now": tx.Now})
	if err != nil {
		return nil, fmt.Errorf("mark a payment as being recovered: %w", err)
	}

	return ack, nil
}

// cancelWaiting takes a payment back that waits for a second person, at once: no provider knows of it. It gives nil for
// any other payment.
func cancelWaiting(ctx context.Context, tx *db.Tx, in *recoverInput) (*operation.Acknowledgement, error) {
	args := db.Args{"team": tx.Team, "id": in.PaymentID, "transaction": in.ID}

	err := tx.Pipeline(ctx, // in the order in which a decision on it holds them
		db.Stmt{SQL: `select from payment_approval a where a.team_id = @team and a.id in (
			select p.approval_id from payment p where p.team_id = @team and p.id = @id and p.transaction_id = @transaction and p.status = 'awaitingApproval') for update`, Args: args},
		db.Stmt{SQL: `select from transaction t where t.team_id = @team and t.id in (
			select p.transaction_id from payment p where p.team_id = @team and p.id = @id and p.transaction_id = @transaction and p.status = 'awaitingApproval') for update`, Args: args})
	if err != nil {
		return nil, fmt.Errorf("hold a payment that waits: %w", err)
	}

	waits, err := db.Get[bool](ctx, tx, `
		select exists (select from payment where team_id = @team and id = @id and transaction_id = @transaction and status = 'awaitingApproval')`, args)
	if err != nil || !waits {
		return nil, err
	}

	if err := takeBackWaiting(ctx, tx, []id.ID{in.PaymentID}); err != nil {
		return nil, err
	}

	target := operation.Resource{Type: operation.Transaction, ID: in.ID, Role: operation.Target}

	return operation.Start(ctx, tx, operation.New{
		Type: operation.ProviderPaymentRecovery, Primary: &target, Resources: []operation.Resource{target}, Tasks: []operation.Task{{Kind: nothingKind}},
	})
}

// recoverable reports that no money is where the payment should have brought it, and that this was not made good for.
func (h *held) recoverable(ctx context.Context, tx *db.Tx) (bool, error) {
	switch h.Status {
	case Failed, Canceled:
		return h.RecoveredAt == nil, nil
	case Returned:
		booked, err := db.Get[bool](ctx, tx, `select exists (select from payment_return where team_id = @team and payment_id = @id)`,
			db.Args{"team": tx.Team, "id": h.ID})
		if err != nil {
			return false, fmt.Errorf("look for the return of a payment: %w", err)
		}

		return h.RecoveredAt == nil && !booked, nil
	case Awaiting, Requested, Sending, Submitted, Paid:
	}

	return false, nil
}

// cancelable reports that the provider has the payment and nothing has come of it, or that this is not known.
func (h *held) cancelable() bool { return h.Status == Submitted || h.Status == Sending }

// errBusy is that an attempt at the batch is under way, which may be telling the provider of the payment.
var errBusy = errors.New("the payment is being sent")

// quiet fails with errBusy while an attempt at the payment's batch is under way. No further one begins with the payment
// once it is marked as being recovered: both take the lock of its row.
func (h *held) quiet(ctx context.Context, tx *db.Tx) error {
	busy, err := db.Get[bool](ctx, tx, `select coalesce(busy_until > @now, false) from payment_batch where team_id = @team and id = @batch`,
		db.Args{"team": tx.Team, "batch": h.BatchID, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("look whether a batch is being sent: %w", err)
	}

	if busy {
		return errBusy
	}

	return nil
}

// recovery makes the handler: however a recovery ends, the payment can be recovered again afterwards.
func (s *Service) recovery() job.Handler {
	h := operation.External(recoverTime, s.recover).OnOutside()
	giveUp := h.Exhausted
	h.Exhausted = func(ctx context.Context, tx *db.Tx, j job.Job, cause error) error {
		var args recoverArgs
		if err := json.Unmarshal(j.Args, &args); err != nil {
			return fmt.Errorf("decode task arguments: %w", err)
		}

		if err := release(ctx, tx, args.PaymentID, j.OperationID); err != nil {
			return err
		}

		return giveUp(ctx, tx, j, cause)
	}

	return h
}

func release(ctx context.Context, tx *db.Tx, payment, operation id.ID) error {
	_, err := tx.Exec(ctx, `
		update payment set recovery_operation_id = null, updated_at = @now
		where team_id = @team and id = @id and recovery_operation_id = @operation`,
		db.Args{"team": tx.Team, "id": payment, "operation": operation, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("end the recovery of a payment: %w", err)
	}

	return nil
}

// recover takes a payment back when that is wanted, and then out of the books. Every step can be done again.
func (s *Service) recover(ctx context.Context, d *db.DB, scope db.Scope, run operation.Run, args recoverArgs) (db.Work, error) {
	if args.Cancel {
		if err := s.takeBack(ctx, d, scope, run, args.PaymentID); err != nil {
			return nil, err
		}
	}

	confirmed, err := s.confirm(ctx, d, scope, args.PaymentID)
	if err != nil {
		return nil, err
	}

	return func(ctx context.Context, tx *db.Tx) error {
		h, err := holdOne(ctx, tx, args.PaymentID)
		if err != nil {
			return err
		}

		if h.doubtful() && !confirmed {
			return errUnrecoverable
		}

		if possible, err := h.recoverable(ctx, tx); err != nil {
			return err
		} else if !possible && h.RecoveredAt == nil {
			return errUnrecoverable
		}

		if err := h.recover(ctx, tx); err != nil {
			return err
		}

		return release(ctx, tx, h.ID, run.OperationID)
	}, nil
}

func holdOne(ctx context.Context, tx *db.Tx, payment id.ID) (*held, error) {
	found, err := hold(ctx, tx, []id.ID{payment})
	if err != nil {
		return nil, err
	}

	if len(found) == 0 {
		return nil, apierr.NotFound
	}

	return &found[0], nil
}

// takeBack asks the provider to take a payment back, and keeps what it says.
func (s *Service) takeBack(ctx context.Context, d *db.DB, scope db.Scope, run operation.Run, payment id.ID) error {
	var (
		h *held
		p pay.Provider
	)

	err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		if h, err = holdOne(ctx, tx, payment); err != nil {
			return err
		}

		c, err := connection.Get(ctx, tx, h.ConnectionID)
		if err != nil {
			return fmt.Errorf("read the connection of a payment: %w", err)
		}

		p, err = s.Open(c)

		return err
	})
	if err != nil || h.Status.final() {
		return err
	}

	key := h.ID.String()
	if h.Status == Sending {
		// Nobody may be sending it before the provider is asked: what it does not know then, it will not hear of.
		if err := d.Write(ctx, scope, h.quiet); err != nil {
			return err
		}

		o, err := find(ctx, p, key)
		if errors.Is(err, pay.ErrUnknown) {
			return d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error { return neverSent(ctx, tx, run, payment) })
		}

		if err == nil {
			err = d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error { return apply(ctx, tx, []pay.Outcome{o}) })
		}

		if err != nil || Status(o.State).final() {
			return err
		}
	}

	calling, stop := context.WithTimeout(ctx, pay.Timeout)
	defer stop()

	o, err := p.Cancel(calling, key)
	switch {
	case errors.Is(err, pay.ErrRefused), errors.Is(err, pay.ErrUnknown):
		return errUnrecoverable.Because(err)
	case err != nil:
		return fmt.Errorf("cancel a payment: %w", err)
	case o.Key != key:
		return errNoOutcome
	}

	return d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error { return apply(ctx, tx, []pay.Outcome{o}) })
}

// doubtful reports a payment that counts as failed and of which the provider has said since that it moves money, or has
// moved it.
func (h *held) doubtful() bool {
	if h.Status != Failed && h.Status != Canceled || h.RecoveredAt != nil {
		return false
	}

	return slices.ContainsFunc(h.Issues, func(i Issue) bool {
		return i.Code == contradictoryNews && (i.Context["status"] == string(Submitted) || i.Context["status"] == string(Paid))
	})
}

// confirm asks the provider once more for a payment that is doubtful, and reports that it holds no money of it.
func (s *Service) confirm(ctx context.Context, d *db.DB, scope db.Scope, payment id.ID) (confirmed bool, err error) {
	var p pay.Provider

	err = d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		p = nil

		h, err := holdOne(ctx, tx, payment)
		if err != nil || !h.doubtful() {
			return err
		}

		c, err := connection.Get(ctx, tx, h.ConnectionID)
		if err != nil {
			return fmt.Errorf("read the connection of a payment: %w", err)
		}

		p, err = s.Open(c)

		return err
	})
	if err != nil || p == nil {
		return false, err
	}

	o, err := find(ctx, p, payment.String())
	if errors.Is(err, pay.ErrUnknown) {
		return false, nil
	}

	return err == nil && !o.Duplicate && (o.State == pay.Failed || o.State == pay.Canceled || o.State == pay.Returned), err
}

// neverSent cancels a payment that the provider does not know, and that nobody can be sending any more; it fails with
// errBusy while somebody can. The decision is ours and not the provider's, so it gives way to news that came meanwhile.
func neverSent(ctx context.Context, tx *db.Tx, run operation.Run, payment id.ID) error {
	h, err := holdOne(ctx, tx, payment)
	if err != nil || h.Status != Sending {
		return err
	}

	if h.RecoveryOperationID == nil || *h.RecoveryOperationID != run.OperationID {
		return errUnrecoverable // this recovery was given up, so that the payment may be sent again
	}

	if err := h.quiet(ctx, tx); err != nil {
		return err
	}

	now := day.At(tx.Now)
	h.Status, h.SettledAt = Canceled, &now
	h.lower(givenUp)

	if err := keep(ctx, tx, []held{*h}); err != nil {
		return err
	}

	return h.follow(ctx, tx)
}

// recover puts a payment away and mends the books: the payout is archived, the bill open again. A payout that a lock
// holds, or that is part of a return, stays in the books as it was reported, and what is left of it is given back on
// the first open day.
func (h *held) recover(ctx context.Context, tx *db.Tx) error {
	if h.RecoveredAt != nil {
		return nil
	}

	if h.TransactionType == transaction.Expense {
		return h.reopen(ctx, tx)
	}

	if h.Status == Returned { // the money was away: both ways are booked when they can be
		if err := tx.Try(ctx, h.bookReturn); !apierr.Refused(err) {
			if err == nil {
				h.lower(returnNotBooked)
				err = keep(ctx, tx, []held{*h})
			}

			return err
		}
	}

	if err := h.putAway(ctx, tx); err != nil {
		return err
	}

	err := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
		return transaction.Remove(ctx, tx, h.TransactionID, true, ledger.Lenience{})
	})
	if ledger.IsLock(err) || err != nil && apierr.From(err).Reason() == apierr.ReasonPaymentReturnInvolved {
		return h.bookReturn(ctx, tx)
	}

	return err
}
