package report

import (
	"context"
	"fmt"

	"stayledger/domain/record/export"
	"stayledger/platform/db"
)

// CheckCurrencyIn returns a check of a selection that refuses an invalid currency as the reports do, before an
// operation is queued for it.
func CheckCurrencyIn[S any](currency func(s *S) string) func(context.Context, *db.Tx, *S) error {
	return func(_ context.Context, _ *db.Tx, s *S) error { return CheckCurrency(currency(s)) }
}

// CountAccounts returns the size of a report that has at most a row for each account.
func CountAccounts(ctx context.Context, tx *db.Tx) (export.Size, error) {
	n, err := db.Get[int64](ctx, tx, `select count(*) from account where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return export.Size{}, fmt.Errorf("count accounts: %w", err)
	}

	return export.Size{Rows: n}, nil
}
