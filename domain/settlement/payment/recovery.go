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
	"stayledger/domain/settlement/payapp"
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

// recoverArgs name the payment of a recovery task.
type recoverArgs struct {
	PaymentID id.ID `json:"paymentId"`
	// Cancel takes the payment back from the provider first.
	Cancel bool `json:"cancel,omitempty"`
}

type recoverInput struct {
	ID        id.ID `path:"id"`
	PaymentID id.ID `path:"providerPaymentId"`
}

// cancel starts a recovery that takes the payment back from the provider.
func cancel(ctx context.Context, tx *db.Tx, in *recoverInput) (*operation.Acknowledgement, error) {
	return startRecovery(ctx, tx, in, true)
}

// archive starts a recovery of a payment that brought nothing.
func archive(ctx context.Context, tx *db.Tx, in *recoverInput) (*operation.Acknowledgement, error) {
	return startRecovery(ctx, tx, in, false)
}

// startRecovery starts the operation that recovers a payment and marks the payment, so that no second recovery
// begins (RSN-44, RSN-45).
func startRecovery(ctx context.Context, tx *db.Tx, in *recoverInput, cancel bool) (*operation.Acknowledgement, error) {
	// No provider knows a payment that waits, so it needs no task.
	if cancel {
		if ack, err := cancelWaiting(ctx, tx, in); ack != nil || err != nil {
			return ack, err
		}
	}

	// Lock the payment before its state is checked.
	found, err := lockPayments(ctx, tx, []id.ID{in.PaymentID})
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

	// Which states can be recovered depends on what the caller asks for.
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

	// The task asks the provider outside of this transaction.
	target := operation.Resource{Type: operation.Transaction, ID: h.TransactionID, Role: operation.Target}

	ack, err := operation.Start(ctx, tx, operation.New{
		Type: operation.ProviderPaymentRecovery, Primary: &target,
		Resources: []operation.Resource{target, {
			Type: operation.Connection,
			ID:   h.ConnectionID,
			Role: operation.Source,
		}},
		Tasks: []operation.Task{{Kind: recoverKind, Args: recoverArgs{PaymentID: h.ID, Cancel: cancel}}},
	})
	if err != nil {
		return nil, fmt.Errorf("start a recovery: %w", err)
	}

	// Mark the payment last, with the operation to wait for.
	_, err = tx.Exec(ctx, `update payment set recovery_operation_id = @operation, updated_at = @now where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": h.ID, "operation": ack.OperationID, "now": tx.Now})
	if err != nil {
		return nil, fmt.Errorf("mark a payment as being recovered: %w", err)
	}

	return ack, nil
}

// cancelWaiting cancels a payment that waits for a second person at once, because no provider knows it. It returns
// nil for any other payment.
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

	// Look again under the locks: it may have been decided meanwhile.
	waits, err := db.Get[bool](ctx, tx, `
		select exists (select from payment where team_id = @team and id = @id and transaction_id = @transaction and status = 'awaitingApproval')`, args)
	if err != nil || !waits {
		return nil, err
	}

	if err := cancelAwaiting(ctx, tx, []id.ID{in.PaymentID}); err != nil {
		return nil, err
	}

	// Callers expect an operation, so this one has a task that does nothing.
	target := operation.Resource{Type: operation.Transaction, ID: in.ID, Role: operation.Target}

	return operation.Start(ctx, tx, operation.New{
		Type:      operation.ProviderPaymentRecovery,
		Primary:   &target,
		Resources: []operation.Resource{target},
		Tasks:     []operation.Task{{Kind: emptyKind}},
	})
}

// recoverable reports whether the money is not where the payment should have brought it, and the books do not show
// that yet.
func (h *lockedPayment) recoverable(ctx context.Context, tx *db.Tx) (bool, error) {
	switch h.Status {
	case Failed, Canceled:
		return h.RecoveredAt == nil, nil
	case Returned:
		// A return that was booked by itself needs no recovery.
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

// cancelable reports whether the provider has the payment without an outcome, or may have it.
func (h *lockedPayment) cancelable() bool { return h.Status == Submitted || h.Status == Sending }

// errBusy says that an attempt at the batch is under way and may be telling the provider about the payment.
var errBusy = errors.New("the payment is being sent")

// checkNotBusy fails with errBusy while an attempt at the payment's batch is under way. Once the payment is marked as
// being recovered, no further attempt sends it: both take the lock of its row.
func (h *lockedPayment) checkNotBusy(ctx context.Context, tx *db.Tx) error {
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

// recoveryHandler returns the handler of recovery tasks. However a recovery ends, the payment can be recovered again
// afterwards.
func (s *Gateway) recoveryHandler() job.Handler {
	h := operation.External(recoverTime, s.recover).OnOutside()

	// When the task is given up, say why at the payment and release it first.
	giveUp := h.Exhausted
	h.Exhausted = func(ctx context.Context, tx *db.Tx, j job.Job, cause error) error {
		var args recoverArgs
		if err := json.Unmarshal(j.Args, &args); err != nil {
			return fmt.Errorf("decode task arguments: %w", err)
		}

		if args.Cancel {
			if err := saveNotTakenBack(ctx, tx, args.PaymentID, cause); err != nil {
				return err
			}
		}

		if err := release(ctx, tx, args.PaymentID, j.OperationID); err != nil {
			return err
		}

		return giveUp(ctx, tx, j, cause)
	}

	return h
}

// saveNotTakenBack saves why the provider did not take a payment back. The status of a payment that has settled meanwhile
// says enough.
func saveNotTakenBack(ctx context.Context, tx *db.Tx, payment id.ID, cause error) error {
	h, err := lockPayment(ctx, tx, payment)
	if err != nil || !h.cancelable() {
		return err
	}

	// The issue of an earlier recovery may have another reason.
	h.removeIssues(notTakenBack)
	h.addIssue(issue(notTakenBack, map[string]string{"error": string(payapp.ReadFault(cause))}))

	return savePayments(ctx, tx, []lockedPayment{*h})
}

// release unmarks a payment that an operation was recovering.
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

// recover takes a payment back if that is wanted, and then corrects the books. Every step can be repeated.
func (s *Gateway) recover(
	ctx context.Context,
	d *db.DB,
	scope db.Scope,
	run operation.Run,
	args recoverArgs,
) (db.Work, error) {
	// First the provider.
	if args.Cancel {
		if err := s.cancelAtProvider(ctx, d, scope, run, args.PaymentID); err != nil {
			return nil, err
		}
	}

	// A payment that counts as failed may have moved money after all: then only the provider's word allows a
	// recovery.
	confirmed, err := s.confirm(ctx, d, scope, args.PaymentID)
	if err != nil {
		return nil, err
	}

	// Last the books, in the transaction that settles the task. The state is checked again, because news may have
	// come meanwhile.
	return func(ctx context.Context, tx *db.Tx) error {
		h, err := lockPayment(ctx, tx, args.PaymentID)
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

// lockPayment locks one payment and returns it. It fails with apierr.NotFound.
func lockPayment(ctx context.Context, tx *db.Tx, payment id.ID) (*lockedPayment, error) {
	found, err := lockPayments(ctx, tx, []id.ID{payment})
	if err != nil {
		return nil, err
	}

	if len(found) == 0 {
		return nil, apierr.NotFound
	}

	return &found[0], nil
}

// cancelAtProvider asks the provider to take a payment back and saves the answer.
func (s *Gateway) cancelAtProvider(
	ctx context.Context,
	d *db.DB,
	scope db.Scope,
	run operation.Run,
	payment id.ID,
) error {
	var (
		h *lockedPayment
		p pay.Provider
	)

	// First look at the payment; a final one needs no question.
	err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		if h, err = lockPayment(ctx, tx, payment); err != nil {
			return err
		}

		c, err := connection.Get(ctx, tx, h.ConnectionID)
		if err != nil {
			return fmt.Errorf("read the connection of a payment: %w", err)
		}

		p, err = s.Open(c)

		return err
	})
	if err != nil || h.Status.isFinal() {
		return err
	}

	// If the provider may not have the payment, ask before canceling.
	key := h.ID.String()
	if h.Status == Sending {
		// No attempt may be sending it when the provider is asked: then a payment that it does not know will never
		// reach it.
		if err := d.Write(ctx, scope, h.checkNotBusy); err != nil {
			return err
		}

		o, err := find(ctx, p, key)

		// It never arrived, so we cancel it ourselves.
		if errors.Is(err, pay.ErrUnknown) {
			return d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
				return cancelUnsent(ctx, tx, run, payment)
			})
		}

		// It did arrive: save the news, and stop if they are final.
		if err == nil {
			err = d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
				return apply(ctx, tx, []pay.Outcome{o})
			})
		}

		if err != nil || Status(o.State).isFinal() {
			return err
		}
	}

	// Now cancel it at the provider.
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

	// The answer counts as news like any other.
	return d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error { return apply(ctx, tx, []pay.Outcome{o}) })
}

// doubtful reports whether a payment counts as failed although the provider has since said that it moves money, or
// has moved it.
func (h *lockedPayment) doubtful() bool {
	if h.Status != Failed && h.Status != Canceled || h.RecoveredAt != nil {
		return false
	}

	return slices.ContainsFunc(h.Issues, func(i Issue) bool {
		return i.Code == contradictoryNews &&
			(i.Context["status"] == string(Submitted) || i.Context["status"] == string(Paid))
	})
}

// confirm asks the provider once more about a doubtful payment. It reports whether the provider confirms that it
// holds no money for it.
func (s *Gateway) confirm(ctx context.Context, d *db.DB, scope db.Scope, payment id.ID) (confirmed bool, err error) {
	var p pay.Provider

	// A provider is only needed for a doubtful payment.
	err = d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		p = nil // the transaction may run more than once

		h, err := lockPayment(ctx, tx, payment)
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

	// Unknown is no confirmation: the provider had it once.
	o, err := find(ctx, p, payment.String())
	if errors.Is(err, pay.ErrUnknown) {
		return false, nil
	}

	return err == nil && !o.Duplicate &&
		(o.State == pay.Failed || o.State == pay.Canceled || o.State == pay.Returned), err
}

// cancelUnsent cancels a payment that the provider does not know and that no attempt can be sending any more. It fails
// with errBusy while one can. The decision is ours and not the provider's, so news that came meanwhile win.
func cancelUnsent(ctx context.Context, tx *db.Tx, run operation.Run, payment id.ID) error {
	h, err := lockPayment(ctx, tx, payment)
	if err != nil || h.Status != Sending {
		return err
	}

	if h.RecoveryOperationID == nil || *h.RecoveryOperationID != run.OperationID {
		return errUnrecoverable // this recovery was given up, so that the payment may be sent again
	}

	// Check again under the lock of the payment.
	if err := h.checkNotBusy(ctx, tx); err != nil {
		return err
	}

	// Then cancel it as if the provider had.
	now := day.At(tx.Now)
	h.Status, h.SettledAt = Canceled, &now
	h.removeIssues(givenUp)
	h.removeIssues(notTakenBack)

	if err := savePayments(ctx, tx, []lockedPayment{*h}); err != nil {
		return err
	}

	return h.bookConsequences(ctx, tx)
}

// recover puts a payment away and corrects the books: the payout is archived, the bill is open again. A payout that
// a lock keeps in the books, or that is part of a return, stays as it was reported, and the rest of it is returned
// on the first open day.
func (h *lockedPayment) recover(ctx context.Context, tx *db.Tx) error {
	if h.RecoveredAt != nil {
		return nil
	}

	// A bill only has to be open again.
	if h.TransactionType == transaction.Expense {
		return h.reopenBill(ctx, tx)
	}

	// Returned money was away, so both ways are booked if possible.
	if h.Status == Returned {
		if err := tx.Try(ctx, h.bookReturn); !apierr.IsRefusal(err) {
			if err == nil {
				h.removeIssues(returnNotBooked)
				err = savePayments(ctx, tx, []lockedPayment{*h})
			}

			return err
		}
	}

	// Put the payment away first: it would keep the transaction from being archived.
	if err := h.markRecovered(ctx, tx); err != nil {
		return err
	}

	// Archive the payout, or return it if it has to stay.
	err := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
		return transaction.Remove(ctx, tx, h.TransactionID, true, ledger.Lenience{})
	})
	if ledger.IsLock(err) || err != nil && apierr.From(err).Reason() == apierr.ReasonPaymentReturnInvolved {
		return h.bookReturn(ctx, tx)
	}

	return err
}
