package bank

import (
	"context"
	"fmt"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/parts"
)

// The codes of bank records that are not reconciled, or not in whole, and of accounts without records to reconcile with.
const (
	CodeUnmatched = "unmatchedBankRecords"
	CodeMissing   = "bankRecordsMissing"
)

// findOpen returns what is open at the banks: movements that are not reconciled, and accounts that the bank's records do
// not reach.
func findOpen(ctx context.Context, tx *db.Tx, _ *day.Day, before day.Day) ([]parts.Open, error) {
	unmatched, err := findUnmatched(ctx, tx, before)
	if err != nil {
		return nil, err
	}

	unread, err := findUnread(ctx, tx, before)

	return append(unmatched, unread...), err
}

// findUnread returns the bank accounts with entries in the last month of the days and no record since its beginning, by
// currency with what the books have moved on them. Accounts without any record count whenever they have entries.
func findUnread(ctx context.Context, tx *db.Tx, before day.Day) ([]parts.Open, error) {
	type unread struct {
		Currency string
		Cents    money.Cents
		Accounts []id.ID
	}

	rows, err := db.Select[unread](ctx, tx, `
		select e.currency, coalesce(sum(e.cent_total) filter (where e.txn_at >= @first), 0)::bigint as cents, array_agg(distinct a.id) as accounts
		from account a join ledger_entry e on e.team_id = a.team_id and e.account_id = a.id and e.status = 'active' and e.txn_at < @before
			and e.ledger in ('trust', 'operating')
		where a.team_id = @team and a.type = 'bank' and a.status = 'active' and a.banking_category in ('trust', 'operating')
			and (e.txn_at >= @first or not exists (select from bank_record r where r.team_id = a.team_id and r.account_id = a.id and r.status = 'active'))
			and not exists (select from bank_record r where r.team_id = a.team_id and r.account_id = a.id and r.status = 'active' and r.date >= @first)
		group by 1 order by 1`, db.Args{"team": tx.Team, "first": before.AddDays(-1).FirstOfMonth(), "before": before})
	if err != nil {
		return nil, fmt.Errorf("find accounts that banks have no records of: %w", err)
	}

	return parts.EachOpen(rows, func(r *unread) parts.Open {
		return parts.Open{
			Step: parts.BankMatched, Code: CodeMissing, Severity: finding.Warning, Message: "The records of the bank do not reach the month",
			Count: int64(len(r.Accounts)), Currency: r.Currency, Cents: r.Cents, List: parts.ListByID("/accounts", r.Accounts),
			Context: map[string]any{"date": before.AddDays(-1), "accountIds": parts.First(r.Accounts)},
		}
	}), nil
}

// findUnmatched returns the movements before the end of the days that are not reconciled, or not in whole, by currency
// with the amounts that are open. Those from before the days are among them: the bank is compared as a whole.
func findUnmatched(ctx context.Context, tx *db.Tx, before day.Day) ([]parts.Open, error) {
	type open struct {
		Currency string
		Count    int64
		Cents    money.Cents
		First    day.Day
		Accounts []id.ID
	}

	rows, err := db.Select[open](ctx, tx, `
		select `+Currency+` as currency, count(*) as count, sum(r.amount - r.made)::bigint as cents, min(r.date) as first,
			array_agg(distinct r.account_id) as accounts
		from bank_record r join team k on k.team_id = r.team_id join account a on a.team_id = r.team_id and a.id = r.account_id
		where r.team_id = @team and r.type = 'transaction' and r.status = 'active' and r.made <> r.amount and r.date < @before
			and r.date >= coalesce(a.banking_opening_at, '-infinity')
		group by 1 order by 1`, db.Args{"team": tx.Team, "before": before})
	if err != nil {
		return nil, fmt.Errorf("find open bank records: %w", err)
	}

	return parts.EachOpen(rows, func(r *open) parts.Open {
		return parts.Open{
			Step: parts.BankMatched, Code: CodeUnmatched, Severity: finding.Warning, Message: "Bank records are not reconciled",
			Count: r.Count, Currency: r.Currency, Cents: r.Cents,
			List: parts.ListBy("/bank-records", "accountIds", r.Accounts) + "&status=active&reconcileStatus=unpaid,underpaid,overpaid&dateRange=" +
				day.Span{First: r.First, Last: before.AddDays(-1)}.String(),
			Context: map[string]any{"date": before.AddDays(-1)},
		}
	}), nil
}
