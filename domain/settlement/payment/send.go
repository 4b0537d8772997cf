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
	"stayledger/domain/tenant/connection"
	"stayledger/platform/blob"
	"stayledger/platform/db"
	"stayledger/platform/job"
	"stayledger/platform/seal"
	"stayledger/provider/pay"
)

// Service is what payments reach the outside with.
type Service struct {
	// Open opens the provider behind a connection.
	Open connection.Opener
	// Box opens account numbers and the secrets of callbacks.
	Box *seal.Box
	// Store keeps the files for the bank.
	Store blob.Store
}

const (
	// An attempt to send a batch ends by itself after sendTime.
	sendTime = 5 * time.Minute
	// A provider that did not answer in time may come to what it was told within linger.
	linger = 2 * pay.Timeout
	// What an attempt has learned is kept within keepTime, also when the attempt itself has run out of time.
	keepTime = 5 * time.Second
)

// handlers are the jobs of the package: sending batches, and recovering payments.
func (s *Service) handlers() map[job.Kind]job.Handler {
	send := operation.External(sendTime, s.send).OnOutside()
	giveUp := send.Exhausted
	send.Exhausted = func(ctx context.Context, tx *db.Tx, j job.Job, cause error) error {
		var args sendArgs
		if err := json.Unmarshal(j.Args, &args); err != nil {
			return fmt.Errorf("decode task arguments: %w", err)
		}

		if err := withdraw(ctx, tx, args.BatchID, cause); err != nil {
			return err
		}

		return giveUp(ctx, tx, j, cause)
	}
	nothing := operation.Work(sendTime, func(context.Context, *db.Tx, operation.Run, struct{}) error { return nil })

	return map[job.Kind]job.Handler{SendKind: send, recoverKind: s.recovery(), nothingKind: nothing}
}

var (
	errNoOutcome = errors.New("the provider gave no outcome of a payment")
	errFailed    = errors.New("payments of the batch failed")
	errInactiveC = errors.New("the connection is not active any more")
	errLate      = errors.New("the attempt has run out of time")
	errTakenBack = errors.New("payments of the batch are being taken back")
)

// send makes one attempt at a batch. Whatever an earlier attempt may have told the provider is asked for first. What is
// learned is kept even when the attempt fails. Payments that somebody is taking back are waited for.
func (s *Service) send(ctx context.Context, d *db.DB, scope db.Scope, run operation.Run, args sendArgs) (db.Work, error) {
	var w *work

	err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		w, err = s.begin(ctx, tx, run, args.BatchID)
		return err
	})
	if err != nil {
		return nil, err
	}

	if w.files && w.recovering > 0 { // one batch is one file
		return nil, w.failed(ctx, d, scope, nil, errTakenBack)
	}

	outcomes, receipt, err := w.deliver(ctx, d.Now)
	if err == nil && w.recovering > 0 {
		err = errTakenBack
	}

	if err != nil {
		return nil, w.failed(ctx, d, scope, outcomes, err)
	}

	if len(outcomes) == 0 || allFailed(outcomes) {
		return nil, s.conclude(ctx, d, scope, w, outcomes)
	}

	var f *file.New
	if receipt.File != nil {
		if f, err = s.keepFile(ctx, d, scope, receipt.File); err != nil {
			return nil, w.failed(ctx, d, scope, nil, err)
		}
	}

	settle := func(ctx context.Context, tx *db.Tx) error {
		return settled(ctx, tx, run, result{w, args.BatchID, outcomes, f})
	}

	failed := anyFailed(outcomes)
	if !failed {
		err = d.Read(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
			failed, err = batchFailed(ctx, tx, args.BatchID)
			return err
		})
	}

	if err != nil || !failed {
		return settle, err
	}

	// A task that fails writes nothing when it settles, so what the batch came to is kept first. Another attempt finds
	// it and fails as well.
	if err := d.Write(ctx, scope, settle); err != nil {
		return nil, w.failed(ctx, d, scope, nil, err)
	}

	return nil, operation.FailAs(operation.OperationFailed, errFailed)
}

// conclude ends a task that has nothing left to send: with success when everything went through in earlier attempts.
func (s *Service) conclude(ctx context.Context, d *db.DB, scope db.Scope, w *work, outcomes []pay.Outcome) error {
	var failed bool

	err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		if err := w.ended(ctx, tx, nil); err != nil {
			return err
		}

		if err := apply(ctx, tx, outcomes); err != nil {
			return err
		}

		failed, err = batchFailed(ctx, tx, w.ID)

		return err
	})
	if err == nil && failed {
		err = operation.FailAs(operation.OperationFailed, errFailed)
	}

	return err
}

