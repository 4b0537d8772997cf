package upload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/file"
	"stayledger/domain/record/intake"
	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/job"
)

// The jobs that import the rows of a file. A file that changes owners is imported alone in its team.
var (
	takeKind      = job.NewKind("upload.take")
	takeAloneKind = job.NewKind("upload.take-alone")
)

const (
	takeRows   = 500              // Records that are imported by one transaction.
	turnTime   = 10 * time.Second // How long a job goes on before other teams have their turn.
	mostAtOnce = 10_000           // Rows of an import with AllOrNone, which is one transaction.
)

// taking imports the rows of a file.
type taking struct {
	*service

	it     *stored
	reader *reader
	// refused are the refused rows of an import with AllOrNone.
	refused []*storedRow
}

// take imports the rows of a file, page by page. The outcome of a row is saved with its record, so that the next
// attempt goes on where a worker has died.
func (s *service) take(ctx context.Context, d *db.DB, j job.Job) error {
	args, err := decodeArgs(j)
	if err != nil {
		return err
	}

	t := &taking{service: s}
	over := time.Now().Add(turnTime) //nolint:forbidigo // how long the job goes on, outside of any transaction

	for isOver := false; !isOver; {
		err := d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error {
			it, err := lock(ctx, tx, args.ImportID)
			if err != nil {
				return err
			}

			// The import was canceled, or another attempt has finished it.
			if it.Status != Importing {
				isOver = true
				return job.Done(ctx, tx, j)
			}

			// The first transaction claims the import for this attempt.
			if t.it == nil {
				it.Attempt = int(j.Attempt)
			}

			if it.Attempt != int(j.Attempt) {
				return job.Permanent(errTaken)
			}

			t.it = it
			isOver, err = t.next(ctx, tx, j, time.Now().After(over)) //nolint:forbidigo // as above

			return err
		})
		// Nothing was saved. Show the refused rows in the preview, in a transaction of their own.
		if errors.Is(err, errNotAll) {
			return d.Write(ctx, j.Scope(), func(ctx context.Context, tx *db.Tx) error { return t.takeBack(ctx, tx, j) })
		}

		if err != nil {
			return err
		}
	}

	return nil
}

// next imports the next page, or with AllOrNone all pages. It reports whether the job has ended.
func (t *taking) next(ctx context.Context, tx *db.Tx, j job.Job, isLate bool) (bool, error) {
	audit.FromFile(tx, t.it.ID)

	for {
		k := t.kinds[t.it.Kind]

		rows, err := loadHeads(ctx, tx, t.it, k.lines != "", k.isLast != nil)
		if err != nil {
			return false, err
		}

		if len(rows) == 0 {
			return true, t.finish(ctx, tx, j)
		}

		if err := t.takePage(ctx, tx, rows); err != nil {
			return false, err
		}

		if t.it.AllOrNone {
			continue
		}

		if err := update(ctx, tx, t.it); err != nil || !isLate {
			return false, err
		}

		// Go on in another job, so that other teams have their turn.
		again := job.New{
			Kind: t.kinds[t.it.Kind].job(), Args: importArgs{t.it.ID}, OperationID: *t.it.ImportOpID, Priority: 1,
		}
		if err := job.Insert(ctx, tx, again); err != nil {
			return false, err
		}

		return true, job.Done(ctx, tx, j)
	}
}

// job returns the kind of job that imports such files.
func (k *kind) job() job.Kind {
	if k.owns {
		return takeAloneKind
	}

	return takeKind
}

// records reads rows as records, and returns them with the rows that begin them. Parts must follow their heads.
func (r *reader) records(ctx context.Context, tx *db.Tx, rows []*storedRow) ([]*storedRow, []keyed, error) {
	for _, row := range rows {
		r.ask(row.cells())
	}

	if err := r.names.load(ctx, tx); err != nil {
		return nil, nil, err
	}

	var (
		heads []*storedRow
		out   []keyed
	)

	at := map[int]*record{}

	// First read all rows, and add parts to their records.
	for _, row := range rows {
		rec := r.read(row.cells())

		if row.Head != nil {
			if head := at[*row.Head]; head != nil {
				head.parts = append(head.parts, rec)
			}

			continue
		}

		at[row.Position] = rec
		heads = append(heads, row)

		if isFooter(rec, row.cells()) {
			rec.ignored, rec.issues = "total", nil
		}
	}

	// Then complete the records.
	for _, row := range heads {
		rec := at[row.Position]
		if rec.ignored == "" {
			r.finish(rec)
		}

		k := keyed{record: rec, ordinal: row.Ordinal, isRepeated: row.Status == Duplicate && row.MatchID == nil}
		k.key, k.isNamed = rec.key(r)
		out = append(out, k)
	}

	return heads, out, nil
}

