package bank

import (
	"context"
	"fmt"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/money"
	"stayledger/platform/parts"
)

// CodeUnmatched is the code of bank records that are not reconciled, or not in whole.
const CodeUnmatched = "unmatchedBankRecords"

// findUnmatched returns the movements before the end of the days that are not reconciled, or not in whole, by currency
// with the amounts that are open. Those from before the days are among them: the bank is compared as a whole.
func findUnmatched(ctx context.Context, tx *db.Tx, _ *day.Day, before day.Day) ([]parts.Open, error) {
	type open struct {
		Currency string
		Count    int64
		Cents    money.Cents
		First    day.Day
	}

	rows, err := db.Select[open](ctx, tx, `
		select `+Currency+` as currency, count(*) as count, sum(r.amount - r.made)::bigint as cents, min(r.date) as first
		from bank_record r join team k on k.team_id = r.team_id join account a on a.team_id = r.team_id and a.id = r.account_id
		where r.team_id = @team and r.type = 'transaction' and r.status = 'active' and r.made <> r.amount and r.date < @before
			and r.date >= coalesce(a.banking_opening_at, '-infinity')
		group by 1 order by 1`, db.Args{"team": tx.Team, "before": before})
	if err != nil {
		return nil, fmt.Errorf("find open bank records: %w", err)
	}

	out := make([]parts.Open, len(rows))

	for i := range rows {
		r := &rows[i]
		out[i] = parts.Open{
			Step: parts.BankMatched, Code: CodeUnmatched, Severity: finding.Warning, Message: "Bank records are not reconciled",
			Count: r.Count, Currency: r.Currency, Cents: r.Cents,
			List: "/bank-records?status=active&reconcileStatus=unpaid,underpaid,overpaid&dateRange=" +
				day.Span{First: r.First, Last: before.AddDays(-1)}.String(),
			Context: map[string]any{"date": before.AddDays(-1)},
		}
	}

	return out, nil
}
