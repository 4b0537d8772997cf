package listing

import (
	"context"
	"net/http"

	"stayledger/domain/property/contact"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

const tag = "Listings"

// endpoints returns the routes of listings and their ownership periods.
func (h Listings) endpoints() []api.Endpoint {
	// The routes of ownership periods and of groups are under /listings too, and have files of their own.
	return append(append(h.periodEndpoints(), h.groupEndpoints()...),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/listings", ID: "listListings", Tag: tag, Summary: "List listings",
			Scopes: []string{"listings:read"}, OneTripPage: true,
		}, list),
		api.Write(api.Endpoint{
			Method: http.MethodPost, Path: "/listings", ID: "createListing", Tag: tag, Summary: "Create a listing",
			Errors: apierr.List{errDuplicateUniqueRef},
			Doc: "initialOwnership gives it its first ownership period. Fails with 400 for an unknown currency; 400 " +
				"for members that are no owners or whose splits do not sum to 100000.",
			Scopes: []string{"listings:write"}, DryRun: true, Status: http.StatusCreated,
		}, create),
		api.Read(api.Endpoint{
			Method: http.MethodGet, Path: "/listings/{id}", ID: "getListing", Tag: tag, Summary: "Read a listing",
			Scopes: []string{"listings:read"}, OneTrip: true,
		}, get),
		api.Write(api.Endpoint{
			Method: http.MethodPut, Path: "/listings/{id}", ID: "updateListing", Tag: tag, Summary: "Change a listing",
			Errors: apierr.List{errInUse, errDuplicateUniqueRef},
			Doc: "Fields that are present change; null clears. Fails with 400 for an unknown currency, and for " +
				"another one while the listing has amounts in its own (reason inUse): entries, statements, a " +
				"reserve, or a flat rate of its own.",
			Scopes: []string{"listings:write"}, DryRun: true,
		}, h.updateListing),
		api.Write(api.Endpoint{
			Method: http.MethodDelete, Path: "/listings/{id}", ID: "deleteListing", Tag: tag,
			Summary: "Delete or archive a listing",
			Errors:  apierr.List{errInUse},
			Doc: "Ownership periods go with it. Where context.suggestedOnLocked is archive, onLocked=archive " +
				"archives it instead.",
			Scopes: []string{"listings:delete"}, DryRun: true,
		}, h.deleteListing),
	)
}

type getInput struct {
	ID id.ID `path:"id"`
}

func get(ctx context.Context, tx *db.Tx, in *getInput) (*Listing, error) { return load(ctx, tx, in.ID) }

// Common are the fields that new listings and changes share.
type Common struct {
	UniqueRef       api.Opt[string]          `json:"uniqueRef,omitzero" minLength:"1" maxLength:"200" doc:"The caller's own reference, unique in the team."`
	DefaultCurrency *string                  `json:"defaultCurrency,omitempty" minLength:"3" maxLength:"3" doc:"ISO 4217; by default the team's currency."`
	TimeZone        api.Opt[day.Zone]        `json:"timeZone,omitzero" maxLength:"64" doc:"As shown."`
	Address         api.Opt[contact.Address] `json:"address,omitzero"`
}

// apply sets the fields of l that the request has. It fails with 400 for an unknown currency or time zone.
func (in *Common) apply(l *Listing) error {
	if in.DefaultCurrency != nil {
		currency, err := money.ParseCurrency(*in.DefaultCurrency)
		if err != nil {
			return apierr.BadRequest.At(apierr.IssueCurrency.InBody("defaultCurrency"))
		}

		l.DefaultCurrency = string(currency)
	}

	if zone := in.TimeZone.Value; zone != nil && !zone.Known() {
		return apierr.BadRequest.At(apierr.IssueTimeZone.InBody("timeZone"))
	}

	l.TimeZone = in.TimeZone.Or(l.TimeZone)
	l.UniqueRef, l.Address = in.UniqueRef.Or(l.UniqueRef), in.Address.Or(l.Address)

	return nil
}

// Create is a listing to be.
type Create struct {
	Name             string        `json:"name" minLength:"1" maxLength:"200"`
	InitialOwnership *CreatedTerms `json:"initialOwnership,omitempty"`
	Common
}

type createInput struct{ Body Create }

func create(ctx context.Context, tx *db.Tx, in *createInput) (*Listing, error) {
	return Add(ctx, tx, &in.Body)
}

// Add creates a listing with its first ownership period, if any. It fails as createListing does.
func Add(ctx context.Context, tx *db.Tx, c *Create) (*Listing, error) {
	d := newDraft(tx)
	d.Name = c.Name

	if err := c.apply(&d.Listing); err != nil {
		return nil, err
	}

	// Nothing uses a new listing yet, so nothing keeps it active after a first period that has ended.
	if terms := c.InitialOwnership; terms != nil && terms.hasEnded(tx.Today()) {
		d.Status = Inactive
	}

	if err := saveDrafts(ctx, tx, []*draft{d}); err != nil {
		return nil, err
	}

	// A new listing has no journals, so nothing has to follow its first owners.
	if terms := c.InitialOwnership; terms != nil {
		p := newPeriod(tx, d.ID, terms)
		if err := write(ctx, tx, nil, p, change{path: []any{"initialOwnership"}}); err != nil {
			return nil, err
		}
	}

	// Read it again, as the API shows it: with the ownership and fees of today.
	return load(ctx, tx, d.ID)
}

// Update changes the fields that are present; null clears.
type Update struct {
	Name   *string `json:"name,omitempty" minLength:"1" maxLength:"200"`
	Status *Status `json:"status,omitempty"`
	Common
}

type putInput struct {
	ID   id.ID `path:"id"`
	Body Update
}

// updateListing changes a listing. It fails with the refusals of decide.
func (h Listings) updateListing(ctx context.Context, tx *db.Tx, in *putInput) (*Listing, error) {
	l, err := lock(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	d, err := h.decide(ctx, tx, &BatchItem{ID: &in.ID, Update: in.Body}, map[id.ID]*Listing{in.ID: l})
	if err != nil {
		return nil, err
	}

	if err := saveDrafts(ctx, tx, []*draft{d}); err != nil {
		return nil, err
	}

	return load(ctx, tx, in.ID)
}

type deleteInput struct {
	ID       id.ID  `path:"id"`
	OnLocked string `query:"onLocked" enum:"archive" doc:"What to do with a listing in use."`
}

// deleteListing deletes a listing. If records refer to it, it makes the listing inactive when the caller asked for
// that, and refuses otherwise.
func (h Listings) deleteListing(ctx context.Context, tx *db.Tx, in *deleteInput) (*api.None, error) {
	l, err := lock(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}

	// What refers to the listing decides between deleting, archiving and refusing.
	used, err := h.listings.Load(ctx, tx, l.ID)
	if err != nil {
		return nil, err
	}

	// A listing that may not even be made inactive is refused in both cases.
	refused := checkDelete(used)
	switch {
	case refused == nil:
		err = remove(ctx, tx, l)
	case in.OnLocked == "archive" && checkDeactivate(used.Archiving) == nil:
		d := &draft{Listing: *l, before: l}
		d.Status = Inactive
		err = saveDrafts(ctx, tx, []*draft{d})
	default:
		return nil, refused
	}

	if err != nil {
		return nil, err
	}

	return &api.None{}, nil
}
