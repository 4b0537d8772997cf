package ledger

import (
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

// Part returns what the ledger adds to the service: its tables and the task that folds its sums. It is read through
// other nouns.
func Part() parts.Part {
	return parts.Part{
		Every: []job.Every{sums.Every()},
		Tables: parts.Owns(
			"ledger_entry", "ledger_stale", "ledger_delta", "ledger_balance_kept", "ledger_month_kept",
			"ledger_day_kept", "ledger_owner_kept", "ledger_large",
		),
	}
}
