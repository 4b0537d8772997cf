package payout_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"stayledger/domain/payout"
	"stayledger/domain/statement"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

func TestDue(t *testing.T) {
	t.Parallel()
	type cents = money.Cents
	for name, c := range map[string]struct {
		available, received cents
		open                []cents
		want                cents
	}{
		"all":                                    {100, 0, []cents{100}, 100},
		"the rest":                               {100, 40, []cents{60}, 60},
		"nothing left":                           {100, 100, []cents{0}, 0},
		"paid too much":                          {100, 150, []cents{-50}, 0},
		"paid without naming it":                 {100, 0, []cents{30}, 30},
		"a later statement lost money":           {100, 0, []cents{100, 20, 60}, 20},
		"a later statement lost all":             {100, 0, []cents{100, -20}, 0},
		"later earnings add nothing":             {100, 0, []cents{100, 500}, 100},
		"owed":                                   {-100, 0, []cents{-100}, -100},
		"the rest of what was owed":              {-100, -40, []cents{-60}, -60},
		"earned since":                           {-100, 0, []cents{-100, -30}, -30},
		"more than earned since":                 {-100, 0, []cents{-100, 30}, 0},
		"paid in too much":                       {-100, -130, []cents{30}, 0},
		"nothing":                                {0, 0, []cents{0}, 0},
		"paid out of the reserve":                {0, 50, []cents{-50}, 0},
		"owners were paid although they owe":     {-100, 50, []cents{-150}, -150},
		"owners have paid in although they earn": {100, -50, []cents{150}, 150},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := payout.Due(c.available, c.received, c.open); got != c.want {
				t.Errorf("due %d, want %d", got, c.want)
			}
		})
	}
}

// Whatever was paid before, the parts add up, have one direction, and give no one more than is left of his share while others lack.
func TestPartsAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "members")
		splits := make([]int64, n)
		left := int64(100000)
		for i := range splits {
			splits[i] = left
			if i < n-1 {
				splits[i] = rapid.Int64Range(1, left-int64(n-1-i)).Draw(t, "split")
			}
			left -= splits[i]
		}
		available := money.Cents(rapid.Int64Range(-1_000_000, 1_000_000).Draw(t, "available"))
		p := &statement.Payable{PaidTo: map[id.ID]money.Cents{}}
		for i, share := range money.Split(available, splits) {
			v := id.Derived(time.UnixMilli(0), "member", string(rune('a'+i)))
			p.Shares = append(p.Shares, statement.Share{ContactID: v, Split: splits[i], Amount: share})
			p.PaidTo[v] = money.Cents(rapid.Int64Range(-1000, 1000).Draw(t, "paid"))
		}
		amount := money.Cents(rapid.Int64Range(-2_000_000, 2_000_000).Draw(t, "amount"))
		var sum money.Cents
		for _, part := range payout.Divide(amount, p) {
			if part.Amount == 0 || (part.Amount < 0) != (amount < 0) {
				t.Fatalf("a part of %d of %d", part.Amount, amount)
			}
			sum += part.Amount
		}
		if sum != amount {
			t.Fatalf("the parts of %d add up to %d", amount, sum)
		}
	})
}
