package upload

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"stayledger/domain/books/account"
	"stayledger/domain/record/file"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

const (
	tag         = "Imports of files"
	path        = "/csv-imports/previews"
	onePath     = path + "/{id}"
	scopeRead   = "csv-imports:read"
	scopeImport = "csv-imports:import"

	// maxFile bounds an uploaded file, in bytes (OPEN-24).
	maxFile = 100 << 20
)

// endpoints returns the routes of imports.
func (s *service) endpoints() []api.Endpoint {
	reading := []string{scopeRead}
	importing := []string{scopeImport}

	return []api.Endpoint{
		api.Receive(api.Endpoint{
			Method: http.MethodPost, Path: path, ID: "createImportPreview", Tag: tag, Summary: "Upload a file for an import",
			Doc: "A CSV in any usual form, or an XLSX workbook. The operation of type csv-import-preview reads it; its id " +
				"is that of the preview. Nothing is booked before the preview is confirmed. Needs the scope of its kind, " +
				"too: contacts:import, reservations:import, transactions:import, listings:write (listings and opening " +
				"balances), bank:write, journals:post. Fails with 413 beyond 100 MiB and 400 for a malformed form.",
			Errors: apierr.List{account.ErrNotBank}, Scopes: importing, Status: http.StatusAccepted, MaxBody: maxFile, Form: previewForm,
		}, api.Receiver[uploadInput, received, operation.Acknowledgement]{
			Receive: s.receive, Settle: s.settleUpload, Drop: s.drop,
		}),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: path, ID: "listImports", Tag: tag, Summary: "List imports", Scopes: reading,
		}, listImports),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: onePath, ID: "getImport", Tag: tag, Summary: "Read an import and its preview",
			Scopes: reading, OneTrip: true,
		}, s.getImport),
		api.Write(api.Endpoint{
			Method: http.MethodPut, Path: onePath, ID: "mapImport", Tag: tag, Summary: "Say what the columns of a file hold",
			Doc: "The file is read again by the mapping, by a new operation of type csv-import-preview, whose id is that " +
				"of the new preview. The former preview stays as it is.",
			Errors: apierr.List{errNotReady}, Scopes: importing, Status: http.StatusAccepted,
		}, s.mapAgain),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: onePath + "/rows", ID: "listImportRows", Tag: tag, Summary: "List the rows of an import",
			Scopes: reading,
		}, s.listRows),
		api.Write(api.Endpoint{
			Method: http.MethodPut, Path: onePath + "/rows/{position}", ID: "updateImportRow", Tag: tag, Summary: "Correct a row of an import",
			Doc: "Texts of cells are replaced as if the file had them, and the row is judged anew. A decision counts for " +
				"this row alone. Rows that are in the books fail with 409.",
			Errors: apierr.List{errNotReady, errRowTaken}, Scopes: importing,
		}, s.updateRow),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: onePath + "/confirm", ID: "confirmImport", Tag: tag, Summary: "Import the rows of a preview",
			Doc: "Starts an operation of type csv-import. Rows that are faulty or undecided refuse it with 409, unless " +
				"acceptIssues leaves them out. With allOrNothing nothing stays if a row is refused. duplicateOverride " +
				"says what is done with the rows of a file that was imported before; without such an import it fails " +
				"with 409 (context.reason duplicateOverrideNotApplicable). The operation fails with csvImportRecordFailed " +
				"if some rows were refused: the others are in the books, and refused ones can be corrected and confirmed again.",
			Errors: apierr.List{errNotReady, errOverride, errFaulty, errUnclear, errTooMany}, Scopes: importing, Status: http.StatusAccepted,
		}, s.confirm),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: onePath + "/cancel", ID: "cancelImport", Tag: tag, Summary: "Cancel an import",
			Doc:    "A file that is read is read no further. What was taken in stays; it can be undone.",
			Errors: apierr.List{errNotReady}, Scopes: importing,
		}, s.cancel),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: onePath + "/undo", ID: "undoImport", Tag: tag, Summary: "Take an import back",
			Doc: "Starts an operation of type csv-import that deletes what the import has made and gives back what it has " +
				"changed, all or nothing. If something depends on it, the operation fails with csvImportFailed and the " +
				"import shows what in `dependents`.",
			Errors: apierr.List{errNotReady}, Scopes: importing, Status: http.StatusAccepted,
		}, s.startUndo),
		api.Stream(api.Endpoint{
			Method: http.MethodGet, Path: "/csv-imports/templates/{kind}", ID: "getImportTemplate", Tag: tag,
			Summary: "Download an example file", Doc: "A CSV with every column that the kind knows, what each means, and a row as an example.",
			Scopes: reading,
		}, s.template),
		api.Receive(api.Endpoint{
			Method: http.MethodPost, Path: "/connections/{id}/csv-import", ID: "importConnectionFile", Tag: tag,
			Summary: "Import a file of a connection's system",
			Doc: "For kinds that the app of the connection lists as importers. Starts one operation of type csv-import that " +
				"reads the file and imports its rows; rows that are faulty or to be decided stay in the preview of the same id. " +
				"Records are known by their ids at the system, as those of its syncs are. Fails as createImportPreview does, " +
				"and with 501 for a kind that the app does not import.",
			Errors: apierr.List{account.ErrNotBank, errNoImporter}, Scopes: importing, Status: http.StatusAccepted, MaxBody: maxFile, Form: previewForm,
		}, api.Receiver[connectionInput, received, operation.Acknowledgement]{
			Receive: func(ctx context.Context, d *db.DB, scope db.Scope, in *connectionInput) (received, error) {
				return s.receive(ctx, d, scope, &in.uploadInput)
			},
			Settle: s.settleConnection, Drop: func(ctx context.Context, d *db.DB, scope db.Scope, r received) { s.drop(ctx, d, scope, r) },
		}),
	}
}

