package metric

import (
	"context"
	"fmt"

	"stayledger/domain/property/listing"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// managed is a run of days on which nights of a listing could be sold. The runs of a listing do not overlap.
type managed struct {
	listing id.ID
	day.Range
}

// loadManaged loads the days of the chosen listings on which somebody owns them, within a range. A listing that others name
// as their parent has no nights of its own. One that never had an owner counts on all days while it is active, because
// nothing says since when it is managed.
func (in *periodInput) loadManaged(ctx context.Context, tx *db.Tx, within day.Range) ([]managed, error) {
	type row struct {
		ID       id.ID
		IsActive bool
	}

	q := in.listings(tx, "not exists (select from listing k where k.team_id = @team and k.parent_id = l.id)")
	q.Columns = "l.id, l.status = 'active' as is_active"

	rows, err := db.Select[row](ctx, tx, q.SQL(""), q.Args)
	if err != nil {
		return nil, fmt.Errorf("read the listings of a metric: %w", err)
	}

	ids := make([]id.ID, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}

	// Members of a group have its owners on the days that they leave.
	periods, err := listing.Periods(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	var out []managed

	for _, r := range rows {
		if periods[r.ID] == nil && r.IsActive {
			out = append(out, managed{r.ID, within})
		}

		for _, p := range periods[r.ID] {
			if days := clip(within, p.StartAt, p.EndAt); days.From.Before(days.To) {
				out = append(out, managed{r.ID, days})
			}
		}
	}

	return out, nil
}

// clip returns the days of a range from a start to an end, which is exclusive; nil is no bound.
func clip(within day.Range, start, end *day.Day) day.Range {
	if start != nil && within.From.Before(*start) {
		within.From = *start
	}

	if end != nil && end.Before(within.To) {
		within.To = *end
	}

	return within
}

// countManaged returns how many of the days of all runs are in a range.
func countManaged(spans []managed, within day.Range) (days int64) {
	for _, s := range spans {
		if both := clip(within, &s.From, &s.To); both.From.Before(both.To) {
			days += int64(both.Days())
		}
	}

	return days
}
