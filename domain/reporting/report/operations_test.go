package report_test

import (
	"testing"

	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
)

// The operating view of a report is for teams with Operations Accounting; the trust and both ledgers together are for
// all. Exports: TestOperatingExportsNeedOperationsAccounting of test/exports.
//
// Proves: RSN-36.
func TestOperatingViewsNeedOperationsAccounting(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.Post(ledger.Operating, "2026-02-10", "5200", "1010", 500)

	views := []string{
		"/reports/trial-balance?startDate=2026&endDate=2026", "/reports/profit-and-loss?startDate=2026&endDate=2026", "/reports/balance-sheet?date=2026",
		"/reports/journal-entries?startDate=2026",
	}
	for _, view := range views {
		b.Get(view + "&ledger=operating").Want(200)
	}

	b.Exec(`update team set operations_accounting = false where id = @team`, nil)

	for _, view := range views {
		b.Get(view+"&ledger=operating").WantError(apierr.CodeBadRequest, apierr.ReasonOperationsAccountingDisabled)
		b.Get(view + "&ledger=trust").Want(200)
		b.Get(view).Want(200)
	}
}
