package money_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"stayledger/platform/money"
)

func TestReachAtTheLimits(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		amounts []money.Cents
		valid   bool
	}{
		"nothing":                     {nil, true},
		"the largest":                 {[]money.Cents{money.MaxCents}, true},
		"the smallest":                {[]money.Cents{-money.MaxCents}, true},
		"a cent too much":             {[]money.Cents{money.MaxCents, 1}, false},
		"signs do not cancel":         {[]money.Cents{money.MaxCents, -1}, false},
		"below the range":             {[]money.Cents{-money.MaxCents - 1}, false},
		"the smallest integer":        {[]money.Cents{math.MinInt64}, false},
		"what would wrap to the same": {[]money.Cents{math.MaxInt64, math.MaxInt64, 2}, false},
		"halves":                      {[]money.Cents{money.MaxCents / 2, -money.MaxCents / 2, 1}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var reach money.Reach
			for _, c := range test.amounts {
				if got := reach.Add(c); got != reach.Valid() {
					t.Errorf("Add tells %t, Valid %t", got, reach.Valid())
				}
			}

			if reach.Valid() != test.valid {
				t.Errorf("valid: %t", reach.Valid())
			}
		})
	}
}

func TestPropertyReach(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var reach money.Reach

		exact, valid := new(big.Int), true
		for _, c := range rapid.SliceOf(rapid.OneOf(rapid.Int64(), rapid.Int64Range(-1<<51, 1<<51))).Draw(t, "amounts") {
			exact.Add(exact, new(big.Int).Abs(big.NewInt(c)))

			valid = valid && exact.Cmp(big.NewInt(money.MaxCents)) <= 0
			if reach.Add(money.Cents(c)) != valid {
				t.Fatalf("valid %t at %s", !valid, exact)
			}
		}
	})
}