// cells returns the cells of a row.
func (w *storedRow) cells() *cells {
	return &cells{position: w.Position, line: w.Line, texts: w.Cells, plain: w.Plain}
}

// wayIn is a way to import a row.
type wayIn int

const (
	leave   wayIn = iota
	plainly       // as a sync would
	winning       // over the values here
	anew          // as another record
)

// takePage imports the records that begin with rows, and saves their outcomes.
func (t *taking) takePage(ctx context.Context, tx *db.Tx, rows []*storedRow) (err error) {
	if err := intake.OpenSource(ctx, tx, t.it.SourceID, t.it.ConnectionID); err != nil {
		return err
	}

	// Imports of one source take turns, so that rows of two files are compared with each other.
	if err := intake.Hold(ctx, tx, t.it.SourceID); err != nil {
		return err
	}

	if t.reader == nil {
		if t.reader, err = t.service.reader(ctx, tx, t.it); err != nil {
			return err
		}
	}

	heads, records, err := t.reader.records(ctx, tx, rows)
	if err != nil {
		return err
	}

	// Judge again: the records here may have changed since the preview.
	judge, err := newJudge(ctx, tx, t.reader, t.it.SourceID)
	if err != nil {
		return err
	}

	verdicts, err := judge.judge(ctx, tx, records)
	if err != nil {
		return err
	}

	// Save the records in groups, each in its way.
	ways := map[wayIn][]int{}

	for i, row := range heads {
		was := row.Status
		row.settle(&records[i], &verdicts[i])

		way, why := t.decide(row)
		if ways[way] = append(ways[way], i); way == leave {
			row.skip(why)
		}

		// A row that became faulty after the preview is refused, as no person has accepted to leave it out. So is a
		// faulty row of a connection.
		isOdd := way == leave && why != leftByChoice && (row.Status == Faulty || row.Status == Question)
		if isOdd && (was == Valid || t.it.IsAutomatic && row.Status == Faulty) {
			refused := Refused
			row.Outcome = &refused
		}
	}

	for _, isLast := range []bool{false, true} {
		for _, way := range []wayIn{plainly, winning, anew} {
			these := slices.DeleteFunc(slices.Clone(ways[way]), func(i int) bool {
				return isLast != (t.reader.kind.isLast != nil && t.reader.kind.isLast(records[i].record))
			})

			if err := t.save(ctx, tx, way, pick(heads, these), pick(records, these)); err != nil {
				return err
			}
		}
	}

	return t.saveOutcomes(ctx, tx, heads)
}

// pick returns the elements at places.
func pick[T any](all []T, places []int) []T {
	out := make([]T, len(places))
	for n, i := range places {
		out[n] = all[i]
	}

	return out
}

// decide returns how to import a row, or why to leave it out. A decision about the row comes before the override for
// the whole file.
func (t *taking) decide(row *storedRow) (wayIn, string) {
	wants := row.Decision != nil && *row.Decision == TakeRow
	over := SkipKnown

	if t.it.Override != nil {
		over = *t.it.Override
	}

	isKnown := row.Status == Duplicate || row.MatchID != nil && t.it.Override != nil
	isQuestion := row.Status == Question

	switch {
	case row.Decision != nil && *row.Decision == LeaveRow:
		return leave, leftByChoice
	case row.Status == Ignored:
		return leave, *row.Reason
	case row.Status == Faulty:
		return leave, leftFaulty
	case row.Decision != nil && *row.Decision == ReplaceRow && row.MatchID != nil:
		return winning, ""
	case isQuestion && !wants:
		return leave, "undecided"
	case isQuestion && hasIssue(row.Issues, changedInFile, deletedHere), isKnown && over == ReplaceKnown:
		return winning, ""
	case row.Status == Duplicate && wants, isQuestion && hasIssue(row.Issues, repeatedKey, otherName), isKnown && over == KeepBoth:
		return anew, ""
	case isKnown:
		return leave, "duplicate"
	}

	return plainly, ""
}

// The reasons for leaving out a faulty row, and one that a person has decided to skip.
const (
	leftFaulty   = "faulty"
	leftByChoice = "skipped"
)

