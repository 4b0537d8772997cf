// Package trust reports who owns the money in the trust: prepayments and debts of guests, the money of the tax offices,
// of the owners and of the manager, and whether the banks, the books and these claims are the same amount.
//
// Every active entry of the trust ledger is in exactly one claim, which its account and party decide (Claim). Package
// report adds the entries up, and every figure has a drill-down into the journal entries there.
//
// The page docs/decisions/trust.md says what the contract leaves open and how it is answered here.
package trust

import (
	"stayledger/domain/record/export"
	"stayledger/platform/api"
	"stayledger/platform/parts"
)

// Callers know these schemas by the names of package report.
var (
	_ = api.PublishUnder[Reconciliation]("report")
	_ = api.PublishAs[Reconciliation]("ReportTrustReconciliation")
	_ = api.PublishAs[Difference]("ReportTrustDifference")
	_ = api.PublishAs[AccountFigure]("ReportTrustAccount")
	_ = api.PublishAs[Row]("ReportTrustRow")
	_ = api.PublishAs[ByListing]("ReportTrustByListing")
	_ = api.PublishAs[Figure]("ReportTrustFigure")
	_ = api.PublishAs[Warning]("ReportTrustWarning")
)

// Part returns the part of the reports on the money in the trust.
func Part() parts.Part {
	return parts.Part{
		Endpoints: api.RequireBooks(endpoints()), Exports: export.RequireBooks(exports()...), MonthEnd: findWarnings,
	}
}
