package fee

import (
	"context"

	"stayledger/domain/account"
	"stayledger/domain/ledger"
	"stayledger/domain/listing"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// Derive brings the journals of every reservation of some listings up to date in the transaction that changes their fees. Journals that a
// lock holds stay as they are.
type Derive func(ctx context.Context, tx *db.Tx, listingIDs []id.ID) error

// handler holds what the writes of fees set off in packages that build on this one.
type handler struct{ derive Derive }

// Endpoints are the routes of recurring fees and their listing periods.
func Endpoints(derive Derive) []api.Endpoint {
	h := handler{derive}
	const tag = "Recurring fees"
	read, write, remove := []string{"recurring-fees:read"}, []string{"recurring-fees:write"}, []string{"recurring-fees:delete"}
	return []api.Endpoint{
		api.Read(api.Endpoint{
			Method: "GET", Path: "/recurring-fees", ID: "listRecurringFees", Tag: tag, Summary: "List recurring fees", Scopes: read,
		}, listFees),
		api.Write(api.Endpoint{
			Method: "POST", Path: "/recurring-fees", ID: "createRecurringFee", Tag: tag, Summary: "Create a recurring fee", Scopes: write, DryRun: true, Status: 201,
			Doc: "Fails with 400 for an unknown account or listing, a formula that cannot be read (context.position counts characters from 1) and overlapping " +
				"listingSubscriptions; with 409 for a name or uniqueRef that exists. Journals of the listings' reservations follow at once, save those a lock holds.",
		}, h.create),
		api.Read(api.Endpoint{
			Method: "GET", Path: "/recurring-fees/{id}", ID: "getRecurringFee", Tag: tag, Summary: "Read a recurring fee", Scopes: read,
		}, getFee),
		api.Write(api.Endpoint{
			Method: "PUT", Path: "/recurring-fees/{id}", ID: "updateRecurringFee", Tag: tag, Summary: "Change a recurring fee", Scopes: write, DryRun: true,
			Doc: "Fields that are absent stay; listingSubscriptions, when given, replaces all listing periods. Fails as creating does, and with 404.",
		}, h.update),
		api.Read(api.Endpoint{
			Method: "GET", Path: "/recurring-fees/listing-periods", ID: "listRecurringFeeListingPeriods", Tag: tag, Summary: "List listing periods", Scopes: read,
			Doc: "Fails with 400 for a malformed recurringFeeId.",
		}, listPeriods),
		api.Write(api.Endpoint{
			Method: "POST", Path: "/recurring-fees/listing-periods", ID: "createRecurringFeeListingPeriod", Tag: tag, Summary: "Charge a listing a fee", Scopes: write,
			DryRun: true, Status: 201, Doc: "Fails with 400 for an unknown fee or listing, and for a period that is empty or overlaps another of the same fee and listing.",
		}, h.createPeriod),
		api.Write(api.Endpoint{
			Method: "PUT", Path: "/recurring-fees/listing-periods/{id}", ID: "updateRecurringFeeListingPeriod", Tag: tag, Summary: "Change a listing period",
			Scopes: write, DryRun: true, Doc: "Fields that are absent stay. Fails as creating does, and with 404.",
		}, h.updatePeriod),
		api.Write(api.Endpoint{
			Method: "DELETE", Path: "/recurring-fees/listing-periods/{id}", ID: "deleteRecurringFeeListingPeriod", Tag: tag, Summary: "Stop charging a listing a fee",
			Scopes: remove, DryRun: true, Doc: "Journals of the listing's reservations lose the fee at once, save those a lock holds. Fails with 404.",
		}, h.deletePeriod),
	}
}

type listInput struct {
	page.Params
	Sort   string  `query:"sort" enum:"name,-name,createdAt,-createdAt" default:"name"`
	IDs    []id.ID `query:"ids"`
	Status string  `query:"status" enum:"active,inactive"`
	Type   string  `query:"type" enum:"managementFee,additionalFee,bookingChannelFee,cleaningFee,merchantFee"`
	Search string  `query:"search" maxLength:"200" doc:"Part of the name or uniqueRef."`
}

func listFees(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Fee], error) {
	q := page.Query{
		Columns: feeColumns, From: feeTables, Default: "name", ID: "f.id",
		Sorts: page.Sorts{"name": {Expr: "f.name", Text: true}, "createdAt": {Expr: "f.created_at"}},
	}
	q.And("f.team_id = @team", db.Args{"team": tx.Team})
	if in.IDs != nil {
		q.And("f.id = any(@ids)", db.Args{"ids": in.IDs})
	}
	if in.Status != "" {
		q.And("f.status = @status", db.Args{"status": in.Status})
	}
	if in.Type != "" {
		q.And("f.type = @type", db.Args{"type": in.Type})
	}
	if in.Search != "" {
		q.And("(f.name ilike @search or f.unique_ref ilike @search)", db.Args{"search": page.Like(in.Search)})
	}
	found, err := page.List[Fee](ctx, tx, q, in.Params, in.Sort)
	if err != nil {
		return nil, err
	}
	return found, fillLocks(ctx, tx, found.Data)
}

