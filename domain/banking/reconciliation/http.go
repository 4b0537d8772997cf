package reconciliation

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/bank"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

// Part returns the endpoints of reconciling bank records.
func Part() parts.Part { return parts.Part{Endpoints: api.RequireBooks(endpoints())} }

// endpoints returns the routes that suggest, reconcile and unreconcile.
func endpoints() []api.Endpoint {
	const tag = "Bank records"

	scopes := []string{"bank:write"}

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/bank-records/suggestions", ID: "suggestBankRecords", Tag: tag,
			Summary: "Suggest what open bank records are made up of",
			Scopes:  []string{"bank:read", "transactions:read"},
			Doc: "Open records, the newest first, with the transactions that no record has and that add up to them " +
				"to the cent: by what the bank printed before amounts, one transaction before several. Only a unique " +
				"result is certain. Nothing is reconciled; reconcileBankRecords does that.",
		}, listSuggestions),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/bank-records/{id}/reconcile", ID: "reconcileBankRecord", Tag: tag,
			Summary: "Reconcile a bank record",
			Errors:  apierr.List{bank.ReconcileErrors(), transaction.Refusals()},
			Scopes:  append([]string{"transactions:write"}, scopes...), DryRun: true,
			Doc: "Makes the record up of transactions that move money on its account, and of new ones that are " +
				"booked in the same request. A transaction counts with the amount that is on no record yet, or with " +
				"`centTotal`. Unless a part states its cents, all parts together are the open amount of the record; " +
				"they are never more. A transfer is reconciled on each of its two accounts. A transaction that is " +
				"reconciled is locked.",
		}, reconcile),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/bank-records/{id}/unreconcile", ID: "unreconcileBankRecord", Tag: tag,
			Summary: "Undo the reconciliation of a bank record",
			Scopes:  scopes, DryRun: true,
			Doc: "Takes transactions off the record, or all of them. They stay booked, and can be changed again. A " +
				"record that a bank rule matched is not matched by it any more.",
		}, unreconcile),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/bank-records/reconcile", ID: "reconcileBankRecords", Tag: tag,
			Summary: "Reconcile many bank records", Scopes: scopes, DryRun: true, MaxBody: api.MaxBatch,
			Doc: "Good items land and bad ones are reported with the codes and reasons of reconcileBankRecord; with " +
				"atomic=true nothing lands when one item is bad. Of several items that name a record or a " +
				"transaction, later ones find what earlier ones left.",
		}, reconcileBatch),
	}
}

type reconcileInput struct {
	ID   id.ID `path:"id"`
	Body Request
}

// reconcile matches a bank record with transactions, some of them booked by the same request.
func reconcile(ctx context.Context, tx *db.Tx, in *reconcileInput) (*bank.Record, error) {
	// First, book the new transactions; then the match can name them like existing transactions.
	made, err := createTransactions(ctx, tx, in.Body.Create)
	if err != nil {
		return nil, err
	}

	refusals, err := bank.Reconcile(ctx, tx, []bank.Match{newMatch(in.ID, in.Body.Transactions, made)})
	if err != nil {
		return nil, err
	}

	// An error undoes the new transactions too.
	if len(refusals) > 0 {
		return nil, renderRefusal(&refusals[0], len(in.Body.Transactions))
	}

	return loadRecord(ctx, tx, in.ID)
}

type unreconcileInput struct {
	ID   id.ID `path:"id"`
	Body struct {
		TransactionIDs []id.ID `json:"transactionIds,omitempty" minItems:"1" maxItems:"500" uniqueItems:"true" doc:"Absent: all of the record."`
	}
}

// unreconcile takes the named transactions off a record, or all of them.
func unreconcile(ctx context.Context, tx *db.Tx, in *unreconcileInput) (*bank.Record, error) {
	record, err := loadRecord(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	// Name every transaction that is not on the record.
	var issues []apierr.Issue

	for i, wanted := range in.Body.TransactionIDs {
		isWanted := func(t bank.Transaction) bool { return t.ID == wanted }
		if record.Reconciliation == nil || !slices.ContainsFunc(record.Reconciliation.Transactions, isWanted) {
			issues = append(issues, apierr.IssueNotFound.InBody("transactionIds", i))
		}
	}

	if issues != nil {
		return nil, apierr.BadRequest.At(issues...)
	}

	// No list means all transactions of the record.
	if _, err := bank.Free(ctx, tx, []id.ID{in.ID}, in.Body.TransactionIDs); err != nil {
		return nil, err
	}

	return loadRecord(ctx, tx, in.ID)
}

type batchInput struct {
	Atomic bool `query:"atomic" doc:"Nothing lands unless everything does."`
	Body   struct {
		Data []Item `json:"data" minItems:"1" maxItems:"500"`
	}
}

// errNothingLands undoes an atomic batch with a refused item.
var errNothingLands = errors.New("reconciliation: an item of an atomic batch was refused")

// reconcileBatch reconciles many records. It saves good items and reports bad items; with atomic, a bad item undoes
// the batch.
func reconcileBatch(ctx context.Context, tx *db.Tx, in *batchInput) (*api.Outcome, error) {
	out := &api.Outcome{Data: []api.Written{}, Issues: []api.Refused{}}

	// Items of a batch create no transactions.
	matches := make([]bank.Match, len(in.Body.Data))
	for i, item := range in.Body.Data {
		matches[i] = newMatch(item.BankRecordID, item.Transactions, nil)
	}

	// An error inside undoes the reconciliations.
	err := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
		refusals, err := bank.Reconcile(ctx, tx, matches)
		if err != nil {
			return err
		}

		for i := range refusals {
			r := &refusals[i]
			refusal := renderRefusal(r, len(in.Body.Data[r.Match].Transactions))
			out.Issues = append(out.Issues, api.Refusal(r.Match, nil, refusal))
		}

		if in.Atomic && len(refusals) > 0 {
			return errNothingLands
		}

		return nil
	})
	if errors.Is(err, errNothingLands) {
		return out, nil
	}

	if err != nil {
		return nil, err
	}

	for i, item := range in.Body.Data {
		// Every item without a refusal was reconciled.
		if !slices.ContainsFunc(out.Issues, func(r api.Refused) bool { return r.Index == i }) {
			out.Data = append(out.Data, api.Written{ID: item.BankRecordID, Index: i})
		}
	}

	return out, nil
}

// loadRecord returns a record as the API shows it. It fails with apierr.NotFound.
func loadRecord(ctx context.Context, tx *db.Tx, record id.ID) (*bank.Record, error) {
	found, err := bank.ByID(ctx, tx, []id.ID{record})
	if err != nil {
		return nil, err
	}

	if found[record] == nil {
		return nil, apierr.NotFound
	}

	return found[record], nil
}
