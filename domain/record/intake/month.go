package intake

import (
	"context"
	"fmt"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/parts"
)

// findWaiting returns the records of systems that wait for a person: those that were not taken in, whose day is not
// after the days, and the fields that were changed here and at the source.
func findWaiting(ctx context.Context, tx *db.Tx, _ *day.Day, before day.Day) ([]parts.Open, error) {
	type row struct{ Issues, Conflicts int64 }

	waiting, err := db.Get[row](ctx, tx, `
		select (select count(*) from sync_issue i where i.team_id = @team and i.decision is null and coalesce(i.day < @before, true)) as issues,
			(select count(*) from sync_conflict c where c.team_id = @team) as conflicts`, db.Args{"team": tx.Team, "before": before})
	if err != nil {
		return nil, fmt.Errorf("count records of systems that wait: %w", err)
	}

	var out []parts.Open

	add := func(code, message string, count int64, list string) {
		if count > 0 {
			out = append(out, parts.Open{
				Step: parts.SystemsRead, Code: code, Severity: finding.Warning, Message: message, Count: count, List: list,
			})
		}
	}
	add("systemRecordsWaiting", "Records of systems wait for a person", waiting.Issues, "/teams/issues")
	add("systemConflicts", "Fields were changed here and at the source", waiting.Conflicts, "/sync-conflicts")

	return out, nil
}
