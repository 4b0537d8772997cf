package trust

import (
	"context"

	"stayledger/domain/record/export"
	"stayledger/domain/reporting/report"
	"stayledger/platform/csv"
	"stayledger/platform/db"
	"stayledger/platform/money"
)

// managerSelection is the selector of the CSV: the filters of GET /reports/manager-statements, and the columns.
type managerSelection struct {
	ManagerFilter
	Columns []managerColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all."`
}

// managerColumn is a column of the manager statements.
type managerColumn string

// Enum returns the names of the columns in their own order.
func (managerColumn) Enum() []string { return export.ColumnNames(managerCells) }

// managerCells are the columns of the list of manager statements.
var managerCells = []export.GoColumn[ManagerMonth]{
	export.FromRow("startAt", csv.Date, func(m *ManagerMonth) any { return m.StartAt }),
	export.FromRow("endAt", csv.Date, func(m *ManagerMonth) any { return m.EndAt }),
	export.FromRow("balanceStart", csv.Amount, func(m *ManagerMonth) any {
		return m.Financials.BalanceStart
	}),
	export.FromRow("netRevenue", csv.Amount, func(m *ManagerMonth) any {
		return m.Financials.NetRevenue
	}),
	export.FromRow("expenses", csv.Amount, func(m *ManagerMonth) any { return m.Financials.Expenses }),
	export.FromRow("netIncome", csv.Amount, func(m *ManagerMonth) any {
		return m.Financials.NetIncome
	}),
	export.FromRow("adjustments", csv.Amount, func(m *ManagerMonth) any {
		return m.Financials.Adjustments
	}),
	export.FromRow("transfers", csv.Amount, func(m *ManagerMonth) any {
		return m.Financials.Transfers
	}),
	export.FromRow("balanceEnd", csv.Amount, func(m *ManagerMonth) any {
		return m.Financials.BalanceEnd
	}),
	export.FromRow("currency", csv.Currency, func(m *ManagerMonth) any { return string(m.Currency) }),
}

// managerStatementsCSV declares EXP-P18, the export of the list of manager statements.
func managerStatementsCSV() export.Declaration[managerSelection] {
	return export.Declaration[managerSelection]{
		Path:    "/reports/manager-statements/csv",
		ID:      "ManagerStatementsCSV",
		Tag:     "Reports",
		Summary: "Export manager statements as CSV",
		Doc:     "One row per month, newest first, with the signs that the statements have.",
		Format:  export.CSV,
		Scopes:  []string{"pm-statements:export"},
		Name:    "manager-statements",
		Check:   report.CheckCurrencyIn(func(s *managerSelection) string { return s.Currency }),
		Count: func(ctx context.Context, tx *db.Tx, s *managerSelection) (export.Size, error) {
			// The list is computed, not stored: count its months.
			months, err := loadManagerMonths(ctx, tx, &s.ManagerFilter)
			return export.Size{Rows: int64(len(months))}, err
		},
		Render: func(ctx context.Context, tx *db.Tx, s *managerSelection, out *export.Sink) error {
			months, err := loadManagerMonths(ctx, tx, &s.ManagerFilter)
			if err != nil {
				return err
			}

			return export.WriteTable(out, export.SelectColumns(managerCells, s.Columns), export.YieldRows(months))
		},
	}
}

// managerDetailSelection is the selector of the CSV: the filters of GET /reports/manager-statements/detail, and the
// columns.
type managerDetailSelection struct {
	ManagerPeriod
	Columns []managerDetailColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all."`
}

// managerDetailColumn is a column of a manager statement.
type managerDetailColumn string

// Enum returns the names of the columns in their own order.
func (managerDetailColumn) Enum() []string { return export.ColumnNames(managerDetailCells(nil)) }

// managerLine is a row of a manager statement: an account, or another figure that is part of the balance.
type managerLine struct {
	section, row string
	account      *ManagerAccount
	cents        money.Cents
}

