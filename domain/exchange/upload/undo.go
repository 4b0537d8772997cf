package upload

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/intake"
	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// undoKind names the jobs that undo imports.
var undoKind = job.NewKind("upload.undo")

const (
	undoTime       = 30 * time.Minute // For one undo, which is a single transaction.
	mostDependents = 1000             // Records in the list of those that keep an import from being undone.
)

// errDependents stops an undo because other records depend on the import.
var errDependents = errors.New("upload: something depends on the import")

// undoing deletes all records that an import has made and reverts all its changes, or does nothing.
type undoing struct {
	*service

	it         *stored
	reader     *reader
	dependents []Dependent
}

// undo takes an import back. If other records depend on it, nothing is changed, and the import lists them.
func (s *service) undo(ctx context.Context, d *db.DB, j job.Job) error {
	args, err := decodeArgs(j)
	if err != nil {
		return err
	}

	u := &undoing{service: s}

	err = d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) (err error) {
		if u.it, err = lock(ctx, tx, args.ImportID); err != nil {
			return err
		}

		if u.it.Status != Undoing {
			return job.Done(ctx, tx, j)
		}

		return u.run(ctx, tx, j)
	})
	if !errors.Is(err, errDependents) {
		return err
	}

	// The transaction above was rolled back, so save the list in another.
	return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
		it, err := lock(ctx, tx, args.ImportID)
		if err != nil {
			return err
		}

		it.Status, it.Dependents = Imported, u.dependents
		if err := update(ctx, tx, it); err != nil {
			return err
		}

		return endFailed(ctx, tx, j, operation.CSVImportFailed, errDependents)
	})
}

// run takes back all rows, the last first.
func (u *undoing) run(ctx context.Context, tx *db.Tx, j job.Job) (err error) {
	audit.FromFile(tx, u.it.ID)

	if u.reader, err = u.service.reader(ctx, tx, u.it); err != nil {
		return err
	}

	if u.reader.kind.undoneLast == "" {
		err = u.undoWhere(ctx, tx, "true")
	} else if err = u.undoWhere(ctx, tx, "not "+u.reader.kind.undoneLast); err == nil {
		err = u.undoWhere(ctx, tx, u.reader.kind.undoneLast)
	}

	if err != nil {
		return err
	}

	// Collect all dependents before giving up, so that a person sees them at once.
	if len(u.dependents) > 0 {
		return errDependents
	}

	now := day.At(tx.Now)
	u.it.Status, u.it.UndoneAt, u.it.Dependents = Undone, &now, nil

	if err := countRows(ctx, tx, u.it); err != nil {
		return err
	}

	operation.Settle(tx, j)

	return update(ctx, tx, u.it)
}

// undoWhere takes back the rows w with a condition, the last first: later rows may depend on earlier ones, never the
// other way round.
func (u *undoing) undoWhere(ctx context.Context, tx *db.Tx, condition string) error {
	for before := u.it.Counts.Rows + 1; len(u.dependents) < mostDependents; {
		rows, err := selectRows(ctx, tx, `
			select `+rowColumns+` from csv_import_row w where w.team_id = @team and w.import_id = @id and w.position < @before
				and w.outcome in ('created', 'updated') and `+condition+` order by w.position desc limit 500`,
			db.Args{"team": tx.Team, "id": u.it.ID, "before": before})
		if err != nil || len(rows) == 0 {
			return err
		}

		before = int64(rows[len(rows)-1].Position)

		if err := u.undoRows(ctx, tx, rows); err != nil {
			return err
		}
	}

	return nil
}

// undoRows takes back rows and collects the refusals. A record that is gone already counts as undone.
func (u *undoing) undoRows(ctx context.Context, tx *db.Tx, rows []*storedRow) error {
	rows, err := u.keepTouched(ctx, tx, rows)
	if err != nil {
		return err
	}

	refusals, err := db.Halves(ctx, tx, len(rows), apierr.IsRefusal, func(ctx context.Context, tx *db.Tx, from, to int) error {
		for _, row := range rows[from:to] {
			if err := u.undoRow(ctx, tx, row); err != nil && !errors.Is(err, apierr.NotFound) {
				return err
			}
		}

		return nil
	})
	if err != nil {
		return err
	}

	var gone []id.ID

	for i, row := range rows {
		if refusals[i] != nil {
			u.addDependent(row, refusals[i])
			continue
		}

		undone := Reverted
		row.Outcome = &undone
		gone = append(gone, *row.EntityID)
	}

	// A later file with the same rows makes the records again.
	if err := intake.Forget(ctx, tx, u.it.SourceID, u.reader.kind.noun.Name, gone); err != nil {
		return err
	}

	return updateRows(ctx, tx, rows)
}

