package statement

import (
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Divide gives each member of an ownership the part of a balance that is the member's: what all have earned so far by
// split, less what each was paid. Own is what belongs to single members alone, by their place, the payouts that name
// them as negative amounts; the rest of the balance is everybody's and goes by split, every part floored and the cents
// that remain to the largest remainders, the earlier member first.
//
// The parts add up to the balance, and none is a cent or more off the exact one. Since the balance is that of all
// months together, what a month brings a member is the difference of two balances: the odd cent wanders, and no member
// is ahead by a cent however many months there are.
//
// Splits are parts per 100000 and must not be all 0. Without members there are no parts.
func Divide(balance money.Cents, splits []int64, own []money.Cents) []money.Cents {
	if len(splits) == 0 {
		return []money.Cents{}
	}

	common := balance - total(own)

	parts := money.Split(common, splits)
	for i := range parts {
		parts[i] += own[i]
	}

	return parts
}

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

func splitsOf(owners []owner) []int64 {
	splits := make([]int64, len(owners))
	for i := range owners {
		splits[i] = owners[i].Split
	}

	return splits
}

// cut divides the figures of a statement among the members. Before is what payouts had brought each member by name
// before the statement began, and during what they have brought until it ended, both negative. What a figure is to a
// member is what it adds to the member's balance, so the parts of all members add up to each figure, and the figures of
// a member add up as those of the statement do.
func cut(f *Financials, splits []int64, before, during []money.Cents) []Financials {
	parts := make([]Financials, len(splits))
	own := make([]money.Cents, len(splits))
	copy(own, before)

	balance := f.BalanceStart
	at := Divide(balance, splits, own)
	// step moves the balance on and gives what that is to each member.
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
	start := at
	revenue, expenses := step(f.NetRevenue), step(f.Expenses)

	for i := range own {
		own[i] += during[i]
	}

	payouts := step(f.Payouts)
	step(f.BalanceEnd - balance) // what else moved the balance of an imported statement

	end := at

	available := Divide(f.Available, splits, own)
	for i := range parts {
		parts[i] = Financials{
			BalanceStart: start[i], NetRevenue: revenue[i], Expenses: expenses[i], NetIncome: revenue[i] + expenses[i], Payouts: payouts[i],
			BalanceEnd: end[i], Reserve: end[i] - available[i], Available: available[i],
		}
	}

	return parts
}
