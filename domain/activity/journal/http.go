package journal

import (
	"context"
	"net/http"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/ledger"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

const tag = "General ledger"

var failures = "Failures in order: malformed input; an unknown currency; " +
	"`beforeStatementStartDate`; 422 for lines that do not balance (context.difference: debits less credits); " +
	"unknown references; a bank account of the other ledger, an inactive or non-posting account, an owners' line " +
	"without a listing or without an ownership period on the date; `operationsAccountingDisabled`; `duplicateUniqueRef`; the locks " + ledger.LockReasons() + "."

// endpoints returns the routes of manual journals and of the historical ledger.
func endpoints() []api.Endpoint {
	read, post, manage := []string{"general-ledger:read"}, []string{"journals:post"}, []string{"general-ledger:manage"}

	const path, onePath = "/general-ledger/journals", "/general-ledger/journals/{id}"

	return append([]api.Endpoint{
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    path,
			ID:      "listJournals",
			Tag:     tag,
			Summary: "List manual journals",
			Scopes:  read, OneTripPage: true,
			Doc: "Newest accounting date first.",
		}, list),
		api.Write(api.Endpoint{
			Method:  http.MethodPost,
			Path:    path,
			ID:      "createJournal",
			Tag:     tag,
			Summary: "Write a manual journal",
			Errors: apierr.List{
				transaction.ErrBeforeStart, errUnbalanced, apierr.OperationsDisabled, errDuplicateRef, ledger.Refusals,
			},
			Scopes: post,
			DryRun: true,
			Status: http.StatusCreated,
			Doc:    "Stores a balanced journal and posts it. " + failures,
		}, create),
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    onePath,
			ID:      "getJournal",
			Tag:     tag,
			Summary: "Read a manual journal",
			Scopes:  read,
			OneTrip: true,
		}, get),
		api.Write(api.Endpoint{
			Method:  http.MethodPut,
			Path:    onePath,
			ID:      "updateJournal",
			Tag:     tag,
			Summary: "Change a manual journal",
			Errors: apierr.List{
				errReversed,
				transaction.ErrBeforeStart,
				errUnbalanced,
				apierr.OperationsDisabled,
				errDuplicateRef,
				ledger.Refusals,
			},
			Scopes: post,
			DryRun: true,
			Doc: "Fields that are present change, null clears; `lines` replaces all lines. Of a reversed journal " +
				"(409) and of a reversal (400) only the date and the texts change. Fails as createJournal does.",
		}, update),
		api.Write(api.Endpoint{
			Method: http.MethodDelete, Path: onePath, ID: "deleteJournal", Tag: tag, Summary: "Delete a manual journal",
			Errors: apierr.List{errInUse, ledger.Refusals},
			Scopes: manage, DryRun: true,
			Doc: "Takes the journal out of the books. One that is reversed is refused with `inUse`: delete the " +
				"reversal first. No lock is passed.",
		}, remove),
		api.Write(api.Endpoint{
			Method:  http.MethodPost,
			Path:    onePath + "/reverse",
			ID:      "reverseJournal",
			Tag:     tag,
			Summary: "Reverse a manual journal",
			Errors: apierr.List{
				errReversed,
				transaction.ErrBeforeStart,
				errUnbalanced,
				errDuplicateRef,
				ledger.Refusals,
			},
			Scopes: post,
			DryRun: true,
			Status: http.StatusCreated,
			Doc: "Posts the opposite of every line on a date of its own and links both journals; the original stays " +
				"as it is, whatever locks it. 409 when it is reversed already. Fails as createJournal does.",
		}, reverse),
	}, append(historicalEndpoints(), lateEndpoints()...)...)
}

type createInput struct{ Body Create }

// create writes a manual journal.
func create(ctx context.Context, tx *db.Tx, in *createInput) (*Journal, error) {
	return createJournal(ctx, tx, &in.Body)
}

type oneInput struct {
	ID id.ID `path:"id"`
}

// get answers with a manual journal.
func get(ctx context.Context, tx *db.Tx, in *oneInput) (*Journal, error) {
	return loadShown(ctx, tx, in.ID)
}

type updateInput struct {
	ID   id.ID `path:"id"`
	Body Update
}

// update changes a manual journal.
func update(ctx context.Context, tx *db.Tx, in *updateInput) (*Journal, error) {
	return updateJournal(ctx, tx, in.ID, &in.Body)
}

// remove deletes a manual journal.
func remove(ctx context.Context, tx *db.Tx, in *oneInput) (*api.None, error) {
	if err := deleteJournal(ctx, tx, in.ID); err != nil {
		return nil, err
	}

	return &api.None{}, nil
}

type reverseInput struct {
	ID   id.ID `path:"id"`
	Body Reversal
}

// reverse reverses a manual journal.
func reverse(ctx context.Context, tx *db.Tx, in *reverseInput) (*Journal, error) {
	return reverseJournal(ctx, tx, in.ID, &in.Body)
}
