package export

import (
	"context"

	"stayledger/domain/books/account"
	"stayledger/platform/db"
	"stayledger/platform/render"
)

// accountSelection are the filters of GET /accounts, and the columns.
type accountSelection struct {
	account.Filter
	Sort    account.Sort    `query:"sort" json:"sort,omitempty" doc:"Default code; category is the categories' order in the chart."`
	Columns []accountColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// accountColumn is a column of the CSV.
type accountColumn string

// Enum lists the columns in their own order.
func (accountColumn) Enum() []string { return namesOf(accountColumns) }

// accountColumns are a row per account. From bankingCategory on they are those of a bank account.
var accountColumns = []sqlColumn{
	{render.Column{Name: "id", Kind: render.ID}, "a.id"},
	{render.Column{Name: "uniqueRef", Kind: render.ID}, "a.unique_ref"},
	{render.Column{Name: "code", Kind: render.ID}, "a.code"},
	{render.Column{Name: "name", Kind: render.Text}, "a.name"},
	{render.Column{Name: "type", Kind: render.Text}, "a.type"},
	{render.Column{Name: "classification", Kind: render.Text}, "c.classification"},
	{render.Column{Name: "categoryId", Kind: render.ID}, "c.id"},
	{render.Column{Name: "category", Kind: render.Text}, "c.name"},
	{render.Column{Name: "status", Kind: render.Text}, "a.status"},
	{render.Column{Name: "assignments", Kind: render.Text}, `(select string_agg(s.assignment, '; ' order by s.assignment) from account_assignment s
		where s.team_id = a.team_id and s.account_id = a.id)`},
	{render.Column{Name: "offsetAccountCode", Kind: render.ID}, "o.code"},
	{render.Column{Name: "offsetAccount", Kind: render.Text}, "o.name"},
	{render.Column{Name: "createdAt", Kind: render.Instant}, "a.created_at"},
	{render.Column{Name: "updatedAt", Kind: render.Instant}, "a.updated_at"},
	{render.Column{Name: "bankingCategory", Kind: render.Text}, "a.banking_category"},
	{render.Column{Name: "bankingType", Kind: render.Text}, "a.banking_type"},
	{render.Column{Name: "last4", Kind: render.ID}, "a.banking_last4"},
	{render.Column{Name: "openingDate", Kind: render.Date}, "a.banking_opening_at"},
	{render.Column{Name: "opening", Kind: render.Amount}, "a.banking_opening"},
	{render.Column{Name: "currency", Kind: render.Currency}, "a.banking_currency"},
}

// accountsCSV is EXP-P01.
func accountsCSV() Declaration[accountSelection] {
	return Declaration[accountSelection]{
		Path: "/accounts/csv", ID: "AccountsCSV", Tag: "Accounts", Summary: "Export the chart of accounts as CSV",
		Doc: "One row per account with the parts that it plays, and what only bank accounts have: opening is what the bank held at the start of " +
			"openingDate.",
		Format: CSV, Scopes: []string{"accounts:export"}, Name: "accounts",
		Count: func(ctx context.Context, tx *db.Tx, s *accountSelection) (Size, error) {
			return countRows(ctx, tx, account.ListQuery(tx, &s.Filter))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *accountSelection, out *Sink) error {
			return rowList{columns: chosen(accountColumns, s.Columns), query: account.ListQuery(tx, &s.Filter), sort: string(s.Sort)}.write(ctx, tx, out)
		},
	}
}
