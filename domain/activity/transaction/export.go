package transaction

import (
	"context"
	"slices"

	"stayledger/domain/record/export"
	"stayledger/platform/api"
	"stayledger/platform/csv"
	"stayledger/platform/db"
	"stayledger/platform/page"
)

// Callers know these schemas by the names of package export.
var (
	_ = api.PublishAs[exportSelection]("ExportTransactionSelection")
	_ = api.PublishAs[exportColumn]("ExportTransactionColumn")
)

// exportSelection is the selector of the CSV: the filters of GET /transactions, and the columns.
type exportSelection struct {
	Filter
	Sort    Sort           `query:"sort" json:"sort,omitempty" doc:"Default -date."`
	Columns []exportColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all."`
}

// exportColumn is a column of the CSV.
type exportColumn string

// Enum returns the names of the columns in their own order.
func (exportColumn) Enum() []string { return export.ColumnNames(exportColumns) }

// exportColumns are the columns. One row is one line, as a bookkeeper posts it. Its parts are amount,
// taxAmount and markupAmount, and total is the total of the line. The transactionTotal is the amount that moved
// through the account. It is only on the first row of its transaction, so that every column can be added up.
var exportColumns = slices.Concat(
	export.FromTable(headTable, "t", "id", "shortRef", "uniqueRef", "type", "status", "date", "paymentDate",
		"description", "isOpeningBalance"),
	[]export.SQLColumn{
		export.FromSQL("accountCode", csv.ID, "a.code"),
		export.FromSQL("account", csv.Text, "a.name"),
		export.FromSQL("paymentAccountCode", csv.ID, "payer.code"),
		export.FromSQL("contact", csv.Text, "c.name"),
		export.FromSQL("line", csv.Integer, "line.position + 1"),
		export.FromSQL("lineUniqueRef", csv.ID, "line.unique_ref"),
		export.FromSQL("lineDescription", csv.Text, "line.description"),
		export.FromSQL("lineAccountCode", csv.ID, "posted.code"),
		export.FromSQL("lineAccount", csv.Text, "posted.name"),
		export.FromSQL("lineContact", csv.Text, "paid.name"),
		export.FromSQL("listing", csv.Text, "home.name"),
		export.FromSQL("reservation", csv.ID, "coalesce(stay.confirmation_code, stay.short_ref)"),
		export.FromSQL("party", csv.Text, "line.party"),
		export.FromSQL("amount", csv.Amount, "line.amount"),
		export.FromSQL("taxAmount", csv.Amount, "line.tax_amount + line.markup_tax_amount"),
		export.FromSQL("markupAmount", csv.Amount, "line.markup_amount"),
		export.FromSQL("total", csv.Amount, "line.total"),
		export.FromSQL("transactionTotal", csv.Amount, "case when line.position = 0 then t.total end"),
		export.FromSQL("currency", csv.Currency, "t.currency"),
	},
)

// Every transaction has lines, numbered from 0 on.
const (
	transactionLines = ` join transaction_line line on line.team_id = t.team_id and line.transaction_id = t.id`
	// The joins that columns need in addition to the transactions t and their lines.
	exportTables = transactionLines + `
		left join account payer on payer.team_id = t.team_id and payer.id = t.payment_account_id
		left join account posted on posted.team_id = line.team_id and posted.id = line.account_id
		left join contact paid on paid.team_id = line.team_id and paid.id = line.contact_id
		left join listing home on home.team_id = line.team_id and home.id = line.listing_id
		left join reservation stay on stay.team_id = line.team_id and stay.id = line.reservation_id`
)

// exportQuery returns a query for the lines of the selected transactions, joined with the given tables.
func exportQuery(s *exportSelection, tables string) page.Query {
	q := listQuery(s.Filter)

	// The lines of a transaction follow each other in their order, whatever the list is sorted by.
	q.From, q.Then = q.From+tables, "line.position"

	return q
}

// transactionsCSV declares EXP-P07, the export of transactions by line.
func transactionsCSV() export.Declaration[exportSelection] {
	return export.Declaration[exportSelection]{
		Path: "/transactions/csv", ID: "TransactionsCSV", Tag: "Transactions", Summary: "Export transactions as CSV",
		Doc: "One row per transaction line. The transactionTotal is on the first line of its transaction only, " +
			"so that every column can be added up.",
		Format: export.CSV, Scopes: []string{"transactions:export"}, Name: "transactions",
		Count: func(ctx context.Context, tx *db.Tx, s *exportSelection) (export.Size, error) {
			// Counting lines needs only the lines, none of the names.
			return export.CountRows(ctx, tx, exportQuery(s, transactionLines))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *exportSelection, out *export.Sink) error {
			return export.RowList{
				Columns: export.SelectColumns(exportColumns, s.Columns),
				Query:   exportQuery(s, exportTables),
				Sort:    string(s.Sort),
			}.Write(ctx, tx, out)
		},
	}
}
