package payment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"stayledger/domain/record/file"
	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/payapp"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/blob"
	"stayledger/platform/db"
	"stayledger/platform/job"
	"stayledger/platform/seal"
	"stayledger/provider/pay"
)

// Gateway connects payments with the providers that make them.
type Gateway struct {
	// Open opens the provider behind a connection.
	Open payapp.Opener
	// Box opens account numbers and the secrets of callbacks.
	Box *seal.Box
	// Store keeps the files for the bank.
	Store blob.Store
}

const (
	// An attempt to send a batch ends by itself after sendTime.
	sendTime = 5 * time.Minute
	// A provider that did not answer in time may still start the work within linger.
	linger = 2 * pay.Timeout
	// The outcomes of an attempt are saved within keepTime, even if the attempt itself has run out of time.
	keepTime = 5 * time.Second
)

// handlers returns the handlers of the jobs of this package: sending batches, and recovering payments.
func (s *Gateway) handlers() map[job.Kind]job.Handler {
	send := operation.External(sendTime, s.send).OnOutside()

	// When a send task is given up, decide about the payments of the batch first.
	giveUp := send.Exhausted
	send.Exhausted = func(ctx context.Context, tx *db.Tx, j job.Job, cause error) error {
		var args sendArgs
		if err := json.Unmarshal(j.Args, &args); err != nil {
			return fmt.Errorf("decode task arguments: %w", err)
		}

		if err := giveUpBatch(ctx, tx, args.BatchID, cause); err != nil {
			return err
		}

		return giveUp(ctx, tx, j, cause)
	}
	nothing := operation.Work(sendTime, func(context.Context, *db.Tx, operation.Run, struct{}) error { return nil })

	return map[job.Kind]job.Handler{SendKind: send, recoverKind: s.recoveryHandler(), emptyKind: nothing}
}

var (
	errNoOutcome = errors.New("the provider gave no outcome of a payment")
	errFailed    = errors.New("payments of the batch failed")
	errInactiveC = errors.New("the connection is not active any more")
	errLate      = errors.New("the attempt has run out of time")
	errTakenBack = errors.New("payments of the batch are being taken back")
)

// send makes one attempt at a batch. It first asks for all payments that the provider may have from an earlier
// attempt. Outcomes are saved even if the attempt fails. The attempt fails while payments are being taken back, so
// that a later one sees their result.
func (s *Gateway) send(
	ctx context.Context,
	d *db.DB,
	scope db.Scope,
	run operation.Run,
	args sendArgs,
) (db.Work, error) {
	var w *work

	// First commit that the payments are sending, before the provider hears of them.
	err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		w, err = s.beginAttempt(ctx, tx, run, args.BatchID)
		return err
	})
	if err != nil {
		return nil, err
	}

	if w.files && w.recovering > 0 { // one batch is one file
		return nil, w.saveFailure(ctx, d, scope, nil, errTakenBack)
	}

	// Then talk to the provider, outside of any transaction.
	outcomes, receipt, err := w.deliver(ctx, d.Now)
	if err == nil && w.recovering > 0 {
		err = errTakenBack
	}

	if err != nil {
		return nil, w.saveFailure(ctx, d, scope, outcomes, err)
	}

	// Nothing went out, so there is nothing to settle.
	if len(outcomes) == 0 || allFailed(outcomes) {
		return nil, s.conclude(ctx, d, scope, w, outcomes)
	}

	// The file is stored before the task settles; only then can it be downloaded.
	var f *file.New
	if receipt.File != nil {
		if f, err = s.storeFile(ctx, d, scope, receipt.File); err != nil {
			return nil, w.saveFailure(ctx, d, scope, nil, err)
		}
	}

	// Last, save the result. It comes with the task's own settlement if all went well.
	settle := func(ctx context.Context, tx *db.Tx) error {
		return saveResult(ctx, tx, run, result{w, args.BatchID, outcomes, f})
	}

	failed := anyFailed(outcomes)

	// Earlier attempts may have failed payments too.
	if !failed {
		err = d.Read(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
			failed, err = loadBatchFailed(ctx, tx, args.BatchID)
			return err
		})
	}

	if err != nil || !failed {
		return settle, err
	}

	// A task that fails writes nothing when it settles, so the result of the batch is saved first. Another attempt
	// finds it and fails as well.
	if err := d.Write(ctx, scope, settle); err != nil {
		return nil, w.saveFailure(ctx, d, scope, nil, err)
	}

	return nil, operation.FailAs(operation.OperationFailed, errFailed)
}

// conclude ends a task that has nothing left to send. It succeeds if all payments went through in earlier attempts.
func (s *Gateway) conclude(ctx context.Context, d *db.DB, scope db.Scope, w *work, outcomes []pay.Outcome) error {
	var failed bool

	// The end of the attempt and its outcomes are saved together.
	err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		if err := w.saveEnd(ctx, tx, nil); err != nil {
			return err
		}

		if err := apply(ctx, tx, outcomes); err != nil {
			return err
		}

		failed, err = loadBatchFailed(ctx, tx, w.ID)

		return err
	})
	if err == nil && failed {
		err = operation.FailAs(operation.OperationFailed, errFailed)
	}

	return err
}

