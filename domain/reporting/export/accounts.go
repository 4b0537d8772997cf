package export

import (
	"context"

	"stayledger/domain/books/account"
	"stayledger/domain/record/export"
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
func (accountColumn) Enum() []string { return export.ColumnNames(accountColumns) }

// accountColumns are the columns of the CSV, which has a row per account. From bankingCategory on, the columns are
// filled for bank accounts only.
var accountColumns = []export.SQLColumn{
	export.FromSQL("id", csv.ID, "a.id"),
	export.FromSQL("uniqueRef", csv.ID, "a.unique_ref"),
	export.FromSQL("code", csv.ID, "a.code"),
	export.FromSQL("name", csv.Text, "a.name"),
	export.FromSQL("type", csv.Text, "a.type"),
	export.FromSQL("classification", csv.Text, "c.classification"),
	export.FromSQL("categoryId", csv.ID, "c.id"),
	export.FromSQL("category", csv.Text, "c.name"),
	export.FromSQL("status", csv.Text, "a.status"),
	export.FromSQL("assignments", csv.Text, `(select string_agg(s.assignment, '; ' order by s.assignment) from account_assignment s
		where s.team_id = a.team_id and s.account_id = a.id)`),
	export.FromSQL("offsetAccountCode", csv.ID, "o.code"),
	export.FromSQL("offsetAccount", csv.Text, "o.name"),
	export.FromSQL("createdAt", csv.Instant, "a.created_at"),
	export.FromSQL("updatedAt", csv.Instant, "a.updated_at"),
	export.FromSQL("bankingCategory", csv.Text, "a.banking_category"),
	export.FromSQL("bankingType", csv.Text, "a.banking_type"),
	export.FromSQL("last4", csv.ID, "a.banking_last4"),
	export.FromSQL("openingDate", csv.Date, "a.banking_opening_at"),
	export.FromSQL("opening", csv.Amount, "a.banking_opening"),
	export.FromSQL("currency", csv.Currency, "a.banking_currency"),
}

// accountsCSV declares EXP-P01, the export of the chart of accounts.
func accountsCSV() export.Declaration[accountSelection] {
	return export.Declaration[accountSelection]{
		Path: "/accounts/csv", ID: "AccountsCSV", Tag: "Accounts", Summary: "Export the chart of accounts as CSV",
		Doc: "One row per account with its assignments, and the fields that only bank accounts have: opening is the " +
			"balance at the bank at the start of openingDate.",
		Format: export.CSV, Scopes: []string{"accounts:export"}, Name: "accounts",
		Count: func(ctx context.Context, tx *db.Tx, s *accountSelection) (export.Size, error) {
			return export.CountRows(ctx, tx, account.ListQuery(tx, &s.Filter))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *accountSelection, out *export.Sink) error {
			// The export takes the query of the list with its own columns, so that both select the same accounts.
			return export.RowList{
				Columns: export.SelectColumns(accountColumns, s.Columns),
				Query:   account.ListQuery(tx, &s.Filter),
				Sort:    string(s.Sort),
			}.Write(ctx, tx, out)
		},
	}
}
