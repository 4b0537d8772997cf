package trust

import (
	"context"
	"slices"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
	"stayledger/platform/ptr"
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

// ListingTrust is the money that the trust holds for a listing. Positive is owed by the trust; the figures add up
// to the total.
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

// byListing returns a page of the reconciliation by listing.
func byListing(ctx context.Context, tx *db.Tx, in *byListingInput) (*ByListing, error) {
	return loadByListing(ctx, tx, &in.ListingTrustFilter, in.Params)
}

// loadByListing reconciles the page of listings that a valid filter selects.
func loadByListing(ctx context.Context, tx *db.Tx, f *ListingTrustFilter, params page.Params) (*ByListing, error) {
	t, err := openByListing(ctx, tx, f)
	if err != nil {
		return nil, err
	}

	out := t.Head

	// Only the rows of the page are made.
	total := int64(t.Len())
	first := min(params.Rows(), total)

	out.Pagination = params.Of(total)
	for i := first; i < min(first+params.Limit, total); i++ {
		out.Data = append(out.Data, t.row(int(i)))
	}

	return &out, nil
}

// ListingTrusts is a reconciliation by listing that makes its rows one by one, because a row is much larger than
// the data that it is made from.
type ListingTrusts struct {
	// Head is the report without its rows.
	Head ByListing

	position *position
	open     []id.ID
	names    map[id.ID]string
	owners   map[id.ID]*OwnerListing
	costs    []WarningItem
}

// Len returns the number of listings in the report.
func (t *ListingTrusts) Len() int { return len(t.open) }

// row returns the row of the i-th listing.
func (t *ListingTrusts) row(i int) ListingTrust {
	v := t.open[i]
	row := t.position.renderListing(v, t.owners[v])
	row.Name = lookUpName(t.names, v)
	row.Warnings = t.position.findListingWarnings(v, &row, t.owners[v], t.costs)

	return row
}

// openByListing loads the data for the reconciliation by listing that a valid filter selects.
func openByListing(ctx context.Context, tx *db.Tx, f *ListingTrustFilter) (*ListingTrusts, error) {
	p, err := openPosition(ctx, tx, &f.Filter, true)
	if err != nil {
		return nil, err
	}

	// Costs are loaded once for all listings; each row takes its own.
	facts, costs := &ownerFacts{}, findings{}

	if err := tx.Together(ctx,
		p.loadSums, p.loadGuests,
		func(ctx context.Context, tx *db.Tx) error { return facts.load(ctx, tx, p) },
		func(ctx context.Context, tx *db.Tx) error { return costs.checkOperatingCosts(ctx, tx, p) },
	); err != nil {
		return nil, err
	}

	owners := facts.divide(p)

	t := &ListingTrusts{
		position: p, owners: map[id.ID]*OwnerListing{}, names: facts.names, costs: costs.placesFor(WarnOperatingCost).items,
	}
	for i := range owners {
		t.owners[ptr.Value(owners[i].ID)] = &owners[i]
	}

	// Then choose the listings and sort them by name.
	t.open = p.openListings(owners)
	if f.ListingIDs != nil {
		t.open = slices.DeleteFunc(t.open, func(v id.ID) bool { return !f.ListingIDs.Has(v) })
	}

	slices.SortFunc(t.open, func(a, b id.ID) int {
		return compareListings(lookUpName(t.names, a), lookUpName(t.names, b), &a, &b)
	})

	// The head has the totals of all listings, whatever the filter lists.
	t.Head = ByListing{Currency: p.currency, Date: p.date, Book: p.book().Figure, Data: []ListingTrust{}}
	for claim, cents := range p.byClaim {
		if claim != ClaimBank {
			t.Head.CentTotal += cents
		}
	}

	t.Head.Difference = t.Head.Book.CentTotal - t.Head.CentTotal

	return t, nil
}

// lookUpName returns the name of a listing, nil if it is unknown.
func lookUpName(names map[id.ID]string, v id.ID) *string {
	name, ok := names[v]
	if !ok {
		return nil
	}

	return &name
}

// openListings returns the listings for which anything is open. The zero id means no listing.
func (p *position) openListings(owners []OwnerListing) []id.ID {
	open := map[id.ID]bool{}

	for k, cents := range p.byListing {
		if k.claim != ClaimBank && cents != 0 {
			open[k.listing] = true
		}
	}

	// The guests of a listing may be open although their sum is 0.
	for i := range p.guests {
		if p.guests[i].total() != 0 {
			open[p.guests[i].ListingID] = true
		}
	}

	// So may its ownership periods.
	for i := range owners {
		open[ptr.Value(owners[i].ID)] = true
	}

	ids := make([]id.ID, 0, len(open))
	for v := range open {
		ids = append(ids, v)
	}

	return ids
}

// renderListing returns the row of a listing.
func (p *position) renderListing(listingID id.ID, owners *OwnerListing) ListingTrust {
	behind := p.drilldownFilter()
	behind.ListingIDs = page.RefsTo(listingID)

	var total money.Cents

	// Each figure is added to the total, so the row adds up by itself.
	figure := func(claim Claim) Figure {
		cents := p.byListing[listingKey{claim, listingID}]
		total += cents

		return p.chart.figure(claim, cents, behind)
	}

	row := ListingTrust{
		ID:                 listingID.OrNil(),
		GuestBalances:      p.splitByStatus(figure(ClaimGuests), &listingID),
		DeferredRevenue:    figure(ClaimDeferredRevenue),
		Taxes:              figure(ClaimTaxes),
		AccountsPayable:    figure(ClaimPayables),
		SecurityDeposits:   figure(ClaimSecurityDeposits),
		DueToFromTrust:     figure(ClaimDueToFrom),
		OwnerBalances:      figure(ClaimOwners),
		Periods:            []OwnerPeriod{},
		ManagerBalance:     figure(ClaimManager),
		FundsHeldElsewhere: figure(ClaimHeldElsewhere),
		TrustSurplus:       figure(ClaimSurplus),
		Other:              figure(ClaimOther),
	}
	if owners != nil {
		row.Periods = owners.Periods
	}

	row.CentTotal = total

	return row
}

// findListingWarnings returns the warnings about a listing.
func (p *position) findListingWarnings(
	listingID id.ID,
	row *ListingTrust,
	owners *OwnerListing,
	costs []WarningItem,
) []Warning {
	found := findings{}
	if owners != nil {
		found.checkOwners(owners, p.date)
	}

	if row.ManagerBalance.CentTotal < 0 {
		found.add(WarnNegativeManager, WarningItem{ListingID: row.ID, Figure: row.ManagerBalance})
	}

	// Guests are judged by the cells of this listing only.
	cells := make([]guestCell, 0, len(p.guestsOf[listingID]))
	for _, i := range p.guestsOf[listingID] {
		cells = append(cells, p.guests[i])
	}

	behind := p.drilldownFilter()
	behind.ListingIDs = page.RefsTo(listingID)
	found.checkGuests(p, cells, behind)

	for _, c := range costs {
		if ptr.Value(c.ListingID) == listingID {
			found.add(WarnOperatingCost, c)
		}
	}

	return found.render(p)
}
