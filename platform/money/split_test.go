package money_test

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"stayledger/platform/money"
)

func TestSplit(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		total   money.Cents
		weights []int64
		want    []money.Cents
	}{
		"one takes all":              {101, []int64{7}, []money.Cents{101}},
		"even":                       {100, []int64{1, 1}, []money.Cents{50, 50}},
		"a tie goes to the first":    {101, []int64{1, 1}, []money.Cents{51, 50}},
		"ties in order":              {5, []int64{1, 1, 1}, []money.Cents{2, 2, 1}},
		"to the largest remainder":   {100, []int64{10, 10, 50}, []money.Cents{14, 14, 72}},
		"not to the largest share":   {10, []int64{69, 13, 18}, []money.Cents{7, 1, 2}},
		"negative mirrors positive":  {-5, []int64{1, 1, 1}, []money.Cents{-2, -2, -1}},
		"weight zero gets nothing":   {7, []int64{0, 1, 0, 1}, []money.Cents{0, 4, 0, 3}},
		"nothing to split":           {0, []int64{3, 4}, []money.Cents{0, 0}},
		"parts per 100000":           {123456, []int64{33334, 33333, 33333}, []money.Cents{41153, 41152, 41151}},
		"largest total and weights":  {math.MaxInt64, []int64{math.MaxInt64, math.MaxInt64}, []money.Cents{1 << 62, 1<<62 - 1}},
		"smallest total, one weight": {math.MinInt64, []int64{math.MaxInt64}, []money.Cents{math.MinInt64}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if got := money.Split(test.total, test.weights); !slices.Equal(got, test.want) {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestSplitPanics(t *testing.T) {
	t.Parallel()

	for name, weights := range map[string][]int64{
		"no weights":      nil,
		"zero sum":        {0, 0},
		"negative weight": {3, -1},
		"sum too large":   {math.MaxInt64, math.MaxInt64, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustPanic(t, func() { money.Split(100, weights) })
		})
	}
}

func TestNightly(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		total  money.Cents
		nights int
		want   []money.Cents
	}{
		"the example":  {3796, 5, []money.Cents{759, 759, 760, 759, 759}},
		"mirrored":     {-3796, 5, []money.Cents{-759, -759, -760, -759, -759}},
		"half up":      {1, 2, []money.Cents{1, 0}},
		"half down":    {-1, 2, []money.Cents{-1, 0}},
		"fewer cents":  {2, 5, []money.Cents{0, 1, 0, 1, 0}},
		"one night":    {12345, 1, []money.Cents{12345}},
		"the extremes": {math.MinInt64, 2, []money.Cents{math.MinInt64 / 2, math.MinInt64 / 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if got := money.Nightly(test.total, test.nights); !slices.Equal(got, test.want) {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestNightlyPanicsWithoutNights(t *testing.T) {
	t.Parallel()
	mustPanic(t, func() { money.Nightly(100, 0) })
	mustPanic(t, func() { money.Nightly(100, -1) })
}

func mustPanic(t *testing.T, f func()) {
	t.Helper()

	defer func() {
		if recover() == nil {
			t.Error("did not panic")
		}
	}()

	f()
}

// roundedQuotient is round(a·b/divisor), half away from zero, held at the limits of int64: the slow way.
func roundedQuotient(a, b, divisor int64) money.Cents {
	product := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
	negative := product.Sign() < 0
	doubled := product.Abs(product).Lsh(product, 1)
	doubled.Add(doubled, big.NewInt(divisor)).Quo(doubled, new(big.Int).Lsh(big.NewInt(divisor), 1))

	if negative {
		doubled.Neg(doubled)
	}

	switch {
	case doubled.IsInt64():
		return money.Cents(doubled.Int64())
	case negative:
		return math.MinInt64
	default:
		return math.MaxInt64
	}
}