type byID struct {
	ID id.ID `path:"id"`
}

func getFee(ctx context.Context, tx *db.Tx, in *byID) (*Fee, error) {
	return read(ctx, tx, in.ID)
}

func read(ctx context.Context, tx *db.Tx, feeID id.ID) (*Fee, error) {
	f, err := get(ctx, tx, feeID)
	if err != nil {
		return nil, err
	}
	if f.ListingPeriods, err = periodsOf(ctx, tx, feeID); err != nil {
		return nil, err
	}
	found := []Fee{f}
	return &found[0], fillLocks(ctx, tx, found)
}

// fillLocks says of each fee what holds the entries that it made.
func fillLocks(ctx context.Context, tx *db.Tx, fees []Fee) error {
	ids := make([]id.ID, len(fees))
	for i := range fees {
		ids[i] = fees[i].ID
	}
	locks, err := ledger.LocksOfFees(ctx, tx, ids)
	if err != nil {
		return err
	}
	for i := range fees {
		var locked bool
		if fees[i].Lock, locked = locks[fees[i].ID]; !locked {
			fees[i].Lock = ledger.Unlocked()
		}
	}
	return nil
}

// ListingSubscription is a listing period as it comes with its fee.
type ListingSubscription struct {
	ListingID id.ID    `json:"listingId"`
	StartAt   *day.Day `json:"startAt,omitempty" doc:"Absent means since inception."`
	EndAt     *day.Day `json:"endAt,omitempty" doc:"The first day without the fee; absent means open."`
	Rate      *int64   `json:"rate,omitempty" minimum:"-9007199254740991" maximum:"9007199254740991" doc:"Replaces the fee's default rate."`
}

// Create is the body of a new fee.
type Create struct {
	Name                  string                `json:"name" minLength:"1" maxLength:"200"`
	UniqueRef             *string               `json:"uniqueRef,omitempty" minLength:"1" maxLength:"200"`
	Icon                  *string               `json:"icon,omitempty" minLength:"1" maxLength:"100"`
	Status                string                `json:"status,omitempty" enum:"active,inactive"`
	Type                  Type                  `json:"type" enum:"managementFee,additionalFee,bookingChannelFee,cleaningFee,merchantFee"`
	Formula               string                `json:"formula,omitempty" maxLength:"1000" doc:"Needed by a percentage fee."`
	RateType              RateType              `json:"rateType" enum:"flat,percentage"`
	DefaultRate           int64                 `json:"defaultRate" minimum:"-9007199254740991" maximum:"9007199254740991"`
	RevenueRecognition    *Recognition          `json:"revenueRecognition,omitempty" enum:"checkIn,checkOut,proRata,bookedAt"`
	CreditParty           ledger.Party          `json:"creditParty" enum:"owners,manager"`
	DebitParty            ledger.Party          `json:"debitParty" enum:"owners,manager"`
	CreditAccountID       id.ID                 `json:"creditAccountId"`
	DebitAccountID        id.ID                 `json:"debitAccountId"`
	BookingChannelsFilter []string              `json:"bookingChannelsFilter,omitempty" maxItems:"100"`
	ListingSubscriptions  []ListingSubscription `json:"listingSubscriptions,omitempty" maxItems:"1000"`
}