var errNoImporter = apierr.New(apierr.CodeNotImplemented, "", "The app does not import files of this kind")

var previewForm = []api.Part{
	{Name: "file", Required: true, File: true, Doc: "CSV or XLSX, at most 100 MiB."},
	{Name: "kind", Required: true, Doc: "What the rows are.", Enum: Kind("").Enum()},
	{Name: "mapping", Doc: "What the columns hold, as JSON in the form of `mapping` of the preview. What is absent is found."},
	{Name: "bankAccountId", Doc: "Bank account of your chart that all rows are about, for bank records."},
	{Name: "encoding", Doc: "Character set of a CSV that is neither UTF-8 nor UTF-16.", Enum: []string{
		"utf-8", "utf-16", "windows-1252", "iso-8859-1", "iso-8859-2", "cp850", "cp852",
	}},
}

type uploadInput struct {
	Upload *api.Upload
}

type connectionInput struct {
	ID id.ID `path:"id"`
	uploadInput
}

// received is an upload whose bytes are stored.
type received struct {
	file.Stored
	filename, contentType string
	values                map[string]string
}

// receive stores the bytes of an upload and reads its form.
func (s *service) receive(ctx context.Context, d *db.DB, scope db.Scope, in *uploadInput) (received, error) {
	var out received

	stored, err := file.Keep(ctx, d, scope, s.store, func(to io.Writer) (err error) {
		out.values, err = in.Upload.Read(func(f api.Incoming) error {
			out.filename, out.contentType = file.CleanName(f.Filename), f.ContentType

			n, err := io.Copy(to, f)
			if err == nil && n == 0 {
				err = apierr.BadRequest.At(apierr.IssueEmptyFile.InBody("file"))
			}

			return err
		})

		return err
	})
	if errors.Is(err, file.ErrStore) {
		return received{}, apierr.ServiceUnavailable.Because(err)
	}

	out.filename, out.Stored = cmp.Or(out.filename, "import.csv"), stored

	return out, err
}

func (s *service) drop(ctx context.Context, d *db.DB, scope db.Scope, r received) {
	file.Discard(ctx, d, scope, s.store, r.ID)
}

// settleUpload inserts an uploaded file with its import, and starts the operation that reads it.
func (s *service) settleUpload(ctx context.Context, tx *db.Tx, _ *uploadInput, r received) (*operation.Acknowledgement, error) {
	it, err := s.newImport(ctx, tx, &r)
	if err != nil {
		return nil, err
	}

	it.SourceID = sourceOf(tx, it.Kind)

	return s.start(ctx, tx, it, operation.CSVImportPreview)
}

