package report

import (
	"context"
	"slices"

	"stayledger/domain/statement"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// summing adds statements up by ownership period and then by owner. What is split is each statement's net revenue, expenses and payouts, the
// balance at the start of the first and the reserve of the last, so that the parts of all members add up to the figure; what follows from
// figures follows from their parts, so that a row adds up in itself.
type summing struct {
	only   map[id.ID]bool // nil means everybody
	chains map[id.ID]*ownedChain
	order  []*ownedChain
}

// ownedChain are the statements of one ownership period.
type ownedChain struct {
	statement.Run

	period, listing id.ID
	owners          []statement.Owner
	moved           []SummaryFigures // of each owner: net revenue, expenses and payouts
}

func newSumming(only []id.ID) *summing {
	s := &summing{chains: map[id.ID]*ownedChain{}}
	if len(only) > 0 {
		s.only = map[id.ID]bool{}
		for _, contact := range only {
			s.only[contact] = true
		}
	}
	return s
}

func (s *summing) wants(contact id.ID) bool { return s.only == nil || s.only[contact] }

// add takes a statement in and gives the parts of its owners; none when nobody owns the listing.
func (s *summing) add(f *statement.Figures) []SummaryFigures {
	if len(f.Owners) == 0 {
		return nil
	}
	c := s.chains[f.Ownership.ID]
	if c == nil {
		c = &ownedChain{period: f.Ownership.ID, listing: f.Listing.ID, owners: f.Owners, moved: make([]SummaryFigures, len(f.Owners))}
		s.chains[f.Ownership.ID], s.order = c, append(s.order, c)
	}
	c.Add(f)
	parts := partsOf(f.Owners, &f.Financials)
	for i := range parts {
		c.moved[i].NetRevenue += parts[i].NetRevenue
		c.moved[i].Expenses += parts[i].Expenses
		c.moved[i].Payouts += parts[i].Payouts
	}
	return parts
}

// divided is an amount by split.
func divided(cents money.Cents, owners []statement.Owner) []money.Cents {
	weights := make([]int64, len(owners))
	for i := range owners {
		weights[i] = owners[i].Split
	}
	return money.Split(cents, weights)
}

// partsOf are the parts of the owners in one statement.
func partsOf(owners []statement.Owner, f *statement.Financials) []SummaryFigures {
	parts := make([]SummaryFigures, len(owners))
	start, revenue, expenses := divided(f.BalanceStart, owners), divided(f.NetRevenue, owners), divided(f.Expenses, owners)
	payouts, reserve := divided(f.Payouts, owners), divided(f.Reserve, owners)
	given := divided(f.BalanceEnd-f.BalanceStart-f.NetIncome-f.Payouts, owners)
	for i := range parts {
		parts[i] = SummaryFigures{
			BalanceStart: start[i], NetRevenue: revenue[i], Expenses: expenses[i], Payouts: payouts[i], Adjustments: given[i], Reserve: reserve[i],
		}
		parts[i].complete()
	}
	return parts
}

// parts are those of the owners in all statements of an ownership period, which has a balance of its own in the books now.
func (c *ownedChain) parts(current money.Cents) []SummaryFinancials {
	parts := make([]SummaryFinancials, len(c.owners))
	start, adjustments, reserve := divided(c.BalanceStart, c.owners), divided(c.Adjustments(), c.owners), divided(c.Reserve, c.owners)
	now := divided(current, c.owners)
	for i := range parts {
		p := &parts[i]
		p.SummaryFigures = c.moved[i]
		p.BalanceStart, p.Adjustments, p.Reserve = start[i], adjustments[i], reserve[i]
		p.complete()
		if p.CurrentBalance = now[i]; current == c.BalanceEnd {
			p.CurrentBalance = p.BalanceEnd // not a cent off what is the same
		}
	}
	return parts
}

// ownerSummed is what an owner's statements come to.
type ownerSummed struct {
	SummaryFinancials

	periods    []id.ID
	listings   map[id.ID]bool
	statements int64
}

// owners adds up by owner.
func (s *summing) owners(ctx context.Context, tx *db.Tx, currency money.Currency) (map[id.ID]*ownerSummed, error) {
	periods := make([]id.ID, len(s.order))
	for i, c := range s.order {
		periods[i] = c.period
	}
	current, err := statement.CurrentBalances(ctx, tx, periods, string(currency))
	if err != nil {
		return nil, err
	}
	out := map[id.ID]*ownerSummed{}
	for _, c := range s.order {
		parts := c.parts(current[c.period])
		for i := range c.owners {
			contact := c.owners[i].ContactID
			if !s.wants(contact) {
				continue
			}
			if out[contact] == nil {
				out[contact] = &ownerSummed{listings: map[id.ID]bool{}}
			}
			o := out[contact]
			o.add(&parts[i])
			o.periods, o.listings[c.listing] = append(o.periods, c.period), true
			o.statements += c.Statements
		}
	}
	return out, nil
}

// contacts are those that have a part.
func (s *summing) contacts() []id.ID {
	seen := map[id.ID]bool{}
	var out []id.ID
	for _, c := range s.order {
		for _, o := range c.owners {
			if s.wants(o.ContactID) && !seen[o.ContactID] {
				seen[o.ContactID] = true
				out = append(out, o.ContactID)
			}
		}
	}
	return out
}

// OwnerPart is an owner's part of one statement.
type OwnerPart struct {
	Contact   *SummaryContact
	Statement *statement.Figures
	Split     int64 // parts per 100000
	Figures   SummaryFigures
}

// ReadOwnerParts gives what the summaries add up, by owner, listing and month. It holds a row for each owner of each statement.
func ReadOwnerParts(ctx context.Context, tx *db.Tx, f *SummaryFilter) ([]OwnerPart, error) {
	_, selected, err := f.selection(ctx, tx)
	if err != nil || selected == nil {
		return nil, err
	}
	s := newSumming(selected.OwnerIDs)
	var out []OwnerPart
	people := map[id.ID]*SummaryContact{}
	err = statement.EachFigures(ctx, tx, *selected, func(one *statement.Figures) error {
		for i, part := range s.add(one) {
			contact := one.Owners[i].ContactID
			if !s.wants(contact) {
				continue
			}
			if people[contact] == nil {
				people[contact] = &SummaryContact{}
			}
			out = append(out, OwnerPart{Contact: people[contact], Statement: one, Split: one.Owners[i].Split, Figures: part})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	found, err := summaryContacts(ctx, tx, s.contacts())
	if err != nil {
		return nil, err
	}
	for contact, c := range people {
		*c = found[contact]
	}
	// Statements come by listing and month.
	slices.SortStableFunc(out, func(a, b OwnerPart) int { return a.Contact.compare(b.Contact) })
	return out, nil
}

// CountOwnerStatements counts the statements of an owner.
func CountOwnerStatements(ctx context.Context, tx *db.Tx, contact id.ID, p *SummaryPeriod) (int64, error) {
	currency, err := Currency(ctx, tx, p.Currency)
	if err != nil {
		return 0, err
	}
	f := p.statements(currency)
	f.OwnerIDs = []id.ID{contact}
	n, err := statement.Count(ctx, tx, f)
	return n.Statements, err
}
