package money

import (
	"cmp"
	"math/bits"
	"slices"
)

// Split divides total in proportion to weights: every share is floored, then the remaining cents go one each to the
// largest remainders, the earlier share first among equals. The shares add up to total, and a share of weight 0 is
// 0. A negative total gives the mirror image of the positive one, so that a reversal cancels its original share by
// share (decisions: rounding).
//
// Split panics without weights, for a negative one, and if their sum is 0 or beyond 64 bits: check requests before.
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

	// Hand out the cents that flooring left, to the largest remainders first.
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
		split[i] = withSign(share, total < 0)
	}

	return split
}

// sumWeights returns the sum of weights. It panics as Split does.
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
// round(total·(k−1)/nights), half away from zero. The nights add up to total, and none is more than a cent off the
// even share. Any run of nights from the first is the rounded share of that run, which a statement needs that cuts
// a stay in two (decisions: rounding).
//
// Nightly panics if nights is below 1.
func Nightly(total Cents, nights int) []Cents {
	if nights < 1 {
		panic("money: a stay without nights")
	}

	amounts := make([]Cents, nights)

	var before uint64

	for i := range amounts {
		through := mulDiv(total.magnitude(), uint64(i)+1, uint64(nights))
		amounts[i] = withSign(through-before, total < 0)
		before = through
	}

	return amounts
}

// mulDiv returns a·b/divisor, rounded half up, or the largest uint64 if it does not fit. The product takes 128
// bits.
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
