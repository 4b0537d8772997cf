package transaction

import (
	"context"
	"net/http"
	"time"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

var changeFailures = "Failures in order: malformed input; a rule of the type; `requiredAccountMissing`; " +
	"`beforeStatementStartDate`; unknown references; `notBankAccount`; `statementNotReadyForPayment`; " +
	"`listingInactive`; `ownershipPeriodMissing`; `duplicateUniqueRef`; a sourceId that another of the connection has; the locks " +
	ledger.LockReasons() + "."

// endpoints returns the routes of transactions.
func endpoints() []api.Endpoint {
	read, write := []string{"transactions:read"}, []string{"transactions:write"}
	deleting := []string{"transactions:delete"}

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    "/transactions",
			ID:      "listTransactions",
			Tag:     "Transactions",
			Summary: "List transactions",
			Scopes:  read, OneTripPage: true,
			Doc: "Newest accounting date first. `dateRange` selects by the accounting date.",
		}, list),
		api.Write(api.Endpoint{
			Method:  http.MethodPost,
			Path:    "/transactions",
			ID:      "createTransaction",
			Tag:     "Transactions",
			Summary: "Create a transaction",
			Errors:  writeRefusals(),
			Scopes:  write,
			DryRun:  true,
			Status:  http.StatusCreated,
			Doc:     "Stores and books a transaction. " + changeFailures,
		}, create),
		api.Write(api.Endpoint{
			Method:  http.MethodPost,
			Path:    "/transactions/batch",
			ID:      "batchTransactions",
			Tag:     "Transactions",
			Summary: "Create many transactions",
			Scopes:  write,
			DryRun:  true,
			MaxBody: api.MaxBatch,
			Timeout: 5 * time.Minute,
			Doc: "Good items land and bad ones are reported with the codes and reasons of createTransaction; with " +
				"atomic=true nothing lands when one item is bad. At most 20000 lines altogether (`tooManyLines`). An " +
				"item with a uniqueRef that exists is refused, or with the sourceId of another of its connection, so " +
				"a batch can be sent again.",
		}, batch),
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    "/transactions/{id}",
			ID:      "getTransaction",
			Tag:     "Transactions",
			Summary: "Read a transaction",
			Scopes:  read,
			OneTrip: true,
		}, get),
		api.Write(api.Endpoint{
			Method:  http.MethodPut,
			Path:    "/transactions/{id}",
			ID:      "updateTransaction",
			Tag:     "Transactions",
			Summary: "Change a transaction",
			Errors:  apierr.List{ErrArchived, errReturned, ErrAttempted, writeRefusals()},
			Scopes:  write,
			DryRun:  true,
			Doc: "Fields that are present change, null clears. `lines` replaces all lines; `lines_create`, " +
				"`lines_update` and `lines_delete` change some. `status` archives the transaction or brings it back; " +
				"an archived one is otherwise refused with `transactionInactive`. " + changeFailures,
		}, update),
		api.Write(api.Endpoint{
			Method:  http.MethodDelete,
			Path:    "/transactions/{id}",
			ID:      "deleteTransaction",
			Tag:     "Transactions",
			Summary: "Delete or archive a transaction",
			Errors:  apierr.List{errReturned, ErrAttempted, errInUse, ledger.Refusals},
			Scopes:  deleting,
			DryRun:  true,
			Doc: "Takes the transaction out of the books and deletes it. One that is still referenced is refused " +
				"with `inUse`; `onLocked=archive` keeps the row as inactive. Neither passes a lock.",
		}, deleteOrArchive),
		api.Write(api.Endpoint{
			Method:  http.MethodPost,
			Path:    "/transactions/journal-entries",
			ID:      "refreshTransactionJournals",
			Tag:     "Transactions",
			Summary: "Derive journals anew",
			Errors:  apierr.List{account.ErrRequiredMissing, ledger.Refusals},
			Scopes:  []string{"journals:post"}, Also: operation.Answers[ledger.RefreshDone](),
			Doc: "With exactly one id the work is done in the request and answered with 200. Several ids, or none " +
				"for all active transactions, start an operation of type transaction-journal-refresh, answered with " +
				"202. Lines that wait for a reservation are linked on the way. lockPolicy strict fails on the first " +
				"journal that a lock holds, bestEffort leaves it as it is. Fails with 400 when an id is unknown.",
		}, refreshJournals),
	}
}

// Override has the headers that let a change of a transaction pass the closed books, and that say why. They are not
// part of the published description (BKC-11).
type Override struct {
	IgnoreBooksClosedAt     string `header:"x-ignore-books-closed-at" hidden:"true"`
	IgnoreBooksClosedReason string `header:"x-ignore-books-closed-reason" hidden:"true" maxLength:"1000"`
}

// lenience passes the closed books for the value true alone (BKC-06), and notes on the transaction that it did.
func (o Override) lenience(tx *db.Tx) ledger.Lenience {
	if o.IgnoreBooksClosedAt != "true" {
		return ledger.Lenience{}
	}

	tx.IsOverride, tx.OverrideReason = true, o.IgnoreBooksClosedReason

	return ledger.Lenience{IgnoreBooksClosed: true}
}

type createInput struct {
	Override
	Body Create
}

// create makes a transaction.
func create(ctx context.Context, tx *db.Tx, in *createInput) (*Transaction, error) {
	d := newDraft(&in.Body, tx.NewID)
	if err := save(ctx, tx, nil, []*draft{d}, in.lenience(tx)); err != nil {
		return nil, err
	}

	return d.loadChecked(ctx, tx)
}

type getInput struct {
	ID id.ID `path:"id"`
}

// get answers with a transaction.
func get(ctx context.Context, tx *db.Tx, in *getInput) (*Transaction, error) {
	return loadOne(ctx, tx, in.ID)
}

type updateInput struct {
	Override
	ID   id.ID `path:"id"`
	Body Update
}

// update changes a transaction.
func update(ctx context.Context, tx *db.Tx, in *updateInput) (*Transaction, error) {
	d, err := change(ctx, tx, in.ID, &in.Body, in.lenience(tx))
	if err != nil {
		return nil, err
	}

	if in.Body.describes() {
		return loadOne(ctx, tx, d.ID)
	}

	return d.loadChecked(ctx, tx)
}

type deleteInput struct {
	Override
	ID       id.ID  `path:"id"`
	OnLocked string `query:"onLocked" enum:"archive" doc:"archive keeps the row as inactive instead of deleting it."`
}

// deleteOrArchive deletes or archives a transaction.
func deleteOrArchive(ctx context.Context, tx *db.Tx, in *deleteInput) (*api.None, error) {
	if err := Remove(ctx, tx, in.ID, in.OnLocked == "archive", in.lenience(tx)); err != nil {
		return nil, err
	}

	return &api.None{}, nil
}
