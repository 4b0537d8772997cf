package export

import (
	"context"

	"stayledger/domain/books/bank"
	"stayledger/platform/db"
	"stayledger/platform/render"
)

// bankSelection are the filters of GET /bank-records, and the columns.
type bankSelection struct {
	bank.Filter
	Sort    bank.Sort    `query:"sort" json:"sort,omitempty" doc:"Default -date."`
	Columns []bankColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// bankColumn is a column of the CSV.
type bankColumn string

// Enum lists the columns in their own order.
func (bankColumn) Enum() []string { return namesOf(bankColumns) }

// bankColumns are a row per bank record. Of a movement, reconciled and open add up to amount; a stated balance has none of the three, so that
// they can be added up beside it.
var bankColumns = []sqlColumn{
	{render.Column{Name: "id", Kind: render.ID}, "r.id"},
	{render.Column{Name: "uniqueRef", Kind: render.ID}, "r.unique_ref"},
	{render.Column{Name: "date", Kind: render.Date}, "r.date"},
	{render.Column{Name: "status", Kind: render.Text}, "r.status"},
	{render.Column{Name: "type", Kind: render.Text}, "r.type"},
	{render.Column{Name: "source", Kind: render.Text}, "r.source"},
	{render.Column{Name: "accountId", Kind: render.ID}, "r.account_id"},
	{render.Column{Name: "accountCode", Kind: render.ID}, "a.code"},
	{render.Column{Name: "account", Kind: render.Text}, "a.name"},
	{render.Column{Name: "description", Kind: render.Text}, "r.description"},
	{render.Column{Name: "amount", Kind: render.Amount}, moving + "r.amount end"},
	{render.Column{Name: "reconciled", Kind: render.Amount}, moving + "made.cents end"},
	{render.Column{Name: "open", Kind: render.Amount}, moving + "r.amount - made.cents end"},
	{render.Column{Name: "balance", Kind: render.Amount}, "r.balance"},
	{render.Column{Name: "balanceCorrection", Kind: render.Amount}, "case when r.type = 'balance' then " + bank.Correction + " end"},
	{render.Column{Name: "currency", Kind: render.Currency}, bank.Currency},
	{render.Column{Name: "reconcileStatus", Kind: render.Text}, "state.status"},
	{render.Column{Name: "transactions", Kind: render.Text}, bank.ShortRefs},
	{render.Column{Name: "matchedByBankRule", Kind: render.ID}, "r.matched_by_bank_rule"},
	{render.Column{Name: "connectionId", Kind: render.ID}, "r.connection_id"},
	{render.Column{Name: "bankAccountId", Kind: render.ID}, "r.bank_account_id"},
	{render.Column{Name: "createdAt", Kind: render.Instant}, "r.created_at"},
	{render.Column{Name: "updatedAt", Kind: render.Instant}, "r.updated_at"},
}

const moving = "case when r.type = 'transaction' then "

// bankRecordsCSV is EXP-P02.
func bankRecordsCSV() Declaration[bankSelection] {
	return Declaration[bankSelection]{
		Path: "/bank-records/csv", ID: "BankRecordsCSV", Tag: "Bank records", Summary: "Export bank records as CSV",
		Doc: "One row per record. reconciled and open add up to amount; transactions are the short references of those that the record is reconciled " +
			"with. A stated balance has balance and balanceCorrection instead.",
		Format: CSV, Scopes: []string{"bank:export"}, Name: "bank-records",
		Count: func(ctx context.Context, tx *db.Tx, s *bankSelection) (Size, error) {
			return countRows(ctx, tx, bank.ListQuery(tx, &s.Filter))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *bankSelection, out *Sink) error {
			return rowList{columns: chosen(bankColumns, s.Columns), query: bank.ListQuery(tx, &s.Filter), sort: string(s.Sort)}.write(ctx, tx, out)
		},
	}
}
