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

// loadPosition adds up the books by claim, account and listing. With listings there are as many rows as listings
// have accounts with entries, so a caller that does not need them sets byListing to false.
func loadPosition(
	ctx context.Context,
	tx *db.Tx,
	date day.Day,
	currency money.Currency,
	byListing bool,
) (*position, error) {
	c, err := loadChart(ctx, tx)
	if err != nil {
		return nil, err
	}

	p := &position{
		chart:     c,
		date:      date,
		currency:  currency,
		byClaim:   map[Claim]money.Cents{},
		byAccount: map[accountKey]money.Cents{},
		byListing: map[listingKey]money.Cents{},
	}

	sums, err := report.Balances(ctx, tx, report.BalanceFilter{
		Ledgers:  []ledger.Ledger{ledger.Trust},
		Currency: currency,
		To:       date,
	}, report.Grouping{Party: true, Listing: byListing})
	if err != nil {
		return nil, err
	}

	// Net is debit less credit, so a liability becomes positive here.
	for i := range sums {
		s := &sums[i]
		claim := c.claim(s.AccountID, s.Party)
		p.byClaim[claim] -= s.Net()

		p.byAccount[accountKey{claim, s.AccountID}] -= s.Net()
		if byListing {
			p.byListing[listingKey{claim, s.ListingID}] -= s.Net()
		}
	}

	// Guests need their stays, which the sums do not have.
	if p.guests, err = loadGuestCells(ctx, tx, &guestSelection{
		accounts:     c.claimAccounts(ClaimGuests),
		date:         date,
		currency:     currency,
		balancesOnly: true,
	}); err != nil {
		return nil, err
	}

	if p.origins, err = loadOrigins(ctx, tx, p, c.claimAccounts(ClaimGuests), p.guests); err != nil {
		return nil, err
	}

	p.guestsOf = map[id.ID][]int{}
	for i := range p.guests {
		of := p.guests[i].ListingID
		p.guestsOf[of] = append(p.guestsOf[of], i)
	}

	return p, nil
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
