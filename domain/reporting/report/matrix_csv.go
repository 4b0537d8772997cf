package report

import (
	"context"
	"slices"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/export"
	"stayledger/platform/apierr"
	"stayledger/platform/csv"
	"stayledger/platform/db"
)

// profitSelection is the selector of the CSV: the filters of GET /reports/profit-and-loss, and the columns.
type profitSelection struct {
	ProfitFilter
	Columns []matrixColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; values means the columns of the view. All when absent."`
}

// sheetSelection is the selector of the CSV: the filters of GET /reports/balance-sheet, and the columns.
type sheetSelection struct {
	SheetFilter
	Columns []matrixColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; values means the columns of the view. All when absent."`
}

// matrixColumn is a column of a report by account.
type matrixColumn string

// Enum returns the names of the columns in their own order.
func (matrixColumn) Enum() []string { return export.ColumnNames(matrixCells(nil)) }

// valuesColumn is the name that a selector uses for all columns of the view.
const valuesColumn = "values"

type matrixCell = export.GoColumn[MatrixRow]

// matrixCells returns the columns that do not depend on the view, and valuesColumn as their placeholder. A nil
// matrix is enough to list the names.
func matrixCells(m *Matrix) []matrixCell {
	// Some rows are no accounts, such as the balances of owners and manager: cells of an account or a category are
	// then empty.
	ofAccount := func(value func(a *account.Ref) any) func(*MatrixRow) any {
		return func(r *MatrixRow) any {
			if r.Account == nil {
				return nil
			}

			return value(r.Account)
		}
	}
	ofCategory := func(value func(c *Column) any) func(*MatrixRow) any {
		return func(r *MatrixRow) any {
			if r.Category == nil {
				return nil
			}

			return value(r.Category)
		}
	}

	return []matrixCell{
		export.FromRow("section", csv.Text, func(r *MatrixRow) any { return r.Section }),
		export.FromRow("categoryId", csv.ID, ofCategory(func(c *Column) any { return c.ID })),
		export.FromRow("category", csv.Text, ofCategory(func(c *Column) any { return c.Title })),
		export.FromRow("accountId", csv.ID, ofAccount(func(a *account.Ref) any { return a.ID })),
		export.FromRow("accountCode", csv.ID, ofAccount(func(a *account.Ref) any { return a.Code })),
		export.FromRow("account", csv.Text, func(r *MatrixRow) any { return r.Title }),
		export.FromRow[MatrixRow](valuesColumn, csv.Amount, nil),
		export.FromRow("total", csv.Amount, func(r *MatrixRow) any { return r.Total }),
		export.FromRow("currency", csv.Currency, func(*MatrixRow) any { return string(m.Currency) }),
	}
}

// expandValues replaces valuesColumn by the columns of the view. If a title is used twice, such as by listings of the
// same name, its id is added.
func expandValues(cells []matrixCell, m *Matrix) []matrixCell {
	at := slices.IndexFunc(cells, func(c matrixCell) bool { return c.Name == valuesColumn })
	if at < 0 {
		return cells
	}

	// A title must differ from the fixed columns as well, whether they are selected or not.
	taken := map[string]int{}
	for _, name := range matrixColumn("").Enum() {
		taken[name]++
	}

	for _, c := range m.Columns {
		taken[c.Title]++
	}

	// Then one column for each of the view, in the order of the report.
	values := make([]matrixCell, len(m.Columns))
	for i, c := range m.Columns {
		title := c.Title
		if taken[title] > 1 || title == "" {
			title = c.Title + " (" + c.ID + ")"
		}

		values[i] = export.FromRow(title, csv.Amount, func(r *MatrixRow) any { return r.Values[i] })
	}

	return slices.Concat(cells[:at], values, cells[at+1:])
}

// writeMatrix writes a report by account as a CSV.
func writeMatrix(out *export.Sink, m *Matrix, columns []matrixColumn) error {
	return export.WriteTable(out, expandValues(export.SelectColumns(matrixCells(m), columns), m), export.YieldRows(m.Rows))
}

// profitCSV declares EXP-P14, the export of a profit and loss.
func profitCSV() export.Declaration[profitSelection] {
	return export.Declaration[profitSelection]{
		Path:    "/reports/profit-and-loss/csv",
		ID:      "ProfitAndLossCSV",
		Tag:     "Reports",
		Summary: "Export a profit and loss as CSV",
		Doc: "One row per account with a column for each of the view, named by its title. Revenue and costs are " +
			"positive, as in the report: the net income is the section revenue less the section expense.",
		Format: export.CSV,
		Scopes: []string{"reports:export"},
		Name:   "profit-and-loss",
		Check:  checkBooks(func(s *profitSelection) (string, ledger.Ledger) { return s.Currency, ledger.Ledger(s.Ledger) }),
		Errors: apierr.List{apierr.OperationsDisabled},
		Count: func(ctx context.Context, tx *db.Tx, _ *profitSelection) (export.Size, error) {
			return CountAccounts(ctx, tx)
		},
		Render: func(ctx context.Context, tx *db.Tx, s *profitSelection, out *export.Sink) error {
			m, err := profitMatrix(ctx, tx, s.ProfitFilter)
			if err != nil {
				return err
			}

			return writeMatrix(out, m, s.Columns)
		},
	}
}

// balanceSheetCSV declares EXP-P15, the export of a balance sheet.
func balanceSheetCSV() export.Declaration[sheetSelection] {
	return export.Declaration[sheetSelection]{
		Path:    "/reports/balance-sheet/csv",
		ID:      "BalanceSheetCSV",
		Tag:     "Reports",
		Summary: "Export a balance sheet as CSV",
		Doc: "One row per account and one each for the balances of owners and manager, with a column for each of " +
			"the view, named by its title. Assets are debit positive, all else is credit positive: the section " +
			"assets equals liabilities and balances.",
		Format: export.CSV,
		Scopes: []string{"reports:export"},
		Name:   "balance-sheet",
		Check:  checkBooks(func(s *sheetSelection) (string, ledger.Ledger) { return s.Currency, ledger.Ledger(s.Ledger) }),
		Errors: apierr.List{apierr.OperationsDisabled},
		Count: func(ctx context.Context, tx *db.Tx, _ *sheetSelection) (export.Size, error) {
			return CountAccounts(ctx, tx)
		},
		Render: func(ctx context.Context, tx *db.Tx, s *sheetSelection, out *export.Sink) error {
			m, err := sheetMatrix(ctx, tx, s.SheetFilter)
			if err != nil {
				return err
			}

			return writeMatrix(out, m, s.Columns)
		},
	}
}
