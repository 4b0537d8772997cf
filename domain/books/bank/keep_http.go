package bank

import (
	"context"
	"net/http"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// writes are the routes that keep bank records.
func (r routes) writes() []api.Endpoint {
	const tag = "Bank records"
	return []api.Endpoint{
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/bank-records/batch", ID: "batchBankRecords", Tag: tag, Summary: "Add many bank records",
			Errors: apierr.List{errDuplicateUniqueRef},
			Doc: "All of them land or none, and the answer has them in the order of the request. Records before the account's first day are left out: they are part of its" +
				" opening. Duplicates from another source land as well, and are told.",
			Scopes: []string{"bank:write"}, DryRun: true, Status: http.StatusCreated, MaxBody: 4 << 20,
		}, r.batch),
		api.Write(api.Endpoint{
			Method: http.MethodPut, Path: "/bank-records/{id}", ID: "updateBankRecord", Tag: tag, Summary: "Change, exclude or bring back a bank record",
			Errors: apierr.List{errFed, errRuleMatched, ErrReconciled, errDuplicateUniqueRef},
			Doc: "Fields that are present change. Of what a bank feed says, the description and status can change; of a reconciled record, the description and reference; of" +
				" one that a bank rule has matched, nothing. Closed books lock no bank record, which posts nothing. Fails with 400 for bringing back what is before" +
				" the account's first day.",
			Scopes: []string{"bank:write"}, DryRun: true,
		}, r.put),
		api.Write(api.Endpoint{
			Method: http.MethodDelete, Path: "/bank-records/{id}", ID: "deleteBankRecord", Tag: tag, Summary: "Delete a bank record",
			Errors: apierr.List{errFed, errNotCSV, errRuleMatched, ErrReconciled},
			Doc:    "Only of a record that came in a file; all others can be excluded.",
			Scopes: []string{"bank:delete"}, DryRun: true,
		}, del),
	}
}

// Added are the records of a batch.
type Added struct {
	Data []Record `json:"data" doc:"In the order of the request, with duplicates."`
}

type batchInput struct{ Body Batch }

func (r routes) batch(ctx context.Context, tx *db.Tx, in *batchInput) (*Added, error) {
	ids, err := add(ctx, tx, in.Body.Data)
	if err != nil {
		return nil, err
	}
	found, err := ByID(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	out := &Added{Data: make([]Record, len(ids))}
	for i, one := range ids {
		out.Data[i] = *found[one]
	}
	if err := r.rules.Arrived(ctx, tx, ids); err != nil {
		return nil, err
	}
	return out, duplicates(ctx, tx, out.Data)
}

type putInput struct {
	ID   id.ID `path:"id"`
	Body Update
}

func (r routes) put(ctx context.Context, tx *db.Tx, in *putInput) (*Record, error) {
	if err := change(ctx, tx, in.ID, &in.Body); err != nil {
		return nil, err
	}
	return r.get(ctx, tx, &getInput{in.ID})
}

func del(ctx context.Context, tx *db.Tx, in *getInput) (*api.None, error) {
	return &api.None{}, remove(ctx, tx, in.ID)
}
