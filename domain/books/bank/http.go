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

// endpoints are the routes of bank records.
func endpoints() []api.Endpoint {
	const tag = "Bank records"
	reads := []string{"bank:read"}
	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method: "GET", Path: "/bank-records", ID: "listBankRecords", Tag: tag, Summary: "List bank records", Scopes: reads,
			Doc: "Movements, and with includeBalanceRecords the balances that banks stated. A matching transaction moves what is open of the record on the same" +
				" account in the same currency and is reconciled with no record of the account. Fails with 400 for a dateRange or an amount that is none.",
		}, list),
		api.Read(api.Endpoint{
			Method: "GET", Path: "/bank-records/{id}", ID: "getBankRecord", Tag: tag, Summary: "Read a bank record", Scopes: reads,
			Doc: "With matching transactions of at most 7 days before and after.",
		}, get),
	}
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
}

func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Record], error) {
	found, err := page.List[Record](ctx, tx, ListQuery(tx, &in.Filter), in.Params, in.Sort)
	if err != nil {
		return nil, err
	}
	if in.IncludeMatchingRules {
		noRules(found.Data)
	}
	if listed, days := in.matches(); listed {
		err = match(ctx, tx, found.Data, days)
	}
	return found, err
}

// noRules says of records that they meet no bank rule: teams have none.
func noRules(records []Record) {
	for i := range records {
		records[i].MatchingRules = []Rule{}
	}
}

type getInput struct {
	ID id.ID `path:"id"`
}

func get(ctx context.Context, tx *db.Tx, in *getInput) (*Record, error) {
	q := query(tx)
	q.And("r.id = @id", db.Args{"id": in.ID})
	found, err := db.One[Record](ctx, tx, apierr.NotFound, q.SQL(""), q.Args)
	if err != nil {
		return nil, fmt.Errorf("read bank record: %w", err)
	}
	all := []Record{found}
	noRules(all)
	return &all[0], match(ctx, tx, all, usualDays)
}
