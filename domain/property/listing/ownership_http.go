package listing

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/operation"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// periodEndpoints returns the routes of ownership periods. They run one at a time in a team, because they compare
// periods with each other.
func (h Listings) periodEndpoints() []api.Endpoint {
	// The same sentence ends the description of every route that can change owners.
	const follows = " In a team with a general ledger the journals of the listing follow in an operation of type " +
		"listing-journal-refresh, which is acknowledged with 202; elsewhere they follow at once."

	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/listings/ownership-periods", ID: "listOwnershipPeriods", Tag: tag,
			Summary: "List ownership periods",
			Scopes:  []string{"listings:read"}, OneTripPage: true,
		}, listPeriods),
		operation.QueueOr(api.Endpoint{
			Method: http.MethodPost, Path: "/listings/ownership-periods", ID: "createOwnershipPeriod", Tag: tag,
			Summary:   "Create an ownership period",
			Errors:    apierr.List{ErrInGroup, errPeriodConflict, errPeriodLocked, account.ErrRequiredMissing},
			Exclusive: true,
			Doc: "Fails with 400 for an unknown listing, for members that are no owners or whose splits do not sum " +
				"to 100000, and for a period that ends before it starts; with 409 for an overlap " +
				"(context.conflictingPeriodIds), unless onConflict=truncate can end the earlier open period where " +
				"this one starts; with 403 when an owner statement holds that earlier period (reason " +
				"statementAttachment). A member of a group has the owners of the group: it is refused with 400 " +
				"(reason " +
				"listingInGroup)." + follows,
			Scopes: []string{"listings:write"}, DryRun: true, Status: http.StatusCreated,
		}, h.createPeriod, h.work),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/listings/ownership-periods/{id}", ID: "getOwnershipPeriod", Tag: tag,
			Summary: "Read an ownership period",
			Scopes:  []string{"listings:read"}, OneTrip: true,
		}, getPeriod),
		operation.QueueOr(api.Endpoint{
			Method: http.MethodPut, Path: "/listings/ownership-periods/{id}", ID: "updateOwnershipPeriod", Tag: tag,
			Summary:   "Change an ownership period",
			Errors:    apierr.List{ErrInGroup, errPeriodConflict, errPeriodLocked, account.ErrRequiredMissing},
			Exclusive: true,
			Doc: "Fields that are present change; null clears. Fails with 404 for an unknown period, as creating " +
				"does, and with 403 for other members, another business model or lost days under an owner statement " +
				"(reason statementAttachment)." +
				" Periods of a member of a group stay as they are: 400 (reason listingInGroup)." + follows,
			Scopes: []string{"listings:write"}, DryRun: true,
		}, h.updatePeriod, h.work),
		operation.QueueOr(api.Endpoint{
			Method: http.MethodDelete, Path: "/listings/ownership-periods/{id}", ID: "deleteOwnershipPeriod",
			Tag: tag, Summary: "Delete an ownership period",
			Errors:    apierr.List{errPeriodInUse, errPeriodConflict, errPeriodLocked, account.ErrRequiredMissing},
			Exclusive: true,
			Doc: "Fails with 404 for an unknown period, 400 for one that journal entries or owner statements use " +
				"(reason inUse, context.lockReasons); onLocked=archive ends such a period on the last day that they " +
				"use instead. With onLast=extend the period before the last one goes on through the days of the " +
				"deleted one; an archived one keeps days, so that it is refused then with " +
				"context.suggestedOnLast." + follows,
			Scopes: []string{"listings:delete"}, DryRun: true,
		}, h.deletePeriod, h.work),
	}
}

// periodSort is an order of ownership periods.
type periodSort string

// Enum lists the orders.
func (periodSort) Enum() []string { return periodSorts.Enum() }

type periodListInput struct {
	page.Params
	Sort       periodSort    `query:"sort" default:"createdAt"`
	IDs        page.IDs      `query:"ids" doc:"Only these; an id with a leading ! is left out."`
	ListingIDs page.IDs      `query:"listingIds"`
	ContactIDs page.IDs      `query:"contactIds" doc:"Periods with one of these members."`
	ContactID  page.IDs      `query:"contactId" deprecated:"true" doc:"Former name of contactIds."`
	Model      BusinessModel `query:"businessModel"`
	Date       *day.Day      `query:"date" doc:"Periods that cover this day."`
}

