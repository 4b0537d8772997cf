package report

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/export"
	"stayledger/platform/api"
	"stayledger/platform/db"
	"stayledger/platform/parts"
	"stayledger/platform/seal"
)

// Callers know these schemas by the names of package export.
var (
	_ = api.PublishAs[profitSelection]("ExportProfitSelection")
	_ = api.PublishAs[sheetSelection]("ExportSheetSelection")
	_ = api.PublishAs[matrixColumn]("ExportMatrixColumn")
	_ = api.PublishAs[trialSelection]("ExportTrialSelection")
	_ = api.PublishAs[trialColumn]("ExportTrialColumn")
	_ = api.PublishAs[entrySelection]("ExportEntrySelection")
	_ = api.PublishAs[EntryColumn]("ExportEntryColumn")
)

// exports returns the exports of the reports. The box opens the tax identifiers of information returns.
func exports(box *seal.Box) []parts.Export {
	return []parts.Export{
		export.Declare(profitCSV()),
		export.Declare(balanceSheetCSV()),
		export.Declare(trialBalanceCSV()),
		export.Declare(journalEntriesCSV()),
		export.Declare(informationReturnsCSV(box)),
	}
}

// CheckCurrencyIn returns a check of a selection that refuses an invalid currency as the reports do, before an
// operation is queued for it.
func CheckCurrencyIn[S any](currency func(s *S) string) func(context.Context, *db.Tx, *S) error {
	return func(_ context.Context, _ *db.Tx, s *S) error { return CheckCurrency(currency(s)) }
}

// checkBooks returns a check of a selection that refuses an invalid currency and a ledger that the team has no view of,
// as the reports do, before an operation is queued for it.
func checkBooks[S any](books func(s *S) (string, ledger.Ledger)) func(context.Context, *db.Tx, *S) error {
	return func(ctx context.Context, tx *db.Tx, s *S) error {
		currency, of := books(s)
		if err := CheckCurrency(currency); err != nil {
			return err
		}

		return ledger.CheckView(ctx, tx, of)
	}
}

// CountAccounts returns the size of a report that has at most a row for each account.
func CountAccounts(ctx context.Context, tx *db.Tx) (export.Size, error) {
	n, err := db.Get[int64](ctx, tx, `select count(*) from account where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return export.Size{}, fmt.Errorf("count accounts: %w", err)
	}

	return export.Size{Rows: n}, nil
}
