package connection

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

// findUnread returns the connections that nothing was read from since the last of the days, or on this day while they
// are not over. A sync counts when it was completed, brought all kinds of records of the app, and was not limited to
// some days. Connections that nothing of is in the books of these days do not count.
func (w writer) findUnread(ctx context.Context, tx *db.Tx, from *day.Day, before day.Day) ([]parts.Open, error) {
	apps, kinds := []string{}, []string{}

	for i := range w.Apps {
		if a := &w.Apps[i]; len(a.Kinds) > 0 {
			apps, kinds = append(apps, string(a.ID)), append(kinds, strings.Join(a.Kinds, ","))
		}
	}

	bound := before
	if today := tx.Today(); today.Before(bound) {
		bound = today
	}

	found, err := db.Select[id.ID](ctx, tx, `
		select c.id from connection c join unnest(@apps::text[], @kinds::text[]) a (id, kinds) on a.id = c.app_id
		where c.team_id = @team and c.status in ('active', 'reconnectRequired') and not c.is_outside_books
			and coalesce(c.accounting_start_at < @before, true) and coalesce(c.accounting_end_at > @from::date, true)
			and not exists (select from sync y where y.team_id = c.team_id and y.source_id = c.id and y.view = 'automate' and y.status = 'completed'
				and y.range_start is null and y.range_end is null and (y.kinds = '{}' or y.kinds @> string_to_array(a.kinds, ','))
				and y.started_at >= @bound::date::timestamp at time zone @zone)
		order by c.id`,
		db.Args{
			"team": tx.Team, "apps": apps, "kinds": kinds, "from": from, "before": before, "bound": bound,
			"zone": string(cmp.Or(tx.Zone, day.UTC)),
		})
	if err != nil {
		return nil, fmt.Errorf("find connections that were not read: %w", err)
	}

	if len(found) == 0 {
		return nil, nil
	}

	return []parts.Open{{
		Step: parts.SystemsRead, Code: "systemsNotRead", Severity: finding.Warning,
		Message: "Systems were not read since the month ended", Count: int64(len(found)),
		List: parts.ListByID("/connections", found), Context: map[string]any{"connectionIds": parts.First(found)},
	}}, nil
}
