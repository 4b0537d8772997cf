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

// NotedOwnerSumsSQL returns the SQL of what is not folded yet into the sums that OwnerSumsSQL reads, for a common table
// expression with the name noted. The rows of chains, c, have ownership_period_id and currency; of each chain it has the
// months from the day from to the day until: arguments or columns of c. A chain may be there several times, with days that
// do not overlap.
func NotedOwnerSumsSQL(chains, from, until string) string {
	return `select e.ownership_period_id, e.currency, e.month, e.account_id, e.expense, e.debit - e.credit as cents, e.entries
		from ledger_delta e join ` + chains + ` c on ` + ofChain + ` and e.month between ` + from + ` and ` + until
}

// OwnerSumsSQL returns the SQL of the rows of ledger_owner of one chain c from a day to another, as NotedOwnerSumsSQL has
// them. It looks the kept ones up by the index, which cannot be asked for what is computed from arguments or columns, so
// add them up chain by chain.
func OwnerSumsSQL(from, until string) string {
	return `(select e.month, e.account_id, e.expense, e.cents, e.entries from ledger_owner_kept e where ` + ofChain + ` and e.month between ` + from + ` and ` + until + `
		union all
		select n.month, n.account_id, n.expense, n.cents, n.entries from noted n
			where n.ownership_period_id = c.ownership_period_id and n.currency = c.currency and n.month between ` + from + ` and ` + until + `)`
}

// ofChain is the SQL condition that a sum e is one of chain c.
const ofChain = `e.team_id = @team and e.ownership_period_id = c.ownership_period_id and e.currency = c.currency`
