package export

import (
	"context"

	"stayledger/domain/books/bank"
	"stayledger/platform/csv"
	"stayledger/platform/db"
)

// bankSelection is the selector of the CSV: the filters of GET /bank-records, and the columns.
type bankSelection struct {
	bank.Filter
	Sort    bank.Sort    `query:"sort" json:"sort,omitempty" doc:"Default -date."`
	Columns []bankColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// bankColumn is a column of the CSV.
type bankColumn string

// Enum returns the names of the columns in their own order.
func (bankColumn) Enum() []string { return columnNames(bankColumns) }

// bankColumns are the columns of the CSV, which has a row per bank record. The columns reconciled and open of a
// movement add up to amount. A stated balance leaves all three empty, so that each of them can be added up over the
// whole file.
var bankColumns = []sqlColumn{
	{csv.Column{Name: "id", Kind: csv.ID}, "r.id"},
	{csv.Column{Name: "uniqueRef", Kind: csv.ID}, "r.unique_ref"},
	{csv.Column{Name: "date", Kind: csv.Date}, "r.date"},
	{csv.Column{Name: "status", Kind: csv.Text}, "r.status"},
	{csv.Column{Name: "type", Kind: csv.Text}, "r.type"},
	{csv.Column{Name: "source", Kind: csv.Text}, "r.source"},
	{csv.Column{Name: "accountId", Kind: csv.ID}, "r.account_id"},
	{csv.Column{Name: "accountCode", Kind: csv.ID}, "a.code"},
	{csv.Column{Name: "account", Kind: csv.Text}, "a.name"},
	{csv.Column{Name: "description", Kind: csv.Text}, "r.description"},
	{csv.Column{Name: "amount", Kind: csv.Amount}, moving + "r.amount end"},
	{csv.Column{Name: "reconciled", Kind: csv.Amount}, moving + "r.made end"},
	{csv.Column{Name: "open", Kind: csv.Amount}, moving + "r.amount - r.made end"},
	{csv.Column{Name: "balance", Kind: csv.Amount}, "r.balance"},
	{
		csv.Column{Name: "balanceCorrection", Kind: csv.Amount},
		"case when r.type = 'balance' then " + bank.Correction + " end",
	},
	{csv.Column{Name: "currency", Kind: csv.Currency}, bank.Currency},
	{csv.Column{Name: "reconcileStatus", Kind: csv.Text}, "state.status"},
	{csv.Column{Name: "transactions", Kind: csv.Text}, bank.ShortRefs},
	{csv.Column{Name: "matchedByBankRule", Kind: csv.ID}, "r.matched_by_bank_rule"},
	{csv.Column{Name: "connectionId", Kind: csv.ID}, "r.connection_id"},
	{csv.Column{Name: "bankAccountId", Kind: csv.ID}, "r.bank_account_id"},
	{csv.Column{Name: "createdAt", Kind: csv.Instant}, "r.created_at"},
	{csv.Column{Name: "updatedAt", Kind: csv.Instant}, "r.updated_at"},
}

// moving begins an SQL expression that is null unless the record is a movement. It lacks the value and "end".
const moving = "case when r.type = 'transaction' then "

// bankRecordsCSV declares EXP-P02, the export of bank records.
func bankRecordsCSV() Declaration[bankSelection] {
	return Declaration[bankSelection]{
		Path: "/bank-records/csv", ID: "BankRecordsCSV", Tag: "Bank records", Summary: "Export bank records as CSV",
		Doc: "One row per record. reconciled and open add up to amount; transactions are the short references of " +
			"those that the record is reconciled with. A stated balance has balance and balanceCorrection instead.",
		Format: CSV, Scopes: []string{"bank:export"}, Name: "bank-records",
		Count: func(ctx context.Context, tx *db.Tx, s *bankSelection) (Size, error) {
			return countRows(ctx, tx, bank.ListQuery(tx, &s.Filter))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *bankSelection, out *Sink) error {
			// The export takes the query of the list with its own columns, so that both select the same records.
			return rowList{
				columns: selectColumns(bankColumns, s.Columns),
				query:   bank.ListQuery(tx, &s.Filter),
				sort:    string(s.Sort),
			}.write(ctx, tx, out)
		},
	}
}
