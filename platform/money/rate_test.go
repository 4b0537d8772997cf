package money_test

import (
	"math"
	"testing"

	"stayledger/platform/money"
)

func TestRateOf(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		rate   money.Rate
		amount money.Cents
		want   money.Cents
	}{
		"7.25 % of 100.00":         {7250, 10000, 725},
		"half goes up":             {50_000, 1, 1},
		"half goes down":           {50_000, -1, -1},
		"negative rate":            {-50_000, 3, -2},
		"two negatives":            {-50_000, -3, 2},
		"below half":               {49_999, 1, 0},
		"the whole":                {money.WholeRate, math.MinInt64, math.MinInt64},
		"zero":                     {0, math.MaxInt64, 0},
		"held at the upper limit":  {math.MaxInt64, math.MaxInt64, math.MaxInt64},
		"held at the lower limit":  {200_000, math.MinInt64, math.MinInt64},
		"quotient of 64 bits":      {math.MinInt64, 199_999, math.MinInt64},
		"largest quotient goes up": {200_001, 9223325920225174682, math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if got := test.rate.Of(test.amount); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestRateIncluded(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		rate  money.Rate
		gross money.Cents
		want  money.Cents
	}{
		"19 % in 119.00": {19_000, 11_900, 1_900},
		"10 % in 100.00": {10_000, 10_000, 909},
		"a refund":       {10_000, -10_000, -909},
		"half goes up":   {money.WholeRate, 5, 3},
		"half goes down": {money.WholeRate, -5, -3},
		"none":           {0, 10_000, 0},
		"negative rate":  {-50_000, 100, -100},
		"largest rate":   {math.MaxInt64, 10_000, 10_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if got := test.rate.TaxIn(test.gross); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}

	mustPanic(t, func() { (-money.WholeRate).TaxIn(100) })
}

func TestRateAsPercentage(t *testing.T) {
	t.Parallel()

	for rate, want := range map[money.Rate]string{0: "0%", 60_000: "60%", 33_333: "33.333%", 12_500: "12.5%", -7_250: "−7.25%", 1: "0.001%"} {
		if got := rate.Percent(); got != want {
			t.Errorf("%d is %s, want %s", rate, got, want)
		}
	}
}
