package payout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// The kinds of jobs.
var (
	// RecordKind records the payouts of a statement-payout operation.
	RecordKind = job.NewKind("statement-payout")
	// PreviewKind finds out what the payouts of a statement-payout-preview operation would be.
	PreviewKind = job.NewKind("statement-payout-preview")
)

// handlers returns the handlers of payout operations.
func handlers() map[job.Kind]job.Handler {
	return map[job.Kind]job.Handler{
		RecordKind:  operation.External(10*time.Minute, task(recordTask)),
		PreviewKind: operation.External(10*time.Minute, task(previewTask)),
	}
}

// task returns the work of an operation: it handles the statements in one transaction that also saves their
// results. Another attempt finds the results and only settles the operation, so nothing is paid twice whenever a
// worker dies.
func task(
	do func(ctx context.Context, tx *db.Tx, r *Request) (*book, error),
) func(context.Context, *db.DB, db.Scope, operation.Run, Request) (db.Work, error) {
	return func(ctx context.Context, d *db.DB, scope db.Scope, run operation.Run, r Request) (db.Work, error) {
		var failed int

		err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
			// An earlier attempt may have committed and died before the operation settled.
			done, before, err := lockResults(ctx, tx, run.OperationID)
			if err != nil || done {
				failed = before
				return err
			}

			b, err := do(ctx, tx, &r)
			if err != nil {
				return err
			}

			// The transaction may run more than once, so count anew.
			failed = 0

			for _, p := range b.plans {
				if p.status == Failed {
					failed++
				}
			}

			return updateResults(ctx, tx, run.OperationID, b.plans)
		})

		// The results are committed; only the operation itself fails.
		if err == nil && failed > 0 {
			err = operation.FailAs(
				operation.OperationFailed,
				fmt.Errorf("the payouts of %d statements were refused", failed),
			)
		}

		return nil, err
	}
}

// recordTask records the payouts that can be made now: statements may have changed, or have been paid, since the
// operation was asked for.
func recordTask(ctx context.Context, tx *db.Tx, r *Request) (*book, error) {
	b, err := preparePlans(ctx, tx, r, true)
	if err != nil {
		return nil, err
	}

	if err := b.recordEach(ctx, tx, b.pending()); err != nil {
		return nil, err
	}

	b.setStatuses(Recorded)

	return b, nil
}

// previewTask decides on the payouts and records none: what the books refuse on the date of the payouts is found by
// recording them and undoing that.
func previewTask(ctx context.Context, tx *db.Tx, r *Request) (*book, error) {
	b, err := preparePlans(ctx, tx, r, false)
	if err != nil {
		return nil, err
	}

	err = tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
		if err := b.recordEach(ctx, tx, b.pending()); err != nil {
			return err
		}

		return errUndone
	})
	if !errors.Is(err, errUndone) {
		return nil, err
	}

	b.forgetRecorded()
	b.setStatuses(Previewed)

	return b, nil
}

// errUndone ends what is only tried.
var errUndone = errors.New("undone")

// start starts the operation of a request. Its results can be read from now on.
func start(
	ctx context.Context,
	tx *db.Tx,
	typ operation.Type,
	kind job.Kind,
	r *Request,
) (*operation.Acknowledgement, error) {
	ack, err := operation.Start(ctx, tx, newOperation(typ, r.StatementIDs, []operation.Task{{Kind: kind, Args: r}}))
	if err != nil {
		return nil, err
	}

	insertExpected(tx, ack.OperationID, r.StatementIDs)

	return ack, nil
}

// newOperation returns an operation on statements; a single statement is its primary resource.
func newOperation(kind operation.Type, statements []id.ID, tasks []operation.Task) operation.New {
	n := operation.New{Type: kind, Resources: sourceResources(statements), Tasks: tasks}
	if len(n.Resources) == 1 {
		n.Primary = &n.Resources[0]
	}

	return n
}