// The issues that a person answers with a decision.
const (
	changedInFile = "changedInFile"
	deletedHere   = "deletedHere"
	repeatedKey   = "repeatedKey"
	otherName     = "otherName"
)

// hasIssue reports whether there is an issue with one of some codes.
func hasIssue(all []Issue, codes ...string) bool {
	return slices.ContainsFunc(all, func(i Issue) bool { return slices.Contains(codes, i.Code) })
}

// skip sets the outcome to skipped, with the reason.
func (w *storedRow) skip(why string) {
	skipped := Skipped
	w.Outcome, w.Reason, w.EntityID = &skipped, &why, nil

	if w.Status == Duplicate {
		w.EntityID = w.MatchID
	}
}

// save saves records through their noun, and sets the outcomes of their rows.
func (t *taking) save(ctx context.Context, tx *db.Tx, way wayIn, heads []*storedRow, records []keyed) error {
	if len(records) == 0 {
		return nil
	}

	noun := t.reader.kind.noun

	// A new record must not match the record that it repeats, and needs a number of its own.
	if way == anew {
		noun.Match = nil

		if err := t.renumber(ctx, tx, heads, records); err != nil {
			return err
		}
	}

	changes := make([]intake.Change, len(records))
	for i := range records {
		changes[i] = *records[i].change(t.reader.kind)
	}

	from := intake.Origin{SourceID: t.it.SourceID, ConnectionID: t.it.ConnectionID}

	taken, err := noun.TakeFile(ctx, tx, from, way == winning, changes)
	if err != nil {
		return err
	}

	for i, row := range heads {
		row.take(&taken[i])
	}

	return nil
}

// renumber gives records the next free numbers under their keys.
func (t *taking) renumber(ctx context.Context, tx *db.Tx, heads []*storedRow, records []keyed) error {
	keys := make([]string, len(records))
	for i := range records {
		keys[i] = records[i].key
	}

	known, err := intake.LoadNames(ctx, tx, t.it.SourceID, t.reader.kind.noun.Name, keys)
	if err != nil {
		return err
	}

	next := map[string]int{}
	for _, k := range known {
		next[k.Name] = max(next[k.Name], k.Ordinal+1)
	}

	for i := range records {
		n := next[records[i].key]
		next[records[i].key]++
		records[i].ordinal, heads[i].Ordinal = n, n
	}

	return nil
}

// take sets the outcome of the row.
func (w *storedRow) take(taken *intake.Taken) {
	outcome := Unchanged

	switch {
	case taken.Outcome == intake.Rejected:
		outcome = Refused
	case taken.Created:
		outcome = Created
	case taken.Outcome == intake.Done:
		outcome = Updated
	}

	w.Outcome, w.EntityID, w.Before, w.Reason = &outcome, taken.Entity, nil, nil

	if taken.Reason != "" {
		why := string(taken.Reason)
		w.Reason = &why
	}

	if outcome == Updated {
		w.Before = taken.Before
	}

	if taken.Refusal != nil {
		w.Issues = append(w.Issues, refusalIssues(w.Line, taken.Refusal)...)
	}
}

// refusalIssues returns issues for a refusal: each of its own, or else an issue with its reason or code.
func refusalIssues(line int, refusal *apierr.Error) []Issue {
	var out []Issue

	for _, i := range refusal.Issues() {
		// The last name in the path is the field of the record.
		field := ""

		for _, part := range i.Path {
			if name, is := part.(string); is && name != "body" {
				field = name
			}
		}

		out = append(out, Issue{
			Code: string(i.Code), Severity: asError, Line: line, Field: field,
			Context: map[string]any{"message": refusal.Message()},
		})
	}

	if len(out) > 0 {
		return out
	}

	code := string(refusal.Reason())
	if code == "" {
		code = string(refusal.Code())
	}

	context := map[string]any{"message": refusal.Message(), "context": refusal.Context()}

	return []Issue{{Code: code, Severity: asError, Line: line, Context: context}}
}

// errRefused fails the operation of an import that has refused rows.
var errRefused = errors.New("upload: records of a file were refused")

// errNotAll rolls back an import with AllOrNone because some rows were refused.
var errNotAll = errors.New("upload: rows were refused")

