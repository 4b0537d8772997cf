package account

import (
	"context"

	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

type listInput struct {
	page.Params
	Sort            string           `query:"sort" enum:"name,-name,code,-code,createdAt,-createdAt,updatedAt,-updatedAt,type,-type,status,-status,category,-category" default:"code" doc:"category is the categories' order in the chart."`
	IDs             []string         `query:"ids" pattern:"^!?[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$" doc:"A leading ! excludes the ids."`
	Type            []Type           `query:"type" enum:"ledger,bank,recurringFee,nonPosting"`
	Classification  []Classification `query:"classification" enum:"asset,liability,revenue,expense"`
	CategoryIDs     []id.ID          `query:"categoryIds"`
	Status          Status           `query:"status"`
	Assignment      []Assignment     `query:"assignment" doc:"Accounts that play one of the parts."`
	IsAssigned      *bool            `query:"isAssigned" doc:"Whether the account plays any part."`
	Codes           []string         `query:"codes"`
	UniqueRefs      []string         `query:"uniqueRefs"`
	BankingCategory BankingCategory  `query:"bankingCategory"`
	Currency        string           `query:"currency" pattern:"^[A-Za-z]{3}$" doc:"Of a bank account."`
	Last4           string           `query:"last4" pattern:"^[0-9]{4}$"`
	HasEntries      *bool            `query:"hasEntries" doc:"Whether journal entries use the account, which locks its classification."`
	Search          string           `query:"search" maxLength:"200" doc:"Part of the name, code or reference."`
}

func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Account], error) {
	q := accountQuery(tx)
	byIDs(&q, "a.id", in.IDs)
	with := func(given bool, condition, name string, value any) {
		if given {
			q.And(condition, db.Args{name: value})
		}
	}
	with(in.Type != nil, "a.type = any(@types)", "types", in.Type)
	with(in.Classification != nil, "c.classification = any(@classifications)", "classifications", in.Classification)
	with(in.CategoryIDs != nil, "a.category_id = any(@categories)", "categories", in.CategoryIDs)
	with(in.Status != "", "a.status = @status", "status", in.Status)
	const played = "exists (select from account_assignment s where s.team_id = a.team_id and s.account_id = a.id"
	with(in.Assignment != nil, played+" and s.assignment = any(@assignments))", "assignments", in.Assignment)
	with(in.IsAssigned != nil, played+") = @assigned", "assigned", in.IsAssigned)
	with(in.Codes != nil, "a.code = any(@codes)", "codes", in.Codes)
	with(in.UniqueRefs != nil, "a.unique_ref = any(@refs)", "refs", in.UniqueRefs)
	with(in.BankingCategory != "", "a.banking_category = @banking", "banking", in.BankingCategory)
	with(in.Currency != "", "a.banking_currency = lower(@currency::text)", "currency", in.Currency)
	with(in.Last4 != "", "a.banking_last4 = @last4", "last4", in.Last4)
	with(in.HasEntries != nil, "exists (select from ledger_entry e where e.team_id = a.team_id and e.account_id = a.id) = @entries", "entries", in.HasEntries)
	with(in.Search != "", "(a.name ilike @search or a.code ilike @search or a.unique_ref ilike @search)", "search", page.Like(in.Search))
	return page.List[Account](ctx, tx, q, in.Params, in.Sort)
}
