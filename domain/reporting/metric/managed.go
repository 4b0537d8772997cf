package metric

import (
	"context"
	"fmt"

	"stayledger/domain/property/listing"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// managed is a run of days on which the nights of a listing could be sold. Runs of the same listing do not overlap.
type managed struct {
	listing id.ID
	day.Range
}

// loadManaged loads the days of a range on which the selected listings have an owner. A parent listing has no nights:
// its units have them. A listing that never had an owner counts on all days while it is active, because no date says
// since when it is managed.
func (in *periodInput) loadManaged(ctx context.Context, tx *db.Tx, within day.Range) ([]managed, error) {
	type row struct {
		ID       id.ID
		IsActive bool
	}

	q := in.listingQuery(tx, "not exists (select from listing k where k.team_id = @team and k.parent_id = l.id)")
	q.Columns = "l.id, l.status = 'active' as is_active"

	rows, err := db.Select[row](ctx, tx, q.SQL(""), q.Args)
	if err != nil {
		return nil, fmt.Errorf("read the listings of a metric: %w", err)
	}

	ids := make([]id.ID, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}

	// These include, for a member of a listing group, the periods of the group on days without a period of its own.
	periods, err := listing.Periods(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	// Periods can reach beyond the range, and can end before it begins.
	var out []managed

	for _, r := range rows {
		if periods[r.ID] == nil && r.IsActive {
			out = append(out, managed{r.ID, within})
		}

		for _, p := range periods[r.ID] {
			if days := clipRange(within, p.StartAt, p.EndAt); days.From.Before(days.To) {
				out = append(out, managed{r.ID, days})
			}
		}
	}

	return out, nil
}

// clipRange returns the part of a range from start to end (exclusive). Nil means no bound.
func clipRange(within day.Range, start, end *day.Day) day.Range {
	if start != nil && within.From.Before(*start) {
		within.From = *start
	}

	if end != nil && end.Before(within.To) {
		within.To = *end
	}

	return within
}

// countManaged counts the managed days of all listings within a range.
func countManaged(spans []managed, within day.Range) (days int64) {
	for _, s := range spans {
		if both := clipRange(within, &s.From, &s.To); both.From.Before(both.To) {
			days += int64(both.Days())
		}
	}

	return days
}