// sourceOf returns the source of all files of a kind in a team: what they have in common is known by it.
func sourceOf(tx *db.Tx, k Kind) id.ID {
	return id.Derive(id.Zero.Time(), "csv-import", tx.Team.String(), string(k))
}

// settleConnection does the same for a file of a connection, and has its rows imported once they are read.
func (s *service) settleConnection(ctx context.Context, tx *db.Tx, in *connectionInput, r received) (*operation.Acknowledgement, error) {
	c, err := connection.Get(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	it, err := s.newImport(ctx, tx, &r)
	if err != nil {
		return nil, err
	}

	if !s.apps.Imports(string(c.AppID), string(it.Kind)) {
		return nil, errNoImporter
	}

	it.ConnectionID, it.SourceID, it.IsAutomatic = &c.ID, c.ID, true

	return s.start(ctx, tx, it, operation.CSVImport)
}

// newImport returns the import of an uploaded file, whose row of files it inserts. It fails with 400 for a form that
// does not fit, and with 403 without the scope of the kind.
func (s *service) newImport(ctx context.Context, tx *db.Tx, r *received) (*stored, error) {
	k := s.kinds[Kind(r.values["kind"])]
	if !tx.Actor.Has(k.scope) {
		return nil, apierr.MissingScope.With(map[string]any{"requiredScopes": []string{k.scope}})
	}

	if err := checkBooks(ctx, tx, k); err != nil {
		return nil, err
	}

	it := &stored{
		Import: Import{Kind: k.name, Status: Reading, Filename: r.filename, ByteSize: r.Size}, FileID: r.ID, SHA256: r.SHA256[:],
	}

	if text := r.values["mapping"]; text != "" {
		it.Mapping = &Mapping{}
		if err := s.mappings.Decode([]byte(text), tx.Today(), it.Mapping); err != nil {
			return nil, apierr.From(err).Under("mapping")
		}
	}

	if issues := k.checkMapping(it.Mapping); len(issues) > 0 {
		return nil, apierr.BadRequest.At(issues...).Under("mapping")
	}

	if text := r.values["encoding"]; text != "" {
		it.Encoding = &text
	}

	if text := r.values["bankAccountId"]; text != "" {
		account, err := findBank(ctx, tx, text)
		if err != nil {
			return nil, err
		}

		it.BankAccountID = account
	}

	_, err := file.Insert(ctx, tx, file.New{
		Stored: r.Stored, Kind: file.Import, Filename: r.filename, ContentType: "text/csv", PurgeAt: tx.Now.Add(keepImported),
	})

	return it, err
}

// checkBooks refuses a kind of the books for a team without a general ledger.
func checkBooks(ctx context.Context, tx *db.Tx, k *kind) error {
	if !k.needsBooks {
		return nil
	}

	keeps, err := db.Get[bool](ctx, tx, `select is_general_ledger from team where id = @team`,
		db.Args{"team": tx.Team})
	if err == nil && !keeps {
		err = apierr.LedgerDisabled
	}

	return err
}

// start inserts an import and starts the operation that reads its file.
func (s *service) start(ctx context.Context, tx *db.Tx, it *stored, typ operation.Type) (*operation.Acknowledgement, error) {
	ack, err := operation.Start(ctx, tx, operation.New{Type: typ, Tasks: []operation.Task{{Kind: stageKind}}})
	if err != nil {
		return nil, err
	}

	// The id of a preview is that of its operation.
	it.ID = ack.OperationID
	it.PurgeAt.Time = tx.Now.Add(keepPreview)
	if it.IsAutomatic {
		it.ImportOpID = &it.ID
	}

	return ack, insert(ctx, tx, it)
}

// findBank returns the bank account of a form.
func findBank(ctx context.Context, tx *db.Tx, text string) (*id.ID, error) {
	one, err := id.Parse(text)
	if err != nil {
		return nil, apierr.BadRequest.At(apierr.IssueMalformed.InBody("bankAccountId"))
	}

	found, err := account.ByID(ctx, tx, []id.ID{one})

	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, apierr.BadRequest.At(apierr.IssueNotFound.InBody("bankAccountId"))
	case found[one].Type != account.TypeBank:
		return nil, account.ErrNotBank.At(apierr.IssueNotBankAccount.InBody("bankAccountId"))
	}

	return &one, nil
}

