package report

import (
	"context"

	"stayledger/domain/books/account"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Matrix is a report in numbers alone, with no drill-downs and no sums: an amount per account and column of the
// view. It is small, while in the report itself every figure has a drill-down.
type Matrix struct {
	Currency money.Currency
	View     View
	Columns  []Column
	Rows     []MatrixRow
}

// MatrixRow is an account, or a computed row of the balance sheet, which has neither account nor category.
type MatrixRow struct {
	// Section is the part of the report that it adds up to: revenue or expense, or assets, liabilities or balances.
	Section  string
	Category *Column
	Account  *account.Ref
	Title    string
	// Values are in the order of the columns; they add up to the total.
	Values []money.Cents
	Total  money.Cents
}

// profitMatrix returns the accounts of the profit and loss that a valid filter selects, with the signs of the
// report.
func profitMatrix(ctx context.Context, tx *db.Tx, f ProfitFilter) (*Matrix, error) {
	b, err := f.load(ctx, tx)
	if err != nil {
		return nil, err
	}

	m, sums := b.matrix(), groupByAccount(b.cells)
	m.addAccounts(b, section{"revenue", -1, accountsIn(b.accounts, account.Revenue)}, sums)
	m.addAccounts(b, section{"expense", 1, accountsIn(b.accounts, account.Expense)}, sums)

	return m, nil
}

// sheetMatrix returns the accounts of the balance sheet that a valid filter selects, and the balances of owners and
// manager. The signs are those of the report: assets equal all others.
func sheetMatrix(ctx context.Context, tx *db.Tx, f SheetFilter) (*Matrix, error) {
	b, err := f.load(ctx, tx)
	if err != nil {
		return nil, err
	}

	// First the accounts of assets and liabilities.
	m, rows := b.matrix(), b.rows()
	m.addAccounts(b, section{string(RowAssets), 1, accountsIn(b.accounts, account.Asset)}, groupCells(rows[RowAssets]))
	liabilities := accountsIn(b.accounts, account.Liability)
	m.addAccounts(b, section{string(RowLiabilities), -1, liabilities}, groupCells(rows[RowLiabilities]))

	// Then the computed rows. The unassigned one is left out if it has no entries.
	for _, r := range []struct {
		row   SheetRow
		title string
	}{{RowOwners, ownersTitle}, {RowManager, managerTitle}, {RowUnassigned, unassignedTitle}} {
		if r.row == RowUnassigned && len(rows[r.row]) == 0 {
			continue
		}

		m.Rows = append(m.Rows, b.sum(MatrixRow{Section: "balances", Title: r.title}, -1, rows[r.row]))
	}

	return m, nil
}

// matrix returns an empty matrix with the columns of the report.
func (b *accountReport) matrix() *Matrix {
	return &Matrix{Currency: b.currency, View: b.view, Columns: b.columns.headings()}
}

// section is a part of a report: accounts, and the sign of their debits.
type section struct {
	name     string
	sign     money.Cents
	accounts []*chartAccount
}

// addAccounts adds a row for each account that has cells.
func (m *Matrix) addAccounts(b *accountReport, s section, cells map[id.ID][]*Cell) {
	for _, a := range s.accounts {
		if len(cells[a.ID]) == 0 {
			continue
		}

		ref := a.ref()
		m.Rows = append(m.Rows, b.sum(MatrixRow{
			Section: s.name, Category: &Column{a.CategoryID.String(), a.CategoryName}, Account: &ref, Title: a.Name,
		}, s.sign, cells[a.ID]))
	}
}

// sum returns the row with the cells in its columns.
func (b *accountReport) sum(row MatrixRow, sign money.Cents, cells []*Cell) MatrixRow {
	row.Values = make([]money.Cents, len(b.columns.list))
	for _, c := range cells {
		row.Total += sign * c.Net()
		if b.columns.key != nil {
			row.Values[b.columns.at[b.columns.key(c)]] += sign * c.Net()
		}
	}

	return row
}
