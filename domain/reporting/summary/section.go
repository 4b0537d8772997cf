package summary

import (
	"context"
	"slices"

	"stayledger/domain/reporting/report"
	"stayledger/domain/settlement/chain"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// summing adds up the owners' parts of statements, by ownership period and then by owner: net revenue, expenses and
// payouts of all statements, the balance at the start of the first, and the balance at the end and the reserve of
// the last. A member's part of a balance follows from earnings and payouts, so it is the same in a statement, here
// and in the trust report.
type summing struct {
	only   map[id.ID]bool // nil means everybody
	chains map[id.ID]*chainSum
	order  []*chainSum
}

// chainSum holds the statements of one ownership period.
type chainSum struct {
	period, listing id.ID
	statements      int64
	owners          []statement.Owner
	figures         []Figures // of each owner
	first, last     day.Day   // the starts of the statements that give the balances at the start and at the end
}

// newSumming returns an empty sum, for the given owners or, if there are none, for all.
func newSumming(only []id.ID) *summing {
	s := &summing{chains: map[id.ID]*chainSum{}}
	if len(only) > 0 {
		s.only = map[id.ID]bool{}
		for _, contact := range only {
			s.only[contact] = true
		}
	}

	return s
}

// wants reports whether the owner is added up.
func (s *summing) wants(contact id.ID) bool { return s.only == nil || s.only[contact] }

// add adds a statement and returns the parts of its owners, nil when the listing has no owner.
func (s *summing) add(f *statement.Figures) []Figures {
	if len(f.Owners) == 0 {
		return nil
	}

	// The first statement of a period fixes its owners.
	c := s.chains[f.Ownership.ID]
	if c == nil {
		c = &chainSum{
			period:  f.Ownership.ID,
			listing: f.Listing.ID,
			owners:  f.Owners,
			figures: make([]Figures, len(f.Owners)),
			first:   f.StartAt,
			last:    f.StartAt,
		}
		s.chains[f.Ownership.ID], s.order = c, append(s.order, c)
	}

	c.statements++

	// The statement itself has divided its figures.
	parts := make([]Figures, len(f.Owners))
	for i := range parts {
		p := &f.Parts[i]
		parts[i] = Figures{
			BalanceStart: p.BalanceStart,
			NetRevenue:   p.NetRevenue,
			Expenses:     p.Expenses,
			Payouts:      p.Payouts,
			BalanceEnd:   p.BalanceEnd,
			Reserve:      p.Reserve,
		}
		parts[i].complete()
	}

	// Payouts name the member, so money that did not arrive is that member's.
	for _, p := range f.Paid {
		isPaid := func(o statement.Owner) bool { return p.ContactID != nil && o.ContactID == *p.ContactID }
		if i := slices.IndexFunc(f.Owners, isPaid); i >= 0 {
			parts[i].NotReceived += p.Missing
		}
	}

	c.add(f.StartAt, parts)

	return parts
}

// add adds the parts of a statement that begins on a day. The statements may come in any order.
func (c *chainSum) add(start day.Day, parts []Figures) {
	isFirst, isLast := !start.After(c.first), !start.Before(c.last)

	c.first, c.last = day.Min(c.first, start), day.Max(c.last, start)
	for i := range parts {
		// Movements add up; balances are those of the first and the last statement.
		f, p := &c.figures[i], &parts[i]
		f.NetRevenue += p.NetRevenue
		f.Expenses += p.Expenses
		f.Payouts += p.Payouts

		f.NotReceived += p.NotReceived
		if isFirst {
			f.BalanceStart = p.BalanceStart
		}

		if isLast {
			f.BalanceEnd, f.Reserve = p.BalanceEnd, p.Reserve
		}

		f.complete()
	}
}

// ownerSum adds up an owner's statements.
type ownerSum struct {
	Financials

	periods    []id.ID
	listings   map[id.ID]bool
	statements int64
}

// loadOwners adds up the periods by owner and loads their current balances.
func (s *summing) loadOwners(ctx context.Context, tx *db.Tx, currency money.Currency) (map[id.ID]*ownerSum, error) {
	periods := make([]id.ID, len(s.order))
	for i, c := range s.order {
		periods[i] = c.period
	}

	// One query for all periods.
	current, err := chain.CurrentShares(ctx, tx, periods, string(currency))
	if err != nil {
		return nil, err
	}

	out := map[id.ID]*ownerSum{}

	for _, c := range s.order {
		for i := range c.owners {
			contact := c.owners[i].ContactID
			if !s.wants(contact) {
				continue
			}

			if out[contact] == nil {
				out[contact] = &ownerSum{listings: map[id.ID]bool{}}
			}

			// An owner may have several periods, of one listing or of several.
			o := out[contact]
			o.Figures.add(&c.figures[i])
			o.CurrentBalance += current[c.period][i]
			o.periods, o.listings[c.listing] = append(o.periods, c.period), true
			o.statements += c.statements
		}
	}

	return out, nil
}

// contacts returns the owners who have a part, each once.
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
	Contact   *Contact
	Statement *statement.Figures
	Split     int64 // parts per 100000
	Figures   Figures
}

// loadOwnerParts returns the parts that the summaries add up, by owner, listing and month. It holds a row in memory
// for each owner of each statement.
func loadOwnerParts(ctx context.Context, tx *db.Tx, f *Filter) ([]OwnerPart, error) {
	_, selected, err := f.selection(ctx, tx)
	if err != nil || selected == nil {
		return nil, err
	}

	owners, _ := selected.OwnerIDs.Parts()
	s := newSumming(owners)

	var out []OwnerPart

	// The names are loaded at the end; until then the parts of an owner share an empty contact.
	people := map[id.ID]*Contact{}

	err = statement.EachFigures(ctx, tx, *selected, func(one *statement.Figures) error {
		for i, part := range s.add(one) {
			contact := one.Owners[i].ContactID
			if !s.wants(contact) {
				continue
			}

			if people[contact] == nil {
				people[contact] = &Contact{}
			}

			out = append(out, OwnerPart{
				Contact:   people[contact],
				Statement: one,
				Split:     one.Owners[i].Split,
				Figures:   part,
			})
		}

		return nil
	})
	if err != nil {
		return nil, err
	}

	// Now fill in the contacts of all parts.
	found, err := loadContacts(ctx, tx, s.contacts())
	if err != nil {
		return nil, err
	}

	for contact, c := range people {
		*c = found[contact]
	}

	// Statements come by listing and month already, so a stable sort keeps that order.
	slices.SortStableFunc(out, func(a, b OwnerPart) int { return a.Contact.compare(b.Contact) })

	return out, nil
}

// countOwnerStatements counts the statements of an owner.
func countOwnerStatements(ctx context.Context, tx *db.Tx, contact id.ID, p *Period) (int64, error) {
	currency, err := report.Currency(ctx, tx, p.Currency)
	if err != nil {
		return 0, err
	}

	f := p.statements(currency)
	f.OwnerIDs = page.Only(contact)
	n, err := statement.Count(ctx, tx, f)

	return n.Statements, err
}
