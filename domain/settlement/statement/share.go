package statement

import (
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Divide returns the part of a balance that belongs to each member of an ownership: the common earnings by split,
// less the payouts to the member. Own is what belongs to single members alone, by their place: the payouts that
// name them, as negative amounts. The rest of the balance is everybody's and goes by split. Every part is floored,
// and the remaining cents go to the largest remainders, the earlier member first.
//
// The parts add up to the balance, and each is less than a cent off the exact one. The balance contains all months,
// so the result of a month for a member is the difference of two balances: the odd cent moves from member to
// member, and no member is ahead by a cent however many months there are.
//
// Splits are parts per 100000 and must not be all 0. Without members there are no parts.
func Divide(balance money.Cents, splits []int64, own []money.Cents) []money.Cents {
	if len(splits) == 0 {
		return []money.Cents{}
	}

	// Take out the amounts of single members, divide the rest, and add them again.
	common := balance - total(own)

	parts := money.Split(common, splits)
	for i := range parts {
		parts[i] += own[i]
	}

	return parts
}

// total returns the sum.
func total(cents []money.Cents) (sum money.Cents) {
	for _, c := range cents {
		sum += c
	}

	return sum
}

// owner is a member with a name.
type owner struct {
	PeriodID  id.ID
	ContactID id.ID
	Name      string
	Split     int64
}

// ownerSplits returns the splits of owners in their order.
func ownerSplits(owners []owner) []int64 {
	splits := make([]int64, len(owners))
	for i := range owners {
		splits[i] = owners[i].Split
	}

	return splits
}

// divideFigures divides the figures of a statement among the members. Before are the payouts to each member by name
// before the statement began, and during those until it ended, both negative. A member's part of a figure is the
// difference that the figure makes to the member's balance. So the parts of all members add up to each figure, and the
// figures of a member add up as those of the statement do.
func divideFigures(f *Financials, splits []int64, before, during []money.Cents) []Financials {
	parts := make([]Financials, len(splits))
	own := make([]money.Cents, len(splits))
	copy(own, before)

	// Start with the members' parts of the balance at the start.
	balance := f.BalanceStart
	at := Divide(balance, splits, own)

	// step adds an amount to the balance and returns the change for each member.
	step := func(by money.Cents) []money.Cents {
		balance += by
		next := Divide(balance, splits, own)

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

	available := Divide(f.Available, splits, own)
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
