package fee

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/property/listing"
	"stayledger/domain/record/audit"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Merge says what becomes of the listing periods of a listing that goes into another.
type Merge struct {
	moved, absorbed []Period
	into            id.ID
}

// PlanMerge decides about the listing periods of two listings of which one goes into the other. One that the other listing
// has with the same rate is absorbed, any other moves there. It fails with listing.ErrPeriods when a fee of one listing
// would newly be charged on days on which the other has owners.
func PlanMerge(ctx context.Context, tx *db.Tx, m *listing.Merge) (*Merge, error) {
	found, err := db.Select[Period](ctx, tx, `select `+periodColumns+` from `+periodTables+` where p.team_id = @team and p.listing_id = any(@listings)
		order by p.fee_id, p.start_at nulls first, p.id`, db.Args{"team": tx.Team, "listings": []id.ID{m.From.ID, m.Into.ID}})
	if err != nil {
		return nil, fmt.Errorf("read listing periods of recurring fees: %w", err)
	}

	var from, into []Period

	for i := range found {
		if found[i].ListingID == m.From.ID {
			from = append(from, found[i])
		} else {
			into = append(into, found[i])
		}
	}

	out := &Merge{into: m.Into.ID}

	// What a listing has beyond the other must not reach the days of the other.
	inTheWay := append(reaching(from, into, m.IntoDays), reaching(into, from, m.FromDays)...)

	for i := range from {
		p := &from[i]

		same, others := split(into, p)
		switch left := p.span().Without(same); {
		case len(left) == 0:
			out.absorbed = append(out.absorbed, *p)
		case len(same) > 0 || slices.ContainsFunc(others, p.span().Overlaps):
			inTheWay = append(inTheWay, p.ID)
		default:
			out.moved = append(out.moved, *p)
		}
	}

	if len(inTheWay) > 0 {
		return nil, listing.ErrPeriods.With(listing.ConflictContext{ConflictingPeriodIDs: id.Distinct(inTheWay)})
	}

	return out, nil
}

// Apply moves the listing periods that go on at the other listing, and deletes those that it has already.
func (m *Merge) Apply(ctx context.Context, tx *db.Tx) error {
	for i := range m.absorbed {
		if err := deletePeriod(ctx, tx, m.absorbed[i].ID); err != nil {
			return err
		}

		notePeriod(tx, audit.Deleted, &m.absorbed[i], nil)
	}

	for i := range m.moved {
		after := m.moved[i]
		after.ListingID, after.UpdatedAt = m.into, day.At(tx.Now)

		if _, err := tx.Exec(ctx, `update fee_listing_period set listing_id = @into, updated_at = @now where team_id = @team and id = @id`,
			db.Args{"team": tx.Team, "id": after.ID, "into": m.into, "now": tx.Now}); err != nil {
			return fmt.Errorf("move a listing period: %w", err)
		}

		notePeriod(tx, audit.Updated, &m.moved[i], &after)
	}

	return nil
}

// span returns the days of a listing period.
func (p *Period) span() listing.Span { return listing.Span{Start: p.StartAt, End: p.EndAt} }

// split returns the days of the periods of the same fee: those with the same rate, and the others.
func split(periods []Period, p *Period) (same, others []listing.Span) {
	for i := range periods {
		switch o := &periods[i]; {
		case o.FeeID != p.FeeID:
		case o.rate() == p.rate():
			same = append(same, o.span())
		default:
			others = append(others, o.span())
		}
	}

	return same, others
}

// rate returns the rate that is charged.
func (p *Period) rate() int64 {
	if p.Rate != nil {
		return *p.Rate
	}

	return p.RecurringFee.DefaultRate
}

// reaching returns the periods that the others lack on some of the days.
func reaching(periods, others []Period, days []listing.Span) []id.ID {
	var out []id.ID

	for i := range periods {
		same, _ := split(others, &periods[i])
		for _, left := range periods[i].span().Without(same) {
			if slices.ContainsFunc(days, left.Overlaps) {
				out = append(out, periods[i].ID)
				break
			}
		}
	}

	return out
}
