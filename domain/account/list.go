package account

import (
	"context"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// Filter selects accounts: the query parameters of the list and the body of its export alike.
type Filter struct {
	IDs             []string         `query:"ids" json:"ids,omitempty" pattern:"^!?[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$" doc:"Only these; an id with a leading ! is left out."`
	Type            []Type           `query:"type" json:"type,omitempty" enum:"ledger,bank,recurringFee,nonPosting"`
	Classification  []Classification `query:"classification" json:"classification,omitempty" enum:"asset,liability,revenue,expense"`
	CategoryIDs     []id.ID          `query:"categoryIds" json:"categoryIds,omitempty"`
	Status          Status           `query:"status" json:"status,omitempty"`
	Assignment      []Assignment     `query:"assignment" json:"assignment,omitempty" doc:"Accounts that play one of the parts."`
	IsAssigned      *bool            `query:"isAssigned" json:"isAssigned,omitempty" doc:"Whether the account plays any part."`
	Codes           []string         `query:"codes" json:"codes,omitempty"`
	UniqueRefs      []string         `query:"uniqueRefs" json:"uniqueRefs,omitempty"`
	BankingCategory BankingCategory  `query:"bankingCategory" json:"bankingCategory,omitempty"`
	Currency        string           `query:"currency" json:"currency,omitempty" pattern:"^[A-Za-z]{3}$" doc:"Of a bank account."`
	Last4           string           `query:"last4" json:"last4,omitempty" pattern:"^[0-9]{4}$"`
	HasEntries      *bool            `query:"hasEntries" json:"hasEntries,omitempty" doc:"Whether journal entries use the account, which locks its classification."`
	Search          string           `query:"search" json:"search,omitempty" maxLength:"200" doc:"Part of the name, code or reference."`
}

type listInput struct {
	page.Params
	Sort string `query:"sort" enum:"name,-name,code,-code,createdAt,-createdAt,updatedAt,-updatedAt,type,-type,status,-status,category,-category" default:"code" doc:"category is the categories' order in the chart."`
	Filter
}

// ListQuery is the list of accounts a with their categories c and offset accounts o that a valid filter selects, in rows of Account. The
// caller sets the argument today when he keeps the columns.
func ListQuery(tx *db.Tx, f *Filter) page.Query {
	q := accountQuery(tx)
	q.Pick(f.IDs)
	with := func(given bool, condition, name string, value any) {
		if given {
			q.And(condition, db.Args{name: value})
		}
	}
	with(f.Type != nil, "a.type = any(@types)", "types", f.Type)
	with(f.Classification != nil, "c.classification = any(@classifications)", "classifications", f.Classification)
	with(f.CategoryIDs != nil, "a.category_id = any(@categories)", "categories", f.CategoryIDs)
	with(f.Status != "", "a.status = @status", "status", f.Status)
	const played = "exists (select from account_assignment s where s.team_id = a.team_id and s.account_id = a.id"
	with(f.Assignment != nil, played+" and s.assignment = any(@assignments))", "assignments", f.Assignment)
	with(f.IsAssigned != nil, played+") = @assigned", "assigned", f.IsAssigned)
	with(f.Codes != nil, "a.code = any(@codes)", "codes", f.Codes)
	with(f.UniqueRefs != nil, "a.unique_ref = any(@refs)", "refs", f.UniqueRefs)
	with(f.BankingCategory != "", "a.banking_category = @banking", "banking", f.BankingCategory)
	with(f.Currency != "", "a.banking_currency = lower(@currency::text)", "currency", f.Currency)
	with(f.Last4 != "", "a.banking_last4 = @last4", "last4", f.Last4)
	with(f.HasEntries != nil, "exists (select from ledger_entry e where e.team_id = a.team_id and e.account_id = a.id) = @entries", "entries", f.HasEntries)
	with(f.Search != "", "(a.name ilike @search or a.code ilike @search or a.unique_ref ilike @search)", "search", page.Like(f.Search))
	return q
}

func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Account], error) {
	q := ListQuery(tx, &in.Filter)
	q.Args["today"] = day.Of(tx.Now)
	return page.List[Account](ctx, tx, q, in.Params, in.Sort)
}
