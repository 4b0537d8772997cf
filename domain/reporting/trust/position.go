package trust

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/domain/reporting/report"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// position holds the balances of the trust ledger at the end of a day. Amounts are owed by the trust: positive is a
// liability. The bank is an asset and so is negative, and all claims together are zero.
type position struct {
	chart    *chart
	date     day.Day
	currency money.Currency

	byClaim   map[Claim]money.Cents
	byAccount map[accountKey]money.Cents
	// byListing is nil for a position that is not split by listing.
	byListing map[listingKey]money.Cents
	guests    []guestCell
	// guestsOf are the places in guests of a listing's cells.
	guestsOf map[id.ID][]int
	// origins say where the money of cancelled stays, and of none, comes from.
	origins map[id.ID]guestOrigin
}

type accountKey struct {
	claim   Claim
	account id.ID
}

type listingKey struct {
	claim   Claim
	listing id.ID
}

// openPosition loads what a position depends on: its currency and the accounts. With byListing, its balances are split
// by listing too; there are as many rows then as listings have accounts with entries. It fails as report.Currency does.
func openPosition(ctx context.Context, tx *db.Tx, f *Filter, byListing bool) (*position, error) {
	p := newPosition(dateOrToday(tx, f.Date), byListing)

	return p, tx.Together(ctx, db.LoadBy(&p.currency, report.Currency, f.Currency), db.Load(&p.chart, loadChart))
}

// newPosition returns a position without its data.
func newPosition(date day.Day, byListing bool) *position {
	p := &position{
		date:      date,
		byClaim:   map[Claim]money.Cents{},
		byAccount: map[accountKey]money.Cents{},
		guestsOf:  map[id.ID][]int{},
	}
	if byListing {
		p.byListing = map[listingKey]money.Cents{}
	}

	return p
}

// loadSums adds up the books by claim and account, and by listing if the position has listings.
func (p *position) loadSums(ctx context.Context, tx *db.Tx) error {
	sums, err := report.Balances(ctx, tx, report.BalanceFilter{
		Ledgers:  []ledger.Ledger{ledger.Trust},
		Currency: p.currency,
		To:       p.date,
	}, report.Grouping{Party: true, Listing: p.byListing != nil})
	if err != nil {
		return err
	}

	// Net is debit less credit, so a liability becomes positive here.
	for i := range sums {
		s := &sums[i]
		claim := p.chart.claim(s.AccountID, s.Party)
		p.byClaim[claim] -= s.Net()

		p.byAccount[accountKey{claim, s.AccountID}] -= s.Net()
		if p.byListing != nil {
			p.byListing[listingKey{claim, s.ListingID}] -= s.Net()
		}
	}

	return nil
}

// loadGuests loads the guests' balances by stay, which the sums do not have, and the origins of those that need one.
func (p *position) loadGuests(ctx context.Context, tx *db.Tx) error {
	accounts := p.chart.claimAccounts(ClaimGuests)

	var err error
	if p.guests, err = loadGuestCells(ctx, tx, &guestSelection{
		accounts:     accounts,
		date:         p.date,
		currency:     p.currency,
		balancesOnly: true,
	}); err != nil {
		return err
	}

	for i := range p.guests {
		of := p.guests[i].ListingID
		p.guestsOf[of] = append(p.guestsOf[of], i)
	}

	p.origins, err = loadOrigins(ctx, tx, p, accounts, p.guests)

	return err
}

// drilldownFilter returns the selection of the entries up to the day.
func (p *position) drilldownFilter() report.Selection {
	return report.Selection{EndDate: &report.End{Day: p.date}, Currency: string(p.currency), Ledger: ledger.Trust}
}

// figure returns the balance of a claim with its drill-down.
func (p *position) figure(claim Claim) Figure {
	return p.chart.figure(claim, p.byClaim[claim], p.drilldownFilter())
}

// banks returns the trust's bank accounts of the currency, and any other of the currency that has trust money on it.
func (p *position) banks() []id.ID {
	ids := []id.ID{}

	for i := range p.chart.accounts {
		a := &p.chart.accounts[i]
		if p.chart.claims[a.ID] != ClaimBank || p.isForeign(a) {
			continue
		}

		trust := a.BankingCategory != nil && *a.BankingCategory == "trust"
		if trust || p.byAccount[accountKey{ClaimBank, a.ID}] != 0 {
			ids = append(ids, a.ID)
		}
	}

	return ids
}

