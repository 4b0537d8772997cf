package bank

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
	_ = api.PublishAs[exportSelection]("ExportBankSelection")
	_ = api.PublishAs[exportColumn]("ExportBankColumn")
)

// exportSelection is the selector of the CSV: the filters of GET /bank-records, and the columns.
type exportSelection struct {
	Filter
	Sort    Sort           `query:"sort" json:"sort,omitempty" doc:"Default -date."`
	Columns []exportColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all."`
}

// exportColumn is a column of the CSV.
type exportColumn string

// Enum returns the names of the columns in their own order.
func (exportColumn) Enum() []string { return export.ColumnNames(exportColumns) }

// exportColumns are the columns of the CSV, which has a row per bank record. The columns reconciled and open of a
// movement add up to amount. A stated balance leaves all three empty, so that each of them can be added up over the
// whole file.
var exportColumns = slices.Concat(
	export.FromTable(recordTable, "r", "id", "uniqueRef", "date", "status", "type", "source", "accountId"),
	[]export.SQLColumn{
		export.FromSQL("accountCode", csv.ID, "a.code"),
		export.FromSQL("account", csv.Text, "a.name"),
		export.FromSQL("description", csv.Text, "r.description"),
		export.FromSQL("amount", csv.Amount, moving+"r.amount end"),
		export.FromSQL("reconciled", csv.Amount, moving+"r.made end"),
		export.FromSQL("open", csv.Amount, moving+"r.amount - r.made end"),
		export.FromSQL("balance", csv.Amount, "r.balance"),
		export.FromSQL("balanceCorrection", csv.Amount, "case when r.type = 'balance' then "+Correction+" end"),
		export.FromSQL("currency", csv.Currency, Currency),
		export.FromSQL("reconcileStatus", csv.Text, "state.status"),
		export.FromSQL("transactions", csv.Text, ShortRefs),
		export.FromSQL("matchedByBankRule", csv.ID, "r.matched_by_bank_rule"),
	},
	export.FromTable(recordTable, "r", "connectionId", "bankAccountId", "createdAt", "updatedAt"),
)

// moving begins an SQL expression that is null unless the record is a movement. It lacks the value and "end".
const moving = "case when r.type = 'transaction' then "

// bankRecordsCSV declares EXP-P02, the export of bank records.
func bankRecordsCSV() export.Declaration[exportSelection] {
	return export.Declaration[exportSelection]{
		Path: "/bank-records/csv", ID: "BankRecordsCSV", Tag: "Bank records", Summary: "Export bank records as CSV",
		Doc: "One row per record. reconciled and open add up to amount; transactions are the short references of " +
			"those that the record is reconciled with. A stated balance has balance and balanceCorrection instead.",
		Format: export.CSV, Scopes: []string{"bank:export"}, Name: "bank-records",
		Count: func(ctx context.Context, tx *db.Tx, s *exportSelection) (export.Size, error) {
			return export.CountRows(ctx, tx, listQuery(tx, &s.Filter))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *exportSelection, out *export.Sink) error {
			// The export takes the query of the list with its own columns, so that both select the same records.
			return export.RowList{
				Columns: export.SelectColumns(exportColumns, s.Columns),
				Query:   listQuery(tx, &s.Filter),
				Sort:    string(s.Sort),
			}.Write(ctx, tx, out)
		},
	}
}
