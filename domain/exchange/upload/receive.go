package upload

import (
	"cmp"
	"context"
	"errors"
	"io"

	"stayledger/domain/books/account"
	"stayledger/domain/record/file"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

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

// received is an upload after its bytes were stored.
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

			// An empty file is refused while its bytes arrive, before anything is inserted.
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

// drop deletes the bytes of an upload that was refused.
func (s *service) drop(ctx context.Context, d *db.DB, scope db.Scope, r received) {
	file.Discard(ctx, d, scope, s.store, r.ID)
}

// settleUpload inserts an uploaded file with its import, and starts the operation that reads it.
func (s *service) settleUpload(
	ctx context.Context, tx *db.Tx, _ *uploadInput, r received,
) (*operation.Acknowledgement, error) {
	it, err := s.newImport(ctx, tx, &r)
	if err != nil {
		return nil, err
	}

	it.SourceID = deriveSource(tx, it.Kind)

	return s.start(ctx, tx, it, operation.CSVImportPreview)
}

// deriveSource returns the id under which a team remembers the records from all files of a kind.
func deriveSource(tx *db.Tx, k Kind) id.ID {
	return id.Derive(id.Zero.Time(), "csv-import", tx.Team.String(), string(k))
}

// settleConnection does the same for a file of a connection. Its rows are imported as soon as they are read. It fails
// with errNoImporter for a kind that the app does not import.
func (s *service) settleConnection(
	ctx context.Context, tx *db.Tx, in *connectionInput, r received,
) (*operation.Acknowledgement, error) {
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

	// With the connection as the source, rows and the records of syncs are recognized by the same ids.
	it.ConnectionID, it.SourceID, it.IsAutomatic = &c.ID, c.ID, true

	return s.start(ctx, tx, it, operation.CSVImport)
}

// newImport inserts the row of an uploaded file and returns its import, which is not saved yet. It fails with 400 for
// an unsuitable form, and with 403 without the scope for the kind.
func (s *service) newImport(ctx context.Context, tx *db.Tx, r *received) (*stored, error) {
	k := s.kinds[Kind(r.values["kind"])]
	if err := k.checkScope(tx); err != nil {
		return nil, err
	}

	if err := checkBooks(ctx, tx, k); err != nil {
		return nil, err
	}

	it := &stored{
		Import: Import{Kind: k.name, Status: Reading, Filename: r.filename, ByteSize: r.Size},
		FileID: r.ID, SHA256: r.SHA256[:],
	}

	// The other parts of the form may be absent.
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
		Stored: r.Stored, Kind: file.Import, Filename: r.filename, ContentType: "text/csv", PurgeAt: tx.Now.Add(keepPreview),
	})

	return it, err
}

// checkScope refuses a caller without the scope that the kind needs in addition to the scope for imports.
func (k *kind) checkScope(tx *db.Tx) error {
	if tx.Actor.Has(k.scope) {
		return nil
	}

	return apierr.MissingScope.With(map[string]any{"requiredScopes": []string{k.scope}})
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
func (s *service) start(
	ctx context.Context, tx *db.Tx, it *stored, typ operation.Type,
) (*operation.Acknowledgement, error) {
	ack, err := operation.Start(ctx, tx, operation.New{Type: typ, Tasks: []operation.Task{{Kind: stageKind}}})
	if err != nil {
		return nil, err
	}

	// A preview and its operation share an id.
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
