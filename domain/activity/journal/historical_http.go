package journal

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"stayledger/domain/books/account"
	"stayledger/domain/books/trial"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// maxImportBody has room for 200000 entries with every field.
const maxImportBody = api.MaxBatch

// historicalEndpoints returns the routes of the historical ledger.
func historicalEndpoints() []api.Endpoint {
	const path = "/general-ledger/historical"

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    path,
			ID:      "listHistoricalImports",
			Tag:     tag,
			Summary: "List imports of an earlier system's books",
			Scopes:  []string{"general-ledger:read"},
			Doc: "Newest first. The entries are those of /reports/journal-entries with ledger=historical and " +
				"status=inactive.",
		}, listImports),
		api.Queue(api.Endpoint{
			Method:  http.MethodPost,
			Path:    path,
			ID:      "importHistoricalLedger",
			Tag:     tag,
			Summary: "Import the books of an earlier system",
			Errors:  apierr.List{trial.ErrNoStart, errTxnDates, errTxnUnbalanced, errTxnKnown},
			Scopes:  []string{"general-ledger:import"},
			DryRun:  true,
			Status:  http.StatusAccepted,
			MaxBody: maxImportBody,
			Timeout: 2 * time.Minute,
			Also:    operation.Answers[HistoricalPreview](),
			Doc: "Starts an operation of type historical-gl-import that puts the entries onto the historical ledger, " +
				"which no live report shows. A dry run answers 200 with the figures of the import. A txnRef that was " +
				"posted with the same entries is skipped; one that was staged and never posted is replaced. Failures " +
				"in order: malformed input; `generalLedgerStartDateMissing`; an entry of " +
				"nothing, on or after the start date, or one too many of its txnRef; 422 for different dates in one " +
				"txnRef, then for txnRefs that do not balance (context.transactions); unknown references; 409 for " +
				"txnRefs that were posted with other entries (context.txnRefs).",
		}, startImport, func(ctx context.Context, tx *db.Tx, _ *importInput, a *importAnswer) error {
			a.Preview(a.preview)

			return post(ctx, tx, a.importID)
		}),
	}
}

type importInput struct{ Body Historical }

// importAnswer is the acknowledgement of an import or, in a dry run, its preview (OPEN-41).
type importAnswer struct {
	operation.Answer[HistoricalPreview]

	importID id.ID
	preview  *HistoricalPreview
}

// startImport checks an import, stages its transactions and starts the operation that posts them.
func startImport(ctx context.Context, tx *db.Tx, in *importInput) (*importAnswer, error) {
	books, err := account.LoadBooks(ctx, tx)
	if err != nil {
		return nil, err
	}

	// Historical entries are those before the first day of the books, so the team needs one.
	if books.StatementStartAt == nil {
		return nil, trial.ErrNoStart
	}

	// Then check the entries, in the documented order of failures.
	b, err := groupEntries(in.Body.Entries, *books.StatementStartAt)
	if err != nil {
		return nil, err
	}

	if err := b.checkNamed(ctx, tx); err != nil {
		return nil, err
	}

	// Transactions that were posted before with the same entries are skipped.
	b.computeContents(books.DefaultCurrency)

	fresh, err := b.dropKnown(ctx, tx)
	if err != nil {
		return nil, err
	}

	// Last, start the operation and stage the transactions for its task.
	a := &importAnswer{importID: tx.NewID(), preview: b.preview()}
	self := operation.Resource{Type: operation.Team, ID: tx.Team, Role: operation.Target}

	a.Started, err = operation.Start(ctx, tx, operation.New{
		Type: operation.HistoricalGLImport, Primary: &self, Resources: []operation.Resource{self},
		Tasks: []operation.Task{{Kind: kindImport, Args: importArgs{a.importID}, Priority: 5}},
	})
	if err != nil {
		return nil, err
	}

	if err := tx.Pipeline(
		ctx, insertImport(tx, b, a.importID, a.Started.OperationID, len(b.txns)-len(fresh)),
	); err != nil {
		return nil, fmt.Errorf("record an import: %w", err)
	}

	// The audit event says that the import came from a migration, and counts what it brought.
	audit.FromImport(tx, a.importID)
	audit.Note(tx, audit.Created, audit.HistoricalImport, a.importID, nil, map[string]any{
		"txnCount":        len(b.txns),
		"entryCount":      len(b.entries),
		"skippedTxnCount": len(b.txns) - len(fresh),
		"startAt":         b.startAt,
		"endAt":           b.endAt,
	})

	return a, b.stage(ctx, tx, a.importID, fresh)
}

var importSorts = page.Sorts{{Name: "createdAt", Expr: "i.created_at"}}

// importSort is an order of imports.
type importSort string

// Enum lists the orders.
func (importSort) Enum() []string { return importSorts.Enum() }

type importsInput struct {
	page.Params
	Sort importSort `query:"sort" doc:"Default -createdAt."`
}

// listImports returns a page of imports, the newest first.
func listImports(ctx context.Context, tx *db.Tx, in *importsInput) (*page.Page[HistoricalImport], error) {
	return page.List[HistoricalImport](ctx, tx, page.Query{
		Columns: `i.id, i.operation_id, i.txn_count, i.entry_count, i.skipped_txn_count, jsonb_build_object('debit', i.debit, 'credit', i.credit) as totals,
			i.start_at, i.end_at, i.created_at, i.posted_at`,
		From: "historical_import i", Where: []string{"i.team_id = @team"}, Args: db.Args{"team": tx.Team},
		Sorts: importSorts, Default: "-createdAt", ID: "i.id",
	}, in.Params, in.Sort)
}