// The sections of the rows that are no accounts, in addition to those of report.SectionID.
const (
	sectionStart  = "balance-start"
	sectionAssets = "assets-and-liabilities"
)

// managerLines returns the rows of a manager statement. They add up to the available balance, and without the
// assets and liabilities to the balance at the end.
func managerLines(d *ManagerDetail) []managerLine {
	// The balance at the start comes first, then the accounts that moved it.
	lines := []managerLine{{section: sectionStart, row: "Balance start", cents: d.Financials.BalanceStart}}
	for i := range d.Sections {
		s := &d.Sections[i]
		for n := range s.Accounts {
			a := &s.Accounts[n]
			lines = append(lines, managerLine{string(s.ID), a.Name, a, a.CentTotal})
		}
	}

	// Last, the assets and liabilities, which lead from the balance at the end to the available one.
	for i := range d.AssetsAndLiabilities {
		r := &d.AssetsAndLiabilities[i]
		lines = append(lines, managerLine{section: sectionAssets, row: r.Name, cents: r.CentTotal})
	}

	return lines
}

// managerDetailCells returns the columns of a manager statement. Period and currency are the same in every row. A
// nil statement is enough to list the names.
func managerDetailCells(d *ManagerDetail) []export.GoColumn[managerLine] {
	// Rows that are no accounts have empty cells in the columns of an account.
	ofAccount := func(value func(a *ManagerAccount) any) func(*managerLine) any {
		return func(l *managerLine) any {
			if l.account == nil {
				return nil
			}

			return value(l.account)
		}
	}

	return []export.GoColumn[managerLine]{
		export.FromRow("startAt", csv.Date, func(*managerLine) any { return d.StartAt }),
		export.FromRow("endAt", csv.Date, func(*managerLine) any { return d.EndAt }),
		export.FromRow("section", csv.Text, func(l *managerLine) any { return l.section }),
		export.FromRow("categoryId", csv.ID, ofAccount(func(a *ManagerAccount) any {
			return a.Category.ID
		})),
		export.FromRow("category", csv.Text, ofAccount(func(a *ManagerAccount) any {
			return a.Category.Name
		})),
		export.FromRow("accountId", csv.ID, ofAccount(func(a *ManagerAccount) any { return a.ID })),
		export.FromRow("accountCode", csv.ID, ofAccount(func(a *ManagerAccount) any { return a.Code })),
		export.FromRow("name", csv.Text, func(l *managerLine) any { return l.row }),
		export.FromRow("amount", csv.Amount, func(l *managerLine) any { return l.cents }),
		export.FromRow("currency", csv.Currency, func(*managerLine) any { return string(d.Currency) }),
	}
}

// managerStatementCSV declares EXP-P19, the export of one manager statement.
func managerStatementCSV() export.Declaration[managerDetailSelection] {
	return export.Declaration[managerDetailSelection]{
		Path:    "/reports/manager-statements/detail/csv",
		ID:      "ManagerStatementCSV",
		Tag:     "Reports",
		Summary: "Export a manager statement as CSV",
		Doc: "One row per account and one for every other figure. All amounts add up to the available balance, those " +
			"before the assets and liabilities to the balance at the end.",
		Format: export.CSV,
		Scopes: []string{"pm-statements:export"},
		Name:   "manager-statement",
		Check:  report.CheckCurrencyIn(func(s *managerDetailSelection) string { return s.Currency }),
		Count: func(ctx context.Context, tx *db.Tx, _ *managerDetailSelection) (export.Size, error) {
			return report.CountAccounts(ctx, tx)
		},
		Render: func(ctx context.Context, tx *db.Tx, s *managerDetailSelection, out *export.Sink) error {
			d, err := loadManagerStatement(ctx, tx, &s.ManagerPeriod)
			if err != nil {
				return err
			}

			return export.WriteTable(
				out, export.SelectColumns(managerDetailCells(d), s.Columns), export.YieldRows(managerLines(d)),
			)
		},
	}
}
