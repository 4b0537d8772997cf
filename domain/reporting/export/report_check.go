package export

import (
	"context"

	"stayledger/domain/reporting/report"
	"stayledger/platform/db"
)

// checkCurrency refuses a currency that is none as the reports do, before an operation is queued for it.
func checkCurrency[S any](currency func(s *S) string) func(context.Context, *db.Tx, *S) error {
	return func(_ context.Context, _ *db.Tx, s *S) error { return report.CheckCurrency(currency(s)) }
}
