package listing

import (
	"context"
	"fmt"
	"slices"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Span is the days from Start, nil for inception, to End, nil for open. The end is exclusive.
type Span struct{ Start, End *day.Day }

// isEmpty reports whether the span has no day.
func (s Span) isEmpty() bool { return s.Start != nil && s.End != nil && !s.Start.Before(*s.End) }

// Overlaps reports whether two spans share a day. A missing start or end means forever.
func (s Span) Overlaps(o Span) bool {
	return (s.Start == nil || o.End == nil || s.Start.Before(*o.End)) &&
		(o.Start == nil || s.End == nil || o.Start.Before(*s.End))
}

// Without returns the parts of the span that the others leave, in the order of their days.
func (s Span) Without(others []Span) []Span {
	others = slices.SortedStableFunc(slices.Values(others), func(a, b Span) int {
		switch {
		case a.Start == nil && b.Start == nil:
			return 0
		case a.Start == nil:
			return -1
		case b.Start == nil:
			return 1
		default:
			return a.Start.Compare(*b.Start)
		}
	})

	var out []Span

	for _, o := range others {
		// The days before the other one are a part, unless it goes back to inception.
		if o.Start != nil {
			part := s
			if part.End == nil || o.Start.Before(*part.End) {
				part.End = o.Start
			}

			if !part.isEmpty() {
				out = append(out, part)
			}
		}

		// Go on where the other one ends.
		if o.End == nil {
			return out
		}

		if s.Start == nil || s.Start.Before(*o.End) {
			s.Start = o.End
		}
	}

	if !s.isEmpty() {
		out = append(out, s)
	}

	return out
}

// span returns the days of a period.
func (p *Period) span() Span { return Span{p.StartAt, p.EndAt} }

// Periods returns the ownership periods that count for listings, by listing, each list in the order of the days. With
// listingIDs nil it returns those of all listings. For a member of a group these are its own periods, and those of
// the group on all other days: such a period keeps its id and names the group as its listing, but has only the days
// that the member leaves, so it is there once for each run of them. The locks of periods are not filled in.
func Periods(ctx context.Context, tx *db.Tx, listingIDs []id.ID) (map[id.ID][]Period, error) {
	type row struct {
		Period
		ForListing id.ID
	}

	// Without a list the conditions have no ids, because an empty array selects nothing.
	own, inherited, args := "", "", db.Args{"team": tx.Team}
	if listingIDs != nil {
		own, inherited = " and p.listing_id = any(@listings::uuid[])", " and l.id = any(@listings::uuid[])"
		args["listings"] = listingIDs
	}

	rows, err := db.Select[row](ctx, tx, `
		select `+periodColumns+`, p.listing_id as for_listing from listing_ownership_period p where p.team_id = @team`+own+`
		union all
		select `+periodColumns+`, l.id from listing l join listing_ownership_period p on p.team_id = @team and p.listing_id = l.parent_id
			where l.team_id = @team and l.parent_id is not null`+inherited+`
		order by for_listing, start_at nulls first, id`, args)
	if err != nil {
		return nil, fmt.Errorf("read ownership periods: %w", err)
	}

	// First the periods that listings have themselves.
	out, days := map[id.ID][]Period{}, map[id.ID][]Span{}

	for i := range rows {
		if r := &rows[i]; r.ListingID == r.ForListing {
			out[r.ListingID] = append(out[r.ListingID], r.Period)
			days[r.ListingID] = append(days[r.ListingID], r.span())
		}
	}

	// Then those of groups, on the days that their members leave.
	for i := range rows {
		r := &rows[i]
		if r.ListingID == r.ForListing {
			continue
		}

		for _, part := range r.span().Without(days[r.ForListing]) {
			p := r.Period
			p.StartAt, p.EndAt = part.Start, part.End
			out[r.ForListing] = append(out[r.ForListing], p)
		}
	}

	for v := range out {
		slices.SortStableFunc(out[v], comparePeriods)
	}

	return out, nil
}

// comparePeriods orders periods of a listing, which never overlap, by their days.
func comparePeriods(a, b Period) int {
	switch {
	case a.StartAt == nil:
		return -1
	case b.StartAt == nil:
		return 1
	default:
		return a.StartAt.Compare(*b.StartAt)
	}
}

// LoadOwnPeriods returns the ownership periods that listings have themselves, by listing, each list in the order of the
// days. What counts for a member of a group are Periods. The locks are not filled in.
func LoadOwnPeriods(ctx context.Context, tx *db.Tx, listingIDs []id.ID) (map[id.ID][]Period, error) {
	rows, err := selectPeriods(
		ctx, tx, "p.team_id = @team and p.listing_id = any(@listings::uuid[])",
		db.Args{"team": tx.Team, "listings": listingIDs},
	)
	if err != nil {
		return nil, err
	}

	out := map[id.ID][]Period{}
	for i := range rows {
		out[rows[i].ListingID] = append(out[rows[i].ListingID], rows[i])
	}

	return out, nil
}

// OwnerSourceSQL returns the SQL that selects as id the listing that has the owners of a listing on a day: itself,
// and the group of a member on a day that no period of its own covers. The listing is the alias of its row, the day
// is SQL.
func OwnerSourceSQL(l, on string) string {
	own := coveringSQL("listing_ownership_period", l+".id", on)
	return `select ` + l + `.id as id union all select ` + l + `.parent_id where ` + l + `.parent_id is not null and not ` + own
}

// coveringSQL returns the condition that a table of periods has one of the listing that covers the day; all are SQL.
func coveringSQL(table, listing, on string) string {
	return `exists (select from ` + table + ` own where own.team_id = @team and own.listing_id = ` + listing +
		` and daterange(own.start_at, own.end_at) @> ` + on + `)`
}

// The SQL of owners and fees of @today for a listing l.
const (
	today       = `@today::date`
	coversToday = `p.team_id = @team and daterange(p.start_at, p.end_at) @> ` + today
)

// The listing has an owner. Which of two periods counts makes no difference to that.
var ownedToday = `(` + coveringSQL("listing_ownership_period", "l.id", today) + ` or ` + coveringSQL("listing_ownership_period", "l.parent_id", today) + `)`

// The listing has owners or fees of its own.
var ownDay = `(` + coveringSQL("listing_ownership_period", "l.id", today) + ` or ` + coveringSQL("fee_listing_period", "l.id", today) + `)`

// The listing that has the owners, and the one that has the fees.
var (
	ownerSource = OwnerSourceSQL("l", today)
	feeSource   = `select l.id as id union all select l.parent_id where l.parent_id is not null and not ` + ownDay
)

// ownedJoin joins the ownership period that covers today to a listing l, as owned. There is at most one.
var ownedJoin = `
	left join lateral (select p.* from (` + ownerSource + `) h join listing_ownership_period p
		on ` + coversToday + ` and p.listing_id = h.id) owned on true`

// One of the contacts owns listing l on some day, past or to come.
const ownedBy = `exists (select from listing_ownership_member m join listing_ownership_period p on p.team_id = @team and p.id = m.period_id
	where m.team_id = @team and m.contact_id = any(?) and (p.listing_id = l.id or p.listing_id = l.parent_id
		and not daterange(p.start_at, p.end_at) <@ (select coalesce(range_agg(daterange(o.start_at, o.end_at)), '{}')
			from listing_ownership_period o where o.team_id = @team and o.listing_id = l.id)))`

// chargeTodaySQL returns the condition that listing l is charged a recurring fee f today, with f meeting a further
// condition. A fee counts if it is active and its period includes today.
func chargeTodaySQL(further string) string {
	charged := `exists (select from fee_listing_period p join fee f on f.team_id = @team and f.id = p.fee_id
		where ` + coversToday + ` and f.status = 'active'` + further + ` and p.listing_id = `

	return `(` + charged + `l.id) or not ` + ownDay + ` and ` + charged + `l.parent_id))`
}
