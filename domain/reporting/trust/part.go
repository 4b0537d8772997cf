// Package trust tells whose money the trust holds: what guests have paid ahead and owe, what is the tax offices', the
// owners' and the manager's, and whether the banks, the books and these claims are the same amount.
//
// Every active entry of the trust ledger is in exactly one claim, which its account and party decide (Claim). What the
// entries come to is read by package report, and every figure carries its drill-down into the journal entries there.
package trust

import (
	"stayledger/platform/api"
	"stayledger/platform/parts"
)

// Callers know these schemas by the names of package report.
var (
	_ = api.PublishedUnder[Reconciliation]("report")
	_ = api.PublishedAs[Reconciliation]("ReportTrustReconciliation")
	_ = api.PublishedAs[Difference]("ReportTrustDifference")
	_ = api.PublishedAs[AccountFigure]("ReportTrustAccount")
	_ = api.PublishedAs[Row]("ReportTrustRow")
	_ = api.PublishedAs[ByListing]("ReportTrustByListing")
	_ = api.PublishedAs[Figure]("ReportTrustFigure")
	_ = api.PublishedAs[Warning]("ReportTrustWarning")
)

// Part is the reports on whose money the trust holds.
func Part() parts.Part { return parts.Part{Endpoints: endpoints()} }
