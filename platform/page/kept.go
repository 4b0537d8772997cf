package page

import (
	"context"
	"fmt"

	"stayledger/platform/db"
	"stayledger/platform/fold"
)

// Counts are how many rows the teams' lists have: triggers of the listed tables note what statements added and removed.
var Counts = fold.Sums{Notes: "list_delta", Function: "list_fold"}

// Tables returns the names of the tables that keep the counts.
func Tables() []string { return []string{Counts.Notes, "list_count_kept"} }

// loadCount returns how many rows of the team are counted under a name. It is exact at any moment, also in the
// transaction that writes the rows.
func loadCount(ctx context.Context, tx *db.Tx, name string) (int64, error) {
	n, err := db.Get[int64](ctx, tx, `select coalesce(sum(rows), 0)::bigint from list_count where team_id = @team and list = @list`, db.Args{"team": tx.Team, "list": name})
	if err != nil {
		return 0, fmt.Errorf("read a kept count: %w", err)
	}

	return n, nil
}
