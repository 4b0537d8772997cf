package summary

import (
	"stayledger/platform/api"
	"stayledger/platform/parts"
)

// Callers know these schemas by the names of package report.
var (
	_ = api.PublishedUnder[OwnerSummaries]("report")
	_ = api.PublishedAs[Figures]("ReportSummaryFigures")
	_ = api.PublishedAs[Financials]("ReportSummaryFinancials")
	_ = api.PublishedAs[Contact]("ReportSummaryContact")
)

// Part returns the part of the summaries of owners' statements.
func Part() parts.Part { return parts.Part{Endpoints: endpoints()} }
