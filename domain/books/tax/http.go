package tax

import (
	"context"
	"net/http"

	"stayledger/domain/record/audit"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
	"stayledger/platform/parts"
)

const tag = "Tax rates"

// endpoints returns the routes of tax rates.
func endpoints(used *parts.Usage) []api.Endpoint {
	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method:  http.MethodGet,
			Path:    "/tax-rates",
			ID:      "listTaxRates",
			Tag:     tag,
			Summary: "List tax rates",
			Scopes:  []string{"tax-rates:read"},
		}, list),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/tax-rates", ID: "createTaxRate", Tag: tag, Summary: "Create a tax rate",
			Errors: apierr.List{errDuplicateName, errDuplicateUniqueRef},
			Scopes: []string{"tax-rates:write"}, DryRun: true, Status: http.StatusCreated,
		}, create),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/tax-rates/{id}", ID: "getTaxRate", Tag: tag, Summary: "Read a tax rate",
			Scopes: []string{"tax-rates:read"}, OneTrip: true,
		}, get),
		api.Write(api.Endpoint{
			Method:    http.MethodPut,
			Path:      "/tax-rates/{id}",
			ID:        "updateTaxRate",
			Tag:       tag,
			Summary:   "Change a tax rate",
			Errors:    apierr.List{errDuplicateName, errDuplicateUniqueRef},
			Exclusive: true,
			Doc: "Fields that are present change; null clears. A changed rate makes the journals of reservations " +
				"with taxed fees stale and starts the operations that derive them; what a lock holds stays as it is, " +
				"and so do transactions: they keep the tax that their bill states. Archived rates stay where " +
				"they are and can be put on nothing new. Fails with 404 for an unknown tax rate and as creating does.",
			Scopes: []string{"tax-rates:write"}, DryRun: true,
		}, put),
		api.Write(api.Endpoint{
			Method:    http.MethodDelete,
			Path:      "/tax-rates/{id}",
			ID:        "deleteTaxRate",
			Tag:       tag,
			Summary:   "Delete or archive a tax rate",
			Errors:    apierr.List{errInUse},
			Exclusive: true,
			Doc:       "onLocked=archive archives it instead.",
			Scopes:    []string{"tax-rates:delete"}, DryRun: true,
		}, handler{used}.deleteOrArchive),
	}
}

// listSort is an order of tax rates.
type listSort string

// Enum lists the orders.
func (listSort) Enum() []string { return sorts.Enum() }

type listInput struct {
	page.Params
	Sort   listSort `query:"sort" default:"name"`
	IDs    page.IDs `query:"ids" doc:"Only these; an id with a leading ! is left out."`
	Status Status   `query:"status"`
	Search string   `query:"search" maxLength:"200" doc:"Part of the name."`
}

// list returns a page of tax rates.
func list(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Rate], error) {
	q := query(tx)
	q.IDs("id = any(?)", in.IDs)
	q.Narrow("status = ?", in.Status)
	q.Search(in.Search, "name")

	return page.List[Rate](ctx, tx, q, in.Params, in.Sort)
}

type getInput struct {
	ID id.ID `path:"id"`
}

// get answers with a tax rate.
func get(ctx context.Context, tx *db.Tx, in *getInput) (*Rate, error) {
	return loadRate(ctx, tx, in.ID)
}

// Create is the body of a new tax rate.
type Create struct {
	Name        string          `json:"name" minLength:"1" maxLength:"200"`
	BasisPoints money.Rate      `json:"basisPoints" minimum:"0" maximum:"100000"`
	UniqueRef   api.Opt[string] `json:"uniqueRef,omitzero" minLength:"1" maxLength:"200"`
}

type createInput struct{ Body Create }

// create makes a tax rate.
func create(ctx context.Context, tx *db.Tx, in *createInput) (*Rate, error) {
	r := &Rate{
		ID:          tx.NewID(),
		Name:        in.Body.Name,
		BasisPoints: in.Body.BasisPoints,
		Status:      Active,
		UniqueRef:   in.Body.UniqueRef.Value,
	}
	if err := insertRate(ctx, tx, r); err != nil {
		return nil, err
	}

	audit.Note(tx, audit.Created, audit.TaxRate, r.ID, nil, r)

	// The answer is read after the write, so that it shows what the database has stored.
	return loadRate(ctx, tx, r.ID)
}

// Update changes the fields that are present; null clears.
type Update struct {
	Name        *string         `json:"name,omitempty" minLength:"1" maxLength:"200"`
	BasisPoints *money.Rate     `json:"basisPoints,omitempty" minimum:"0" maximum:"100000"`
	Status      *Status         `json:"status,omitempty"`
	UniqueRef   api.Opt[string] `json:"uniqueRef,omitzero" minLength:"1" maxLength:"200"`
}

// apply sets the fields that are present.
func (in *Update) apply(r *Rate) {
	if in.Name != nil {
		r.Name = *in.Name
	}

	if in.BasisPoints != nil {
		r.BasisPoints = *in.BasisPoints
	}

	if in.Status != nil {
		r.Status = *in.Status
	}

	r.UniqueRef = in.UniqueRef.Or(r.UniqueRef)
}

type putInput struct {
	ID   id.ID `path:"id"`
	Body Update
}

// put changes a tax rate.
func put(ctx context.Context, tx *db.Tx, in *putInput) (*Rate, error) {
	if err := tx.Exclusively(); err != nil {
		return nil, err
	}

	// A rate changes many journals, so no other write of the team may run at the same time.
	r, err := lockRate(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	// The change is made in memory first; the audit event needs the version before it.
	was, before := r.BasisPoints, audit.See(r)
	in.Body.apply(r)

	if err := updateRate(ctx, tx, r); err != nil {
		return nil, err
	}

	audit.Note(tx, audit.Updated, audit.TaxRate, r.ID, before, r)

	// Only the rate itself has an effect on journals.
	if r.BasisPoints != was {
		if err := outdate(ctx, tx, r.ID); err != nil {
			return nil, err
		}
	}

	return loadRate(ctx, tx, r.ID)
}

type deleteInput struct {
	ID       id.ID  `path:"id"`
	OnLocked string `query:"onLocked" enum:"archive" doc:"What to do with a tax rate in use."`
}

// handler looks for what uses tax rates.
type handler struct{ used *parts.Usage }

// deleteOrArchive deletes a tax rate, or archives it if it is in use and the caller asks for that.
func (h handler) deleteOrArchive(ctx context.Context, tx *db.Tx, in *deleteInput) (*api.None, error) {
	r, err := lockRate(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	used, err := h.used.Load(ctx, tx, r.ID)
	if err != nil {
		return nil, err
	}

	// A rate in use can only be archived.
	switch {
	case used.Deletion == nil:
		audit.Note(tx, audit.Deleted, audit.TaxRate, r.ID, r, nil)
		err = deleteRate(ctx, tx, r.ID)
	case in.OnLocked == "archive":
		before := audit.See(r)
		r.Status = Inactive
		audit.Note(tx, audit.Updated, audit.TaxRate, r.ID, before, r)
		err = updateRate(ctx, tx, r)
	default:
		return nil, errInUse.With(apierr.InUse{LockReasons: used.Deletion, SuggestedOnLocked: apierr.Archive})
	}

	if err != nil {
		return nil, err
	}

	return &api.None{}, nil
}
