package upload

import (
	"context"
	"errors"

	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// Confirmation says how the rows of a preview are imported.
type Confirmation struct {
	Mapping           *Mapping  `json:"mapping,omitempty" doc:"Only what the preview was read by; another mapping needs another preview."`
	DuplicateOverride *Override `json:"duplicateOverride,omitempty" doc:"What is done with the rows of a file that was imported before: skip leaves them, replace writes them over what is here, keep books them again."`
	AcceptIssues      bool      `json:"acceptIssues,omitempty" doc:"Leaves rows out that are faulty or to be decided, instead of refusing."`
	AllOrNothing      bool      `json:"allOrNothing,omitempty" doc:"Imports nothing if a row is refused; for at most 10000 rows."`
}

type confirmInput struct {
	ID   id.ID        `path:"id"`
	Body Confirmation `required:"false"`
}

// confirm starts the import of the rows of a preview.
func (s *service) confirm(ctx context.Context, tx *db.Tx, in *confirmInput) (*operation.Acknowledgement, error) {
	it, err := lock(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	if err := s.kinds[it.Kind].checkScope(tx); err != nil {
		return nil, err
	}

	if err := it.checkConfirm(&in.Body); err != nil {
		return nil, err
	}

	// The file may have been imported since it was read.
	if it.PriorID, err = findPrior(ctx, tx, it); err != nil {
		return nil, err
	}

	if in.Body.DuplicateOverride != nil && it.PriorID == nil {
		return nil, errOverride
	}

	// Rows that were refused are tried again: what kept them out may be gone.
	if it.Outcomes.Failed+it.Outcomes.Skipped > 0 {
		if err := errors.Join(retryRows(ctx, tx, it.ID), countRows(ctx, tx, it)); err != nil {
			return nil, err
		}
	}

	it.Override, it.AllOrNone = in.Body.DuplicateOverride, in.Body.AllOrNothing

	return startTake(ctx, tx, it, s.kinds[it.Kind].job())
}

// checkConfirm refuses a preview that cannot be imported in the confirmed way: one that is not ready, was read by
// another mapping, has unclear columns or open questions, or is too long to import all or none.
func (it *stored) checkConfirm(c *Confirmation) error {
	if it.Status != Ready && it.Status != Imported {
		return errNotReady
	}

	// A confirmation may repeat the mapping, but cannot change how the rows were read.
	if c.Mapping != nil && (it.Mapping == nil || !sameJSON(mustEncode(c.Mapping), mustEncode(it.Mapping))) {
		return apierr.BadRequest.At(apierr.IssueContradiction.InBody("mapping"))
	}

	for i := range it.Columns {
		if it.Columns[i].IsUnclear {
			return errUnclear.With(map[string]any{"column": it.Columns[i].Index, "header": it.Columns[i].Header})
		}
	}

	if open := it.Counts.Faulty + it.Counts.Questions; open > 0 && !c.AcceptIssues {
		return errFaulty.With(map[string]any{"faultyRows": it.Counts.Faulty, "undecidedRows": it.Counts.Questions})
	}

	if c.AllOrNothing && it.Counts.Rows > mostAtOnce {
		return errTooMany.With(map[string]any{"maxRows": mostAtOnce})
	}

	return nil
}

// startTake starts the operation that imports the rows without an outcome. The kind of its job is work.
func startTake(ctx context.Context, tx *db.Tx, it *stored, work job.Kind) (*operation.Acknowledgement, error) {
	ack, err := operation.Start(ctx, tx, operation.New{
		Type:  operation.CSVImport,
		Tasks: []operation.Task{{Kind: work, Args: importArgs{it.ID}, Priority: 1}},
	})
	if err != nil {
		return nil, err
	}

	it.Status, it.ImportOpID, it.Step, it.Attempt = Importing, &ack.OperationID, 0, 0

	return ack, update(ctx, tx, it)
}

// cancel stops reading or importing a file. Rows that were imported already stay. It fails with 409 for an import that
// is over.
func (s *service) cancel(ctx context.Context, tx *db.Tx, in *oneInput) (*Import, error) {
	it, err := lock(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	if err := s.kinds[it.Kind].checkScope(tx); err != nil {
		return nil, err
	}

	// The operation that reads a file has the id of its import.
	running := it.ID

	switch it.Status { //nolint:exhaustive // imports with other statuses are over
	case Reading:
		it.Status = Canceled
	case Importing:
		running = *it.ImportOpID

		// With some rows in the books, the import can still be undone.
		if it.Status = Canceled; it.Step > 0 {
			it.Status = Imported
			now := day.At(tx.Now)
			it.ImportedAt = &now
		}
	case Ready, Failed:
		it.Status = Canceled
	default:
		return nil, errNotReady
	}

	// A worker that is busy with the file finds the status changed, and stops.
	if err := operation.End(ctx, tx, running, operation.Failed); err != nil {
		return nil, err
	}

	if err := countRows(ctx, tx, it); err != nil {
		return nil, err
	}

	if err := update(ctx, tx, it); err != nil {
		return nil, err
	}

	return s.getImport(ctx, tx, in)
}

// startUndo starts the operation that takes an import back. It fails with 409 unless the import is finished.
func (s *service) startUndo(ctx context.Context, tx *db.Tx, in *oneInput) (*operation.Acknowledgement, error) {
	it, err := lock(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	if err := s.kinds[it.Kind].checkScope(tx); err != nil {
		return nil, err
	}

	if it.Status != Imported {
		return nil, errNotReady
	}

	ack, err := operation.Start(ctx, tx, operation.New{
		Type:  operation.CSVImport,
		Tasks: []operation.Task{{Kind: undoKind, Args: importArgs{it.ID}, Priority: 1}},
	})
	if err != nil {
		return nil, err
	}

	it.Status, it.UndoOpID = Undoing, &ack.OperationID

	return ack, update(ctx, tx, it)
}
