package intake

import (
	"context"
	"fmt"
	"time"

	"stayledger/domain/record/file"
	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// extractTime bounds the making of a file.
const extractTime = 30 * time.Minute

// extractKind is the kind of the job that makes a file.
var extractKind = job.NewKind("intake.extract")

// MakeFile makes the file of a sync of view Extract, from what its source has. It runs outside of any transaction and can
// run again after a failure. Errors are those of Source.
type MakeFile func(ctx context.Context, d *db.DB, scope db.Scope, s *Sync) (*Extracted, error)

// Extracted is a file that was made of what a source has, and what became of the records.
type Extracted struct {
	File   file.New
	Counts Counts
}

// StartExtract starts a sync that makes a file and writes no records. It waits for no other one of its source.
func StartExtract(ctx context.Context, tx *db.Tx, n New, extractor string) (*operation.Acknowledgement, error) {
	if err := lockSource(ctx, tx, n.ConnectionID, true); err != nil {
		return nil, err
	}

	s := n.sync(tx)
	s.Extractor = &extractor

	return s.insert(ctx, tx)
}

// extractor returns the handler of the job that makes a file. A sync that was ended by hand keeps no file.
func (r *runner) extractor() job.Handler {
	h := operation.External(extractTime, func(ctx context.Context, d *db.DB, scope db.Scope, run operation.Run, args taskArgs) (db.Work, error) {
		var s *Sync

		err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
			if s, err = lockSync(ctx, tx, args.SyncID); err != nil || s.Status != Queued {
				return err
			}

			return startSync(ctx, tx, s)
		})
		if err != nil || s.Status.ended() {
			return nil, err
		}

		made, err := r.makeFile(ctx, d, scope, s)
		if err != nil {
			return nil, sourceError(err)
		}

		return func(ctx context.Context, tx *db.Tx) error { return keepExtract(ctx, tx, args.SyncID, run, made) }, nil
	})
	h.Lane, h.Exhausted = job.Bulk, r.giveUp

	return h
}

// keepExtract keeps the file of a sync as the result of its operation, and ends the sync.
func keepExtract(ctx context.Context, tx *db.Tx, sync id.ID, run operation.Run, made *Extracted) error {
	s, err := lockSync(ctx, tx, sync)
	if err != nil || s.Status.ended() {
		return err
	}

	f, err := file.Insert(ctx, tx, made.File)
	if err != nil {
		return fmt.Errorf("keep an extract: %w", err)
	}

	if err := operation.AddResult(ctx, tx, run.OperationID, operation.Resource{Type: operation.File, ID: f.ID, Role: operation.Result}); err != nil {
		return err
	}

	s.Counts = made.Counts
	if err := tx.Pipeline(ctx, saveCounts(tx, s, 0, made.Counts)...); err != nil {
		return fmt.Errorf("save the counts of an extract: %w", err)
	}

	return finish(ctx, tx, s, Completed, nil)
}
