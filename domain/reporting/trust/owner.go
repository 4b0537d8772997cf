package trust

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
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
	// totals are the owners' balances by listing. Balances of 0 are included, because a period of the listing may have
	// another one.
	totals map[id.ID]money.Cents
	// names are those of all listings; groups are the groups of listings, by member, and members the listings of a group.
	names   map[id.ID]string
	groups  map[id.ID]id.ID
	members map[id.ID][]id.ID
	// own are the ownership periods of each listing by their start, and periods those of the place of its balances.
	own     map[id.ID][]ownership
	periods map[id.ID][]ownership
	// sums are the balances of single ownership periods. The zero id means the time in which the listing had no owner.
	sums map[ownerKey]money.Cents
	// ownerless are the sources of entries without an ownership period, by listing.
	ownerless map[id.ID][]ownerSum
	// paid adds up the payouts to members, as negative amounts.
	paid map[paidKey]money.Cents
}

// ownership is an ownership period as balances are divided by it: its days and the shares of its members, in the order
// that decides who gets the cents that do not divide.
type ownership struct {
	ID             id.ID
	StartAt, EndAt *day.Day
	Members        []OwnerShare
}

type ownerKey struct{ listing, period id.ID }

type paidKey struct {
	ownerKey
	contact id.ID
}

// load loads the facts in two round trips. Those of a position by listing are divided by its own balances.
func (f *ownerFacts) load(ctx context.Context, tx *db.Tx, p *position) error {
	// The works go on in this order: periods and payouts find the groups that the listings are in.
	works := []db.Work{
		f.loadListings,
		func(ctx context.Context, tx *db.Tx) error { return f.loadPeriods(ctx, tx, p) },
		func(ctx context.Context, tx *db.Tx) error { return f.loadPaid(ctx, tx, p) },
	}
	if p.byListing == nil {
		works = append(works, func(ctx context.Context, tx *db.Tx) error { return f.loadTotals(ctx, tx, p) })
	}

	return tx.Together(ctx, works...)
}

// loadTotals loads the owners' balances by listing.
func (f *ownerFacts) loadTotals(ctx context.Context, tx *db.Tx, p *position) error {
	sums, err := report.Balances(ctx, tx, report.BalanceFilter{
		Ledgers: []ledger.Ledger{ledger.Trust}, Currency: p.currency, To: p.date, Party: ledger.Owners,
	}, report.Grouping{Listing: true})
	if err != nil {
		return err
	}

	f.totals = map[id.ID]money.Cents{}

	for i := range sums {
		if p.chart.claim(sums[i].AccountID, ledger.Owners) == ClaimOwners {
			f.totals[sums[i].ListingID] -= sums[i].Net()
		}
	}

	return nil
}

// divide returns the owners' balances of all listings with their periods and shares, by name. A group is one row with
// all its members: they have the same owners, and payouts are booked on the group.
func (f *ownerFacts) divide(p *position) []OwnerListing {
	if p.byListing != nil {
		f.totals = map[id.ID]money.Cents{}

		for k, cents := range p.byListing {
			if k.claim == ClaimOwners {
				f.totals[k.listing] += cents
			}
		}
	}

	f.joinPeriods()

	out := []OwnerListing{}

	// Listings with nothing open in total or in a period are left out.
	for listingID, total := range f.joinGroups() {
		l := OwnerListing{
			Figure:  p.ownerFigure(total, f.places(listingID), nil),
			Periods: f.splitByPeriod(p, listingID, total),
			places:  f.places(listingID),
		}
		if name, ok := f.names[listingID]; ok {
			l.ID, l.Name = &listingID, &name
		}

		if total != 0 || len(l.Periods) > 0 {
			out = append(out, l)
		}
	}

	slices.SortFunc(out, func(a, b OwnerListing) int { return compareListings(a.Name, b.Name, a.ID, b.ID) })

	return out
}

