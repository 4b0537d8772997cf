package statement

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/domain/settlement/chain"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Payable is a statement as payouts see it.
type Payable struct {
	ID                id.ID
	OwnershipPeriodID id.ID
	ListingID         id.ID
	Currency          string
	StartAt, EndAt    day.Day
	Status            Status
	Financials        Funds
	// Shares divide the available balance among the members.
	Shares []Share
	// Received adds up the payouts that name the statement, by the books.
	Received      money.Cents
	JournalStatus ledger.JournalStatus

	history *chain.History // that of all payables of the chain
}

// Left returns the part of each share that is still to be paid, in their order: the part that payouts have left
// open on this statement and on every later published one of the ownership period and currency, since each of these
// contains what the earlier ones left unpaid. It is negative when the member owes it. Without members it has one
// part. Everything that is booked counts as paid, whether it has arrived or not.
func (p *Payable) Left() []money.Cents { return p.history.Payable(p.ID) }

// Unpaid returns the available balance of the statement less all payouts that were booked since its end.
func (p *Payable) Unpaid() money.Cents { return p.history.Unpaid(p.ID) }

// Pay counts a payment to a member on a day for all payables that were loaded together.
func (p *Payable) Pay(date day.Day, contact id.ID, cents money.Cents) {
	p.history.Pay(date, contact, cents)
}

// Payables loads statements that money may be paid on, drafts included, in the order of the ids. Ids that name none
// are left out. If toPay is set, their rows are locked first, so that no other request reopens or pays them
// meanwhile.
func Payables(ctx context.Context, tx *db.Tx, ids []id.ID, toPay bool) ([]Payable, error) {
	// The lock comes before the read, so the figures are those under the lock.
	if toPay {
		if _, err := tx.Exec(ctx, `select 1 from statement where team_id = @team and id = any(@ids) order by id for update`,
			db.Args{"team": tx.Team, "ids": ids}); err != nil {
			return nil, fmt.Errorf("lock statements: %w", err)
		}
	}

	at, err := resolve(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	rows, err := loadRows(ctx, tx, at)
	if err != nil {
		return nil, err
	}

	// The histories are those that the statements were computed with; Pay changes them.
	statements, histories, err := renderWithHistories(ctx, tx, rows, false)
	if err != nil {
		return nil, err
	}

	byID := make(map[id.ID]Payable, len(statements))
	for i := range statements {
		s := &statements[i]

		// Payouts are negative on a statement, Received is positive.
		var received money.Cents
		for _, p := range s.Payouts {
			received -= p.Total
		}

		byID[s.ID] = Payable{
			ID:                s.ID,
			OwnershipPeriodID: s.Ownership.ID,
			ListingID:         s.Listing.ID,
			Currency:          s.Currency,
			StartAt:           s.StartAt,
			EndAt:             s.EndAt,
			Status:            s.Status,
			Financials:        s.Financials,
			Shares:            s.Shares,
			Received:          received,
			JournalStatus:     s.JournalStatus,
			history:           histories.Chain(chain.Chain{OwnershipPeriodID: s.Ownership.ID, Currency: s.Currency}),
		}
	}

	// Return them in the order of the ids.
	out := make([]Payable, 0, len(ids))
	for _, v := range ids {
		if p, ok := byID[v]; ok {
			out = append(out, p)
		}
	}

	return out, nil
}
