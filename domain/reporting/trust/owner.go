package trust

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/listing"
	"stayledger/domain/reporting/report"
	"stayledger/domain/settlement/chain"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// OwnerBalances holds the money of owners in the trust, listing by listing. A surplus of one listing never covers a
// deficit of another.
type OwnerBalances struct {
	Figure
	Listings []OwnerListing `json:"listings" doc:"Listings with an open balance, by name."`
	Owners   []OwnerTotal   `json:"owners" doc:"The same by owner: the sum of the owner's shares. What no ownership period explains is in none."`
}

// OwnerListing is the money of the owners of a listing.
type OwnerListing struct {
	ID   *id.ID  `json:"id" doc:"Null for owners' entries without a listing."`
	Name *string `json:"name"`
	Figure
	Periods []OwnerPeriod `json:"periods"`
	// places are the listings with entries in the balance: itself, and the members of a group.
	places []id.ID
}

// OwnerPeriod is the money of the owners of one period. Without an id it belongs to the time in which the listing
// had no owner.
type OwnerPeriod struct {
	ID      *id.ID   `json:"id"`
	StartAt *day.Day `json:"startAt"`
	EndAt   *day.Day `json:"endAt" doc:"Exclusive."`
	Figure
	Shares []OwnerShare `json:"shares"`
	// ownerless are the stays and transactions behind the money of a time without owners.
	ownerless []WarningItem
}

// OwnerShare is a member's part, divided as in owner statements: earnings so far by split, less the payouts to the
// member.
type OwnerShare struct {
	ContactID id.ID       `json:"contactId"`
	Name      string      `json:"name"`
	Split     int64       `json:"split" doc:"Parts per 100000."`
	CentTotal money.Cents `json:"centTotal"`
}

// OwnerTotal is the money of an owner over all listings.
type OwnerTotal struct {
	ContactID id.ID       `json:"contactId"`
	Name      string      `json:"name"`
	CentTotal money.Cents `json:"centTotal"`
}

// ownerFacts is the data that owner balances are divided with.
type ownerFacts struct {
	// groups are the groups of listings, by member, and members the listings of a group.
	groups   map[id.ID]id.ID
	members  map[id.ID][]id.ID
	listings map[id.ID]string
	periods  map[id.ID][]listing.Period
	contacts map[id.ID]string
	// sums are the balances of single ownership periods. The zero id means the time in which the listing had no owner.
	sums map[ownerKey]money.Cents
	// ownerless are the sources of entries without an ownership period, by listing.
	ownerless map[id.ID][]ownerSum
	// paid adds up the payouts to members, as negative amounts.
	paid map[paidKey]money.Cents
}

type ownerKey struct{ listing, period id.ID }

type paidKey struct {
	ownerKey
	contact id.ID
}

// loadOwnerTotals returns the owners' balances by listing. Balances of 0 are included, because a period of the listing
// may have another one.
func loadOwnerTotals(ctx context.Context, tx *db.Tx, p *position) (map[id.ID]money.Cents, error) {
	totals := map[id.ID]money.Cents{}

	// The position may know the balances by listing already.
	if len(p.byListing) > 0 {
		for k, cents := range p.byListing {
			if k.claim == ClaimOwners {
				totals[k.listing] += cents
			}
		}

		return totals, nil
	}

	// Otherwise load them.
	sums, err := report.Balances(ctx, tx, report.BalanceFilter{
		Ledgers: []ledger.Ledger{ledger.Trust}, Currency: p.currency, To: p.date, Party: ledger.Owners,
	}, report.Grouping{Listing: true})
	if err != nil {
		return nil, err
	}

	for i := range sums {
		if p.chart.claim(sums[i].AccountID, ledger.Owners) == ClaimOwners {
			totals[sums[i].ListingID] -= sums[i].Net()
		}
	}

	return totals, nil
}