// isForeign reports whether an account is at a bank in another currency.
func (p *position) isForeign(a *chartAccount) bool {
	return a.BankingCurrency != "" && a.BankingCurrency != string(p.currency)
}

// foreignBanks returns the bank accounts of another currency that old entries of this one are on, each with what they
// add up to. No bank holds that money, so no leg counts it.
func (p *position) foreignBanks() []AccountFigure {
	found := []AccountFigure{}

	for i := range p.chart.accounts {
		a := &p.chart.accounts[i]

		cents := p.byAccount[accountKey{ClaimBank, a.ID}]
		if cents == 0 || !p.isForeign(a) {
			continue
		}

		behind := p.drilldownFilter()
		behind.AccountIDs = page.Only(a.ID)
		found = append(found, AccountFigure{a.ref(), p.chart.figure(ClaimBank, -cents, behind)})
	}

	return found
}

// guestFigure returns the money of the guests of a status, of one listing if it is given.
func (p *position) guestFigure(status report.Occupancy, listingID *id.ID) GuestFigure {
	behind := p.drilldownFilter()
	if listingID != nil {
		behind.ListingIDs = page.RefsTo(*listingID)
	}

	cells, total := p.guestsByStatus(status, listingID)
	whole := behind
	whole.OccupancyStatus = status

	out := GuestFigure{Figure: p.chart.figure(ClaimGuests, total, whole)}
	if status == report.Unassigned {
		return out
	}

	// A stay that is spread over listings counts once, with its balance.
	var deposits, receivables []stayBalance

	for _, s := range sumByStay(cells) {
		if s.total > 0 {
			deposits = append(deposits, s)
		} else {
			receivables = append(receivables, s)
		}
	}

	deposit, receivable := p.chart.sumStays(deposits, behind), p.chart.sumStays(receivables, behind)
	out.Deposits, out.Receivables = &deposit, &receivable

	return out
}

// guestsByStatus returns the guest cells of a status, of one listing if it is given, and their sum.
func (p *position) guestsByStatus(status report.Occupancy, listingID *id.ID) (cells []guestCell, total money.Cents) {
	add := func(c *guestCell) {
		if c.Status == status {
			cells = append(cells, *c)
			total += c.total()
		}
	}

	// The index by listing spares a walk over all cells for each listing.
	if listingID != nil {
		for _, i := range p.guestsOf[*listingID] {
			add(&p.guests[i])
		}

		return cells, total
	}

	for i := range p.guests {
		add(&p.guests[i])
	}

	return cells, total
}

// splitByStatus divides guest balances by status.
func (p *position) splitByStatus(whole Figure, listingID *id.ID) GuestSplit {
	return GuestSplit{
		Figure:     whole,
		Departed:   p.guestFigure(report.Departed, listingID),
		InHouse:    p.guestFigure(report.InHouse, listingID),
		Upcoming:   p.guestFigure(report.Upcoming, listingID),
		Cancelled:  p.guestFigure(report.Cancelled, listingID),
		Unassigned: p.guestFigure(report.Unassigned, listingID),
	}
}

// GuestSplit are the net balances of guests by where they are in their stay.
type GuestSplit struct {
	Figure
	Departed   GuestFigure `json:"departed"`
	InHouse    GuestFigure `json:"inHouse"`
	Upcoming   GuestFigure `json:"upcoming"`
	Cancelled  GuestFigure `json:"cancelled"`
	Unassigned GuestFigure `json:"unassigned" doc:"Guest money that no reservation explains."`
}

// GuestFigure is the money of the guests of a status, net. Deposits and Receivables are its stays with money held
// and money owed.
type GuestFigure struct {
	Figure
	Deposits    *Figure `json:"deposits" doc:"Null for unassigned money."`
	Receivables *Figure `json:"receivables" doc:"Negative; null for unassigned money."`
}

// dateOrToday returns the given day, or today.
func dateOrToday(tx *db.Tx, given *day.Day) day.Day {
	if given == nil {
		return tx.Today()
	}

	return *given
}

// loadListingNames loads the names of listings.
func loadListingNames(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]string, error) {
	type named struct {
		ID   id.ID
		Name string
	}

	rows, err := db.Select[named](ctx, tx, `select id, name from listing where team_id = @team and id = any(@ids)`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read listings: %w", err)
	}

	out := make(map[id.ID]string, len(rows))
	for _, r := range rows {
		out[r.ID] = r.Name
	}

	return out, nil
}
