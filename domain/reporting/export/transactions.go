package export

import (
	"context"

	"stayledger/domain/activity/transaction"
	"stayledger/platform/db"
	"stayledger/platform/page"
	"stayledger/platform/render"
)

// transactionSelection are the filters of GET /transactions, and the columns.
type transactionSelection struct {
	transaction.Filter
	Sort    transaction.Sort    `query:"sort" json:"sort,omitempty" doc:"Default -date."`
	Columns []transactionColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// transactionColumn is a column of the CSV.
type transactionColumn string

// Enum lists the columns in their own order.
func (transactionColumn) Enum() []string { return namesOf(transactionColumns) }

// transactionColumns are the columns. One row is one line: what a bookkeeper posts. Its parts are amount, taxAmount and markupAmount, and
// total is what the line comes to. The transactionTotal is what moved through the account; it stands on the first row of its transaction
// only, so that every column can be added up.
var transactionColumns = []sqlColumn{
	{render.Column{Name: "id", Kind: render.ID}, "t.id"},
	{render.Column{Name: "shortRef", Kind: render.ID}, "t.short_ref"},
	{render.Column{Name: "uniqueRef", Kind: render.ID}, "t.unique_ref"},
	{render.Column{Name: "type", Kind: render.Text}, "t.type"},
	{render.Column{Name: "status", Kind: render.Text}, "t.status"},
	{render.Column{Name: "date", Kind: render.Date}, "t.date"},
	{render.Column{Name: "paymentDate", Kind: render.Date}, "t.payment_date"},
	{render.Column{Name: "description", Kind: render.Text}, "t.description"},
	{render.Column{Name: "isOpeningBalance", Kind: render.Bool}, "t.is_opening_balance"},
	{render.Column{Name: "accountCode", Kind: render.ID}, "a.code"},
	{render.Column{Name: "account", Kind: render.Text}, "a.name"},
	{render.Column{Name: "contact", Kind: render.Text}, "c.name"},
	{render.Column{Name: "line", Kind: render.Integer}, "line.position + 1"},
	{render.Column{Name: "lineUniqueRef", Kind: render.ID}, "line.unique_ref"},
	{render.Column{Name: "lineDescription", Kind: render.Text}, "line.description"},
	{render.Column{Name: "lineAccountCode", Kind: render.ID}, "posted.code"},
	{render.Column{Name: "lineAccount", Kind: render.Text}, "posted.name"},
	{render.Column{Name: "lineContact", Kind: render.Text}, "paid.name"},
	{render.Column{Name: "listing", Kind: render.Text}, "home.name"},
	{render.Column{Name: "reservation", Kind: render.ID}, "coalesce(stay.confirmation_code, stay.short_ref)"},
	{render.Column{Name: "party", Kind: render.Text}, "line.party"},
	{render.Column{Name: "amount", Kind: render.Amount}, "line.amount"},
	{render.Column{Name: "taxAmount", Kind: render.Amount}, "line.tax_amount + line.markup_tax_amount"},
	{render.Column{Name: "markupAmount", Kind: render.Amount}, "line.markup_amount"},
	{render.Column{Name: "total", Kind: render.Amount}, "line.total"},
	{render.Column{Name: "transactionTotal", Kind: render.Amount}, "case when line.position = 0 then t.total end"},
	{render.Column{Name: "currency", Kind: render.Currency}, "t.currency"},
}

// Every transaction has lines, numbered from 0 on.
const (
	transactionLines = ` join transaction_line line on line.team_id = t.team_id and line.transaction_id = t.id`
	// What the columns take from beside the transactions t and their lines.
	transactionTables = transactionLines + `
		left join account posted on posted.team_id = line.team_id and posted.id = line.account_id
		left join contact paid on paid.team_id = line.team_id and paid.id = line.contact_id
		left join listing home on home.team_id = line.team_id and home.id = line.listing_id
		left join reservation stay on stay.team_id = line.team_id and stay.id = line.reservation_id`
)

// transactionRows selects the lines of the selected transactions.
func transactionRows(s *transactionSelection, tables string) page.Query {
	q := transaction.ListQuery(s.Filter)
	q.From, q.Then = q.From+tables, "line.position"
	return q
}

// transactionsCSV is EXP-P07.
func transactionsCSV() Declaration[transactionSelection] {
	return Declaration[transactionSelection]{
		Path: "/transactions/csv", ID: "TransactionsCSV", Tag: "Transactions", Summary: "Export transactions as CSV",
		Doc: "One row per transaction line. The transactionTotal stands on the first line of its transaction only, so that every column can be " +
			"added up.",
		Format: CSV, Scopes: []string{"transactions:export"}, Name: "transactions",
		Count: func(ctx context.Context, tx *db.Tx, s *transactionSelection) (Size, error) {
			return countRows(ctx, tx, transactionRows(s, transactionLines))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *transactionSelection, out *Sink) error {
			return rowList{columns: chosen(transactionColumns, s.Columns), query: transactionRows(s, transactionTables), sort: string(s.Sort)}.write(ctx, tx, out)
		},
	}
}