// joinPeriods gives each place the periods of its listings that have balances, and its own. A group has the periods that
// its members had before they joined, too, even if it has no entries itself.
func (f *ownerFacts) joinPeriods() {
	f.periods = map[id.ID][]ownership{}

	listings := slices.SortedFunc(maps.Keys(f.totals), id.ID.Compare)
	for _, v := range listings {
		listings = append(listings, f.place(v))
	}

	for _, v := range id.Distinct(listings) {
		f.periods[f.place(v)] = append(f.periods[f.place(v)], f.own[v]...)
	}
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

// loadListings loads the names of all listings, and which are in which groups.
func (f *ownerFacts) loadListings(ctx context.Context, tx *db.Tx) error {
	type row struct {
		ID, ParentID id.ID
		Name         string
	}

	rows, err := db.Select[row](ctx, tx, `select id, parent_id, name from listing where team_id = @team order by id`, db.Args{"team": tx.Team})
	if err != nil {
		return fmt.Errorf("read listings and their groups: %w", err)
	}

	f.names, f.groups, f.members = make(map[id.ID]string, len(rows)), map[id.ID]id.ID{}, map[id.ID][]id.ID{}
	for _, r := range rows {
		f.names[r.ID] = r.Name
		if !r.ParentID.IsZero() {
			f.groups[r.ID], f.members[r.ParentID] = r.ParentID, append(f.members[r.ParentID], r.ID)
		}
	}

	return nil
}

// loadPeriods loads the ownership periods of all listings, and then the balances that only entries have by period.
func (f *ownerFacts) loadPeriods(ctx context.Context, tx *db.Tx, p *position) error {
	type row struct {
		ID, ListingID  id.ID
		StartAt, EndAt *day.Day
		ContactID      id.ID
		Name           string
		Split          int64
	}

	// A row is a member; those of a period follow each other.
	rows, err := db.Select[row](ctx, tx, `
		select p.id, p.listing_id, p.start_at, p.end_at, m.contact_id, c.name, m.split
		from listing_ownership_period p join listing_ownership_member m on m.team_id = @team and m.period_id = p.id
		join contact c on c.team_id = @team and c.id = m.contact_id
		where p.team_id = @team order by p.listing_id, p.start_at nulls first, p.id, m.position`, db.Args{"team": tx.Team})
	if err != nil {
		return fmt.Errorf("read who owns the listings: %w", err)
	}

	f.own = map[id.ID][]ownership{}
	for _, r := range rows {
		all := f.own[r.ListingID]
		if n := len(all); n == 0 || all[n-1].ID != r.ID {
			all = append(all, ownership{ID: r.ID, StartAt: r.StartAt, EndAt: r.EndAt})
		}

		of := &all[len(all)-1]
		of.Members = append(of.Members, OwnerShare{ContactID: r.ContactID, Name: r.Name, Split: r.Split})
		f.own[r.ListingID] = all
	}

	return f.loadPeriodSums(ctx, tx, p)
}

// listShared returns the periods of listings and groups that have had several. Entries name their period, balances do
// not. If a listing has had only one, everything except the entries without an owner belongs to that period, and its
// entries need not be read.
func (f *ownerFacts) listShared() []id.ID {
	joined, shared := map[id.ID][]id.ID{}, []id.ID{}

	for v, periods := range f.own {
		for i := range periods {
			joined[f.place(v)] = append(joined[f.place(v)], periods[i].ID)
		}
	}

	for _, periods := range joined {
		if len(periods) > 1 {
			shared = append(shared, periods...)
		}
	}

	return shared
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

// joinGroups returns the balances with those of members added to those of their groups.
func (f *ownerFacts) joinGroups() map[id.ID]money.Cents {
	out := make(map[id.ID]money.Cents, len(f.totals))
	for v, total := range f.totals {
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

// loadPeriodSums loads the balances of shared ownership periods, and the entries of owners without a period.
func (f *ownerFacts) loadPeriodSums(ctx context.Context, tx *db.Tx, p *position) error {
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
			"periods":  f.listShared(),
			"others":   p.chart.claimAccounts(ClaimBank, ClaimGuests),
		})
	if err != nil {
		return fmt.Errorf("read balances of ownership periods: %w", err)
	}

	f.sums, f.ownerless = map[ownerKey]money.Cents{}, map[id.ID][]ownerSum{}
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

	f.paid = map[paidKey]money.Cents{}
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
func (f *ownerFacts) splitByMember(listingID id.ID, of *ownership, cents money.Cents) []OwnerShare {
	shares, splits := slices.Clone(of.Members), make([]int64, len(of.Members))

	paid := make([]money.Cents, len(of.Members))
	for i, m := range of.Members {
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
