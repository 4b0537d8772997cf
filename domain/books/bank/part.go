package bank

import "stayledger/platform/parts"

// Part is what banks say, with the bank rules that it meets.
func Part(meet MeetRules) parts.Part {
	return parts.Part{Endpoints: reads{meet}.endpoints(), Tables: parts.Owns("bank_record", "bank_reconciliation", "account_excluded_record")}
}
