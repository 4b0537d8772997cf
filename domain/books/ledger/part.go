package ledger

import (
	"stayledger/platform/apierr"
	"stayledger/platform/job"
	"stayledger/platform/parts"
)

// Part returns what the ledger adds to the service: its tables and the task that folds its sums. It is read through
// other nouns.
func Part() parts.Part {
	return parts.Part{
		Every: []job.Every{sums.Every(), settling()},
		// The sums, and what is kept of sources and stays, follow from the entries.
		Tables: append(parts.Owns("ledger_entry", "ledger_stale", "ledger_held", "ledger_held_line"), parts.Keeps(
			"ledger_delta", "ledger_balance_kept", "ledger_month_kept", "ledger_day_kept", "ledger_owner_kept", "ledger_large",
			"ledger_source", "ledger_unsettled", "ledger_guest", "ledger_guest_settled", "ledger_guest_kept",
		)...),
		Uses:     uses(),
		Waits:    waits(),
		MonthEnd: findOpen,
		Checks:   checks(),
	}
}

// uses returns the records that entries keep.
func uses() []parts.Use {
	return []parts.Use{
		{Of: "account", Reason: "journalEntries", Columns: referenceColumns("account")},
		{
			Of: "account", Reason: "lockedJournalEntries",
			HoldsIf: `exists (select from ledger_entry e where e.team_id = @team and e.account_id = @id and ` + EntryLockSQL("e") + `)`,
		},
		{Of: "contact", Reason: "journalEntries", Columns: referenceColumns("contact")},
		// A listing can be the source of entries, too.
		{
			Of: "listing", Reason: "journalEntries",
			Columns: append(referenceColumns("listing"), "ledger_entry.source_id"),
		},
		{Of: "listing_ownership_period", Reason: "journalEntries", Columns: referenceColumns("listing_ownership_period")},
		{Of: "fee", Reason: "journalEntries", Columns: referenceColumns("fee")},
		// The reservation's own entries do not count, nor do entries of transactions, which are counted separately.
		{
			Of: "reservation", Reason: "journalEntries", Columns: referenceColumns("reservation"),
			SQL: `exists (select from ledger_entry where team_id = @team and reservation_id = @id and source_id <> @id and transaction_id is null)`,
		},
	}
}

// AmountsSQL is the SQL of the amounts held back by a row h of ledger_held, by party and currency: positive for what
// the party gets more.
const AmountsSQL = `(select coalesce(jsonb_agg(jsonb_build_object('party', s.party, 'currency', s.currency, 'centTotal', s.cents) order by s.party, s.currency), '[]') from (
	select case when l.party is not null then l.party when a.account_id is not null then 'guests' else 'others' end as party, l.currency, -sum(l.cent_total)::bigint as cents
	from ledger_held_line l left join account_assignment a on a.team_id = l.team_id and a.account_id = l.account_id and a.assignment = 'accountsReceivable'
	where l.team_id = h.team_id and l.held_id = h.id group by 1, 2 having sum(l.cent_total) <> 0) s)`

// HoldSQL is the SQL of the lock behind a row h of ledger_held.
const HoldSQL = `jsonb_build_object('reason', h.reason, 'date', h.held_at,
	'statementId', case when h.reason <> '` + string(apierr.ReasonTransactionReconciled) + `' then h.held_by end,
	'bankRecordId', case when h.reason = '` + string(apierr.ReasonTransactionReconciled) + `' then h.held_by end)`

// waits lists the changes to records here that locks hold back, and the journals that could not be derived. Changes
// from other systems that wait for a lock are issues of their syncs.
func waits() []parts.Wait {
	return []parts.Wait{
		{
			ID: "h.id",
			Columns: `h.since, 'journalHeldBack' as code, 'warning' as severity, h.source as entity_type, h.source_id as entity_id,
				jsonb_build_object('reason', h.reason, 'amounts', ` + AmountsSQL + `) as context`,
			From: `ledger_held h where h.team_id = g.team_id and h.origin_id is null`,
		},
		{
			ID: "s.source_id",
			Columns: `s.since, 'journalFailed' as code, 'error' as severity, s.source as entity_type, s.source_id as entity_id,
				jsonb_build_object('reason', s.reason) as context`,
			From: `(select v.team_id, v.source_id, min(v.source) as source, min(v.reason) as reason, min(v.since) as since from ledger_stale v
				where v.team_id = g.team_id and v.status = 'failed' group by v.team_id, v.source_id) s where true`,
		},
	}
}