// deliver asks for what is unclear and submits the rest. It gives every outcome that it has learned, also when it
// fails.
func (w *work) deliver(ctx context.Context, now func() time.Time) ([]pay.Outcome, pay.Receipt, error) {
	var outcomes []pay.Outcome

	left := w.fresh
	for i := range w.unclear {
		o, err := find(ctx, w.provider, w.unclear[i].Key)
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
	case !w.active && len(left) > 0: // somebody may mend the connection
		return outcomes, pay.Receipt{}, errInactiveC
	case !w.active:
		return outcomes, pay.Receipt{}, operation.FailAs(operation.OperationFailed, errInactiveC)
	case len(left) == 0:
		return outcomes, pay.Receipt{}, nil
	case !now().Before(w.until): // another may have been told meanwhile that nobody is sending
		return outcomes, pay.Receipt{}, errLate
	}
	// In one order, whichever attempt this is: the same batch gives the same file.
	slices.SortFunc(left, func(a, b pay.Payment) int { return strings.Compare(a.Key, b.Key) })
	receipt, err := w.provider.Submit(ctx, pay.Batch{Payments: left, Sequence: *w.Sequence, At: w.MadeAt.Time})
	told, silent := match(left, receipt.Outcomes)
	outcomes = append(outcomes, told...)

	switch {
	case len(silent) == 0 && err == nil:
		return outcomes, receipt, nil
	case len(silent) == len(left) && ctx.Err() == nil && definite(err, w.files || len(left) == 1):
		for _, y := range silent {
			outcomes = append(outcomes, pay.Outcome{Key: y.Key, State: pay.Failed})
		}

		return outcomes, pay.Receipt{}, nil
	case err == nil:
		err = errNoOutcome
	}

	return outcomes, pay.Receipt{}, fmt.Errorf("submit a batch of payments: %w", err)
}

// definite reports that nothing was moved. Payments that go out one by one can fail in several ways at once, so that a
// provider who is not ready says nothing of the others; a file is made as a whole.
func definite(err error, whole bool) bool {
	return errors.Is(err, pay.ErrRefused) || errors.Is(err, pay.ErrNotReady) && whole
}

// find asks for one payment within the time that a call may take.
func find(ctx context.Context, p pay.Provider, key string) (pay.Outcome, error) {
	ctx, stop := context.WithTimeout(ctx, pay.Timeout)
	defer stop()

	o, err := p.Find(ctx, key)
	if err == nil && o.Key != key {
		err = errNoOutcome
	}

	if err != nil {
		return pay.Outcome{}, fmt.Errorf("find a payment: %w", err)
	}

	return o, nil
}

// match finds the outcomes of payments by their keys, and those that have none. What a provider says of other keys is
// none of this batch.
func match(payments []pay.Payment, outcomes []pay.Outcome) (told []pay.Outcome, silent []pay.Payment) {
	byKey := make(map[string][]pay.Outcome, len(outcomes))
	for _, o := range outcomes {
		byKey[o.Key] = append(byKey[o.Key], o)
	}

	for _, y := range payments {
		if len(byKey[y.Key]) == 0 {
			silent = append(silent, y)
		}

		told = append(told, byKey[y.Key]...)
	}

	return told, silent
}

func allFailed(outcomes []pay.Outcome) bool {
	for _, o := range outcomes {
		if o.State != pay.Failed && o.State != pay.Canceled {
			return false
		}
	}

	return true
}

// anyFailed reports whether a payment has failed. One that somebody canceled is no failure.
func anyFailed(outcomes []pay.Outcome) bool {
	return slices.ContainsFunc(outcomes, func(o pay.Outcome) bool { return o.State == pay.Failed })
}

// failed ends an attempt with its cause, and keeps what it has learned even when it has run out of time.
func (w *work) failed(ctx context.Context, d *db.DB, scope db.Scope, outcomes []pay.Outcome, cause error) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), keepTime)
	defer stop()

	return errors.Join(cause, d.Write(ctx, scope, w.keepNews(outcomes, cause)))
}

// keepNews keeps what a failed attempt has learned, that it is over, and that the credentials are refused.
func (w *work) keepNews(outcomes []pay.Outcome, cause error) db.Work {
	return func(ctx context.Context, tx *db.Tx) error {
		if errors.Is(cause, pay.ErrCredentials) {
			if err := connection.Refused(ctx, tx, w.ConnectionID); err != nil {
				return err
			}
		}

		if err := w.ended(ctx, tx, cause); err != nil {
			return err
		}

		if err := apply(ctx, tx, outcomes); err != nil {
			return err
		}

		return markUnknown(ctx, tx, w.ID, nil)
	}
}

// keepFile puts the file of a batch into the store. Until the task settles nobody can fetch it.
func (s *Service) keepFile(ctx context.Context, d *db.DB, scope db.Scope, f *pay.File) (*file.New, error) {
	stored, err := file.Keep(ctx, d, scope, s.Store, func(w io.Writer) error {
		_, err := w.Write(f.Content)
		return err //nolint:wrapcheck // Keep says what it was doing
	})
	if err != nil {
		return nil, err
	}

	return &file.New{Stored: stored, Kind: file.Payment, Filename: f.Name, ContentType: f.ContentType}, nil
}
