package payout_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"stayledger/domain/settlement/chain"
	"stayledger/domain/settlement/payout"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

func TestDue(t *testing.T) {
	t.Parallel()

	type cents = money.Cents

	for name, c := range map[string]struct {
		available cents
		left      []cents
		want      cents
	}{
		"all":                                {100, []cents{60, 40}, 100},
		"the rest":                           {100, []cents{60, 0}, 60},
		"nothing left":                       {100, []cents{0, 0}, 0},
		"paid too much":                      {100, []cents{-30, -20}, 0},
		"one was paid too much":              {100, []cents{-10, 40}, 30},
		"owed":                               {-100, []cents{-60, -40}, -100},
		"the rest of what was owed":          {-100, []cents{-60, 0}, -60},
		"paid in too much":                   {-100, []cents{30, 0}, 0},
		"nothing":                            {0, []cents{0, 0}, 0},
		"paid out of the reserve":            {0, []cents{-50, 0}, 0},
		"owners were paid although they owe": {-100, []cents{-110, -40}, -150},
		"without members":                    {100, []cents{100}, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if got := payout.Due(c.available, c.left); got != c.want {
				t.Errorf("due %d, want %d", got, c.want)
			}
		})
	}
}

// Whatever is left for whom, the parts of what is paid out add up, and give no one more than is left for him.
func TestPartsAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		left := rapid.SliceOfN(rapid.Map(rapid.Int64Range(-1_000_000, 1_000_000), func(v int64) money.Cents { return money.Cents(v) }), 1, 7).Draw(t, "left")
		owners, byContact := make([]chain.Owner, len(left)), map[id.ID]money.Cents{}

		var open money.Cents

		for i, cents := range left {
			owners[i].ContactID = id.Derive(time.UnixMilli(0), "member", string(rune('a'+i)))
			byContact[owners[i].ContactID] = cents
			open += cents
		}

		amount := payout.Due(open, left)
		if amount != open {
			t.Fatalf("%d of %d is due", amount, open)
		}

		if amount <= 0 {
			return // nothing is paid out
		}

		var sum money.Cents

		for _, part := range payout.Divide(amount, owners, left) {
			if part.Amount <= 0 {
				t.Fatalf("a part of %d of %d", part.Amount, amount)
			}

			if part.Amount > byContact[part.ContactID] {
				t.Fatalf("%d is paid of %d", part.Amount, byContact[part.ContactID])
			}

			sum += part.Amount
		}

		if sum != amount {
			t.Fatalf("the parts of %d add up to %d", amount, sum)
		}
	})
}
