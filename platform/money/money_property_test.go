package money_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"stayledger/platform/money"
)

// genWeights draws weights with a sum above 0 and within 64 bits.
func genWeights(t *rapid.T) []int64 {
	largest := rapid.SampledFrom([]int64{3, 100_000, money.MaxCents, math.MaxInt64 / 8}).Draw(t, "largest")
	weights := rapid.SliceOfN(rapid.Int64Range(0, largest), 1, 16).Draw(t, "weights")
	weights[0]++

	return weights
}

func TestPropertySplit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64().Draw(t, "total")
		weights := genWeights(t)

		sum := new(big.Int)
		for _, weight := range weights {
			sum.Add(sum, big.NewInt(weight))
		}

		shares := money.Split(money.Cents(total), weights)

		added := new(big.Int)
		for i, share := range shares {
			added.Add(added, big.NewInt(int64(share)))
			exact := new(big.Int).Mul(big.NewInt(total), big.NewInt(weights[i]))

			off := new(big.Int).Mul(big.NewInt(int64(share)), sum)
			if off.Sub(off, exact).CmpAbs(sum) >= 0 {
				t.Fatalf("share %d of %d is a cent or more off", share, total)
			}

			if weights[i] == 0 && share != 0 {
				t.Fatalf("weight 0 got %d", share)
			}
		}

		if added.Cmp(big.NewInt(total)) != 0 {
			t.Fatalf("shares %d add up to %s, want %d", shares, added, total)
		}

		if total == math.MinInt64 {
			return
		}

		for i, mirrored := range money.Split(money.Cents(-total), weights) {
			if mirrored != -shares[i] {
				t.Fatalf("share %d of the negated total: got %d, want %d", i, mirrored, -shares[i])
			}
		}
	})
}

func TestPropertyNightly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Int64().Draw(t, "total")
		nights := rapid.IntRange(1, 400).Draw(t, "nights")

		amounts := money.Nightly(money.Cents(total), nights)

		if len(amounts) != nights {
			t.Fatalf("got %d nights, want %d", len(amounts), nights)
		}

		var through money.Cents
		for i, amount := range amounts {
			through += amount
			if want := roundedQuotient(total, int64(i)+1, int64(nights)); through != want {
				t.Fatalf("%d nights of %d: got %d, want %d", i+1, nights, through, want)
			}
		}

		if through != money.Cents(total) {
			t.Fatalf("nights add up to %d, want %d", through, total)
		}
	})
}

func TestPropertyRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Int64().Draw(t, "amount")

		rate := rapid.OneOf(rapid.Int64Range(-200_000, 200_000), rapid.Int64()).Draw(t, "rate")
		if got, want := money.Rate(rate).Of(money.Cents(amount)), roundedQuotient(amount, rate, 100_000); got != want {
			t.Fatalf("rate %d of %d: got %d, want %d", rate, amount, got, want)
		}

		if rate > -100_000 && rate <= math.MaxInt64-100_000 {
			want := roundedQuotient(amount, rate, 100_000+rate)
			if got := money.Rate(rate).TaxIn(money.Cents(amount)); got != want {
				t.Fatalf("rate %d included in %d: got %d, want %d", rate, amount, got, want)
			}
		}
	})
}
