package fee

import (
	"context"
	"fmt"

	"stayledger/domain/property/listing"
	"stayledger/domain/record/audit"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// charged is a listing period of an active fee that counts for a listing: its own, or one of its group. Amounts are in
// the currency of the listing that has the period.
type charged struct {
	Period
	ListingCurrency string
	ForListing      id.ID
}

// loadCharged loads the listing periods that count for listings, by fee. A period of a group is there once for each run
// of days that the member leaves it.
func loadCharged(ctx context.Context, tx *db.Tx, listingIDs []id.ID) ([]charged, error) {
	rows, err := db.Select[charged](ctx, tx, `
		select `+periodColumns+`, l.default_currency as listing_currency, l.id as for_listing from `+periodTables+`
			join listing l on l.team_id = p.team_id and l.id = p.listing_id
			where p.team_id = @team and p.listing_id = any(@listings) and f.status = 'active'
		union all
		select `+periodColumns+`, g.default_currency, l.id from listing l join listing g on g.team_id = @team and g.id = l.parent_id
			join (`+periodTables+`) on p.team_id = @team and p.listing_id = g.id
			where l.team_id = @team and l.id = any(@listings) and f.status = 'active'
		order by fee_id, start_at nulls first, id, for_listing`, db.Args{"team": tx.Team, "listings": listingIDs})
	if err != nil {
		return nil, fmt.Errorf("read subscriptions: %w", err)
	}

	// Days that members have to themselves matter only if a period comes from a group.
	var members []id.ID

	for i := range rows {
		if rows[i].ForListing != rows[i].ListingID {
			members = append(members, rows[i].ForListing)
		}
	}

	if members == nil {
		return rows, nil
	}

	own, err := loadOwnDays(ctx, tx, id.Distinct(members))
	if err != nil {
		return nil, err
	}

	// Cut the periods of groups; the order by fee stays.
	out := make([]charged, 0, len(rows))

	for i := range rows {
		r := rows[i]
		if r.ForListing == r.ListingID {
			out = append(out, r)
			continue
		}

		for _, part := range (listing.Span{Start: r.StartAt, End: r.EndAt}).Without(own[r.ForListing]) {
			r.StartAt, r.EndAt = part.Start, part.End
			out = append(out, r)
		}
	}

	return out, nil
}

// loadOwnDays loads the days that listings have owners or fees of their own, by listing.
func loadOwnDays(ctx context.Context, tx *db.Tx, listings []id.ID) (map[id.ID][]listing.Span, error) {
	type row struct {
		ListingID      id.ID
		StartAt, EndAt *day.Day
	}

	rows, err := db.Select[row](ctx, tx, `
		select listing_id, start_at, end_at from fee_listing_period where team_id = @team and listing_id = any(@listings)
		union all select listing_id, start_at, end_at from listing_ownership_period where team_id = @team and listing_id = any(@listings)`,
		db.Args{"team": tx.Team, "listings": listings})
	if err != nil {
		return nil, fmt.Errorf("read periods of members of groups: %w", err)
	}

	out := map[id.ID][]listing.Span{}
	for _, r := range rows {
		out[r.ListingID] = append(out[r.ListingID], listing.Span{Start: r.StartAt, End: r.EndAt})
	}

	return out, nil
}

// EndPeriods ends the listing periods that a listing has itself and that cover the day, and returns those that are in
// the way, as listing.EndFees says. The journals follow with the group that the listing joins.
func EndPeriods(ctx context.Context, tx *db.Tx, listingID id.ID, at *day.Day) ([]id.ID, error) {
	own, err := db.Select[Period](ctx, tx, `select `+periodColumns+` from `+periodTables+`
		where p.team_id = @team and p.listing_id = @listing and (p.end_at is null or p.end_at > @from::date)
		order by p.fee_id, p.start_at nulls first, p.id`, db.Args{"team": tx.Team, "listing": listingID, "from": firstDay(at, tx)})
	if err != nil {
		return nil, fmt.Errorf("read listing periods of recurring fees: %w", err)
	}

	// First find out whether any is in the way.
	var inTheWay []id.ID

	for i := range own {
		if at == nil || own[i].StartAt != nil && !own[i].StartAt.Before(*at) {
			inTheWay = append(inTheWay, own[i].ID)
		}
	}

	if inTheWay != nil {
		return inTheWay, nil
	}

	// Then end them all.
	stmts := make([]db.Stmt, len(own))
	for i := range own {
		ended := own[i]
		ended.EndAt, ended.UpdatedAt = at, day.At(tx.Now)
		stmts[i] = periodTable.Upsert(tx, &ended)
		notePeriod(tx, audit.Updated, &own[i], &ended)
	}

	if len(stmts) == 0 {
		return nil, nil
	}

	if err := tx.Pipeline(ctx, stmts...); err != nil {
		return nil, fmt.Errorf("end listing periods of recurring fees: %w", err)
	}

	return nil, nil
}

// firstDay returns the day given, or today.
func firstDay(at *day.Day, tx *db.Tx) day.Day {
	if at != nil {
		return *at
	}

	return tx.Today()
}
