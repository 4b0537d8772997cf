package export

import (
	"context"
	"fmt"
	"strings"

	"stayledger/domain/transaction"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/render"
)

// transactionSelection are the filters of GET /transactions, and the columns.
type transactionSelection struct {
	transaction.Filter
	Sort    string              `query:"sort" json:"sort,omitempty" enum:"date,-date,amount,-amount,createdAt,-createdAt,description,-description" doc:"Default -date."`
	Columns []transactionColumn `query:"columns" json:"columns,omitempty" doc:"Columns in this order; all when absent."`
}

// Resolve checks the filters and that no column comes twice.
func (s *transactionSelection) Resolve() []apierr.Issue {
	return append(s.Filter.Resolve(), repeated(s.Columns)...)
}

// transactionColumn is a column of the CSV.
type transactionColumn string

// Enum lists the columns in their own order.
func (transactionColumn) Enum() []string {
	names := make([]string, len(transactionCells))
	for i := range transactionCells {
		names[i] = transactionCells[i].Name
	}
	return names
}

// lineOf is what one row of the CSV shows: a transaction and one of its lines, counted from 1. The line is empty when it has none.
type lineOf struct {
	t    *transaction.Transaction
	n    int
	line *transaction.Line
}

type transactionCell struct {
	render.Column
	value func(r lineOf) any
}

func (c transactionCell) name() string { return c.Name }

// transactionCells are the columns. One row is one line: what a bookkeeper posts. Its parts are amount, taxAmount
// and markupAmount, and total is what the line comes to. The transactionTotal is what moved through the account; it stands on the first
// row of its transaction only, so that every column can be added up.
var transactionCells = []transactionCell{
	{render.Column{Name: "id", Kind: render.ID}, func(r lineOf) any { return r.t.ID }},
	{render.Column{Name: "shortRef", Kind: render.ID}, func(r lineOf) any { return r.t.ShortRef }},
	{render.Column{Name: "uniqueRef", Kind: render.ID}, func(r lineOf) any { return r.t.UniqueRef }},
	{render.Column{Name: "type", Kind: render.Text}, func(r lineOf) any { return r.t.Type }},
	{render.Column{Name: "status", Kind: render.Text}, func(r lineOf) any { return r.t.Status }},
	{render.Column{Name: "date", Kind: render.Date}, func(r lineOf) any { return r.t.Date }},
	{render.Column{Name: "paymentDate", Kind: render.Date}, func(r lineOf) any {
		if r.t.Payment == nil {
			return nil
		}
		return r.t.Payment.Date
	}},
	{render.Column{Name: "description", Kind: render.Text}, func(r lineOf) any { return r.t.Description }},
	{render.Column{Name: "isOpeningBalance", Kind: render.Bool}, func(r lineOf) any { return r.t.IsOpeningBalance }},
	{render.Column{Name: "accountCode", Kind: render.ID}, func(r lineOf) any { return r.t.Account.Code }},
	{render.Column{Name: "account", Kind: render.Text}, func(r lineOf) any { return r.t.Account.Name }},
	{render.Column{Name: "contact", Kind: render.Text}, func(r lineOf) any { return contactName(r.t.Contact) }},
	{render.Column{Name: "line", Kind: render.Integer}, func(r lineOf) any { return r.n }},
	{render.Column{Name: "lineUniqueRef", Kind: render.ID}, func(r lineOf) any { return r.line.UniqueRef }},
	{render.Column{Name: "lineDescription", Kind: render.Text}, func(r lineOf) any { return r.line.Description }},
	{render.Column{Name: "lineAccountCode", Kind: render.ID}, func(r lineOf) any { return r.line.Account.Code }},
	{render.Column{Name: "lineAccount", Kind: render.Text}, func(r lineOf) any { return r.line.Account.Name }},
	{render.Column{Name: "lineContact", Kind: render.Text}, func(r lineOf) any { return contactName(r.line.Contact) }},
	{render.Column{Name: "listing", Kind: render.Text}, func(r lineOf) any {
		if r.line.Listing == nil {
			return nil
		}
		return r.line.Listing.Name
	}},
	{render.Column{Name: "reservation", Kind: render.ID}, func(r lineOf) any {
		switch v := r.line.Reservation; {
		case v == nil:
			return nil
		case v.ConfirmationCode != nil:
			return v.ConfirmationCode
		default:
			return v.ShortRef
		}
	}},
	{render.Column{Name: "party", Kind: render.Text}, func(r lineOf) any { return r.line.Party }},
	{render.Column{Name: "amount", Kind: render.Amount}, func(r lineOf) any { return r.line.Amount }},
	{render.Column{Name: "taxAmount", Kind: render.Amount}, func(r lineOf) any { return r.line.Taxes() }},
	{render.Column{Name: "markupAmount", Kind: render.Amount}, func(r lineOf) any {
		if r.line.Markup == nil {
			return nil
		}
		return r.line.Markup.Amount
	}},
	{render.Column{Name: "total", Kind: render.Amount}, func(r lineOf) any { return r.line.Total }},
	{render.Column{Name: "transactionTotal", Kind: render.Amount}, func(r lineOf) any {
		if r.n > 1 {
			return nil
		}
		return r.t.Total
	}},
	{render.Column{Name: "currency", Kind: render.Currency}, func(r lineOf) any { return r.t.Currency }},
}

func contactName(c *transaction.ContactRef) any {
	if c == nil {
		return nil
	}
	return c.Name
}

// transactionsCSV is EXP-P07.
func transactionsCSV() Declaration[transactionSelection] {
	return Declaration[transactionSelection]{
		Path: "/transactions/csv", ID: "TransactionsCSV", Tag: "Transactions", Summary: "Export transactions as CSV",
		Doc: "One row per transaction line. The transactionTotal stands on the first line of its transaction only, so that every column can be " +
			"added up.",
		Format: CSV, Scopes: []string{"transactions:export"}, Name: "transactions",
		Count:  countTransactionLines,
		Render: renderTransactions,
	}
}

func countTransactionLines(ctx context.Context, tx *db.Tx, s *transactionSelection) (Size, error) {
	q := transaction.ListQuery(s.Filter)
	q.Args["team"] = tx.Team
	rows, err := db.Get[int64](ctx, tx, "select count(*) from "+q.From+`
		left join transaction_line every_line on every_line.team_id = t.team_id and every_line.transaction_id = t.id
		where `+strings.Join(q.Where, " and "), q.Args)
	if err != nil {
		return Size{}, fmt.Errorf("count transaction lines: %w", err)
	}
	return Size{Rows: rows}, nil
}

func renderTransactions(ctx context.Context, tx *db.Tx, s *transactionSelection, out *Sink) error {
	cells := chosen(transactionCells, s.Columns)
	columns := make([]render.Column, len(cells))
	for i := range cells {
		columns[i] = cells[i].Column
	}
	csv, values := render.NewCSV(out, columns), make([]any, len(cells))
	s.IncludeLines = true
	q := transaction.ListQuery(s.Filter)
	q.Args["team"] = tx.Team
	err := db.Each(ctx, tx, db.Stmt{SQL: q.SQL(s.Sort), Args: q.Args}, func(t transaction.Transaction) error {
		if len(t.Lines) == 0 {
			t.Lines = make([]transaction.Line, 1)
		}
		for i := range t.Lines {
			for n := range cells {
				values[n] = cells[n].value(lineOf{&t, i + 1, &t.Lines[i]})
			}
			if err := csv.Row(values...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("render transactions: %w", err)
	}
	return csv.Flush()
}
