package payout

import (
	"stayledger/domain/statement"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// chain names the statements that follow each other: those of one ownership period in one currency.
type chain struct {
	OwnershipPeriodID id.ID
	Currency          string
}

// history is what has been published and paid out on a chain.
type history struct {
	published []published
	paid      []paid
}

// published is a published statement of a chain; Available is its balance at the end less its reserve.
type published struct {
	EndAt     day.Day
	Available money.Cents
}

// paid is what payouts brought the owners on a day, whatever statement they name.
type paid struct {
	At    day.Day
	Total money.Cents
}

// open gives what is still there of the available balances of the statements that end on a day or later: payouts up to a statement's end are
// in its balance already, those after it are not.
func (h *history) open(from day.Day) []money.Cents {
	var out []money.Cents
	for _, s := range h.published {
		if s.EndAt.Before(from) {
			continue
		}
		left := s.Available
		for _, p := range h.paid {
			if p.At.After(s.EndAt) {
				left -= p.Total
			}
		}
		out = append(out, left)
	}
	return out
}

// settled reports that payouts have brought all that was available, or owed, and perhaps more. A statement on which nothing was available is
// settled once anything was paid on it.
func settled(available, received money.Cents) bool {
	switch {
	case available > 0:
		return received >= available
	case available < 0:
		return received <= available
	default:
		return received != 0
	}
}

// due is what to pay on a statement: what is available less what was received, and no more than is open of it and of every later statement,
// so that a balance which two statements tell is not paid twice. Negative is due from the owners, with the same bounds mirrored.
func due(available, received money.Cents, open []money.Cents) money.Cents {
	if settled(available, received) {
		return 0
	}
	rest := available - received
	for _, left := range open {
		switch {
		case available > 0:
			rest = min(rest, max(0, left))
		case available < 0:
			rest = max(rest, min(0, left))
		}
	}
	return rest
}

// divide splits an amount among the members in proportion to what each has not been paid of his share, so that whoever got more before gets
// less now; the cents that remain go to the largest remainders. The parts add up to the amount.
func divide(amount money.Cents, p *statement.Payable) []Payout {
	weights, sum := make([]int64, len(p.Shares)), int64(0)
	for i := range p.Shares {
		left := int64(p.Shares[i].Amount - p.PaidTo[p.Shares[i].ContactID])
		if amount < 0 {
			left = -left
		}
		weights[i] = max(0, left)
		sum += weights[i]
	}
	if sum == 0 {
		for i := range p.Shares {
			weights[i] = p.Shares[i].Split
		}
	}
	out := []Payout{}
	for i, cents := range money.Split(amount, weights) {
		if cents != 0 {
			out = append(out, Payout{ContactID: p.Shares[i].ContactID, Amount: cents})
		}
	}
	return out
}

// received is what the payouts that name the statement brought all of its owners.
func received(p *statement.Payable) money.Cents {
	var total money.Cents
	for _, cents := range p.PaidTo {
		total += cents
	}
	return total
}
