package statement

import (
	"stayledger/domain/settlement/chain"
	"stayledger/platform/money"
)

// balance returns the balance of a statement in the history of its chain: of a draft, the one that it would have.
func (r *row) balance(h *chain.History, f *Financials) *chain.Balance {
	if b := h.Balance(r.ID); b != nil {
		return b
	}

	return h.WeighDraft(chain.Balance{
		OwnershipPeriodID: r.OwnershipPeriodID,
		Currency:          r.Currency,
		ID:                r.ID,
		StartAt:           r.StartAt,
		EndAt:             r.EndAt,
		Published:         r.Status == Published,
		Available:         f.Available,
		Reserve:           f.Reserve,
	})
}

// previousBalance returns the balance that a statement continues, nil for the first one. Before a published statement
// that is the last published one. A draft continues the draft of the month before, unless a statement was saved over
// that month.
func (r *row) previousBalance(h *chain.History) *chain.Balance {
	last := h.Last(r.StartAt, r.Status == Published)
	if !r.isDraft() {
		return last
	}

	// The month before has no draft if a saved statement reaches into it or if the chain starts later.
	month := r.StartAt.AddDays(-1)
	if last != nil && !last.EndAt.Before(month.FirstOfMonth()) || month.Before(r.firstMonth()) {
		return last
	}

	// Compute the draft of the month before as financials would.
	f := r.figuresAt(month.FirstOfMonth())
	f.Reserve = r.Reserve

	return h.WeighDraft(chain.Balance{
		StartAt: month.FirstOfMonth(), EndAt: month, Available: f.complete().Available, Reserve: f.Reserve,
	})
}

// standings returns the standing of each of a statement's members, or a single one when there are none.
func (r *row) standings(h *chain.History, f *Financials) []chain.Standing {
	return h.Standings(r.balance(h, f), r.previousBalance(h))
}

// divideFigures returns the members' parts of a statement's figures, computed from their earnings and payouts, whatever
// the statement showed them. Without members it returns nil.
func (r *row) divideFigures(h *chain.History, f *Financials) []Financials {
	if len(h.Owners) == 0 {
		return nil
	}

	// Payouts in the time of the statement are those by its end less those by its start.
	before, during := r.ownBefore(h), h.MemberBalances(r.EndAt, r.Imported)
	for i := range during {
		during[i] -= before[i]
	}

	return divideFigures(f, h.Splits(), before, during)
}

// ownBefore returns what belongs to each member alone when a statement starts: payouts by name before it, and opening
// balances by name, which are part of its balance at the start also when they are dated within it.
func (r *row) ownBefore(h *chain.History) []money.Cents {
	own := h.MemberPayouts(r.StartAt.AddDays(-1), r.Imported)
	if r.Imported {
		return own
	}

	for i, cents := range h.MemberOpenings(r.EndAt) {
		own[i] += cents
	}

	return own
}

// divideFigures divides the figures of a statement among the members. Before is what each member alone has when the
// statement begins, opening balances by name less payouts by name, and during are the payouts until it ended,
// negative. A member's part of a figure is the difference that the figure makes to the member's balance. So the parts
// of all members add up to each figure, and the figures of a member add up as those of the statement do.
func divideFigures(f *Financials, splits []int64, before, during []money.Cents) []Financials {
	parts := make([]Financials, len(splits))
	own := make([]money.Cents, len(splits))
	copy(own, before)

	// Start with the members' parts of the balance at the start.
	balance := f.BalanceStart
	at := chain.Divide(balance, splits, own)

	// step adds an amount to the balance and returns the change for each member.
	step := func(by money.Cents) []money.Cents {
		balance += by
		next := chain.Divide(balance, splits, own)

		moved := make([]money.Cents, len(next))
		for i := range next {
			moved[i] = next[i] - at[i]
		}

		at = next

		return moved
	}

	// Then add one figure after the other, in the order of the statement.
	start := at
	revenue, expenses := step(f.NetRevenue), step(f.Expenses)

	// Payouts belong to single members, so own changes with the balance.
	for i := range own {
		own[i] += during[i]
	}

	payouts := step(f.Payouts)
	step(f.BalanceEnd - balance) // what else moved the balance of an imported statement

	// The reserve is the difference between the balance at the end and the available one.
	end := at

	available := chain.Divide(f.Available, splits, own)
	for i := range parts {
		parts[i] = Financials{
			BalanceStart: start[i],
			NetRevenue:   revenue[i],
			Expenses:     expenses[i],
			NetIncome:    revenue[i] + expenses[i],
			Payouts:      payouts[i],
			BalanceEnd:   end[i],
			Reserve:      end[i] - available[i],
			Available:    available[i],
		}
	}

	return parts
}

// shares returns the members' shares of an available balance as the API shows them.
func shares(owners []chain.Owner, of []chain.Standing) []Share {
	out := make([]Share, len(owners))
	for i := range owners {
		o, s := &owners[i], &of[i]
		out[i] = Share{
			ContactID:      o.ContactID,
			Name:           o.Name,
			Split:          o.Split,
			Amount:         s.Amount,
			Received:       s.Received,
			Offset:         s.Offset,
			BroughtForward: s.BroughtForward,
			Open:           s.Open,
		}
	}

	return out
}

// payment adds up the amounts that the members are due and have received. It is also settled if it has an offset
// but nothing open.
func payment(of []chain.Standing) Payment {
	var p Payment
	for i := range of {
		p.Expected += of[i].Due
		p.Received += of[i].Received
		p.Offset += of[i].Offset
		p.BroughtForward += of[i].BroughtForward
		p.Open += of[i].Open
	}

	p.Status = paymentStatus(p.Expected, p.Received, p.Open+p.BroughtForward)

	return p
}

// paymentStatus compares in the direction in which money is due: a negative expectation is due from the owners.
func paymentStatus(expected, received, left money.Cents) PaymentStatus {
	if expected < 0 {
		received, left = -received, -left
	}

	switch {
	case left == 0:
		return Paid
	case left < 0:
		return Overpaid
	case received == 0:
		return Unpaid
	default:
		return Underpaid
	}
}