type createInput struct{ Body Create }

func (h handler) create(ctx context.Context, tx *db.Tx, in *createInput) (*Fee, error) {
	return Add(ctx, tx, &in.Body, h.derive)
}

// Add makes a recurring fee with its listing periods. It fails as createRecurringFee does.
func Add(ctx context.Context, tx *db.Tx, b *Create, derive Derive) (*Fee, error) {
	f := Fee{
		ID: tx.NewID(), UniqueRef: b.UniqueRef, Name: b.Name, Icon: b.Icon, Status: b.Status, Type: b.Type, Formula: b.Formula, RateType: b.RateType,
		DefaultRate: b.DefaultRate, RevenueRecognition: b.RevenueRecognition, CreditParty: b.CreditParty, DebitParty: b.DebitParty,
		CreditAccountID: b.CreditAccountID, DebitAccountID: b.DebitAccountID, BookingChannelsFilter: b.BookingChannelsFilter,
		CreatedAt: day.At(tx.Now), UpdatedAt: day.At(tx.Now),
	}
	if f.Status == "" {
		f.Status = "active"
	}
	if f.BookingChannelsFilter == nil {
		f.BookingChannelsFilter = []string{}
	}
	return handler{derive}.save(ctx, tx, &f, b.ListingSubscriptions, false)
}

// Update is the body of a changed fee; what is absent stays.
type Update struct {
	Name                  *string                `json:"name,omitempty" minLength:"1" maxLength:"200"`
	UniqueRef             api.Opt[string]        `json:"uniqueRef,omitzero" minLength:"1" maxLength:"200"`
	Icon                  api.Opt[string]        `json:"icon,omitzero" minLength:"1" maxLength:"100"`
	Status                *string                `json:"status,omitempty" enum:"active,inactive"`
	Type                  *Type                  `json:"type,omitempty" enum:"managementFee,additionalFee,bookingChannelFee,cleaningFee,merchantFee"`
	Formula               *string                `json:"formula,omitempty" maxLength:"1000"`
	RateType              *RateType              `json:"rateType,omitempty" enum:"flat,percentage"`
	DefaultRate           *int64                 `json:"defaultRate,omitempty" minimum:"-9007199254740991" maximum:"9007199254740991"`
	RevenueRecognition    api.Opt[Recognition]   `json:"revenueRecognition,omitzero" enum:"checkIn,checkOut,proRata,bookedAt"`
	CreditParty           *ledger.Party          `json:"creditParty,omitempty" enum:"owners,manager"`
	DebitParty            *ledger.Party          `json:"debitParty,omitempty" enum:"owners,manager"`
	CreditAccountID       *id.ID                 `json:"creditAccountId,omitempty"`
	DebitAccountID        *id.ID                 `json:"debitAccountId,omitempty"`
	BookingChannelsFilter *[]string              `json:"bookingChannelsFilter,omitempty" maxItems:"100"`
	ListingSubscriptions  *[]ListingSubscription `json:"listingSubscriptions,omitempty" maxItems:"1000" doc:"Replaces all listing periods."`
}

type updateInput struct {
	ID   id.ID `path:"id"`
	Body Update
}

// keep sets what is given.
func keep[T any](to, given *T) {
	if given != nil {
		*to = *given
	}
}

func (h handler) update(ctx context.Context, tx *db.Tx, in *updateInput) (*Fee, error) {
	if err := hold(ctx, tx, in.ID); err != nil {
		return nil, err
	}
	f, err := get(ctx, tx, in.ID)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	keep(&f.Name, b.Name)
	keep(&f.Status, b.Status)
	keep(&f.Type, b.Type)
	keep(&f.Formula, b.Formula)
	keep(&f.RateType, b.RateType)
	keep(&f.DefaultRate, b.DefaultRate)
	keep(&f.CreditParty, b.CreditParty)
	keep(&f.DebitParty, b.DebitParty)
	keep(&f.CreditAccountID, b.CreditAccountID)
	keep(&f.DebitAccountID, b.DebitAccountID)
	keep(&f.BookingChannelsFilter, b.BookingChannelsFilter)
	f.UniqueRef, f.Icon = b.UniqueRef.Or(f.UniqueRef), b.Icon.Or(f.Icon)
	f.RevenueRecognition = b.RevenueRecognition.Or(f.RevenueRecognition)
	f.UpdatedAt = day.At(tx.Now)
	if b.ListingSubscriptions == nil {
		return h.save(ctx, tx, &f, nil, false)
	}
	return h.save(ctx, tx, &f, *b.ListingSubscriptions, true)
}

