package account

import (
	"context"
	"slices"

	"stayledger/domain/record/export"
	"stayledger/platform/api"
	"stayledger/platform/csv"
	"stayledger/platform/db"
)

// Callers know these schemas by the names of package export.
var (
	_ = api.PublishAs[exportSelection]("ExportAccountSelection")
	_ = api.PublishAs[exportColumn]("ExportAccountColumn")
)

// exportSelection is the selector of the CSV: the filters of GET /accounts, and the columns.
type exportSelection struct {
	Filter
	Sort    Sort           `query:"sort" json:"sort,omitempty" doc:"Default code; category is the categories' order in the chart."`
	Columns []exportColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all."`
}

// exportColumn is a column of the CSV.
type exportColumn string

// Enum returns the names of the columns in their own order.
func (exportColumn) Enum() []string { return export.ColumnNames(exportColumns) }

// exportColumns are the columns of the CSV, which has a row per account. From bankingCategory on, the columns are
// filled for bank accounts only.
var exportColumns = slices.Concat(
	export.FromTable(accountTable, "a", "id", "uniqueRef", "code", "name", "type"),
	[]export.SQLColumn{
		export.FromSQL("classification", csv.Text, "c.classification"),
		export.FromSQL("categoryId", csv.ID, "c.id"),
		export.FromSQL("category", csv.Text, "c.name"),
		export.FromSQL("status", csv.Text, "a.status"),
		export.FromSQL("assignments", csv.Text, `(select string_agg(s.assignment, '; ' order by s.assignment) from account_assignment s
			where s.team_id = a.team_id and s.account_id = a.id)`),
		export.FromSQL("offsetAccountCode", csv.ID, "o.code"),
		export.FromSQL("offsetAccount", csv.Text, "o.name"),
	},
	export.FromTable(accountTable, "a", "createdAt", "updatedAt", "bankingCategory", "bankingType"),
	[]export.SQLColumn{
		export.FromSQL("last4", csv.ID, "a.banking_last4"),
		export.FromSQL("openingDate", csv.Date, "a.banking_opening_at"),
		export.FromSQL("opening", csv.Amount, "a.banking_opening"),
		export.FromSQL("currency", csv.Currency, "a.banking_currency"),
	},
)

// accountsCSV declares EXP-P01, the export of the chart of accounts.
func accountsCSV() export.Declaration[exportSelection] {
	return export.Declaration[exportSelection]{
		Path: "/accounts/csv", ID: "AccountsCSV", Tag: "Accounts", Summary: "Export the chart of accounts as CSV",
		Doc: "One row per account with its assignments, and the fields that only bank accounts have: opening is the " +
			"balance at the bank at the start of openingDate.",
		Format: export.CSV, Scopes: []string{"accounts:export"}, Name: "accounts",
		Count: func(ctx context.Context, tx *db.Tx, s *exportSelection) (export.Size, error) {
			return export.CountRows(ctx, tx, listQuery(tx, &s.Filter))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *exportSelection, out *export.Sink) error {
			// The export takes the query of the list with its own columns, so that both select the same accounts.
			return export.RowList{
				Columns: export.SelectColumns(exportColumns, s.Columns),
				Query:   listQuery(tx, &s.Filter),
				Sort:    string(s.Sort),
			}.Write(ctx, tx, out)
		},
	}
}
