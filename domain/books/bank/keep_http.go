package bank

import (
	"context"
	"net/http"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// writes returns the routes that change bank records.
func (r routes) writes() []api.Endpoint {
	const tag = "Bank records"

	return []api.Endpoint{
		api.Write(api.Endpoint{
			Method:  http.MethodPost,
			Path:    "/bank-records/batch",
			ID:      "batchBankRecords",
			Tag:     tag,
			Summary: "Add many bank records",
			Doc: "All of them land or none, save those with a uniqueRef that the team has already: `known` names the " +
				"records that have it, which stay as they are. Of several balances of an account and day the last " +
				"one of the request counts. Records before the account's first day are left out: they are part of " +
				"its opening. Records that can be there twice land as well, with `duplicates`. Needs the scope " +
				"transactions:write too when a bank rule of mode auto takes one of the records.",
			Scopes: []string{"bank:write"}, DryRun: true, Status: http.StatusCreated, MaxBody: api.MaxBatch,
		}, r.batch),
		api.Write(api.Endpoint{
			Method:  http.MethodPut,
			Path:    "/bank-records/{id}",
			ID:      "updateBankRecord",
			Tag:     tag,
			Summary: "Change, exclude or bring back a bank record",
			Errors:  apierr.List{errFed, errRuleMatched, ErrReconciled, errDuplicateUniqueRef},
			Doc: "Fields that are present change. Of the fields that a bank feed fills, description and status can " +
				"change; of a reconciled record, the description and reference; of one that a bank rule has matched, " +
				"nothing. Closed books lock no bank record, which posts nothing. Fails with 400 for bringing back a " +
				"record before the account's first day. A record that is brought back or moved to another account is " +
				"offered to bank rules like a new one, and needs transactions:write if one of mode auto takes it.",
			Scopes: []string{"bank:write"}, DryRun: true,
		}, r.put),
		api.Write(api.Endpoint{
			Method:  http.MethodDelete,
			Path:    "/bank-records/{id}",
			ID:      "deleteBankRecord",
			Tag:     tag,
			Summary: "Delete a bank record",
			Errors:  apierr.List{errFed, errNotCSV, errRuleMatched, ErrReconciled},
			Doc:     "Only of a record that came in a file; all others can be excluded.",
			Scopes:  []string{"bank:delete"}, DryRun: true,
		}, deleteHandler),
	}
}

// Added are the records of a batch.
type Added struct {
	Data  []Record `json:"data" doc:"The new records in the order of the request, with duplicates."`
	Known []Known  `json:"known" doc:"Records of the request with a uniqueRef that the team has already; they were left out."`
}

// Known is a record of a batch that the team has already.
type Known struct {
	Index     int      `json:"index" doc:"Place in the request, from 0."`
	ID        id.ID    `json:"id" doc:"The record that has the reference."`
	UniqueRef string   `json:"uniqueRef"`
	Differs   []string `json:"differs" doc:"Fields in which the request says something else than that record; empty when it says the same."`
}

type batchInput struct{ Body Batch }

// batch adds many records, applies bank rules to them and answers with the new and the known ones.
func (r routes) batch(ctx context.Context, tx *db.Tx, in *batchInput) (*Added, error) {
	s, err := saveAll(ctx, tx, newItems(in.Body.Data))
	if err != nil {
		return nil, err
	}

	out, ids := &Added{Known: []Known{}}, []id.ID{}

	for _, o := range s.out {
		if o.Known != nil {
			out.Known = append(out.Known, *o.Known)
		} else {
			ids = append(ids, o.ID)
		}
	}

	found, err := ByID(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	out.Data = make([]Record, len(ids))
	for i, v := range ids {
		out.Data[i] = *found[v]
	}

	if err := r.rules.Offer(ctx, tx, s.listOffers()); err != nil {
		return nil, err
	}

	return out, loadDuplicates(ctx, tx, out.Data)
}

type putInput struct {
	ID   id.ID `path:"id"`
	Body Update
}

// put changes a record and applies bank rules to it if it counts anew.
func (r routes) put(ctx context.Context, tx *db.Tx, in *putInput) (*Record, error) {
	s, err := saveAll(ctx, tx, []BatchItem{{ID: &in.ID, Update: in.Body}})
	if err != nil {
		return nil, err
	}

	if err := r.rules.Offer(ctx, tx, s.listOffers()); err != nil {
		return nil, err
	}

	return r.get(ctx, tx, &getInput{in.ID})
}

// deleteHandler deletes a record.
func deleteHandler(ctx context.Context, tx *db.Tx, in *getInput) (*api.None, error) {
	return &api.None{}, deleteRecord(ctx, tx, in.ID)
}
