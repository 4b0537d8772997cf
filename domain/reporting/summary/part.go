package summary

import (
	"stayledger/domain/record/export"
	"stayledger/platform/api"
	"stayledger/platform/parts"
)

// Callers know these schemas by the names of package report.
var (
	_ = api.PublishUnder[OwnerSummaries]("report")
	_ = api.PublishAs[Figures]("ReportSummaryFigures")
	_ = api.PublishAs[Financials]("ReportSummaryFinancials")
	_ = api.PublishAs[Contact]("ReportSummaryContact")
)

// Part returns the part of the summaries of owners' statements.
func Part() parts.Part {
	return parts.Part{Endpoints: api.RequireBooks(endpoints()), Exports: export.RequireBooks(exports()...)}
}