// keepTouched returns the rows that can be taken back, and collects the others: new records that a later import or a
// person has changed. Taking such a record back would lose the change.
func (u *undoing) keepTouched(ctx context.Context, tx *db.Tx, rows []*storedRow) ([]*storedRow, error) {
	var made []id.ID

	for _, row := range rows {
		if *row.Outcome == Created {
			made = append(made, *row.EntityID)
		}
	}

	if len(made) == 0 {
		return rows, nil
	}

	later, err := db.Select[id.ID](ctx, tx, `select distinct entity_id from csv_import_row where team_id = @team
		and entity_id = any(@made) and outcome = 'updated' and import_id <> @id`,
		db.Args{"team": tx.Team, "id": u.it.ID, "made": made})
	if err != nil {
		return nil, fmt.Errorf("find later imports of the same records: %w", err)
	}

	edited, err := intake.LoadEdited(ctx, tx, &u.reader.kind.noun, u.it.SourceID, made)
	if err != nil {
		return nil, err
	}

	var out []*storedRow

	for _, row := range rows {
		field, isEdited := edited[*row.EntityID]

		switch {
		case *row.Outcome == Updated:
			out = append(out, row)
		case slices.Contains(later, *row.EntityID):
			u.addDependent(row, errLaterImport)
		case isEdited:
			u.addDependent(row, errChangedSince.With(map[string]any{"field": field}))
		default:
			out = append(out, row)
		}
	}

	return out, nil
}

// The reasons for keeping a record that was changed after the import.
var (
	errChangedSince = apierr.New(apierr.CodeConflict, "", "The record was changed since")
	errLaterImport  = apierr.New(apierr.CodeConflict, "", "A later import has changed the record")
)

// undoRow deletes the record that a row has made, or gives a changed record its former values. It fails with
// errChangedSince if a person has changed the same fields since.
func (u *undoing) undoRow(ctx context.Context, tx *db.Tx, row *storedRow) error {
	k := u.reader.kind

	if *row.Outcome == Created {
		return k.undo(ctx, tx, *row.EntityID)
	}

	now, err := k.noun.Current(ctx, tx, []id.ID{*row.EntityID})
	if err != nil {
		return err
	}

	// Compare the record with what the row says, to find later changes.
	rows, err := loadRecord(ctx, tx, u.it.ID, row.Position)
	if err != nil {
		return err
	}

	_, records, err := u.reader.records(ctx, tx, rows)
	if err != nil {
		return err
	}

	if field := findChanged(now[*row.EntityID], records[0].values(), row.Before); field != "" {
		return errChangedSince.With(map[string]any{"field": field})
	}

	saved, err := k.noun.Save(ctx, tx, intake.Origin{SourceID: u.it.SourceID, IsFile: true},
		[]intake.Write{{ID: row.EntityID, Fields: row.Before}})
	if err == nil && saved[0].Refusal != nil {
		err = saved[0].Refusal
	}

	return err
}

// addDependent adds a row that cannot be taken back, with the reason.
func (u *undoing) addDependent(row *storedRow, refusal error) {
	if len(u.dependents) == mostDependents {
		return
	}

	e := apierr.From(refusal)
	why := string(e.Reason())

	if why == "" {
		why = string(e.Code())
	}

	// The contract has no reasons for these two.
	switch {
	case errors.Is(refusal, errChangedSince):
		why = "changedSince"
	case errors.Is(refusal, errLaterImport):
		why = "laterImport"
	}

	u.dependents = append(u.dependents, Dependent{
		Row: row.Position, Line: row.Line, EntityID: *row.EntityID,
		Reason: why, Context: e.Context(), Outcome: *row.Outcome,
	})
}

// sameJSON reports whether two values are the same, whatever their white space; null and nothing are the same.
func sameJSON(a, b json.RawMessage) bool {
	compact := func(raw json.RawMessage) string {
		var out bytes.Buffer
		if len(raw) == 0 || json.Compact(&out, raw) != nil {
			return "null"
		}

		return out.String()
	}

	return compact(a) == compact(b)
}
