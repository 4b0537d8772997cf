// Package daily owns the summary of the general ledger for accounting systems outside: the sums that every day or month
// adds to each account, and the days that such a system has taken.
//
// A summary balances: in each period, ledger and currency its debits equal its credits. A day is taken once, by itself
// or with its month, and its sums at that moment are kept, so that every later change of the day is shown.
//
// The page docs/decisions/daily.md says what the contract leaves open and how it is answered here.
package daily

import (
	"net/http"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/parts"
)

// Callers know these schemas by the name of the summary.
var (
	_ = api.PublishAs[Summary]("DailySummary")
	_ = api.PublishAs[Summaries]("DailySummaries")
	_ = api.PublishAs[Row]("DailySummaryRow")
	_ = api.PublishAs[Amounts]("DailySummaryAmounts")
	_ = api.PublishAs[Total]("DailySummaryTotal")
	_ = api.PublishAs[Taken]("DailySummaryTaken")
	_ = api.PublishAs[Taking]("DailySummaryTaking")
	_ = api.PublishAs[TakingResult]("DailySummaryTakingResult")
	_ = api.PublishAs[Period]("DailySummaryPeriod")
	_ = api.PublishAs[Split]("DailySummarySplit")
)

// Part returns the endpoints and tables of the daily summary.
func Part() parts.Part {
	return parts.Part{
		Endpoints: api.RequireBooks(endpoints()), Tables: parts.Owns("gl_summary_sum", "gl_summary_day"),
	}
}

// endpoints returns the routes of the daily summary.
func endpoints() []api.Endpoint {
	const (
		tag  = "General ledger"
		path = "/general-ledger/daily-summary"
	)

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    path,
			ID:      "getDailySummary",
			Tag:     tag,
			Summary: "Summary of the general ledger by day or month",
			Errors:  apierr.List{errDisabled, apierr.OperationsDisabled},
			Scopes:  []string{"general-ledger:read"},
			Doc: "One row of `data` for each day or month of `dateRange`, also for those without entries, with " +
				"what it adds to each account. In every period, ledger and currency debits equal credits. Of a " +
				"period that was taken, each row has the sums at that moment and what was changed later. Without " +
				"`ledger` the trust and the operating ledger. Failures in order: malformed input; " +
				"`dailyGlSummaryDisabled`; `operationsAccountingDisabled`; `tooManyLines` for a page of several " +
				"periods with more than 20000 rows, with context.suggestedLimit.",
		}, readSummaries),
		api.Write(api.Endpoint{
			Method:  http.MethodPost,
			Path:    path + "/taken",
			ID:      "takeDailySummary",
			Tag:     tag,
			Summary: "Mark days of the daily summary as taken",
			Errors:  apierr.List{errDisabled, errTaken},
			Scopes:  []string{"journals:post"},
			DryRun:  true,
			Doc: "Keeps the sums of the days as they are now, of both ledgers and all currencies. Take first, then " +
				"read the sums at the taking: entries that are posted meanwhile are later changes. Days that were " +
				"taken by the same period stay as they were taken. Failures in order: malformed input, such as " +
				"months that are not whole or more than 366 days; `dailyGlSummaryDisabled`; 400 for days that are " +
				"not over; 409 for days that were taken by the other period (context.date, context.period), and " +
				"then nothing is taken.",
		}, takeDays),
	}
}