// listPeriods returns a page of ownership periods with their locks.
func listPeriods(ctx context.Context, tx *db.Tx, in *periodListInput) (*page.Page[Period], error) {
	q := periodQuery(tx)

	const hasMember = "exists (select from listing_ownership_member m where m.team_id = @team " +
		"and m.period_id = p.id and m.contact_id = any(?))"

	// Filters that are absent add nothing to the statement.
	q.IDs("p.id = any(?)", in.IDs)
	q.IDs("p.listing_id = any(?)", in.ListingIDs)
	q.IDs(hasMember, in.ContactIDs)
	q.IDs(hasMember, in.ContactID)
	q.Narrow("p.business_model = ?", in.Model)
	q.Narrow("daterange(p.start_at, p.end_at) @> ?::date", in.Date)

	rows, err := page.List[lockedPeriod](ctx, tx, q, in.Params, in.Sort)
	if err != nil {
		return nil, err
	}

	found := &page.Page[Period]{Data: make([]Period, len(rows.Data)), Pagination: rows.Pagination}
	for i := range rows.Data {
		found.Data[i] = rows.Data[i].period()
	}

	return found, nil
}

func getPeriod(ctx context.Context, tx *db.Tx, in *getInput) (*Period, error) {
	return loadPeriod(ctx, tx, in.ID)
}

// Terms are the fields of a period that can be left out.
type Terms struct {
	StartAt            api.Opt[day.Day]     `json:"startAt,omitzero" doc:"Null or absent: from inception."`
	EndAt              api.Opt[day.Day]     `json:"endAt,omitzero" doc:"Exclusive; null or absent: open."`
	BusinessModel      *BusinessModel       `json:"businessModel,omitempty"`
	Reserve            api.Opt[money.Cents] `json:"reserve,omitzero" minimum:"0" maximum:"9007199254740991"`
	SetListingInactive api.Opt[bool]        `json:"setListingInactive,omitzero" doc:"The listing becomes inactive on endAt, at once if that is past, unless another period owns it then."`
}

// CreatedTerms are the terms of a new period.
type CreatedTerms struct {
	Members []Member `json:"members" minItems:"1" maxItems:"50"`
	Terms
}

// CreatePeriod is an ownership period to be.
type CreatePeriod struct {
	ListingID  id.ID       `json:"listingId"`
	OnConflict *OnConflict `json:"onConflict,omitempty" doc:"What to do with a period in the way."`
	CreatedTerms
}

// UpdatePeriod changes the fields that are present; null clears.
type UpdatePeriod struct {
	Members    []Member    `json:"members,omitempty" minItems:"1" maxItems:"50"`
	OnConflict *OnConflict `json:"onConflict,omitempty" doc:"What to do with a period in the way."`
	Terms
}

func (in *Terms) apply(p *Period) {
	p.StartAt, p.EndAt, p.Reserve = in.StartAt.Or(p.StartAt), in.EndAt.Or(p.EndAt), in.Reserve.Or(p.Reserve)
	if in.BusinessModel != nil {
		p.BusinessModel = *in.BusinessModel
	}

	if in.SetListingInactive.Present {
		p.SetListingInactive = in.SetListingInactive.Value != nil && *in.SetListingInactive.Value
	}
}

func newPeriod(tx *db.Tx, listing id.ID, in *CreatedTerms) *Period {
	p := &Period{ID: tx.NewID(), ListingID: listing, BusinessModel: Managed, Members: in.Members}
	in.apply(p)

	return p
}

type createPeriodInput struct{ Body CreatePeriod }

// createPeriod creates an ownership period of a listing. It fails with 400 at listingId for an unknown listing.
func (h Listings) createPeriod(ctx context.Context, tx *db.Tx, in *createPeriodInput) (*Period, *operation.New, error) {
	if err := tx.Exclusively(); err != nil {
		return nil, nil, err
	}

	// The listing must exist, and write expects that it is locked.
	l, err := lock(ctx, tx, in.Body.ListingID)
	switch {
	case errors.Is(err, apierr.NotFound):
		return nil, nil, apierr.BadRequest.At(apierr.IssueNotFound.InBody("listingId"))
	case err != nil:
		return nil, nil, err
	case l.Parent != nil:
		return nil, nil, ErrInGroup
	}

	p := newPeriod(tx, in.Body.ListingID, &in.Body.CreatedTerms)
	if err := write(ctx, tx, nil, p, change{onConflict: in.Body.OnConflict}); err != nil {
		return nil, nil, err
	}

	return h.answerSaved(ctx, tx, p)
}

type putPeriodInput struct {
	ID   id.ID `path:"id"`
	Body UpdatePeriod
}

// updatePeriod changes an ownership period. Its journals follow at once or in an operation.
func (h Listings) updatePeriod(ctx context.Context, tx *db.Tx, in *putPeriodInput) (*Period, *operation.New, error) {
	if err := tx.Exclusively(); err != nil {
		return nil, nil, err
	}

	old, err := lockPeriod(ctx, tx, in.ID)
	if err != nil {
		return nil, nil, err
	}

	// What a member of a group had before it joined stays as it was.
	if l, err := lock(ctx, tx, old.ListingID); err != nil {
		return nil, nil, err
	} else if l.Parent != nil {
		return nil, nil, ErrInGroup
	}

	// Change a copy: the checks compare the period before and after.
	p := *old
	in.Body.apply(&p)

	if in.Body.Members != nil {
		p.Members = in.Body.Members
	}

	if err := write(ctx, tx, old, &p, change{onConflict: in.Body.OnConflict}); err != nil {
		return nil, nil, err
	}

	return h.answerSaved(ctx, tx, &p)
}

