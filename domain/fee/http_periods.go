package fee

import (
	"context"
	"errors"

	"stayledger/domain/listing"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

type listPeriodsInput struct {
	page.Params
	Sort           string  `query:"sort" enum:"startAt,-startAt,createdAt,-createdAt" default:"createdAt"`
	RecurringFeeID id.ID   `query:"recurringFeeId"`
	ListingIDs     []id.ID `query:"listingIds"`
	IDs            []id.ID `query:"ids"`
}

func listPeriods(ctx context.Context, tx *db.Tx, in *listPeriodsInput) (*page.Page[Period], error) {
	q := page.Query{
		Columns: periodColumns, From: periodTables, Default: "createdAt", ID: "p.id",
		Sorts: page.Sorts{"startAt": {Expr: "p.start_at", Nullable: true}, "createdAt": {Expr: "p.created_at"}},
	}
	q.And("p.team_id = @team", db.Args{"team": tx.Team})
	if !in.RecurringFeeID.IsZero() {
		q.And("p.fee_id = @fee", db.Args{"fee": in.RecurringFeeID})
	}
	if in.ListingIDs != nil {
		q.And("p.listing_id = any(@listings)", db.Args{"listings": in.ListingIDs})
	}
	if in.IDs != nil {
		q.And("p.id = any(@ids)", db.Args{"ids": in.IDs})
	}
	return page.List[Period](ctx, tx, q, in.Params, in.Sort)
}

// CreatePeriod is the body of a new listing period.
type CreatePeriod struct {
	RecurringFeeID id.ID `json:"recurringFeeId"`
	ListingSubscription
}

type createPeriodInput struct{ Body CreatePeriod }

func (h handler) createPeriod(ctx context.Context, tx *db.Tx, in *createPeriodInput) (*Period, error) {
	b := &in.Body
	if err := hold(ctx, tx, b.RecurringFeeID); err != nil {
		return nil, err
	}
	var issues []apierr.Issue
	switch _, err := get(ctx, tx, b.RecurringFeeID); {
	case errors.Is(err, apierr.NotFound):
		issues = append(issues, notFound("Recurring fee does not exist", "recurringFeeId"))
	case err != nil:
		return nil, err
	}
	listings, err := listing.ByID(ctx, tx, []id.ID{b.ListingID})
	if err != nil {
		return nil, err
	}
	if _, known := listings[b.ListingID]; !known {
		issues = append(issues, notFound("Listing does not exist", "listingId"))
	}
	if len(issues) > 0 {
		return nil, apierr.BadRequest.At(issues...)
	}
	return h.savePeriod(ctx, tx, &Period{
		ID: tx.NewID(), FeeID: b.RecurringFeeID, ListingID: b.ListingID, StartAt: b.StartAt, EndAt: b.EndAt, Rate: b.Rate,
		CreatedAt: day.At(tx.Now), UpdatedAt: day.At(tx.Now),
	})
}

// UpdatePeriod is the body of a changed listing period; what is absent stays.
type UpdatePeriod struct {
	StartAt api.Opt[day.Day] `json:"startAt,omitzero"`
	EndAt   api.Opt[day.Day] `json:"endAt,omitzero"`
	Rate    api.Opt[int64]   `json:"rate,omitzero" minimum:"-9007199254740991" maximum:"9007199254740991"`
}

type updatePeriodInput struct {
	ID   id.ID `path:"id"`
	Body UpdatePeriod
}

func (h handler) updatePeriod(ctx context.Context, tx *db.Tx, in *updatePeriodInput) (*Period, error) {
	if err := hold(ctx, tx, in.ID); err != nil {
		return nil, err
	}
	p, err := getPeriod(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	p.StartAt, p.EndAt, p.Rate = b.StartAt.Or(p.StartAt), b.EndAt.Or(p.EndAt), b.Rate.Or(p.Rate)
	p.UpdatedAt = day.At(tx.Now)
	return h.savePeriod(ctx, tx, &p)
}

func (h handler) savePeriod(ctx context.Context, tx *db.Tx, p *Period) (*Period, error) {
	if err := holdListings(ctx, tx, []id.ID{p.ListingID}); err != nil {
		return nil, err
	}
	s := periodStatement(tx, p)
	if _, err := tx.Exec(ctx, s.SQL, s.Args); err != nil {
		return nil, refused(err)
	}
	saved, err := getPeriod(ctx, tx, p.ID)
	if err != nil {
		return nil, err
	}
	return &saved, h.derive(ctx, tx, []id.ID{p.ListingID})
}

func (h handler) deletePeriod(ctx context.Context, tx *db.Tx, in *byID) (*api.None, error) {
	if err := hold(ctx, tx, in.ID); err != nil {
		return nil, err
	}
	p, err := getPeriod(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := holdListings(ctx, tx, []id.ID{p.ListingID}); err != nil {
		return nil, err
	}
	if err := deletePeriod(ctx, tx, in.ID); err != nil {
		return nil, err
	}
	return &api.None{}, h.derive(ctx, tx, []id.ID{p.ListingID})
}
