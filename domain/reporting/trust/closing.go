package trust

import (
	"context"
	"fmt"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
)

// checkClosing returns the warnings of the trust reconciliation at the end of the last day that is closed, in each
// currency of a bank account. Their places are in the report of that day.
func checkClosing(ctx context.Context, tx *db.Tx, _ *day.Day, before day.Day) ([]finding.Finding, error) {
	currencies, err := db.Select[string](ctx, tx, `
		select default_currency from team where team_id = @team
		union select banking_currency from account where team_id = @team and type = 'bank' and banking_currency is not null order by 1`,
		db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read the currencies of the trust: %w", err)
	}

	last := before.AddDays(-1)

	var out []finding.Finding

	for i, currency := range currencies {
		r, err := loadReconciliation(ctx, tx, &Filter{Date: &last, Currency: currency})
		if err != nil {
			return nil, err
		}

		for n := range r.Warnings {
			// Bank rules have no currency: the first report has them all.
			w := &r.Warnings[n]
			if i > 0 && w.Code == WarnInactiveInRule {
				continue
			}

			out = append(out, finding.Finding{Code: string(w.Code), Severity: w.Severity, Context: map[string]any{
				"date": last, "currency": w.Currency, "count": w.Count, "centTotal": w.Total,
			}})
		}
	}

	return out, nil
}