// checkMapping returns issues for fields that the kind does not have.
func (k *kind) checkMapping(m *Mapping) (issues []apierr.Issue) {
	if m == nil {
		return nil
	}

	for i, c := range m.Columns {
		if at, _ := k.place(c.Field); at < 0 && c.Field != "" {
			issues = append(issues, apierr.IssueUnknownField.In("body", "columns", i, "field"))
		}

		if c.Header == "" && c.Index == 0 {
			issues = append(issues, apierr.IssueRequired.In("body", "columns", i, "header"))
		}
	}

	return issues
}

type importSort string

// Enum lists the orders.
func (importSort) Enum() []string { return sorts.Enum() }

type listInput struct {
	page.Params
	Sort   importSort `query:"sort" default:"-createdAt"`
	Kind   Kind       `query:"kind"`
	Status Status     `query:"status"`
	IDs    page.IDs   `query:"ids" doc:"Only these; an id with a leading ! is left out."`
}

func listImports(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Import], error) {
	q := importQuery(tx)
	q.IDs("i.id = any(?)", in.IDs)
	q.Narrow("i.kind = ?", in.Kind)
	q.Narrow("i.status = ?", in.Status)

	return page.List[Import](ctx, tx, q, in.Params, in.Sort)
}

type oneInput struct {
	ID id.ID `path:"id"`
}

// getImport returns an import with the sums of its rows and what its columns can hold.
func (s *service) getImport(ctx context.Context, tx *db.Tx, in *oneInput) (*Import, error) {
	var (
		it     *stored
		totals []Total
	)

	err := tx.Together(ctx, db.LoadBy(&it, load, in.ID), db.LoadBy(&totals, loadTotals, in.ID))
	if err != nil {
		return nil, err
	}

	it.Totals, it.Fields = totals, s.kinds[it.Kind].renderFields()

	return &it.Import, nil
}

type mapInput struct {
	ID   id.ID `path:"id"`
	Body Mapping
}

// mapAgain starts the reading of the file of an import by another mapping.
func (s *service) mapAgain(ctx context.Context, tx *db.Tx, in *mapInput) (*operation.Acknowledgement, error) {
	old, err := load(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	k := s.kinds[old.Kind]
	if issues := k.checkMapping(&in.Body); len(issues) > 0 {
		return nil, apierr.BadRequest.At(issues...)
	}

	if old.Status != Ready && old.Status != Failed {
		return nil, errNotReady
	}

	again := &stored{
		Import: Import{
			Kind: old.Kind, Status: Reading, Filename: old.Filename, ByteSize: old.ByteSize, ConnectionID: old.ConnectionID,
			BankAccountID: old.BankAccountID, Mapping: &in.Body,
		},
		FileID: old.FileID, SHA256: old.SHA256, SourceID: old.SourceID, Encoding: old.Encoding,
	}

	return s.start(ctx, tx, again, operation.CSVImportPreview)
}

type rowsInput struct {
	ID id.ID `path:"id"`
	page.Params
	Status  RowStatus `query:"status" doc:"Without it all rows that are no parts of another."`
	Outcome Outcome   `query:"outcome"`
}

// listRows returns a page of the rows of an import with what they say.
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

	return out, s.show(ctx, tx, it, found.Data, out.Data)
}

// show sets what rows say.
func (s *service) show(ctx context.Context, tx *db.Tx, it *stored, rows []storedRow, out []Row) error {
	r, err := s.reader(ctx, tx, it)
	if err != nil {
		return err
	}

	// A record is shown with the lines of all its rows, a part as it is.
	heads := []int{}

	for i := range rows {
		r.ask(rows[i].cells())

		if rows[i].Head == nil {
			heads = append(heads, rows[i].Position)
		}
	}

	all, err := loadRecords(ctx, tx, it.ID, heads)
	if err != nil {
		return err
	}

	_, records, err := r.records(ctx, tx, all)
	if err != nil {
		return err
	}

	whole := map[int]*record{}
	for i := range records {
		whole[records[i].position] = records[i].record
	}

	for i := range rows {
		rec := whole[rows[i].Position]
		if rec == nil {
			rec = r.read(rows[i].cells())
			if line := rec.lineOf(r); line != nil {
				rec.lines = append(rec.lines, line)
			}
		}

		out[i] = rows[i].Row
		out[i].Values = map[string]any{}

		for name, value := range rec.values() {
			out[i].Values[name] = value
		}

		if out[i].Issues == nil {
			out[i].Issues = append([]Issue{}, rec.issues...)
		}
	}

	return nil
}