// loadOwners loads the owners' balances of all listings with their periods and shares, by name. A group is one row with
// all its members: they have the same owners, and payouts are booked on the group.
func loadOwners(ctx context.Context, tx *db.Tx, p *position) ([]OwnerListing, error) {
	totals, err := loadOwnerTotals(ctx, tx, p)
	if err != nil {
		return nil, err
	}

	facts, err := loadOwnerFacts(ctx, tx, p, totals)
	if err != nil {
		return nil, err
	}

	totals = facts.joinGroups(totals)
	out := []OwnerListing{}

	// Listings with nothing open in total or in a period are left out.
	for listingID, total := range totals {
		l := OwnerListing{
			Figure:  p.ownerFigure(total, facts.places(listingID), nil),
			Periods: facts.splitByPeriod(p, listingID, total),
			places:  facts.places(listingID),
		}
		if name, ok := facts.listings[listingID]; ok {
			l.ID, l.Name = &listingID, &name
		}

		if total != 0 || len(l.Periods) > 0 {
			out = append(out, l)
		}
	}

	slices.SortFunc(out, func(a, b OwnerListing) int { return compareListings(a.Name, b.Name, a.ID, b.ID) })

	return out, nil
}

// ownerFigure returns an owners' balance with the entries of a listing or of a group with its members, and of one
// period.
func (p *position) ownerFigure(cents money.Cents, listings []id.ID, period *id.ID) Figure {
	behind := p.drilldownFilter()
	behind.ListingIDs = page.RefsTo(listings...)

	if period != nil {
		behind.OwnershipPeriodIDs = page.RefsTo(*period)
	}

	return p.chart.figure(ClaimOwners, cents, behind)
}

// loadOwnerFacts loads the data that the owners' balances of listings are divided with.
func loadOwnerFacts(ctx context.Context, tx *db.Tx, p *position, totals map[id.ID]money.Cents) (*ownerFacts, error) {
	f := &ownerFacts{
		periods:   map[id.ID][]listing.Period{},
		sums:      map[ownerKey]money.Cents{},
		ownerless: map[id.ID][]ownerSum{},
		paid:      map[paidKey]money.Cents{},
	}

	// Entries without a listing have the zero id and no periods.
	listings := make([]id.ID, 0, len(totals))
	for v := range totals {
		if !v.IsZero() {
			listings = append(listings, v)
		}
	}

	slices.SortFunc(listings, id.ID.Compare)

	if err := f.loadGroups(ctx, tx); err != nil {
		return nil, err
	}

	// The group of a member has the balances, even if it has no entries of its own.
	for _, v := range listings {
		listings = append(listings, f.place(v))
	}

	var err error

	listings = id.Distinct(listings)
	if f.listings, err = loadListingNames(ctx, tx, listings); err != nil {
		return nil, err
	}

	own, err := listing.LoadOwnPeriods(ctx, tx, listings)
	if err != nil {
		return nil, err
	}

	// A group has the periods that its members had before they joined, too.
	for _, v := range listings {
		f.periods[f.place(v)] = append(f.periods[f.place(v)], own[v]...)
	}

	// Entries name their period, balances do not. If a listing has had only one period, everything except the entries
	// without an owner belongs to that period, and its entries need not be read.
	shared, members := []id.ID{}, []id.ID{}

	for _, periods := range f.periods {
		for i := range periods {
			if len(periods) > 1 {
				shared = append(shared, periods[i].ID)
			}

			for _, m := range periods[i].Members {
				members = append(members, m.ContactID)
			}
		}
	}

	// The names of all members at once.
	if f.contacts, err = loadContactNames(ctx, tx, members); err != nil {
		return nil, err
	}

	if err := f.loadPeriods(ctx, tx, p, shared); err != nil {
		return nil, err
	}

	return f, f.loadPaid(ctx, tx, p)
}

// loadGroups loads which listings are in which groups.
func (f *ownerFacts) loadGroups(ctx context.Context, tx *db.Tx) error {
	type member struct{ ID, ParentID id.ID }

	rows, err := db.Select[member](ctx, tx, `select id, parent_id from listing where team_id = @team and parent_id is not null order by id`,
		db.Args{"team": tx.Team})
	if err != nil {
		return fmt.Errorf("read groups of listings: %w", err)
	}

	f.groups, f.members = make(map[id.ID]id.ID, len(rows)), map[id.ID][]id.ID{}
	for _, r := range rows {
		f.groups[r.ID], f.members[r.ParentID] = r.ParentID, append(f.members[r.ParentID], r.ID)
	}

	return nil
}

