package trust

import (
	"context"
	"slices"

	"stayledger/domain/reporting/report"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// ByListing is the reconciliation of books and liabilities listing by listing.
type ByListing struct {
	Currency   money.Currency  `json:"currency"`
	Date       day.Day         `json:"date"`
	Book       Figure          `json:"book" doc:"Book balance of the trust's bank accounts."`
	CentTotal  money.Cents     `json:"centTotal" doc:"What is held for all listings, and for none, over all pages."`
	Difference money.Cents     `json:"difference" doc:"Book balance less the total: zero in books that balance."`
	Data       []ListingTrust  `json:"data" doc:"Listings with an open balance of any kind, by name; last what belongs to no listing."`
	Pagination page.Pagination `json:"pagination"`
}

// ListingTrust is what the trust holds for a listing. Positive is owed by the trust; the figures add up to the total.
type ListingTrust struct {
	ID                 *id.ID        `json:"id" doc:"Null for what belongs to no listing."`
	Name               *string       `json:"name"`
	CentTotal          money.Cents   `json:"centTotal"`
	GuestBalances      GuestSplit    `json:"guestBalances"`
	DeferredRevenue    Figure        `json:"deferredRevenue"`
	Taxes              Figure        `json:"taxes"`
	AccountsPayable    Figure        `json:"accountsPayable"`
	SecurityDeposits   Figure        `json:"securityDeposits"`
	DueToFromTrust     Figure        `json:"dueToFromTrust"`
	OwnerBalances      Figure        `json:"ownerBalances"`
	Periods            []OwnerPeriod `json:"periods" doc:"The owners' balance by ownership period and owner."`
	ManagerBalance     Figure        `json:"managerBalance"`
	FundsHeldElsewhere Figure        `json:"fundsHeldElsewhere"`
	TrustSurplus       Figure        `json:"trustSurplus"`
	Other              Figure        `json:"other"`
	Warnings           []Warning     `json:"warnings"`
}

// ListingTrustFilter selects a reconciliation by listing: query parameters, and the body of its export.
type ListingTrustFilter struct {
	Filter
	ListingIDs page.Refs `query:"listingIds" json:"listingIds,omitempty" doc:"List these only, null or unmapped what belongs to none; the totals stay those of all."`
}

type byListingInput struct {
	page.Params
	ListingTrustFilter
}

func byListing(ctx context.Context, tx *db.Tx, in *byListingInput) (*ByListing, error) {
	return ReadByListing(ctx, tx, &in.ListingTrustFilter, in.Params)
}

// ReadByListing reconciles the page of listings that a valid filter selects.
func ReadByListing(ctx context.Context, tx *db.Tx, f *ListingTrustFilter, params page.Params) (*ByListing, error) {
	t, err := OpenByListing(ctx, tx, f)
	if err != nil {
		return nil, err
	}

	out := t.Head
	total := int64(t.Len())
	first := min(params.Rows(), total)

	out.Pagination = params.Of(total)
	for i := first; i < min(first+params.Limit, total); i++ {
		out.Data = append(out.Data, t.Row(int(i)))
	}

	return &out, nil
}

// ListingTrusts is a reconciliation by listing whose rows are made one by one: each is much larger than what it is made
// of.
type ListingTrusts struct {
	// Head is the report without its rows.
	Head ByListing

	position *position
	open     []id.ID
	names    map[id.ID]string
	owners   map[id.ID]*OwnerListing
	costs    []WarningItem
}

// Len is how many listings the report has.
func (t *ListingTrusts) Len() int { return len(t.open) }

// Row is the row of the i-th listing.
func (t *ListingTrusts) Row(i int) ListingTrust {
	v := t.open[i]
	row := t.position.listing(v, t.owners[v])
	row.Name = nameOf(t.names, v)
	row.Warnings = t.position.listingWarnings(v, &row, t.owners[v], t.costs)

	return row
}

// OpenByListing reads what the reconciliation by listing that a valid filter selects is made of.
func OpenByListing(ctx context.Context, tx *db.Tx, f *ListingTrustFilter) (*ListingTrusts, error) {
	currency, err := report.Currency(ctx, tx, f.Currency)
	if err != nil {
		return nil, err
	}

	p, err := readPosition(ctx, tx, dateOr(tx, f.Date), currency, true)
	if err != nil {
		return nil, err
	}

	owners, err := ownersOf(ctx, tx, p)
	if err != nil {
		return nil, err
	}

	costs := findings{}
	if err := costs.operatingCosts(ctx, tx, p); err != nil {
		return nil, err
	}

	t := &ListingTrusts{position: p, owners: map[id.ID]*OwnerListing{}, costs: costs.of(WarnOperatingCost).items}
	for i := range owners {
		t.owners[deref(owners[i].ID)] = &owners[i]
	}

	t.open = p.openListings(owners)
	if f.ListingIDs != nil {
		t.open = slices.DeleteFunc(t.open, func(v id.ID) bool { return !f.ListingIDs.Has(v) })
	}

	if t.names, err = listingNames(ctx, tx, t.open); err != nil {
		return nil, err
	}

	slices.SortFunc(t.open, func(a, b id.ID) int { return compareListings(nameOf(t.names, a), nameOf(t.names, b), &a, &b) })

	t.Head = ByListing{Currency: currency, Date: p.date, Book: p.book().Figure, Data: []ListingTrust{}}
	for claim, cents := range p.byClaim {
		if claim != ClaimBank {
			t.Head.CentTotal += cents
		}
	}

	t.Head.Difference = t.Head.Book.CentTotal - t.Head.CentTotal

	return t, nil
}

func nameOf(names map[id.ID]string, v id.ID) *string {
	name, ok := names[v]
	if !ok {
		return nil
	}

	return &name
}

// openListings are the listings for which anything is open, the zero id for none.
func (p *position) openListings(owners []OwnerListing) []id.ID {
	open := map[id.ID]bool{}

	for k, cents := range p.byListing {
		if k.claim != ClaimBank && cents != 0 {
			open[k.listing] = true
		}
	}

	for i := range p.guests {
		if p.guests[i].total() != 0 {
			open[p.guests[i].ListingID] = true
		}
	}

	for i := range owners {
		open[deref(owners[i].ID)] = true
	}

	ids := make([]id.ID, 0, len(open))
	for v := range open {
		ids = append(ids, v)
	}

	return ids
}

// listing is the row of a listing.
func (p *position) listing(listingID id.ID, owners *OwnerListing) ListingTrust {
	behind := p.behind()
	behind.ListingIDs = page.RefsTo(listingID)

	var total money.Cents

	figure := func(claim Claim) Figure {
		cents := p.byListing[listingKey{claim, listingID}]
		total += cents

		return p.chart.figure(claim, cents, behind)
	}

	row := ListingTrust{
		ID: idOrNil(listingID), GuestBalances: p.split(figure(ClaimGuests), &listingID), DeferredRevenue: figure(ClaimDeferredRevenue),
		Taxes: figure(ClaimTaxes), AccountsPayable: figure(ClaimPayables), SecurityDeposits: figure(ClaimSecurityDeposits),
		DueToFromTrust: figure(ClaimDueToFrom), OwnerBalances: figure(ClaimOwners), Periods: []OwnerPeriod{}, ManagerBalance: figure(ClaimManager),
		FundsHeldElsewhere: figure(ClaimHeldElsewhere), TrustSurplus: figure(ClaimSurplus), Other: figure(ClaimOther),
	}
	if owners != nil {
		row.Periods = owners.Periods
	}

	row.CentTotal = total

	return row
}

func (p *position) listingWarnings(listingID id.ID, row *ListingTrust, owners *OwnerListing, costs []WarningItem) []Warning {
	found := findings{}
	if owners != nil {
		found.owners(owners, p.date)
	}

	if row.ManagerBalance.CentTotal < 0 {
		found.add(WarnNegativeManager, WarningItem{ListingID: row.ID, Figure: row.ManagerBalance})
	}

	cells := make([]guestCell, 0, len(p.guestsOf[listingID]))
	for _, i := range p.guestsOf[listingID] {
		cells = append(cells, p.guests[i])
	}

	behind := p.behind()
	behind.ListingIDs = page.RefsTo(listingID)
	found.guests(cells, behind)

	for _, c := range costs {
		if deref(c.ListingID) == listingID {
			found.add(WarnOperatingCost, c)
		}
	}

	return found.warnings(p.chart)
}

// deref is what a pointer points to, the zero value for none.
func deref[T any](v *T) T {
	if v == nil {
		var zero T
		return zero
	}

	return *v
}
