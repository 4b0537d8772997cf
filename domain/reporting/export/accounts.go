package export

import (
	"context"

	"stayledger/domain/books/account"
	"stayledger/platform/csv"
	"stayledger/platform/db"
)

// accountSelection is the selector of the CSV: the filters of GET /accounts, and the columns.
type accountSelection struct {
	account.Filter
	Sort    account.Sort    `query:"sort" json:"sort,omitempty" doc:"Default code; category is the categories' order in the chart."`
	Columns []accountColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// accountColumn is a column of the CSV.
type accountColumn string

// Enum returns the names of the columns in their own order.
func (accountColumn) Enum() []string { return columnNames(accountColumns) }

// accountColumns are the columns of the CSV, which has a row per account. From bankingCategory on, the columns are
// filled for bank accounts only.
var accountColumns = []sqlColumn{
	{csv.Column{Name: "id", Kind: csv.ID}, "a.id"},
	{csv.Column{Name: "uniqueRef", Kind: csv.ID}, "a.unique_ref"},
	{csv.Column{Name: "code", Kind: csv.ID}, "a.code"},
	{csv.Column{Name: "name", Kind: csv.Text}, "a.name"},
	{csv.Column{Name: "type", Kind: csv.Text}, "a.type"},
	{csv.Column{Name: "classification", Kind: csv.Text}, "c.classification"},
	{csv.Column{Name: "categoryId", Kind: csv.ID}, "c.id"},
	{csv.Column{Name: "category", Kind: csv.Text}, "c.name"},
	{csv.Column{Name: "status", Kind: csv.Text}, "a.status"},
	{csv.Column{Name: "assignments", Kind: csv.Text}, `(select string_agg(s.assignment, '; ' order by s.assignment) from account_assignment s
		where s.team_id = a.team_id and s.account_id = a.id)`},
	{csv.Column{Name: "offsetAccountCode", Kind: csv.ID}, "o.code"},
	{csv.Column{Name: "offsetAccount", Kind: csv.Text}, "o.name"},
	{csv.Column{Name: "createdAt", Kind: csv.Instant}, "a.created_at"},
	{csv.Column{Name: "updatedAt", Kind: csv.Instant}, "a.updated_at"},
	{csv.Column{Name: "bankingCategory", Kind: csv.Text}, "a.banking_category"},
	{csv.Column{Name: "bankingType", Kind: csv.Text}, "a.banking_type"},
	{csv.Column{Name: "last4", Kind: csv.ID}, "a.banking_last4"},
	{csv.Column{Name: "openingDate", Kind: csv.Date}, "a.banking_opening_at"},
	{csv.Column{Name: "opening", Kind: csv.Amount}, "a.banking_opening"},
	{csv.Column{Name: "currency", Kind: csv.Currency}, "a.banking_currency"},
}

// accountsCSV declares EXP-P01, the export of the chart of accounts.
func accountsCSV() Declaration[accountSelection] {
	return Declaration[accountSelection]{
		Path: "/accounts/csv", ID: "AccountsCSV", Tag: "Accounts", Summary: "Export the chart of accounts as CSV",
		Doc: "One row per account with its assignments, and the fields that only bank accounts have: opening is the " +
			"balance at the bank at the start of openingDate.",
		Format: CSV, Scopes: []string{"accounts:export"}, Name: "accounts",
		Count: func(ctx context.Context, tx *db.Tx, s *accountSelection) (Size, error) {
			return countRows(ctx, tx, account.ListQuery(tx, &s.Filter))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *accountSelection, out *Sink) error {
			// The export takes the query of the list with its own columns, so that both select the same accounts.
			return rowList{
				columns: selectColumns(accountColumns, s.Columns),
				query:   account.ListQuery(tx, &s.Filter),
				sort:    string(s.Sort),
			}.write(ctx, tx, out)
		},
	}
}
