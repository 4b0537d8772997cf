package export

import (
	"context"
	"fmt"

	"stayledger/domain/reporting/report"
	"stayledger/platform/csv"
	"stayledger/platform/db"
)

// trialSelection is the selector of the CSV: the filters of GET /reports/trial-balance, and the columns.
type trialSelection struct {
	report.TrialFilter
	Columns []trialColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// trialColumn is a column of the trial balance.
type trialColumn string

// Enum returns the names of the columns in their own order.
func (trialColumn) Enum() []string { return columnNames(trialCells(nil)) }

// trialCells returns the columns. Period and currency are the same in every row. A nil report is enough to list the
// names.
func trialCells(t *report.TrialBalance) []goColumn[report.TrialRow] {
	return []goColumn[report.TrialRow]{
		{csv.Column{Name: "startDate", Kind: csv.Date}, func(*report.TrialRow) any { return t.StartDate }},
		{csv.Column{Name: "endDate", Kind: csv.Date}, func(*report.TrialRow) any { return t.EndDate }},
		{csv.Column{Name: "accountId", Kind: csv.ID}, func(r *report.TrialRow) any { return r.Account.ID }},
		{csv.Column{Name: "accountCode", Kind: csv.ID}, func(r *report.TrialRow) any { return r.Account.Code }},
		{csv.Column{Name: "account", Kind: csv.Text}, func(r *report.TrialRow) any { return r.Account.Name }},
		{csv.Column{Name: "classification", Kind: csv.Text}, func(r *report.TrialRow) any { return r.Classification }},
		{csv.Column{Name: "beginning", Kind: csv.Amount}, func(r *report.TrialRow) any { return r.Beginning }},
		{csv.Column{Name: "debit", Kind: csv.Amount}, func(r *report.TrialRow) any { return r.Debit }},
		{csv.Column{Name: "credit", Kind: csv.Amount}, func(r *report.TrialRow) any { return r.Credit }},
		{csv.Column{Name: "ending", Kind: csv.Amount}, func(r *report.TrialRow) any { return r.Ending }},
		{csv.Column{Name: "currency", Kind: csv.Currency}, func(*report.TrialRow) any { return string(t.Currency) }},
	}
}

// trialBalanceCSV declares EXP-P16, the export of a trial balance.
func trialBalanceCSV() Declaration[trialSelection] {
	return Declaration[trialSelection]{
		Path:    "/reports/trial-balance/csv",
		ID:      "TrialBalanceCSV",
		Tag:     "Reports",
		Summary: "Export a trial balance as CSV",
		Doc: "One row per account by code: beginning and ending are debit positive, debit and credit are both " +
			"positive. Unless a party or listings are asked for, beginning and ending add up to zero and debit " +
			"equals credit.",
		Format: CSV,
		Scopes: []string{"reports:export"},
		Name:   "trial-balance",
		Check:  checkCurrency(func(s *trialSelection) string { return s.Currency }),
		Count:  func(ctx context.Context, tx *db.Tx, _ *trialSelection) (Size, error) { return countAccounts(ctx, tx) },
		Render: func(ctx context.Context, tx *db.Tx, s *trialSelection, out *Sink) error {
			t, err := report.ReadTrial(ctx, tx, s.TrialFilter)
			if err != nil {
				return err
			}

			return writeTable(out, selectColumns(trialCells(t), s.Columns), yieldRows(t.Data))
		},
	}
}

// countAccounts returns the size of a report that has at most a row for each account.
func countAccounts(ctx context.Context, tx *db.Tx) (Size, error) {
	n, err := db.Get[int64](ctx, tx, `select count(*) from account where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return Size{}, fmt.Errorf("count accounts: %w", err)
	}

	return Size{Rows: n}, nil
}