// RowChange says what becomes of a row.
type RowChange struct {
	Cells    []CellChange      `json:"cells,omitempty" maxItems:"500"`
	Decision api.Opt[Decision] `json:"decision,omitzero" doc:"import takes the row in although it is perhaps here already, or is one to be looked at; skip leaves it out; null is no decision."`
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

// updateRow corrects a row and judges its record anew.
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

	for _, c := range in.Body.Cells {
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

	if in.Body.Decision.Present {
		head.Decision = in.Body.Decision.Value
	}

	if err := s.judgeAgain(ctx, tx, it, rows); err != nil {
		return nil, err
	}

	out := make([]Row, 1)
	if err := s.show(ctx, tx, it, []storedRow{*row}, out); err != nil {
		return nil, err
	}

	return &out[0], nil
}

// judgeAgain judges the record of rows anew and saves it.
func (s *service) judgeAgain(ctx context.Context, tx *db.Tx, it *stored, rows []*storedRow) error {
	r, err := s.reader(ctx, tx, it)
	if err != nil {
		return err
	}

	heads, records, err := r.records(ctx, tx, rows)
	if err != nil {
		return err
	}

	// Another name of the record has another number.
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

	if err := updateRows(ctx, tx, rows); err != nil {
		return err
	}

	if err := countRows(ctx, tx, it); err != nil {
		return err
	}

	return update(ctx, tx, it)
}

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

	if k := s.kinds[it.Kind]; !tx.Actor.Has(k.scope) {
		return nil, apierr.MissingScope.With(map[string]any{"requiredScopes": []string{k.scope}})
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

	it.Override, it.AllOrNone = in.Body.DuplicateOverride, in.Body.AllOrNothing

	return s.startTake(ctx, tx, it)
}

// checkConfirm refuses a preview that cannot be imported, or not so.
func (it *stored) checkConfirm(c *Confirmation) error {
	if it.Status != Ready && it.Status != Imported {
		return errNotReady
	}

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

// startTake starts the operation that imports the rows without an outcome.
func (s *service) startTake(ctx context.Context, tx *db.Tx, it *stored) (*operation.Acknowledgement, error) {
	ack, err := operation.Start(ctx, tx, operation.New{
		Type: operation.CSVImport, Tasks: []operation.Task{{Kind: s.kinds[it.Kind].job(), Args: importArgs{it.ID}, Priority: 1}},
	})
	if err != nil {
		return nil, err
	}

	it.Status, it.ImportOpID, it.Step, it.Attempt = Importing, &ack.OperationID, 0, 0

	return ack, update(ctx, tx, it)
}

// cancel ends the reading or the import of a file. What was taken in stays.
func (s *service) cancel(ctx context.Context, tx *db.Tx, in *oneInput) (*Import, error) {
	it, err := lock(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	running := it.ID

	switch it.Status {
	case Reading:
		it.Status = Canceled
	case Importing:
		running = *it.ImportOpID

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

// startUndo starts the operation that takes an import back.
func (s *service) startUndo(ctx context.Context, tx *db.Tx, in *oneInput) (*operation.Acknowledgement, error) {
	it, err := lock(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	if k := s.kinds[it.Kind]; !tx.Actor.Has(k.scope) {
		return nil, apierr.MissingScope.With(map[string]any{"requiredScopes": []string{k.scope}})
	}

	if it.Status != Imported {
		return nil, errNotReady
	}

	ack, err := operation.Start(ctx, tx, operation.New{
		Type: operation.CSVImport, Tasks: []operation.Task{{Kind: undoKind, Args: importArgs{it.ID}, Priority: 1}},
	})
	if err != nil {
		return nil, err
	}

	it.Status, it.UndoOpID = Undoing, &ack.OperationID

	return ack, update(ctx, tx, it)
}