// place returns the listing that has the balances of one: its group, or itself.
func (f *ownerFacts) place(v id.ID) id.ID {
	if group, is := f.groups[v]; is {
		return group
	}

	return v
}

// places returns the listings with entries in the balances of one: itself, and the members of a group.
func (f *ownerFacts) places(v id.ID) []id.ID { return append([]id.ID{v}, f.members[v]...) }

// joinGroups adds the balances of members to those of their groups.
func (f *ownerFacts) joinGroups(totals map[id.ID]money.Cents) map[id.ID]money.Cents {
	out := make(map[id.ID]money.Cents, len(totals))
	for v, total := range totals {
		out[f.place(v)] += total
	}

	return out
}

type ownerSum struct {
	ListingID         id.ID
	OwnershipPeriodID id.ID
	ContactID         id.ID
	ReservationID     id.ID
	TransactionID     id.ID
	Total             money.Cents
}

// ownersTrustEntry holds for the entries e that owner balances are made of.
const ownersTrustEntry = `e.team_id = @team and e.party = 'owners' and e.ledger = 'trust' and e.status = 'active' and e.txn_at <= @date
	and e.currency = @currency`

// loadPeriods loads the balances of the given ownership periods, and the entries of owners without a period.
func (f *ownerFacts) loadPeriods(ctx context.Context, tx *db.Tx, p *position, periods []id.ID) error {
	// Periods are added up as a whole; entries without a period by stay and transaction, because warnings name
	// these.
	rows, err := db.Select[ownerSum](ctx, tx, `
		select e.listing_id, e.ownership_period_id, null::uuid as contact_id, null::uuid as reservation_id, null::uuid as transaction_id,
			-sum(e.cent_total)::bigint as total from ledger_entry e
		where `+ownersTrustEntry+` and e.ownership_period_id = any(@periods::uuid[]) and e.account_id <> all(@others::uuid[]) group by 1, 2
		union all
		select e.listing_id, e.ownership_period_id, null, e.reservation_id, e.transaction_id, -sum(e.cent_total)::bigint from ledger_entry e
		where `+ownersTrustEntry+` and e.ownership_period_id is null and e.account_id <> all(@others::uuid[]) group by 1, 2, 4, 5
		order by 1, 2, 4, 5`,
		db.Args{
			"team":     tx.Team,
			"date":     p.date,
			"currency": p.currency,
			"periods":  periods,
			"others":   p.chart.claimAccounts(ClaimBank, ClaimGuests),
		})
	if err != nil {
		return fmt.Errorf("read balances of ownership periods: %w", err)
	}

	for _, r := range rows {
		place := f.place(r.ListingID)

		f.sums[ownerKey{place, r.OwnershipPeriodID}] += r.Total
		if r.OwnershipPeriodID.IsZero() && r.Total != 0 {
			f.ownerless[place] = append(f.ownerless[place], r)
		}
	}

	return nil
}

// loadPaid loads the payouts to single owners, their payments to the trust, and the opening balances of single owners.
func (f *ownerFacts) loadPaid(ctx context.Context, tx *db.Tx, p *position) error {
	rows, err := db.Select[ownerSum](ctx, tx, `
		select e.listing_id, e.ownership_period_id, e.contact_id, null::uuid as reservation_id, null::uuid as transaction_id,
			-sum(e.cent_total)::bigint as total from ledger_entry e
		where `+ownersTrustEntry+` and e.contact_id is not null and e.ownership_period_id is not null
			and (e.account_id = (select s.account_id from account_assignment s where s.team_id = @team and s.assignment = @part)
				or e.trigger_type = 'openingBalance'
					and e.account_id = (select s.account_id from account_assignment s where s.team_id = @team and s.assignment = 'openingBalance'))
		group by 1, 2, 3`,
		db.Args{"team": tx.Team, "date": p.date, "currency": p.currency, "part": string(account.PayoutDistribution)})
	if err != nil {
		return fmt.Errorf("read payouts to owners: %w", err)
	}

	for _, r := range rows {
		f.paid[paidKey{ownerKey{f.place(r.ListingID), r.OwnershipPeriodID}, r.ContactID}] += r.Total
	}

	return nil
}

