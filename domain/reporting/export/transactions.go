package export

import (
	"context"

	"stayledger/domain/activity/transaction"
	"stayledger/platform/csv"
	"stayledger/platform/db"
	"stayledger/platform/page"
)

// transactionSelection is the selector of the CSV: the filters of GET /transactions, and the columns.
type transactionSelection struct {
	transaction.Filter
	Sort    transaction.Sort    `query:"sort" json:"sort,omitempty" doc:"Default -date."`
	Columns []transactionColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// transactionColumn is a column of the CSV.
type transactionColumn string

// Enum returns the names of the columns in their own order.
func (transactionColumn) Enum() []string { return columnNames(transactionColumns) }

// transactionColumns are the columns. One row is one line, as a bookkeeper posts it. Its parts are amount,
// taxAmount and markupAmount, and total is the total of the line. The transactionTotal is the amount that moved
// through the account. It is only on the first row of its transaction, so that every column can be added up.
var transactionColumns = []sqlColumn{
	{csv.Column{Name: "id", Kind: csv.ID}, "t.id"},
	{csv.Column{Name: "shortRef", Kind: csv.ID}, "t.short_ref"},
	{csv.Column{Name: "uniqueRef", Kind: csv.ID}, "t.unique_ref"},
	{csv.Column{Name: "type", Kind: csv.Text}, "t.type"},
	{csv.Column{Name: "status", Kind: csv.Text}, "t.status"},
	{csv.Column{Name: "date", Kind: csv.Date}, "t.date"},
	{csv.Column{Name: "paymentDate", Kind: csv.Date}, "t.payment_date"},
	{csv.Column{Name: "description", Kind: csv.Text}, "t.description"},
	{csv.Column{Name: "isOpeningBalance", Kind: csv.Bool}, "t.is_opening_balance"},
	{csv.Column{Name: "accountCode", Kind: csv.ID}, "a.code"},
	{csv.Column{Name: "account", Kind: csv.Text}, "a.name"},
	{csv.Column{Name: "contact", Kind: csv.Text}, "c.name"},
	{csv.Column{Name: "line", Kind: csv.Integer}, "line.position + 1"},
	{csv.Column{Name: "lineUniqueRef", Kind: csv.ID}, "line.unique_ref"},
	{csv.Column{Name: "lineDescription", Kind: csv.Text}, "line.description"},
	{csv.Column{Name: "lineAccountCode", Kind: csv.ID}, "posted.code"},
	{csv.Column{Name: "lineAccount", Kind: csv.Text}, "posted.name"},
	{csv.Column{Name: "lineContact", Kind: csv.Text}, "paid.name"},
	{csv.Column{Name: "listing", Kind: csv.Text}, "home.name"},
	{csv.Column{Name: "reservation", Kind: csv.ID}, "coalesce(stay.confirmation_code, stay.short_ref)"},
	{csv.Column{Name: "party", Kind: csv.Text}, "line.party"},
	{csv.Column{Name: "amount", Kind: csv.Amount}, "line.amount"},
	{csv.Column{Name: "taxAmount", Kind: csv.Amount}, "line.tax_amount + line.markup_tax_amount"},
	{csv.Column{Name: "markupAmount", Kind: csv.Amount}, "line.markup_amount"},
	{csv.Column{Name: "total", Kind: csv.Amount}, "line.total"},
	{csv.Column{Name: "transactionTotal", Kind: csv.Amount}, "case when line.position = 0 then t.total end"},
	{csv.Column{Name: "currency", Kind: csv.Currency}, "t.currency"},
}

// Every transaction has lines, numbered from 0 on.
const (
	transactionLines = ` join transaction_line line on line.team_id = t.team_id and line.transaction_id = t.id`
	// The joins that columns need in addition to the transactions t and their lines.
	transactionTables = transactionLines + `
		left join account posted on posted.team_id = line.team_id and posted.id = line.account_id
		left join contact paid on paid.team_id = line.team_id and paid.id = line.contact_id
		left join listing home on home.team_id = line.team_id and home.id = line.listing_id
		left join reservation stay on stay.team_id = line.team_id and stay.id = line.reservation_id`
)

// transactionRows returns a query for the lines of the selected transactions, joined with the given tables.
func transactionRows(s *transactionSelection, tables string) page.Query {
	q := transaction.ListQuery(s.Filter)

	// The lines of a transaction follow each other in their order, whatever the list is sorted by.
	q.From, q.Then = q.From+tables, "line.position"

	return q
}

// transactionsCSV declares EXP-P07, the export of transactions by line.
func transactionsCSV() Declaration[transactionSelection] {
	return Declaration[transactionSelection]{
		Path: "/transactions/csv", ID: "TransactionsCSV", Tag: "Transactions", Summary: "Export transactions as CSV",
		Doc: "One row per transaction line. The transactionTotal is on the first line of its transaction only, " +
			"so that every column can be added up.",
		Format: CSV, Scopes: []string{"transactions:export"}, Name: "transactions",
		Count: func(ctx context.Context, tx *db.Tx, s *transactionSelection) (Size, error) {
			// Counting lines needs only the lines, none of the names.
			return countRows(ctx, tx, transactionRows(s, transactionLines))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *transactionSelection, out *Sink) error {
			return rowList{
				columns: selectColumns(transactionColumns, s.Columns),
				query:   transactionRows(s, transactionTables),
				sort:    string(s.Sort),
			}.write(ctx, tx, out)
		},
	}
}
