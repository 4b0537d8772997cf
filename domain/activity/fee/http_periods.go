package fee

import (
	"context"
	"errors"

	"stayledger/domain/property/listing"
	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

var periodSorts = page.Sorts{
	{Name: "startAt", Expr: "p.start_at", Nullable: true}, {Name: "createdAt", Expr: "p.created_at"},
}

// periodSort is an order of listing periods.
type periodSort string

// Enum lists the orders.
func (periodSort) Enum() []string { return periodSorts.Enum() }

type listPeriodsInput struct {
	page.Params
	Sort            periodSort `query:"sort" default:"createdAt"`
	RecurringFeeIDs page.IDs   `query:"recurringFeeIds"`
	RecurringFeeID  page.IDs   `query:"recurringFeeId" deprecated:"true" doc:"Former name of recurringFeeIds."`
	ListingIDs      page.IDs   `query:"listingIds"`
	IDs             page.IDs   `query:"ids" doc:"Only these; an id with a leading ! is left out."`
}

// listPeriods returns a page of listing periods.
func listPeriods(ctx context.Context, tx *db.Tx, in *listPeriodsInput) (*page.Page[Period], error) {
	q := page.Query{Columns: periodColumns, From: periodTables, Sorts: periodSorts, Default: "createdAt", ID: "p.id"}
	q.And("p.team_id = @team", db.Args{"team": tx.Team})
	q.IDs("p.fee_id = any(?)", in.RecurringFeeIDs)
	q.IDs("p.fee_id = any(?)", in.RecurringFeeID)
	q.IDs("p.listing_id = any(?)", in.ListingIDs)
	q.IDs("p.id = any(?)", in.IDs)

	return page.List[Period](ctx, tx, q, in.Params, in.Sort)
}

// CreatePeriod is the body of a new listing period.
type CreatePeriod struct {
	RecurringFeeID id.ID `json:"recurringFeeId"`
	ListingSubscription
	OnConflict *listing.OnConflict `json:"onConflict,omitempty" doc:"truncate ends an open period where this one starts."`
}

type createPeriodInput struct{ Body CreatePeriod }

// createPeriod adds a listing period to a fee. It reports an unknown fee and an unknown listing together.
func createPeriod(ctx context.Context, tx *db.Tx, in *createPeriodInput) (*Period, error) {
	b := &in.Body

	if err := tx.Exclusively(); err != nil {
		return nil, err
	}

	var issues []apierr.Issue

	// The fee is needed to find the journals that change, so it is loaded rather than only looked up.
	f, err := loadFee(ctx, tx, b.RecurringFeeID)
	switch {
	case errors.Is(err, apierr.NotFound):
		issues = append(issues, apierr.IssueNotFound.InBody("recurringFeeId"))
	case err != nil:
		return nil, err
	}

	listings, err := listing.ByID(ctx, tx, []id.ID{b.ListingID})
	if err != nil {
		return nil, err
	}

	l, known := listings[b.ListingID]
	if !known {
		issues = append(issues, apierr.IssueNotFound.InBody("listingId"))
	}

	switch {
	case len(issues) > 0:
		return nil, apierr.BadRequest.At(issues...)
	case l.Parent != nil:
		return nil, listing.ErrInGroup
	}

	return savePeriod(ctx, tx, &periodChange{fee: &f, onConflict: b.OnConflict, after: &Period{
		ID:        tx.NewID(),
		FeeID:     b.RecurringFeeID,
		ListingID: b.ListingID,
		StartAt:   b.StartAt,
		EndAt:     b.EndAt,
		Rate:      b.Rate,
		CreatedAt: day.At(tx.Now),
		UpdatedAt: day.At(tx.Now),
	}})
}

// UpdatePeriod is the body of a changed listing period; absent fields stay as they are.
type UpdatePeriod struct {
	StartAt    api.Opt[day.Day]    `json:"startAt,omitzero"`
	EndAt      api.Opt[day.Day]    `json:"endAt,omitzero"`
	Rate       api.Opt[int64]      `json:"rate,omitzero" minimum:"-9007199254740991" maximum:"9007199254740991"`
	OnConflict *listing.OnConflict `json:"onConflict,omitempty" doc:"truncate ends an open period where this one starts."`
}

type updatePeriodInput struct {
	ID   id.ID `path:"id"`
	Body UpdatePeriod
}

// updatePeriod changes a listing period. It fails with 404 for an unknown one, and with listing.ErrInGroup for one of
// a member of a group.
func updatePeriod(ctx context.Context, tx *db.Tx, in *updatePeriodInput) (*Period, error) {
	f, before, err := loadPeriodAndFee(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	// What a member of a group was charged before it joined stays as it was.
	listings, err := listing.ByID(ctx, tx, []id.ID{before.ListingID})
	if err != nil {
		return nil, err
	}

	if l := listings[before.ListingID]; l.Parent != nil {
		return nil, listing.ErrInGroup
	}

	p, b := *before, &in.Body
	p.StartAt, p.EndAt, p.Rate = b.StartAt.Or(p.StartAt), b.EndAt.Or(p.EndAt), b.Rate.Or(p.Rate)
	p.UpdatedAt = day.At(tx.Now)

	return savePeriod(ctx, tx, &periodChange{fee: f, before: before, after: &p, onConflict: b.OnConflict})
}

// loadPeriodAndFee loads a listing period with its fee for a change.
func loadPeriodAndFee(ctx context.Context, tx *db.Tx, periodID id.ID) (*Fee, *Period, error) {
	if err := tx.Exclusively(); err != nil {
		return nil, nil, err
	}

	p, err := loadPeriod(ctx, tx, periodID)
	if err != nil {
		return nil, nil, err
	}

	f, err := loadFee(ctx, tx, p.FeeID)

	return &f, &p, err
}

// periodChange is a listing period before a change, nil for a new one, and after it.
type periodChange struct {
	fee           *Fee
	before, after *Period
	onConflict    *listing.OnConflict
}

// savePeriod saves a listing period. If an earlier open one is in the way and may be truncated, it ends where this
// one starts.
func savePeriod(ctx context.Context, tx *db.Tx, c *periodChange) (*Period, error) {
	p := c.after

	// The fee itself does not change, only its periods.
	t := feeChange{before: c.fee, after: c.fee, new: []Period{*p}}
	if c.before != nil {
		t.old = append(t.old, *c.before)
	}

	// First end the earlier period, if the caller allows it.
	var stmts []db.Stmt

	if c.onConflict != nil && *c.onConflict == listing.Truncate {
		earlier, err := loadTruncatable(ctx, tx, p)
		if err != nil {
			return nil, err
		}

		for i := range earlier {
			ended := earlier[i]
			ended.EndAt, ended.UpdatedAt = p.StartAt, p.UpdatedAt

			t.old, t.new = append(t.old, earlier[i]), append(t.new, ended)
			stmts = append(stmts, periodTable.Upsert(tx, &ended))
			notePeriod(tx, audit.Updated, &earlier[i], &ended)
		}
	}

	// Then write both, the earlier one first: the two must not overlap at any time.
	if err := tx.Pipeline(ctx, append(stmts, periodTable.Upsert(tx, p))...); err != nil {
		return nil, constraintError(err)
	}

	what := audit.Updated
	if c.before == nil {
		what = audit.Created
	}

	notePeriod(tx, what, c.before, p)

	// Last, have the journals derived again that one of the periods covers.
	if _, err := outdate(ctx, tx, t); err != nil {
		return nil, err
	}

	saved, err := loadPeriod(ctx, tx, p.ID)

	return &saved, err
}

// deletePeriodHandler deletes a listing period and has the journals of its listing derived again.
func deletePeriodHandler(ctx context.Context, tx *db.Tx, in *byID) (*api.None, error) {
	f, p, err := loadPeriodAndFee(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	if err := deletePeriod(ctx, tx, in.ID); err != nil {
		return nil, err
	}

	notePeriod(tx, audit.Deleted, p, nil)
	_, err = outdate(ctx, tx, feeChange{before: f, after: f, old: []Period{*p}})

	return &api.None{}, err
}
