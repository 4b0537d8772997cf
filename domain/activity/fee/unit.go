package fee

import (
	"context"
	"fmt"
	"slices"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
)

// checkUnit fails with errInUse if rates would get another meaning under the same number: 30.00 would become 3 %. The
// rate type stays once the fee has entries, and both it and the charge basis while listing periods have rates of their own
// that the change does not replace.
func (c *change) checkUnit(ctx context.Context, tx *db.Tx, periods []Period) error {
	if c.before == nil {
		return nil
	}

	field, reasons := "chargeBasis", []string{}

	// Another charge basis restates what was charged, as another default rate does, so entries do not matter.
	switch {
	case c.before.RateType != c.after.RateType:
		field = "rateType"

		charged, err := db.Get[bool](ctx, tx, `select exists (select from ledger_entry where team_id = @team and recurring_fee_id = @fee)`,
			db.Args{"team": tx.Team, "fee": c.after.ID})
		if err != nil {
			return fmt.Errorf("find entries of a recurring fee: %w", err)
		}

		if charged {
			reasons = append(reasons, "journalEntries")
		}
	case c.before.ChargeBasis == c.after.ChargeBasis:
		return nil
	}

	// Subscriptions that come with the change have rates of the new meaning.
	if !c.given && slices.ContainsFunc(periods, func(p Period) bool { return p.Rate != nil }) {
		reasons = append(reasons, "listingPeriods")
	}

	if len(reasons) == 0 {
		return nil
	}

	return errInUse.With(apierr.InUse{LockReasons: reasons}).At(apierr.IssueContradiction.InBody(field))
}
