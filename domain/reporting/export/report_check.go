package export

import (
	"context"

	"stayledger/domain/reporting/report"
	"stayledger/platform/db"
)

// checkCurrency returns a check that refuses an invalid currency as the reports do, before an operation is queued
// for it.
func checkCurrency[S any](currency func(s *S) string) func(context.Context, *db.Tx, *S) error {
	return func(_ context.Context, _ *db.Tx, s *S) error { return report.CheckCurrency(currency(s)) }
}