// saveOutcomes saves the outcomes of rows. With AllOrNone it also collects the refused rows.
func (t *taking) saveOutcomes(ctx context.Context, tx *db.Tx, heads []*storedRow) error {
	for _, row := range heads {
		t.it.Outcomes.add(*row.Outcome, 1)
		t.it.Step = int64(row.Position)

		isLeft := *row.Outcome == Skipped && row.Status == Faulty
		if t.it.AllOrNone && (*row.Outcome == Refused || isLeft) {
			row.Status, row.Outcome = Faulty, nil
			t.refused = append(t.refused, row)
		}
	}

	if err := tx.Pipeline(ctx, outcomeTable.Update(tx, heads...)); err != nil {
		return fmt.Errorf("save the outcomes of rows: %w", err)
	}

	return t.dropSecrets(ctx, tx, heads)
}

// finish ends an import after its last page. Its operation fails if some rows were refused. With AllOrNone, finish
// fails with errNotAll instead.
func (t *taking) finish(ctx context.Context, tx *db.Tx, j job.Job) error {
	if len(t.refused) > 0 {
		return errNotAll
	}

	it := t.it
	if err := countRows(ctx, tx, it); err != nil {
		return err
	}

	if t.reader != nil {
		if err := noteUnmapped(ctx, tx, t.reader); err != nil {
			return err
		}
	}

	// The rows stay for an undo and for the corrections of refused rows.
	now := day.At(tx.Now)
	it.Status, it.ImportedAt, it.PurgeAt = Imported, &now, day.At(tx.Now.Add(keepImported))

	// A file with tax identifiers is deleted as early as one without a confirmation.
	if !it.hasSecrets(t.kinds[it.Kind]) {
		if err := file.KeepUntil(ctx, tx, it.FileID, tx.Now.Add(keepImported)); err != nil {
			return err
		}
	}

	if err := update(ctx, tx, it); err != nil {
		return err
	}

	if err := operation.Advance(ctx, tx, *it.ImportOpID, it.Counts.Rows, it.Counts.Rows); err != nil {
		return err
	}

	if it.Outcomes.Failed == 0 {
		operation.Settle(tx, j)
		return nil
	}

	return endFailed(ctx, tx, j, operation.CSVImportRecordFailed, errRefused)
}

// takeBack ends an import that errNotAll has rolled back. The preview shows the refused rows.
func (t *taking) takeBack(ctx context.Context, tx *db.Tx, j job.Job) error {
	it, err := lock(ctx, tx, t.it.ID)
	if err != nil {
		return err
	}

	for _, row := range t.refused {
		row.EntityID, row.Before = nil, nil
	}

	if err := updateRows(ctx, tx, t.refused); err != nil {
		return err
	}

	if it.Status, it.Step = Ready, 0; it.ImportedAt != nil {
		it.Status = Imported
	}

	if err := countRows(ctx, tx, it); err != nil {
		return err
	}

	if err := update(ctx, tx, it); err != nil {
		return err
	}

	return endFailed(ctx, tx, j, operation.CSVImportFailed, errNotAll)
}

// giveUp ends an import or a preview after the last attempt at its job has failed, for a fault of the program.
func (s *service) giveUp(ctx context.Context, tx *db.Tx, j job.Job, cause error) error {
	args, err := decodeArgs(j)
	if err != nil {
		return err
	}

	// The import may have been purged meanwhile.
	it, err := lock(ctx, tx, args.ImportID)
	if errors.Is(err, apierr.NotFound) {
		return operation.GiveUp(ctx, tx, j, cause)
	}

	if err != nil {
		return err
	}

	code := operation.CSVImportFailed

	switch it.Status { //nolint:exhaustive // imports with other statuses are over
	case Reading:
		it.Status, code = Failed, operation.CSVPreviewFailed
		it.Issues = append(it.Issues, Issue{Code: "internal", Severity: asError})
	case Importing, Undoing:
		// Rows that were taken in stay, and the rest can be confirmed again.
		if it.Status = Ready; it.ImportedAt != nil || it.Step > 0 {
			it.Status = Imported
		}
	default:
		return operation.GiveUp(ctx, tx, j, cause)
	}

	if err := errors.Join(countRows(ctx, tx, it), update(ctx, tx, it)); err != nil {
		return err
	}

	return operation.GiveUp(ctx, tx, j, operation.FailAs(code, cause))
}

// findChanged returns the first field that has changed since the import wrote it, empty for none. Lines are not
// compared.
func findChanged(now, said intake.Values, before intake.Values) string {
	for _, field := range slices.Sorted(maps.Keys(before)) {
		if said[field] != nil && field != "lines" && !sameJSON(now[field], said[field]) {
			return field
		}
	}

	return ""
}