// splitByPeriod divides a listing's balance by ownership period and owner; periods with nothing open are left out.
func (f *ownerFacts) splitByPeriod(p *position, listingID id.ID, total money.Cents) []OwnerPeriod {
	out := []OwnerPeriod{}
	rest := total

	periods := f.periods[listingID]
	for i := range periods {
		of := &periods[i]

		// A single period has everything except the entries without an owner.
		cents := f.sums[ownerKey{listingID, of.ID}]
		if len(periods) == 1 {
			cents = total - f.sums[ownerKey{listingID, id.Zero}]
		}

		rest -= cents

		// A period is open if one of its shares is, even if they add up to 0.
		shares := f.splitByMember(listingID, of, cents)
		if cents == 0 && !slices.ContainsFunc(shares, func(s OwnerShare) bool { return s.CentTotal != 0 }) {
			continue
		}

		out = append(out, OwnerPeriod{
			ID:      &of.ID,
			StartAt: of.StartAt,
			EndAt:   of.EndAt,
			Figure:  p.ownerFigure(cents, f.places(listingID), &of.ID),
			Shares:  shares,
		})
	}

	// The rest belongs to a time without owners.
	if rest != 0 || len(f.ownerless[listingID]) > 0 {
		nobodys := OwnerPeriod{Figure: p.ownerFigure(rest, f.places(listingID), &id.Zero), Shares: []OwnerShare{}}
		for _, o := range f.ownerless[listingID] {
			nobodys.ownerless = append(nobodys.ownerless, p.renderOwnerless(&o))
		}

		out = append(out, nobodys)
	}

	return out
}

// renderOwnerless returns the warning about a stay or a transaction with entries for owners that the listing does not
// have.
func (p *position) renderOwnerless(o *ownerSum) WarningItem {
	behind := p.drilldownFilter()
	behind.ListingIDs, behind.OwnershipPeriodIDs = page.RefsTo(o.ListingID), page.RefsTo(id.Zero)
	behind.ReservationIDs, behind.TransactionIDs = page.RefsTo(o.ReservationID), page.RefsTo(o.TransactionID)

	return WarningItem{
		ListingID:     o.ListingID.OrNil(),
		ReservationID: o.ReservationID.OrNil(),
		TransactionID: o.TransactionID.OrNil(),
		Figure:        p.chart.figure(ClaimOwners, o.Total, behind),
	}
}

// splitByMember divides a period's balance among its members.
func (f *ownerFacts) splitByMember(listingID id.ID, of *listing.Period, cents money.Cents) []OwnerShare {
	shares, splits := make([]OwnerShare, len(of.Members)), make([]int64, len(of.Members))

	paid := make([]money.Cents, len(of.Members))
	for i, m := range of.Members {
		shares[i] = OwnerShare{ContactID: m.ContactID, Name: f.contacts[m.ContactID], Split: m.Split}
		splits[i], paid[i] = m.Split, f.paid[paidKey{ownerKey{listingID, of.ID}, m.ContactID}]
	}

	// Divide as the owner statements do, so that both show the same.
	for i, part := range chain.Divide(cents, splits, paid) {
		shares[i].CentTotal = part
	}

	return shares
}

// sumByOwner adds up the shares of each owner, by name.
func sumByOwner(listings []OwnerListing) []OwnerTotal {
	at := map[id.ID]int{}
	out := []OwnerTotal{}

	for i := range listings {
		for j := range listings[i].Periods {
			for _, s := range listings[i].Periods[j].Shares {
				n, ok := at[s.ContactID]
				if !ok {
					n = len(out)
					at[s.ContactID] = n
					out = append(out, OwnerTotal{ContactID: s.ContactID, Name: s.Name})
				}

				out[n].CentTotal += s.CentTotal
			}
		}
	}

	slices.SortFunc(out, func(a, b OwnerTotal) int {
		return compareListings(&a.Name, &b.Name, &a.ContactID, &b.ContactID)
	})

	return out
}

// loadContactNames loads the names of contacts.
func loadContactNames(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]string, error) {
	type contact struct {
		ID   id.ID
		Name string
	}

	rows, err := db.Select[contact](ctx, tx, `select id, name from contact where team_id = @team and id = any(@ids)`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read owners: %w", err)
	}

	out := make(map[id.ID]string, len(rows))
	for _, r := range rows {
		out[r.ID] = r.Name
	}

	return out, nil
}
