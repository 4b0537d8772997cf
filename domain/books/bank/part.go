package bank

import (
	"stayledger/platform/fold"
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

// Part is what banks say, with the bank rules that it meets.
func Part(meet MeetRules) parts.Part {
	return parts.Part{
		Endpoints: reads{meet}.endpoints(),
		Every:     []job.Every{sums.Every()},
		Tables:    parts.Owns("bank_record", "bank_reconciliation", "account_excluded_record", "bank_clearing", "bank_day_kept", "bank_delta"),
	}
}

// sums are what the movements of an account come to by day: the view bank_day.
var sums = fold.Sums{Notes: "bank_delta", Function: "bank_fold"}
