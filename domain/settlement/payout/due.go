package payout

import (
	"stayledger/domain/settlement/chain"
	"stayledger/platform/money"
)

// isSettled reports whether payouts have brought all that was available, or owed, and perhaps more. A statement with
// nothing available is settled as soon as anything was paid on it.
func isSettled(available, received money.Cents) bool {
	switch {
	case available > 0:
		return received >= available
	case available < 0:
		return received <= available
	default:
		return received != 0
	}
}

// computeDue returns the amount to pay on a statement: the amount that is left for its members together, if it has the
// direction of the available balance. Negative is due from the owners.
func computeDue(available money.Cents, left []money.Cents) money.Cents {
	var rest money.Cents
	for _, cents := range left {
		rest += cents
	}

	// Never pay in the other direction: that belongs to other statements.
	switch {
	case available > 0:
		return max(0, rest)
	case available < 0:
		return min(0, rest)
	default:
		return 0
	}
}

// splitDue splits a positive amount among the members in proportion to the amount that is left to pay to them. If another member was paid too much, the ownership has no more to give. The remaining cents go to the
// largest remainders, and the parts add up to the amount.
func splitDue(amount money.Cents, owners []chain.Owner, left []money.Cents) []Payout {
	weights := make([]int64, len(left))

	// Members who owe have no weight.
	for i, cents := range left {
		weights[i] = int64(max(0, cents))
	}

	out := []Payout{}

	// Members without a part get no payout.
	for i, cents := range money.Split(amount, weights) {
		if cents != 0 {
			out = append(out, Payout{ContactID: owners[i].ContactID, Amount: cents})
		}
	}

	return out
}
