package page

import "stayledger/platform/fold"

// Counts are how many rows the teams' lists have: triggers of the listed tables note what statements added and removed.
var Counts = fold.Sums{Notes: "list_delta", Function: "list_fold"}

// Tables returns the names of the tables that keep the counts.
func Tables() []string { return []string{Counts.Notes, "list_count_kept"} }

// keptCount selects how many rows of the team @team are counted under the name @page_list. It is exact at any moment,
// also in the transaction that writes the rows.
const keptCount = "select coalesce(sum(rows), 0)::bigint from list_count where team_id = @team and list = @page_list"
