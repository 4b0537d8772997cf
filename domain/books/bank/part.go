package bank

import (
	"stayledger/platform/fold"
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

// Part is what banks say, and what bank rules do with it.
func Part(rules Rules) parts.Part {
	return parts.Part{
		Endpoints: routes{rules}.endpoints(),
		Every:     []job.Every{sums.Every()},
		Tables:    parts.Owns("bank_record", "bank_reconciliation", "account_excluded_record", "bank_clearing", "bank_day_kept", "bank_delta"),
	}
}

// sums are what the movements of an account come to by day: the view bank_day.
var sums = fold.Sums{Notes: "bank_delta", Function: "bank_fold"}
