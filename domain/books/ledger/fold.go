package ledger

import (
	"context"

	"stayledger/platform/db"
	"stayledger/platform/fold"
)

// sums are the sums of entries: postings note what they add and take.
var sums = fold.Sums{Notes: "ledger_delta", Function: "ledger_fold"}

// Fold moves what postings added and took into the kept sums. What the sums come to stays the same: readers add up
// both.
func Fold(ctx context.Context, d *db.DB) error { return sums.Fold(ctx, d) }
