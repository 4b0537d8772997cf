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
