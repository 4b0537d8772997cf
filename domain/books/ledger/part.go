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
		Uses: uses(),
	}
}

// uses returns the records that entries keep.
func uses() []parts.Use {
	return []parts.Use{
		{Of: "account", Reason: "journalEntries", Columns: []string{"ledger_entry.account_id"}},
		{
			Of: "account", Reason: "lockedJournalEntries",
			HoldsIf: `exists (select from ledger_entry e where e.team_id = @team and e.account_id = @id and ` + LockedEntrySQL("e") + `)`,
		},
		{Of: "contact", Reason: "journalEntries", Columns: []string{"ledger_entry.contact_id"}},
		// A listing can be the source of entries, too.
		{Of: "listing", Reason: "journalEntries", Columns: []string{"ledger_entry.source_id", "ledger_entry.listing_id"}},
		{Of: "listing_ownership_period", Reason: "journalEntries", Columns: []string{"ledger_entry.ownership_period_id"}},
		{Of: "fee", Reason: "journalEntries", Columns: []string{"ledger_entry.recurring_fee_id"}},
		// Entries of the reservation's own journal do not count, nor do those of transactions, which count as such.
		{
			Of: "reservation", Reason: "journalEntries", Columns: []string{"ledger_entry.reservation_id"},
			SQL: `exists (select from ledger_entry where team_id = @team and reservation_id = @id and source_id <> @id and transaction_id is null)`,
		},
	}
}
