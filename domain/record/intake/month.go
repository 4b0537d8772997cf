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
	type waiting struct {
		Code  string
		Count int64
	}

	rows, err := db.Select[waiting](ctx, tx, `
		select i.code, count(*) as count from sync_issue i
		where i.team_id = @team and i.decision is null and coalesce(i.day < @before, true) group by 1
		union all select '`+recordConflict+`', count(*) from sync_conflict c where c.team_id = @team having count(*) > 0
		order by 1`, db.Args{"team": tx.Team, "before": before})
	if err != nil {
		return nil, fmt.Errorf("count records of systems that wait: %w", err)
	}

	return parts.EachOpen(rows, func(r *waiting) parts.Open {
		if r.Code == recordConflict {
			return parts.Open{
				Step: parts.SystemsRead, Code: r.Code, Severity: finding.Warning, Message: "Fields were changed here and at the source",
				Count: r.Count, List: "/sync-conflicts",
			}
		}

		return parts.Open{
			Step: parts.SystemsRead, Code: r.Code, Severity: finding.Warning, Message: "Records of systems wait for a person",
			Count: r.Count, List: "/teams/issues?teamIds=" + tx.Team.String() + "&code=" + r.Code,
		}
	}), nil
}
