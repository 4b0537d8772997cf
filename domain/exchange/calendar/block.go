package calendar

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/exchange/pms"
	"stayledger/domain/record/operation"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// maxNights is the most nights of a block: two years.
const maxNights = 731

// NewBlocks block the same nights of some listings.
type NewBlocks struct {
	ListingIDs []id.ID `json:"listingIds" minItems:"1" maxItems:"250" uniqueItems:"true"`
	StartAt    day.Day `json:"startAt" doc:"First night."`
	EndAt      day.Day `json:"endAt" doc:"Day on which the listings are free again; at most 731 nights later."`
	Note       *string `json:"note,omitempty" nullable:"true" maxLength:"400" doc:"Shown here and in the system, such as why."`
}

type blockInput struct{ Body NewBlocks }

// Resolve refuses a period without a night, and one with too many.
func (in *blockInput) Resolve() []apierr.Issue {
	return checkPeriod(in.Body.StartAt, in.Body.EndAt)
}

// checkPeriod returns an issue for a period without a night, and for one with too many.
func checkPeriod(start, end day.Day) []apierr.Issue {
	switch {
	case start.IsZero() || end.IsZero():
		return nil // which is refused as missing
	case !end.After(start):
		return []apierr.Issue{apierr.IssueDateOrder.InBody("endAt")}
	case start.DaysUntil(end) > maxNights:
		return []apierr.Issue{apierr.IssueRange.InBody("endAt")}
	}

	return nil
}

// place is a listing with nights to block, and the connection of its system.
type place struct {
	ID           id.ID
	Archived     bool
	Reserved     bool
	Closed       bool
	ConnectionID *id.ID
	AppID        *connection.AppID
	ExternalID   *string
}

// loadPlaces locks listings in the order of ids, and loads what their nights have already. If several systems have a
// listing, the one connected last counts: a team moves from one to the next.
func loadPlaces(ctx context.Context, tx *db.Tx, in *NewBlocks) (map[id.ID]*place, error) {
	args := db.Args{"team": tx.Team, "ids": in.ListingIDs, "start": in.StartAt, "end": in.EndAt}

	// Lock in a separate statement, so that the next one sees what others have committed before the lock.
	if _, err := db.Select[id.ID](ctx, tx, `select id from listing where team_id = @team and id = any(@ids) order by id for no key update`,
		db.Args{"team": tx.Team, "ids": in.ListingIDs}); err != nil {
		return nil, fmt.Errorf("lock the listings of blocks: %w", err)
	}

	found, err := db.Select[place](ctx, tx, `
		select l.id, l.status <> 'active' as archived, s.connection_id, s.app_id, s.external_id,
			exists (select from reservation r where r.team_id = @team and r.listing_id = l.id and r.status = 'booked'
				and r.check_in < @end::date and r.check_out > @start::date) as reserved,
			exists (select from calendar_block b where b.team_id = @team and b.listing_id = l.id and b.status <> 'refused'
				and b.start_at < @end::date and b.end_at > @start::date) as closed
		from listing l left join lateral (
			select c.id as connection_id, c.app_id, r.external_id from listing_connection r join connection c on c.team_id = @team and c.id = r.connection_id
			where r.team_id = @team and r.listing_id = l.id and r.state = 'active' and c.status <> 'archived'
			order by c.created_at desc, c.id desc limit 1) s on true
		where l.team_id = @team and l.id = any(@ids)`, args)
	if err != nil {
		return nil, fmt.Errorf("read the listings of blocks: %w", err)
	}

	out := map[id.ID]*place{}
	for i := range found {
		out[found[i].ID] = &found[i]
	}

	return out, nil
}

// check returns the listings in the order of the request. It fails with an issue for each listing that is missing,
// archived or has a taken night, and with 501 if the system of a listing has no calendar.
func (in *NewBlocks) check(known map[id.ID]*place) ([]*place, error) {
	var unusable, taken []apierr.Issue

	out := make([]*place, len(in.ListingIDs))

	for i, v := range in.ListingIDs {
		p := known[v]
		out[i] = p

		switch {
		case p == nil:
			unusable = append(unusable, apierr.IssueNotFound.InBody("listingIds", i))
		case p.Archived:
			unusable = append(unusable, apierr.IssueInactive.InBody("listingIds", i))
		case p.Reserved || p.Closed:
			taken = append(taken, apierr.IssueOverlap.InBody("listingIds", i))
		}
	}

	hasNoCalendar := func(p *place) bool { return p.AppID != nil && !pms.Can(*p.AppID, connection.CalendarBlocks) }

	// Faults of the request come before the state of the nights, which can change.
	switch {
	case unusable != nil:
		return nil, apierr.BadRequest.At(unusable...)
	case slices.ContainsFunc(out, hasNoCalendar):
		return nil, apierr.NotImplemented
	case taken != nil:
		return nil, errTaken.At(taken...)
	}

	return out, nil
}

// block inserts blocks, and starts the operation that notifies the systems.
func (*calendar) block(ctx context.Context, tx *db.Tx, in *blockInput) (*operation.Acknowledgement, error) {
	known, err := loadPlaces(ctx, tx, &in.Body)
	if err != nil {
		return nil, err
	}

	places, err := in.Body.check(known)
	if err != nil {
		return nil, err
	}

	blocks := make([]held, len(places))

	for i, p := range places {
		b := &blocks[i]
		b.Block = Block{
			ID: tx.NewID(), ListingID: p.ID, ConnectionID: p.ConnectionID, StartAt: in.Body.StartAt,
			EndAt: in.Body.EndAt, Status: Blocked, CreatedAt: day.Instant{Time: tx.Now},
			UpdatedAt: day.Instant{Time: tx.Now},
		}
		b.ExternalListingID = p.ExternalID

		// An empty note counts as none.
		if note := in.Body.Note; note != nil && *note != "" {
			b.Note = note
		}

		// The nights can be sold until the system knows.
		if p.ConnectionID != nil {
			b.Status = Pending
		}
	}

	if err := insertBlocks(ctx, tx, blocks); err != nil {
		return nil, err
	}

	return start(ctx, tx, operation.CalendarBlock, blocks)
}

// start starts the operation that notifies systems, with a task for each block. For a listing without a system the
// task finds nothing to do.
func start(ctx context.Context, tx *db.Tx, typ operation.Type, blocks []held) (*operation.Acknowledgement, error) {
	n := operation.New{Type: typ}
	seen := map[id.ID]bool{}

	for i := range blocks {
		b := &blocks[i]
		n.Tasks = append(n.Tasks, operation.Task{Kind: pushKind, Args: pushArgs{b.ID, typ}})

		if !seen[b.ListingID] {
			seen[b.ListingID] = true
			n.Resources = append(n.Resources, operation.Resource{
				Type: operation.Listing, ID: b.ListingID, Role: operation.Target,
			})
		}
	}

	if len(n.Resources) == 1 {
		n.Primary = &n.Resources[0]
	}

	return operation.Start(ctx, tx, n)
}
