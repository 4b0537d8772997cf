package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stayledger/domain/record/file"
	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// extractTime bounds how long making a file may take.
const extractTime = 30 * time.Minute

// extractTries is how often a file is begun that is not done by then.
const extractTries = 3

// extractKind names the jobs that make a file.
var extractKind = job.NewKind("intake.extract")

// MakeFile makes the file of a sync of view Extract. It runs outside any transaction and can run again after a
// failure. Its errors are errors of Source.
type MakeFile func(ctx context.Context, d *db.DB, scope db.Scope, s *Sync) (*Extracted, error)

// Extracted is a file made from the records of a source, with the counts of its records.
type Extracted struct {
	File   file.New
	Counts Counts
}

// StartExtract starts a sync that makes a file and writes no records. It does not wait for other syncs of its source.
func StartExtract(ctx context.Context, tx *db.Tx, n New, extractor string) (*operation.Acknowledgement, error) {
	if err := lockSource(ctx, tx, n.ConnectionID, true); err != nil {
		return nil, err
	}

	s := n.sync(tx)
	s.Extractor = &extractor

	return s.insert(ctx, tx)
}

// CheckRunning fails if a sync was ended by hand. What makes a file looks between two pages.
func CheckRunning(ctx context.Context, d *db.DB, scope db.Scope, s *Sync) error {
	return d.ReadOne(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		status, err := db.Get[Status](ctx, tx, `select status from sync where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": s.ID})
		if err == nil && status.hasEnded() {
			err = errStopped
		}

		return err
	})
}

// extractor returns the handler of the jobs that make files. The file of a sync that was ended by hand meanwhile is
// dropped. A source that cannot be read, and a store that is full, are tried again for a day, as for other syncs.
func (r *runner) extractor() job.Handler {
	h := operation.External(extractTime, func(
		ctx context.Context, d *db.DB,
		scope db.Scope,
		run operation.Run,
		args taskArgs,
	) (db.Work, error) {
		var s *Sync

		err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
			if s, err = lockSync(ctx, tx, args.SyncID); err != nil || s.Status != Queued {
				return err
			}

			return startSync(ctx, tx, s)
		})
		if err != nil || s.Status.hasEnded() {
			return nil, err
		}

		// The calls to the source, with no transaction open.
		made, err := r.makeFile(ctx, d, scope, s)

		switch {
		case errors.Is(err, errStopped):
			return nil, nil
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil && run.Attempt >= extractTries:
			return nil, job.Permanent(sourceError(err))
		case err != nil:
			return nil, s.delay(ctx, d, scope, run.Attempt, sourceError(err))
		}

		return func(ctx context.Context, tx *db.Tx) error { return saveExtract(ctx, tx, args.SyncID, run, made) }, nil
	})
	h.Lane, h.TryFor, h.Exhausted = job.Bulk, job.OutsideTime, r.giveUp

	return h
}

// saveExtract saves the file of a sync as the result of its operation, and ends the sync.
func saveExtract(ctx context.Context, tx *db.Tx, sync id.ID, run operation.Run, made *Extracted) error {
	s, err := lockSync(ctx, tx, sync)
	if err != nil || s.Status.hasEnded() {
		return err
	}

	f, err := file.Insert(ctx, tx, made.File)
	if err != nil {
		return fmt.Errorf("keep an extract: %w", err)
	}

	result := operation.Resource{Type: operation.File, ID: f.ID, Role: operation.Result}
	if err := operation.AddResult(ctx, tx, run.OperationID, result); err != nil {
		return err
	}

	s.Counts = made.Counts
	if err := tx.Pipeline(ctx, saveCounts(tx, s, 0, made.Counts)...); err != nil {
		return fmt.Errorf("save the counts of an extract: %w", err)
	}

	return finishSync(ctx, tx, s, Completed, nil)
}
