package tax_test

import (
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/books/tax"
	"stayledger/platform/money"
)

func TestSplit(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		behavior  tax.Behavior
		amount    money.Cents
		rate      money.Rate
		net, with money.Cents
	}{
		{tax.Excluded, 11_000, 15_000, 11_000, 12_650},
		{tax.Included, 12_650, 15_000, 11_000, 12_650},
		{tax.Excluded, 10, 5_000, 10, 11},    // half a cent is a whole one,
		{tax.Excluded, -10, 5_000, -10, -11}, // away from zero on both sides
		{tax.Included, 100, 7_250, 93, 100},
		{tax.Included, -100, 7_250, -93, -100},
		{tax.Excluded, 100, 0, 100, 100},
		{tax.Included, 100, 0, 100, 100},
		{tax.Included, 0, 7_250, 0, 0},
	} {
		net, taxes := c.behavior.Split(c.amount, c.rate)
		if net != c.net || net+taxes != c.with {
			t.Errorf("%s %d at %d: %d and %d of tax", c.behavior, c.amount, c.rate, net, taxes)
		}
	}
}

func TestSplitAddsUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		amount := money.Cents(rapid.Int64Range(-money.MaxCents, money.MaxCents).Draw(r, "amount"))
		rate := money.Rate(rapid.Int64Range(0, 100_000).Draw(r, "rate"))

		net, taxes := tax.Included.Split(amount, rate)
		if net+taxes != amount {
			r.Fatalf("%d and %d of %d", net, taxes, amount)
		}
		// The tax that was taken out is the one that would come on top, to the cent that rounding twice can cost.
		if again := rate.Of(net); again-taxes > 1 || taxes-again > 1 {
			r.Fatalf("%d of tax, %d on the net amount", taxes, again)
		}

		if base, top := tax.Excluded.Split(amount, rate); base != amount || top != rate.Of(amount) {
			r.Fatalf("%d and %d on top of %d", base, top, amount)
		}
	})
}