// change is how a period is written: what to do with others in the way, and where in the body its fields stand.
type change struct {
	onConflict *OnConflict
	path       []any
}

// write checks a period against the other periods of its listing, the statements saved over them and the contacts
// it names, and saves it. The caller holds the lock of the listing. A new period has no old one.
func write(ctx context.Context, tx *db.Tx, old, p *Period, c change) error {
	// First check what the request itself can get wrong, all at once.
	issues := checkDays(p.StartAt, p.EndAt, append(slices.Clone(c.path), "endAt")...)
	members := append(slices.Clone(c.path), "members")

	issues = append(issues, checkMembers(p.Members, members...)...)
	if old == nil || !slices.Equal(old.Members, p.Members) {
		found, err := checkOwners(ctx, tx, p.Members, members)
		if err != nil {
			return err
		}

		issues = append(issues, found...)
	}

	if len(issues) > 0 {
		return apierr.BadRequest.At(issues...)
	}

	// Then what the books say: statements keep the owners that they were saved with.
	byListing, err := LoadOwnPeriods(ctx, tx, []id.ID{p.ListingID})
	if err != nil {
		return err
	}

	others := byListing[p.ListingID]

	statements, err := ledger.ListStatementsOver(ctx, tx, periodIDs(others))
	if err != nil {
		return err
	}

	if old != nil {
		if err := checkStatements(old, p, statements); err != nil {
			return err
		}
	}

	// A new period may end the open one before it, if the caller allows that and no statement holds those days.
	ended, err := resolveConflicts(others, p, c.onConflict)
	if err != nil {
		return err
	}

	if ended != nil {
		was := others[slices.IndexFunc(others, func(o Period) bool { return o.ID == ended.ID })]
		if err := checkStatements(&was, ended, statements); err != nil {
			return err
		}

		noteEnd(tx, &was, ended.EndAt)
	}

	return savePeriod(ctx, tx, old, p, ended)
}

type delPeriodInput struct {
	ID       id.ID  `path:"id"`
	OnLocked string `query:"onLocked" enum:"archive" doc:"archive ends a period in use instead of deleting it."`
	OnLast   OnLast `query:"onLast" doc:"What becomes of the period before, when the last one is deleted; absent: none."`
}

// periodInUse is the context of a refused deletion. SuggestedOnLast is set when the period before cannot be extended.
// Rule ERR-76.
type periodInUse struct {
	apierr.InUse

	SuggestedOnLast OnLast `json:"suggestedOnLast,omitempty"`
}

// deletePeriod deletes an ownership period. If entries or statements use it, the caller can have it end on the last
// day they use instead.
func (h Listings) deletePeriod(ctx context.Context, tx *db.Tx, in *delPeriodInput) (*api.None, *operation.New, error) {
	if err := tx.Exclusively(); err != nil {
		return nil, nil, err
	}

	p, err := lockPeriod(ctx, tx, in.ID)
	if err != nil {
		return nil, nil, err
	}

	// First, load what uses the period, and its neighbours.
	used, err := h.periods.Load(ctx, tx, p.ID)
	if err != nil {
		return nil, nil, err
	}

	byListing, err := LoadOwnPeriods(ctx, tx, []id.ID{p.ListingID})
	if err != nil {
		return nil, nil, err
	}

	// Deleting the last period can hand its days to the one before.
	var extended *Period
	if in.OnLast == Extend {
		extended = before(byListing[p.ListingID], p)
	}

	// Choose between deleting, ending and refusing. An ended period keeps days, so none can be handed on.
	switch {
	case used.Deletion == nil:
		err = removePeriod(ctx, tx, p, extended)
	case in.OnLocked == "archive" && extended == nil:
		err = archivePeriod(ctx, tx, p)
	default:
		context := periodInUse{InUse: apierr.InUse{LockReasons: used.Deletion, SuggestedOnLocked: apierr.Archive}}
		if extended != nil {
			context.SuggestedOnLast = LeaveGap
		}

		err = errPeriodInUse.With(context)
	}

	if err != nil {
		return nil, nil, err
	}

	// The end that is left may be one that makes the listing inactive.
	if err := h.deactivateEnded(ctx, tx, []id.ID{p.ListingID}); err != nil {
		return nil, nil, err
	}

	// The journals of the listing follow, at once or in an operation.
	n, err := h.follow(ctx, tx, p.ListingID)

	return &api.None{}, n, err
}
