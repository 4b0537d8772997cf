package bank

import (
	"context"
	"fmt"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// Rules are the functions of bank rules that records need. The package of bank rules comes after this one.
type Rules struct {
	// Meet gives records the bank rules that they meet.
	Meet func(ctx context.Context, tx *db.Tx, records []Record) error
	// Offer starts what rules do by themselves with records that are new, brought back, or moved to another account. It
	// fails with apierr.MissingScope when a rule takes one of them and the caller may not write transactions.
	Offer func(ctx context.Context, tx *db.Tx, records []id.ID) error
	// OfferFed does the same with what banks say themselves, whatever the caller may do who has asked for it.
	OfferFed func(ctx context.Context, tx *db.Tx, records []id.ID) error
}

// routes has the endpoints of bank records.
type routes struct{ rules Rules }

// endpoints returns the routes of bank records.
func (r routes) endpoints() []api.Endpoint {
	const tag = "Bank records"

	scopes := []string{"bank:read"}

	return append([]api.Endpoint{
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/bank-records",
			ID:      "listBankRecords",
			Tag:     tag,
			Summary: "List bank records",
			Scopes:  scopes, OneTripPage: true,
			Doc: "Movements, and with includeBalanceRecords the balances that banks stated. A matching transaction " +
				"moves what is open of the record on the same account in the same currency and is reconciled with no " +
				"record of the account. Fails with 400 for a dateRange or an amount that is none.",
		}, r.list),
		api.Read(api.Endpoint{
			Method:  "GET",
			Path:    "/bank-records/{id}",
			ID:      "getBankRecord",
			Tag:     tag,
			Summary: "Read a bank record",
			Scopes:  scopes,
			Doc:     "With matching transactions of at most 7 days before and after.",
			OneTrip: true,
		}, r.get),
	}, r.writes()...)
}

// Sort is an order of bank records.
type Sort string

// Enum lists the orders.
func (Sort) Enum() []string { return sorts.Enum() }

type listInput struct {
	page.Params
	Sort Sort `query:"sort" default:"-date"`
	Filter
	IncludeMatchingRules bool `query:"includeMatchingRules" doc:"With matchingRules."`
	IncludeDuplicates    bool `query:"includeDuplicates" doc:"With duplicates."`
}

// list returns a page of bank records, on request with matching rules, matching transactions and duplicates.
func (r routes) list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Record], error) {
	found, err := page.List[Record](ctx, tx, listQuery(tx, &in.Filter), in.Params, in.Sort)
	if err != nil {
		return nil, err
	}

	var works []db.Work
	if in.IncludeMatchingRules {
		works = append(works, func(ctx context.Context, tx *db.Tx) error { return r.rules.Meet(ctx, tx, found.Data) })
	}

	if listed, days := in.matches(); listed {
		works = append(works, func(ctx context.Context, tx *db.Tx) error {
			return loadMatches(ctx, tx, found.Data, days)
		})
	}

	if in.IncludeDuplicates {
		works = append(works, func(ctx context.Context, tx *db.Tx) error { return loadDuplicates(ctx, tx, found.Data) })
	}

	return found, tx.Together(ctx, works...)
}

type getInput struct {
	ID id.ID `path:"id"`
}

// get answers with a bank record and everything that matches it.
func (r routes) get(ctx context.Context, tx *db.Tx, in *getInput) (*Record, error) {
	all := make([]Record, 1)

	// The rules are loaded in the same round trip; they look at the record once it is there.
	return &all[0], tx.Together(ctx,
		func(ctx context.Context, tx *db.Tx) (err error) {
			all[0], err = loadInFull(ctx, tx, in.ID)
			return err
		},
		func(ctx context.Context, tx *db.Tx) error { return r.rules.Meet(ctx, tx, all) })
}

// loadInFull loads a record with its matching transactions and possible duplicates. It fails with apierr.NotFound.
func loadInFull(ctx context.Context, tx *db.Tx, record id.ID) (Record, error) {
	type row struct {
		Record

		Matches []Transaction
		Twice   []Duplicate
	}

	q := newQuery(tx)
	q.And("r.id = @id", db.Args{"id": record, "ids": []id.ID{record}, "days": usualDays, "most": matchesShown})
	q.Columns += `,
		coalesce((select jsonb_agg(jsonb_build_object('id', m.id, 'date', m.date, 'description', m.description, 'type', m.type, 'amount', m.amount)
			order by m.place) from (` + matchesSQL + `) m), '[]') as matches,
		coalesce((select jsonb_agg(jsonb_build_object('id', d.id, 'source', d.source, 'date', d.date, 'description', d.description, 'uniqueRef', d.unique_ref)
			order by abs(d.date - r.date), d.date, d.id) from (` + duplicatesSQL + `) d), '[]') as twice`

	found, err := db.One[row](ctx, tx, apierr.NotFound, q.SQL(""), q.Args)
	if err != nil {
		return Record{}, fmt.Errorf("read bank record: %w", err)
	}

	found.MatchingTransactions, found.Duplicates = found.Matches, found.Twice

	return found.Record, nil
}
