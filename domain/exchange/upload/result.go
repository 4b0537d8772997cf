package upload

import (
	"context"
	"strings"

	"stayledger/domain/record/export"
	"stayledger/platform/api"
	"stayledger/platform/csv"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

var _ = api.PublishAs[resultSelection]("ExportImportRowSelection")

// ofImport has the parameter in the path: the import.
type ofImport struct {
	ImportID id.ID `path:"importId" json:"importId"`
}

// resultSelection is the body of the selector.
type resultSelection struct {
	Status  RowStatus `query:"status" json:"status,omitempty"`
	Outcome Outcome   `query:"outcome" json:"outcome,omitempty"`
}

// resultRows selects rows of an import.
type resultRows struct {
	ofImport
	resultSelection
}

// queuedRows is the input of its POST: the path and the body.
type queuedRows struct {
	ofImport
	export.Queued[resultSelection]
}

// Selector returns the selector from path and body.
func (in *queuedRows) Selector() *resultRows { return &resultRows{in.ofImport, in.Body} }

// rowsCSV declares the export of an import's rows: each with its outcome, and its cells as they came.
func (s *service) rowsCSV() export.Declaration[resultRows] {
	return export.Declaration[resultRows]{
		Path: "/csv-imports/previews/{importId}/rows/csv", ID: "ImportRowsCSV", Tag: tag,
		Summary: "Export the rows of an import as CSV",
		Doc: "One row per row of the file, with its line, its status, what became of it and why, and the record that " +
			"it made. The cells follow as the file has them, corrected ones as they are now. Fails with 404 for an " +
			"unknown import.",
		Format: export.CSV, Scopes: []string{scopeRead}, Name: "import-rows",
		Check: func(ctx context.Context, tx *db.Tx, sel *resultRows) error {
			_, err := load(ctx, tx, sel.ImportID)
			return err
		},
		Count: func(ctx context.Context, tx *db.Tx, sel *resultRows) (export.Size, error) {
			where, args := sel.where(tx)
			n, err := db.Get[int64](ctx, tx, `select count(*) from csv_import_row w where `+where, args)

			return export.Size{Rows: n}, err
		},
		Render: s.renderRows,
	}
}

// where returns the condition of the selected rows.
func (sel *resultRows) where(tx *db.Tx) (string, db.Args) {
	return `w.team_id = @team and w.import_id = @import and (@status = '' or w.status = @status) and (@outcome = '' or w.outcome = @outcome)`,
		db.Args{"team": tx.Team, "import": sel.ImportID, "status": string(sel.Status), "outcome": string(sel.Outcome)}
}

// renderPage is how many rows are read at once.
const renderPage = 2000

// renderRows writes the rows page by page.
func (s *service) renderRows(ctx context.Context, tx *db.Tx, sel *resultRows, out *export.Sink) error {
	it, err := load(ctx, tx, sel.ImportID)
	if err != nil {
		return err
	}

	where, args := sel.where(tx)
	args["most"] = renderPage

	// Read and write page by page, so that long files need no memory.
	rows := func(yield func(*storedRow, error) bool) {
		for after := 0; ; {
			args["after"] = after

			page, err := selectRows(ctx, tx, `select `+rowColumns+` from csv_import_row w where `+where+` and w.position > @after
				order by w.position limit @most`, args)
			if err != nil {
				yield(nil, err)
				return
			}

			for _, row := range page {
				if !yield(row, nil) {
					return
				}

				after = row.Position
			}

			if len(page) < renderPage {
				return
			}
		}
	}

	return export.WriteTable(out, resultColumns(it, s.kinds[it.Kind]), rows)
}

// resultColumns returns the columns of the export: first outcomes and issues, then the columns of the imported file.
func resultColumns(it *stored, k *kind) []export.GoColumn[storedRow] {
	columns := []export.GoColumn[storedRow]{
		export.FromRow("importLine", csv.Integer, func(r *storedRow) any { return r.Line }),
		export.FromRow("importStatus", csv.Text, func(r *storedRow) any { return r.Status }),
		export.FromRow("importOutcome", csv.Text, func(r *storedRow) any { return r.Outcome }),
		export.FromRow("importReason", csv.Text, func(r *storedRow) any { return r.Reason }),
		export.FromRow("importIssues", csv.Text, func(r *storedRow) any { return r.issueText() }),
		export.FromRow("importEntityId", csv.ID, func(r *storedRow) any { return r.EntityID }),
	}

	for i, c := range it.Columns {
		columns = append(columns, export.FromRow(c.Header, csv.Text, func(r *storedRow) any {
			if i >= len(r.Cells) {
				return ""
			}

			return k.show(c.Field, r.Cells[i])
		}))
	}

	return columns
}

// issueText returns the issues of a row for people to read.
func (w *storedRow) issueText() string {
	texts := make([]string, len(w.Issues))

	for i, issue := range w.Issues {
		texts[i] = issue.Code
		if issue.Header != "" {
			texts[i] += " (" + issue.Header + ")"
		} else if issue.Field != "" {
			texts[i] += " (" + issue.Field + ")"
		}
	}

	return strings.Join(texts, "; ")
}
