package upload

import (
	"context"
	"strings"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

type rowsInput struct {
	ID id.ID `path:"id"`
	page.Params
	Status  RowStatus `query:"status" doc:"Without it all rows."`
	Outcome Outcome   `query:"outcome"`
}

// listRows returns a page of the rows of an import with their values.
func (s *service) listRows(ctx context.Context, tx *db.Tx, in *rowsInput) (*page.Page[Row], error) {
	it, err := load(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	q := page.Query{
		Columns: rowColumns, From: "csv_import_row w", Where: []string{"w.team_id = @team and w.import_id = @import"},
		Args:  db.Args{"team": tx.Team, "import": in.ID},
		Sorts: page.Sorts{{Name: "position", Expr: "w.position"}}, Default: "position", ID: "w.position",
	}

	q.Narrow("w.status = ?", in.Status)
	q.Narrow("w.outcome = ?", in.Outcome)

	found, err := page.List[storedRow](ctx, tx, q, in.Params, "")
	if err != nil {
		return nil, err
	}

	out := &page.Page[Row]{Pagination: found.Pagination, Data: make([]Row, len(found.Data))}
	if it.Form == nil {
		return out, nil
	}

	out.Data, err = s.renderPreview(ctx, tx, it, found.Data)

	return out, err
}

// renderPreview returns rows with their values: what each row says, as fields of its record.
func (s *service) renderPreview(ctx context.Context, tx *db.Tx, it *stored, rows []storedRow) ([]Row, error) {
	r, err := s.reader(ctx, tx, it)
	if err != nil {
		return nil, err
	}

	// A record has the lines of all its rows, which may be on other pages.
	heads := []int{}

	for i := range rows {
		r.ask(rows[i].cells())

		if rows[i].Head == nil {
			heads = append(heads, rows[i].Position)
		}
	}

	all, err := loadRecords(ctx, tx, it.ID, heads)
	if err != nil {
		return nil, err
	}

	_, records, err := r.records(ctx, tx, all)
	if err != nil {
		return nil, err
	}

	// A part has only the line that it adds to its record.
	whole := map[int]*record{}
	for i := range records {
		whole[records[i].position] = records[i].record
	}

	out := make([]Row, 0, len(rows))

	for i := range rows {
		rec := whole[rows[i].Position]
		if rec == nil {
			rec = r.read(rows[i].cells())
			if line := rec.readLine(); line != nil {
				rec.lines = append(rec.lines, line)
			}
		}

		row := rows[i].Row
		row.Cells = it.showCells(r.kind, row.Cells)
		row.Values = map[string]any{}

		for name, value := range rec.values() {
			row.Values[name] = r.kind.showValue(name, value)
		}

		// Beyond mostIssues the issues of a row are not saved.
		if row.Issues == nil {
			row.Issues = append([]Issue{}, rec.issues...)
		}

		out = append(out, row)
	}

	return out, nil
}

// RowChange is the change of a row by a person.
type RowChange struct {
	Cells    []CellChange      `json:"cells,omitempty" maxItems:"500" doc:"Cells with another text."`
	Decision api.Opt[Decision] `json:"decision,omitzero" doc:"import takes the row in although it is perhaps here already, or is one to be looked at; replace writes it over the record that it matches; skip leaves it out; null is no decision."`
}

// CellChange is another text of a cell.
type CellChange struct {
	Column int    `json:"column" minimum:"1" maximum:"500" doc:"Place of the column, from 1."`
	Text   string `json:"text" maxLength:"10000"`
}

type rowInput struct {
	ID       id.ID `path:"id"`
	Position int   `path:"position" minimum:"1" maximum:"1000000"`
	Body     RowChange
}

var errRowTaken = apierr.New(apierr.CodeConflict, "", "The row was imported")

// updateRow corrects a row and judges its record again. It fails with errNotReady while the file is read or imported,
// and with errRowTaken for a row that is in the books.
func (s *service) updateRow(ctx context.Context, tx *db.Tx, in *rowInput) (*Row, error) {
	it, err := lock(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	rows, err := loadRecord(ctx, tx, in.ID, in.Position)
	if err != nil {
		return nil, err
	}

	if it.Status != Ready && it.Status != Imported {
		return nil, errNotReady
	}

	if err := s.kinds[it.Kind].checkScope(tx); err != nil {
		return nil, err
	}

	row := rows[0]
	head := row

	// A part is judged with its record.
	if row.Head != nil {
		if rows, err = loadRecord(ctx, tx, in.ID, *row.Head); err != nil {
			return nil, err
		}

		head = rows[0]

		for _, part := range rows {
			if part.Position == in.Position {
				row = part
			}
		}
	}

	if head.Outcome != nil && *head.Outcome != Refused && *head.Outcome != Skipped && *head.Outcome != Reverted {
		return nil, errRowTaken
	}

	// First the new texts, which are read as texts even in a workbook. What callers see of a tax identifier is none.
	shown := it.showCells(s.kinds[it.Kind], row.Cells)

	for _, c := range in.Body.Cells {
		if c.Column <= len(shown) && shown[c.Column-1] == c.Text {
			continue
		}

		if c.Column > len(it.Columns) {
			return nil, apierr.BadRequest.At(apierr.IssueRange.InBody("cells"))
		}

		for len(row.Cells) < c.Column {
			row.Cells = append(row.Cells, "")
		}

		row.Cells[c.Column-1] = strings.TrimSpace(c.Text)

		if c.Column <= len(row.Plain) {
			row.Plain[c.Column-1] = false
		}
	}

	// A decision belongs to the record.
	if in.Body.Decision.Present {
		head.Decision = in.Body.Decision.Value
	}

	// Then judge the record again, and count its issues anew.
	it.countIssues(rows, -1)

	if err := s.judgeAgain(ctx, tx, it, rows); err != nil {
		return nil, err
	}

	out, err := s.renderPreview(ctx, tx, it, []storedRow{*row})
	if err != nil {
		return nil, err
	}

	return &out[0], nil
}

// countIssues adds the issues of rows to the import's counts, or subtracts them if by is -1.
func (it *stored) countIssues(rows []*storedRow, by int64) {
	for _, row := range rows {
		for _, issue := range row.Issues {
			if it.IssueCounts[issue.Code] += by; it.IssueCounts[issue.Code] <= 0 {
				delete(it.IssueCounts, issue.Code)
			}
		}
	}
}

// judgeAgain reads rows as records, judges them and saves the rows and the import's counts.
func (s *service) judgeAgain(ctx context.Context, tx *db.Tx, it *stored, rows []*storedRow) error {
	r, err := s.reader(ctx, tx, it)
	if err != nil {
		return err
	}

	heads, records, err := r.records(ctx, tx, rows)
	if err != nil {
		return err
	}

	// A corrected cell may change the key, and so the number among equal keys.
	for i, head := range heads {
		if head.Key != nil && *head.Key == records[i].key {
			continue
		}

		if records[i].ordinal, err = countKey(ctx, tx, it.ID, records[i].key, head.Position); err != nil {
			return err
		}
	}

	j, err := newJudge(ctx, tx, r, it.SourceID)
	if err != nil {
		return err
	}

	verdicts, err := j.judge(ctx, tx, records)
	if err != nil {
		return err
	}

	for i, head := range heads {
		head.settle(&records[i], &verdicts[i])
		head.Outcome = nil
	}

	it.countIssues(heads, 1)

	if err := updateRows(ctx, tx, rows); err != nil {
		return err
	}

	if err := countRows(ctx, tx, it); err != nil {
		return err
	}

	return update(ctx, tx, it)
}
