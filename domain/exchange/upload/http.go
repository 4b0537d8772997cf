package upload

import (
	"context"
	"net/http"

	"stayledger/domain/books/account"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
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

	maxFile = 100 << 20 // bytes of an uploaded file (OPEN-24)
)

// endpoints returns the routes of imports.
func (s *service) endpoints() []api.Endpoint {
	reading := []string{scopeRead}
	importing := []string{scopeImport}

	return []api.Endpoint{
		api.Receive(api.Endpoint{
			Method: http.MethodPost, Path: path, ID: "createImportPreview", Tag: tag,
			Summary: "Upload a file for an import",
			Doc: "A CSV in any usual form, or an XLSX workbook. The operation of type csv-import-preview reads it; " +
				"its id is that of the preview. Nothing is booked before the preview is confirmed. Needs the scope " +
				"of its kind, too: contacts:import, reservations:import, transactions:import, listings:write " +
				"(listings and opening balances), bank:write, journals:post. Fails with 413 beyond 100 MiB and 400 " +
				"for a malformed form.",
			Errors: apierr.List{account.ErrNotBank},
			Scopes: importing, Status: http.StatusAccepted,
			MaxBody: maxFile, Form: previewForm,
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
			Method: http.MethodPut, Path: onePath, ID: "mapImport", Tag: tag,
			Summary: "Say what the columns of a file hold",
			Doc: "The file is read again by the mapping, by a new operation of type csv-import-preview, whose id is " +
				"that of the new preview. The former preview stays as it is.",
			Errors: apierr.List{errNotReady}, Scopes: importing, Status: http.StatusAccepted,
		}, s.mapAgain),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: onePath + "/rows", ID: "listImportRows", Tag: tag,
			Summary: "List the rows of an import",
			Scopes:  reading,
		}, s.listRows),
		api.Write(api.Endpoint{
			Method: http.MethodPut, Path: onePath + "/rows/{position}", ID: "updateImportRow", Tag: tag,
			Summary: "Correct a row of an import",
			Doc: "Texts of cells are replaced as if the file had them, and the row is judged anew. A decision counts " +
				"for this row alone. Rows that are in the books fail with 409.",
			Errors: apierr.List{errNotReady, errRowTaken}, Scopes: importing,
		}, s.updateRow),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: onePath + "/confirm", ID: "confirmImport", Tag: tag,
			Summary: "Import the rows of a preview",
			Doc: "Starts an operation of type csv-import. Rows that are faulty or undecided refuse it with 409, " +
				"unless acceptIssues leaves them out. With allOrNothing nothing stays if a row is refused. " +
				"duplicateOverride says what is done with the rows of a file that was imported before; without such " +
				"an import it fails with 409 (context.reason duplicateOverrideNotApplicable). The operation fails " +
				"with csvImportRecordFailed if some rows were refused: the others are in the books, and refused ones " +
				"can be corrected and confirmed again.",
			Errors: apierr.List{errNotReady, errOverride, errFaulty, errUnclear, errTooMany},
			Scopes: importing, Status: http.StatusAccepted,
		}, s.confirm),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: onePath + "/cancel", ID: "cancelImport", Tag: tag,
			Summary: "Cancel an import",
			Doc:     "A file that is read is read no further. What was taken in stays; it can be undone.",
			Errors:  apierr.List{errNotReady}, Scopes: importing,
		}, s.cancel),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: onePath + "/undo", ID: "undoImport", Tag: tag,
			Summary: "Take an import back",
			Doc: "Starts an operation of type csv-import that deletes what the import has made and gives back what " +
				"it has changed, all or nothing. If something depends on it, the operation fails with " +
				"csvImportFailed and the import shows what in `dependents`.",
			Errors: apierr.List{errNotReady}, Scopes: importing, Status: http.StatusAccepted,
		}, s.startUndo),
		api.Stream(api.Endpoint{
			Method: http.MethodGet, Path: "/csv-imports/templates/{kind}", ID: "getImportTemplate", Tag: tag,
			Summary: "Download an example file",
			Doc:     "A CSV with every column that the kind knows, what each means, and a row as an example.",
			Scopes:  reading,
		}, s.template),
		api.Receive(api.Endpoint{
			Method: http.MethodPost, Path: "/connections/{id}/csv-import", ID: "importConnectionFile", Tag: tag,
			Summary: "Import a file of a connection's system",
			Doc: "For kinds that the app of the connection lists as importers. Starts one operation of type " +
				"csv-import that reads the file and imports its rows; rows that are faulty or to be decided stay in " +
				"the preview of the same id. Records are known by their ids at the system, as those of its syncs " +
				"are. Fails as createImportPreview does, and with 501 for a kind that the app does not import.",
			Errors: apierr.List{account.ErrNotBank, errNoImporter},
			Scopes: importing, Status: http.StatusAccepted,
			MaxBody: maxFile, Form: previewForm,
		}, api.Receiver[connectionInput, received, operation.Acknowledgement]{
			Receive: func(ctx context.Context, d *db.DB, scope db.Scope, in *connectionInput) (received, error) {
				return s.receive(ctx, d, scope, &in.uploadInput)
			},
			Settle: s.settleConnection, Drop: s.drop,
		}),
	}
}

var errNoImporter = apierr.New(apierr.CodeNotImplemented, "", "The app does not import files of this kind")

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

// getImport returns an import with the fields that its columns can have.
func (s *service) getImport(ctx context.Context, tx *db.Tx, in *oneInput) (*Import, error) {
	it, err := load(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	it.Fields = s.kinds[it.Kind].renderFields()

	return &it.Import, nil
}

type mapInput struct {
	ID   id.ID `path:"id"`
	Body Mapping
}

// mapAgain reads a file again by another mapping, as a new import. It fails with 409 for an import that is under way.
func (s *service) mapAgain(ctx context.Context, tx *db.Tx, in *mapInput) (*operation.Acknowledgement, error) {
	old, err := load(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	k := s.kinds[old.Kind]
	if err := k.checkScope(tx); err != nil {
		return nil, err
	}

	if issues := k.checkMapping(&in.Body); len(issues) > 0 {
		return nil, apierr.BadRequest.At(issues...)
	}

	if old.Status != Ready && old.Status != Failed {
		return nil, errNotReady
	}

	// The new import shares the file and the source. It is never imported by itself, unlike a connection's first
	// reading.
	again := &stored{
		Import: Import{
			Kind: old.Kind, Status: Reading, Filename: old.Filename, ByteSize: old.ByteSize,
			ConnectionID: old.ConnectionID, BankAccountID: old.BankAccountID, Mapping: &in.Body,
		},
		FileID: old.FileID, SHA256: old.SHA256, SourceID: old.SourceID, Encoding: old.Encoding,
	}

	return s.start(ctx, tx, again, operation.CSVImportPreview)
}
