package report

import (
	"context"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/export"
	"stayledger/platform/apierr"
	"stayledger/platform/csv"
	"stayledger/platform/db"
)

// trialSelection is the selector of the CSV: the filters of GET /reports/trial-balance, and the columns.
type trialSelection struct {
	TrialFilter
	Columns []trialColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all."`
}

// trialColumn is a column of the trial balance.
type trialColumn string

// Enum returns the names of the columns in their own order.
func (trialColumn) Enum() []string { return export.ColumnNames(trialCells(nil)) }

// trialCells returns the columns. Period and currency are the same in every row. A nil report is enough to list the
// names.
func trialCells(t *TrialBalance) []export.GoColumn[TrialRow] {
	return []export.GoColumn[TrialRow]{
		export.FromRow("startDate", csv.Date, func(*TrialRow) any { return t.StartDate }),
		export.FromRow("endDate", csv.Date, func(*TrialRow) any { return t.EndDate }),
		export.FromRow("accountId", csv.ID, func(r *TrialRow) any { return r.Account.ID }),
		export.FromRow("accountCode", csv.ID, func(r *TrialRow) any { return r.Account.Code }),
		export.FromRow("account", csv.Text, func(r *TrialRow) any { return r.Account.Name }),
		export.FromRow("classification", csv.Text, func(r *TrialRow) any { return r.Classification }),
		export.FromRow("beginning", csv.Amount, func(r *TrialRow) any { return r.Beginning }),
		export.FromRow("debit", csv.Amount, func(r *TrialRow) any { return r.Debit }),
		export.FromRow("credit", csv.Amount, func(r *TrialRow) any { return r.Credit }),
		export.FromRow("ending", csv.Amount, func(r *TrialRow) any { return r.Ending }),
		export.FromRow("currency", csv.Currency, func(*TrialRow) any { return string(t.Currency) }),
	}
}

// trialBalanceCSV declares EXP-P16, the export of a trial balance.
func trialBalanceCSV() export.Declaration[trialSelection] {
	return export.Declaration[trialSelection]{
		Path:    "/reports/trial-balance/csv",
		ID:      "TrialBalanceCSV",
		Tag:     "Reports",
		Summary: "Export a trial balance as CSV",
		Doc: "One row per account by code: beginning and ending are debit positive, debit and credit are both " +
			"positive. Unless a party or listings are asked for, beginning and ending add up to zero and debit " +
			"equals credit.",
		Format: export.CSV,
		Scopes: []string{"reports:export"},
		Name:   "trial-balance",
		Check:  checkBooks(func(s *trialSelection) (string, ledger.Ledger) { return s.Currency, ledger.Ledger(s.Ledger) }),
		Errors: apierr.List{apierr.OperationsDisabled},
		Count: func(ctx context.Context, tx *db.Tx, _ *trialSelection) (export.Size, error) {
			return CountAccounts(ctx, tx)
		},
		Render: func(ctx context.Context, tx *db.Tx, s *trialSelection, out *export.Sink) error {
			t, err := loadTrial(ctx, tx, s.TrialFilter)
			if err != nil {
				return err
			}

			return export.WriteTable(out, export.SelectColumns(trialCells(t), s.Columns), export.YieldRows(t.Data))
		},
	}
}