// deliver asks about unclear payments and submits the rest. It returns all outcomes that it has learned, even if it
// fails.
func (w *work) deliver(ctx context.Context, now func() time.Time) ([]pay.Outcome, pay.Receipt, error) {
	var outcomes []pay.Outcome

	// First ask: a payment that the provider knows must not be submitted again.
	left := w.fresh
	for i := range w.unclear {
		o, err := find(ctx, w.provider, w.unclear[i].Key)

		// Then decide whether the rest may be sent.
		switch {
		case err == nil:
			outcomes = append(outcomes, o)
		case errors.Is(err, pay.ErrUnknown):
			left = append(left, w.unclear[i])
		default:
			return outcomes, pay.Receipt{}, err
		}
	}

	switch {
	case !w.active && len(left) > 0: // the connection may become active again
		return outcomes, pay.Receipt{}, errInactiveC
	case !w.active:
		return outcomes, pay.Receipt{}, operation.FailAs(operation.OperationFailed, errInactiveC)
	case len(left) == 0:
		return outcomes, pay.Receipt{}, nil
	case !now().Before(w.until): // a recovery may rely on this attempt being over
		return outcomes, pay.Receipt{}, errLate
	}

	// Submit in the same order in every attempt: the same batch gives the same file.
	slices.SortFunc(left, func(a, b pay.Payment) int { return strings.Compare(a.Key, b.Key) })
	receipt, err := w.provider.Submit(ctx, pay.Batch{Payments: left, Sequence: *w.Sequence, At: w.MadeAt.Time})
	answered, silent := matchOutcomes(left, receipt.Outcomes)
	outcomes = append(outcomes, answered...)

	// Last, decide what it means if payments have no outcome: they failed only if surely nothing was moved.
	switch {
	case len(silent) == 0 && err == nil:
		return outcomes, receipt, nil
	case len(silent) == len(left) && ctx.Err() == nil && nothingMoved(err, w.files || len(left) == 1):
		for _, y := range silent {
			outcomes = append(outcomes, pay.Outcome{Key: y.Key, State: pay.Failed})
		}

		return outcomes, pay.Receipt{}, nil
	case err == nil:
		err = errNoOutcome
	}

	return outcomes, pay.Receipt{}, fmt.Errorf("submit a batch of payments: %w", err)
}

// nothingMoved reports whether the error means that nothing was moved. Payments that go out one by one can fail in
// several ways at once, so a provider that is not ready says nothing about the others. A file is made as a whole.
func nothingMoved(err error, whole bool) bool {
	return errors.Is(err, pay.ErrRefused) || errors.Is(err, pay.ErrNotReady) && whole
}

// find asks for one payment within the time limit of a call.
func find(ctx context.Context, p pay.Provider, key string) (pay.Outcome, error) {
	ctx, stop := context.WithTimeout(ctx, pay.Timeout)
	defer stop()

	// An outcome of another payment must not count for this one.
	o, err := p.Find(ctx, key)
	if err == nil && o.Key != key {
		err = errNoOutcome
	}

	if err != nil {
		return pay.Outcome{}, fmt.Errorf("find a payment: %w", err)
	}

	return o, nil
}

// matchOutcomes returns the outcomes of payments by their keys, and the payments without one. Outcomes of other keys do
// not belong to the batch and are dropped.
func matchOutcomes(payments []pay.Payment, outcomes []pay.Outcome) (answered []pay.Outcome, silent []pay.Payment) {
	byKey := make(map[string][]pay.Outcome, len(outcomes))
	for _, o := range outcomes {
		byKey[o.Key] = append(byKey[o.Key], o)
	}

	for _, y := range payments {
		if len(byKey[y.Key]) == 0 {
			silent = append(silent, y)
		}

		answered = append(answered, byKey[y.Key]...)
	}

	return answered, silent
}

// allFailed reports whether every payment has failed or was canceled.
func allFailed(outcomes []pay.Outcome) bool {
	for _, o := range outcomes {
		if o.State != pay.Failed && o.State != pay.Canceled {
			return false
		}
	}

	return true
}

// anyFailed reports whether a payment has failed. A canceled one does not count.
func anyFailed(outcomes []pay.Outcome) bool {
	return slices.ContainsFunc(outcomes, func(o pay.Outcome) bool { return o.State == pay.Failed })
}

// saveFailure ends an attempt with its cause. It saves the outcomes even if the attempt has run out of time.
func (w *work) saveFailure(ctx context.Context, d *db.DB, scope db.Scope, outcomes []pay.Outcome, cause error) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), keepTime)
	defer stop()

	return errors.Join(cause, d.Write(ctx, scope, w.saveNews(outcomes, cause)))
}

// saveNews returns the work that saves the outcomes of a failed attempt, that it is over, and that the credentials
// were refused.
func (w *work) saveNews(outcomes []pay.Outcome, cause error) db.Work {
	return func(ctx context.Context, tx *db.Tx) error {
		// Close the connection, so that no other batch tries the same credentials.
		if errors.Is(cause, pay.ErrCredentials) {
			if err := connection.RequireReconnect(ctx, tx, w.ConnectionID); err != nil {
				return err
			}
		}

		if err := w.saveEnd(ctx, tx, cause); err != nil {
			return err
		}

		if err := apply(ctx, tx, outcomes); err != nil {
			return err
		}

		return markUnknown(ctx, tx, w.ID, nil)
	}
}

// storeFile stores the file of a batch. It cannot be downloaded until the task settles.
func (s *Gateway) storeFile(ctx context.Context, d *db.DB, scope db.Scope, f *pay.File) (*file.New, error) {
	stored, err := file.Keep(ctx, d, scope, s.Store, func(w io.Writer) error {
		_, err := w.Write(f.Content)
		return err //nolint:wrapcheck // Keep says what it was doing
	})
	if err != nil {
		return nil, err
	}

	return &file.New{Stored: stored, Kind: file.Payment, Filename: f.Name, ContentType: f.ContentType}, nil
}
