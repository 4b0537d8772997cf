package chain

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Payable is a statement as payouts see it.
type Payable struct {
	Chain

	ID        id.ID
	ListingID id.ID
	StartAt   day.Day
	Published bool
	// Available is the amount that the statement owes the owners by the books, negative when they owe it; Held is the
	// part of it that guests still owe or that is kept until their stays.
	Available money.Cents
	Held      Held
	// Received adds up the payouts that name the statement, by the books.
	Received      money.Cents
	JournalStatus ledger.JournalStatus

	history *History // that of all payables of the chain
}

// Owners returns the members who divide the available balance, in their order.
func (p *Payable) Owners() []Owner { return p.history.Owners }

// Remaining returns the part of each member that is still to be paid, in their order: the part that payouts have left
// open on this statement and on every later published statement of the chain, since each of these contains what earlier
// statements left unpaid. It is negative when the member owes it. Without members it has one part. Everything booked
// counts as paid, whether it has arrived or not.
func (p *Payable) Remaining() []money.Cents {
	b := p.history.Balance(p.ID)

	// A draft is not in the history: nothing can be paid on it.
	if b == nil {
		return make([]money.Cents, len(p.history.splits))
	}

	return slices.Clone(b.payable)
}

// BroughtForward returns what the statement before has left open of what owners get.
func (p *Payable) BroughtForward() money.Cents {
	var open money.Cents

	for i := range p.history.balances {
		b := &p.history.balances[i]
		if b.ID == p.ID {
			return max(0, open)
		}

		open = 0
		for _, left := range b.left {
			open += left
		}
	}

	return 0
}

// Unpaid returns the payable balance of the statement less all payouts booked since its end.
func (p *Payable) Unpaid() money.Cents {
	b := p.history.Balance(p.ID)
	if b == nil {
		return 0
	}

	return b.unpaid
}

// Pay counts a payment to a member on a day for all payables that were loaded together.
func (p *Payable) Pay(date day.Day, contact id.ID, cents money.Cents) {
	p.history.pay(Distribution{ContactID: contact, Date: date, Since: date, Total: cents})

	// Settle again: the payment changes the open part of other statements of the chain too.
	p.history.settle()
}

// saved is the place of a saved statement in its chain.
type saved struct {
	Chain

	ID             id.ID
	ListingID      id.ID
	StartAt, EndAt day.Day
	Published      bool
	Imported       bool
}

// loadSaved loads the places of saved statements. If toPay is set, their rows are locked, so that no other request
// reopens or pays them meanwhile.
func loadSaved(ctx context.Context, tx *db.Tx, ids []id.ID, toPay bool) ([]saved, error) {
	lock := ""
	if toPay {
		lock = " for update"
	}

	rows, err := db.Select[saved](ctx, tx, `
		select ownership_period_id, currency, id, listing_id, start_at, end_at, status = 'published' as published, imported
		from statement where team_id = @team and id = any(@ids) order by id`+lock, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read statements to pay: %w", err)
	}

	return rows, nil
}

// LoadPayables loads the saved statements that money may be paid on. Ids without a saved statement, such as ids of
// drafts, are left out. If toPay is set, their rows are locked first, so that no other request reopens or pays them
// meanwhile. Held is computed for a day.
func LoadPayables(ctx context.Context, tx *db.Tx, ids []id.ID, on day.Day, toPay bool) ([]Payable, error) {
	rows, err := loadSaved(ctx, tx, ids, toPay)
	if err != nil || len(rows) == 0 {
		return nil, err
	}

	var (
		periods, listings []id.ID
		counted           []id.ID // the statements at the places of chains
		chains            []Until
	)

	for i := range rows {
		r := &rows[i]
		periods, listings = append(periods, r.OwnershipPeriodID), append(listings, r.ListingID)

		// The money of imported statements was collected in the earlier system.
		if !r.Imported {
			counted, chains = append(counted, r.ID), append(chains, Until{r.Chain, r.EndAt})
		}
	}

	var (
		histories *Histories
		held      []Held
		booked    map[id.ID]money.Cents
		journals  map[id.ID]ledger.JournalStatus
	)

	// The rows are locked by now, so the figures are read under the lock.
	err = tx.Together(ctx,
		db.LoadBy(&histories, LoadHistories, id.Distinct(periods)),
		func(ctx context.Context, tx *db.Tx) (err error) {
			held, err = LoadHeld(ctx, tx, chains, on)
			return err
		},
		db.LoadBy(&booked, loadBooked, ids),
		db.LoadBy(&journals, ledger.LoadListingStatuses, id.Distinct(listings)),
	)
	if err != nil {
		return nil, err
	}

	heldOn := make(map[id.ID]Held, len(counted))
	for i := range counted {
		heldOn[counted[i]] = held[i]
	}

	// Payables of a chain share its history, so that a payment on one counts for the others.
	out := make([]Payable, len(rows))
	for i := range rows {
		r := &rows[i]
		p := Payable{
			Chain:         r.Chain,
			ID:            r.ID,
			ListingID:     r.ListingID,
			StartAt:       r.StartAt,
			Published:     r.Published,
			Received:      booked[r.ID],
			JournalStatus: journals[r.ListingID],
			history:       histories.Chain(r.Chain),
		}

		if b := p.history.Balance(r.ID); b != nil {
			p.Available, p.Held = b.totalPayable(), heldOn[r.ID]
		}

		out[i] = p
	}

	return out, nil
}

// LoadDrafts returns drafts as payouts see them; chains has each draft's chain by the draft's id. Nothing is paid on a
// draft, so it has members and no amounts.
func LoadDrafts(ctx context.Context, tx *db.Tx, chains map[id.ID]Chain) ([]Payable, error) {
	if len(chains) == 0 {
		return nil, nil
	}

	periods := make([]id.ID, 0, len(chains))
	for _, c := range chains {
		periods = append(periods, c.OwnershipPeriodID)
	}

	owners, err := loadOwners(ctx, tx, id.Distinct(periods))
	if err != nil {
		return nil, err
	}

	out := make([]Payable, 0, len(chains))
	for draft, c := range chains {
		out = append(out, Payable{Chain: c, ID: draft, history: NewHistory(owners[c.OwnershipPeriodID], nil, nil)})
	}

	return out, nil
}
