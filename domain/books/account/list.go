package account

import (
	"context"

	"stayledger/platform/db"
	"stayledger/platform/page"
)

// Filter selects accounts: the query parameters of the list and the body of its export alike.
type Filter struct {
	IDs             page.IDs         `query:"ids" json:"ids,omitempty" doc:"Only these; an id with a leading ! is left out."`
	Type            []Type           `query:"type" json:"type,omitempty" enum:"ledger,bank,recurringFee,nonPosting"`
	Classification  []Classification `query:"classification" json:"classification,omitempty" enum:"asset,liability,revenue,expense"`
	CategoryIDs     page.IDs         `query:"categoryIds" json:"categoryIds,omitempty"`
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

// Sort is an order of accounts.
type Sort string

// Enum lists the orders.
func (Sort) Enum() []string { return sorts.Enum() }

type listInput struct {
	page.Params
	Sort Sort `query:"sort" default:"code" doc:"category is the categories' order in the chart."`
	Filter
}

// listQuery returns the list of accounts a with their categories c and offset accounts o that a valid filter
// selects, in rows of Account. The caller sets the argument today if he keeps the columns.
func listQuery(tx *db.Tx, f *Filter) page.Query {
	q := accountQuery(tx)
	q.IDs("a.id = any(?)", f.IDs)
	q.Narrow("a.type = any(?)", f.Type)
	q.Narrow("c.classification = any(?)", f.Classification)
	q.IDs("a.category_id = any(?)", f.CategoryIDs)
	q.Narrow("a.status = ?", f.Status)

	// An account may have several assignments, or none.
	const played = "exists (select from account_assignment s where s.team_id = @team and s.account_id = a.id"
	q.Narrow(played+" and s.assignment = any(?))", f.Assignment)
	q.Whether(played+")", f.IsAssigned)
	q.Narrow("a.code = any(?)", f.Codes)
	q.Narrow("a.unique_ref = any(?)", f.UniqueRefs)
	q.Narrow("a.banking_category = ?", f.BankingCategory)
	q.Narrow("a.banking_currency = lower(?::text)", f.Currency)
	q.Narrow("a.banking_last4 = ?", f.Last4)
	q.Whether("exists (select from ledger_entry e where e.team_id = @team and e.account_id = a.id)", f.HasEntries)
	q.Search(f.Search, "a.name", "a.code", "a.unique_ref")

	return q
}

// list returns a page of accounts.
func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Account], error) {
	q := listQuery(tx, &in.Filter)

	// The ending balances of bank accounts are those of today.
	q.Args["today"] = tx.Today()

	return page.List[Account](ctx, tx, q, in.Params, in.Sort)
}