// save checks and writes a fee with further listing periods, or with these instead of those it has, and derives the journals it touches.
func (h handler) save(ctx context.Context, tx *db.Tx, f *Fee, subscriptions []ListingSubscription, replace bool) (*Fee, error) {
	if err := checkFee(ctx, tx, f, subscriptions); err != nil {
		return nil, err
	}
	before, err := periodsOf(ctx, tx, f.ID)
	if err != nil {
		return nil, err
	}
	added := asPeriods(subscriptions)
	if err := holdListings(ctx, tx, listingsOf(before, added)); err != nil {
		return nil, err
	}
	stmts := []db.Stmt{feeStatement(tx, f)}
	if replace {
		stmts = append(stmts, clearPeriods(tx, f.ID))
	}
	for _, p := range added {
		p.ID, p.FeeID, p.CreatedAt, p.UpdatedAt = tx.NewID(), f.ID, day.At(tx.Now), day.At(tx.Now)
		stmts = append(stmts, periodStatement(tx, &p))
	}
	if err := tx.Pipeline(ctx, stmts...); err != nil {
		return nil, refused(err)
	}
	if err := h.derive(ctx, tx, listingsOf(before, added)); err != nil {
		return nil, err
	}
	return read(ctx, tx, f.ID)
}

func asPeriods(subscriptions []ListingSubscription) []Period {
	out := make([]Period, len(subscriptions))
	for i := range subscriptions {
		s := &subscriptions[i]
		out[i] = Period{ListingID: s.ListingID, StartAt: s.StartAt, EndAt: s.EndAt, Rate: s.Rate}
	}
	return out
}

func listingsOf(periods ...[]Period) []id.ID {
	listings := []id.ID{}
	seen := map[id.ID]bool{}
	for _, list := range periods {
		for i := range list {
			if v := list[i].ListingID; !seen[v] {
				seen[v] = true
				listings = append(listings, v)
			}
		}
	}
	return listings
}

// checkFee refuses what the schema cannot see: unknown accounts and listings, and formulas that are none.
func checkFee(ctx context.Context, tx *db.Tx, f *Fee, subscriptions []ListingSubscription) error {
	var issues []apierr.Issue
	accounts, err := account.ByID(ctx, tx, []id.ID{f.CreditAccountID, f.DebitAccountID})
	if err != nil {
		return err
	}
	if _, known := accounts[f.CreditAccountID]; !known {
		issues = append(issues, notFound("Account does not exist", "creditAccountId"))
	}
	if _, known := accounts[f.DebitAccountID]; !known {
		issues = append(issues, notFound("Account does not exist", "debitAccountId"))
	}
	if len(subscriptions) > 0 {
		ids := make([]id.ID, len(subscriptions))
		for i := range subscriptions {
			ids[i] = subscriptions[i].ListingID
		}
		listings, err := listing.ByID(ctx, tx, ids)
		if err != nil {
			return err
		}
		for i := range ids {
			if _, known := listings[ids[i]]; !known {
				issues = append(issues, notFound("Listing does not exist", "listingSubscriptions", i, "listingId"))
			}
		}
	}
	if len(issues) > 0 {
		return apierr.BadRequest.At(issues...)
	}
	types, err := mappedTypes(ctx, tx)
	if err != nil {
		return err
	}
	return checkFormula(f.RateType, f.Formula, types)
}

func notFound(message string, path ...any) apierr.Issue {
	return apierr.Issue{Message: message, Code: "notFound", Path: path, Schema: "body"}
}
