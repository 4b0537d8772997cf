package money

import (
	"cmp"
	"math/bits"
	"slices"
)

// Split divides total in proportion to weights: every share is floored, then the remaining cents go one each to the
// largest remainders, the earlier share first among equals. The shares add up to total, and a share of weight 0 is 0. A
// negative total gives the mirror image of the positive one, so that a reversal cancels its original share by share.
//
// Split panics when there are no weights, when one is negative, and when their sum is 0 or beyond 64 bits: check what a
// request sent before. Rule: rounding in the decisions.
func Split(total Cents, weights []int64) []Cents {
	sum := sumWeights(weights)
	amount := total.magnitude()
	shares := make([]uint64, len(weights))
	remainders := make([]uint64, len(weights))

	left := amount
	for i, weight := range weights {
		// No weight exceeds sum, so the quotient fits and Div64 cannot panic.
		high, low := bits.Mul64(amount, uint64(weight)) //nolint:gosec // sumWeights refuses negative weights.
		shares[i], remainders[i] = bits.Div64(high, low, sum)
		left -= shares[i]
	}

	if left > 0 {
		order := make([]int, len(weights))
		for i := range order {
			order[i] = i
		}

		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(remainders[b], remainders[a]) })

		for _, i := range order[:left] {
			shares[i]++
		}
	}

	split := make([]Cents, len(weights))
	for i, share := range shares {
		split[i] = signed(share, total < 0)
	}

	return split
}

func sumWeights(weights []int64) uint64 {
	if len(weights) == 0 {
		panic("money: split without weights")
	}

	var sum, carry uint64

	for _, weight := range weights {
		if weight < 0 {
			panic("money: split by a negative weight")
		}

		sum, carry = bits.Add64(sum, uint64(weight), 0)
		if carry != 0 {
			panic("money: the sum of the weights is beyond 64 bits")
		}
	}

	if sum == 0 {
		panic("money: the weights sum to zero")
	}

	return sum
}

// Nightly spreads total over nights by cumulative rounding: night k gets round(total·k/nights) −
// round(total·(k−1)/nights), half away from zero. The nights add up to total, none is more than a cent off the even
// share, and any run of nights from the first is the rounded share of that run, which is what a statement that cuts a
// stay in two needs.
//
// Nightly panics when nights is below 1. Rule: rounding in the decisions.
func Nightly(total Cents, nights int) []Cents {
	if nights < 1 {
		panic("money: a stay without nights")
	}

	amounts := make([]Cents, nights)

	var before uint64

	for i := range amounts {
		through := mulDiv(total.magnitude(), uint64(i)+1, uint64(nights))
		amounts[i] = signed(through-before, total < 0)
		before = through
	}

	return amounts
}

// mulDiv is a·b/divisor, rounded half up, held at the largest uint64 when it does not fit. The product takes 128 bits.
func mulDiv(a, b, divisor uint64) uint64 {
	const most = 1<<64 - 1

	high, low := bits.Mul64(a, b)
	if high >= divisor {
		return most
	}

	quotient, remainder := bits.Div64(high, low, divisor)
	if remainder >= divisor-remainder && quotient < most {
		quotient++
	}

	return quotient
}
