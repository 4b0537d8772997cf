package trust

import (
	"context"
	"fmt"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/parts"
)

// findWarnings returns the warnings of the trust reconciliation at the end of the last of the days, in each currency of
// the books. Their places are in the report of that day. Bank records, open or missing, are found by their own noun.
func findWarnings(ctx context.Context, tx *db.Tx, _ *day.Day, before day.Day) ([]parts.Open, error) {
	currencies, err := db.Select[string](ctx, tx, `
		select default_currency from team where team_id = @team
		union select banking_currency from account where team_id = @team and type = 'bank' and banking_currency is not null
		union select distinct currency from ledger_balance where team_id = @team order by 1`,
		db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read the currencies of the trust: %w", err)
	}

	last := before.AddDays(-1)

	var out []parts.Open

	for i, currency := range currencies {
		r, err := loadReconciliation(ctx, tx, &Filter{Date: &last, Currency: currency})
		if err != nil {
			return nil, err
		}

		for n := range r.Warnings {
			// Bank rules have no currency: the first report has them all.
			w := &r.Warnings[n]
			if w.Code == WarnUnmatchedRecords || w.Code == WarnNoRecords || i > 0 && w.Code == WarnInactiveInRule {
				continue
			}

			out = append(out, parts.Open{
				Step: parts.TrustReconciled, Code: string(w.Code), Severity: w.Severity, Message: w.Message,
				Count: int64(w.Count), Currency: string(w.Currency), Cents: w.Total,
				List:    "/reports/trust-reconciliation?date=" + last.String() + "&currency=" + currency,
				Context: map[string]any{"date": last},
			})
		}
	}

	return out, nil
}
