package payout

import (
	"stayledger/domain/settlement/statement"
	"stayledger/platform/money"
)

// settled reports that payouts have brought all that was available, or owed, and perhaps more. A statement on which
// nothing was available is settled once anything was paid on it.
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

// due is what to pay on a statement: what is left for its members together, if that has the direction of what was
// available. Negative is due from the owners.
func due(available money.Cents, left []money.Cents) money.Cents {
	var rest money.Cents
	for _, cents := range left {
		rest += cents
	}

	switch {
	case available > 0:
		return max(0, rest)
	case available < 0:
		return min(0, rest)
	default:
		return 0
	}
}

// divide splits what is due among the members to whom, or from whom, something is left, in proportion to it: the
// ownership has no more to give when another member was paid too much. The cents that remain go to the largest
// remainders, and the parts add up to the amount.
func divide(amount money.Cents, shares []statement.Share, left []money.Cents) []Payout {
	weights := make([]int64, len(left))
	for i, cents := range left {
		if amount < 0 {
			cents = -cents
		}

		weights[i] = int64(max(0, cents))
	}

	out := []Payout{}

	for i, cents := range money.Split(amount, weights) {
		if cents != 0 {
			out = append(out, Payout{ContactID: shares[i].ContactID, Amount: cents})
		}
	}

	return out
}
