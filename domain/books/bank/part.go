package bank

import "stayledger/platform/parts"

// Part is what banks say.
func Part() parts.Part {
	return parts.Part{Endpoints: endpoints(), Tables: parts.Owns("bank_record", "bank_reconciliation", "account_excluded_record")}
}
