package ledger

import (
	"context"

	"stayledger/platform/db"
	"stayledger/platform/fold"
)

// sums are the sums of entries: postings note the amounts that they add and remove.
var sums = fold.Sums{Notes: "ledger_delta", Function: "ledger_fold"}

// Fold moves the noted amounts into the kept sums. The totals stay the same, because readers add up both.
func Fold(ctx context.Context, d *db.DB) error { return sums.Fold(ctx, d) }

// OwnerSumsSQL returns the SQL of the rows of ledger_owner of some chains c: rows of a table with ownership_period_id and
// currency, looked up one by one. Of each chain it has the months from the day from to the day until: arguments or columns of
// c, since the index cannot be asked for what is computed from them.
func OwnerSumsSQL(chains, from, until string) string {
	const columns = "ownership_period_id, e.currency, e.month, e.account_id, e.expense"

	wanted := `e.team_id = @team and e.ownership_period_id = c.ownership_period_id and e.currency = c.currency
		and e.month between ` + from + ` and ` + until

	return `(select e.` + columns + `, e.cents, e.entries from ` + chains + ` c
			cross join lateral (select * from ledger_owner_kept e where ` + wanted + db.Fence + `) e
		union all
		select e.` + columns + `, e.debit - e.credit, e.entries from ledger_delta e join ` + chains + ` c on ` + wanted + `)`
}
