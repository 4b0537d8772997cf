package outbound_test

import (
	"testing"
	"time"

	"stayledger/platform/outbound"
)

func TestABudgetHoldsWheneverItsTimeBegins(t *testing.T) {
	t.Parallel()

	const calls, within = 15, 10 * time.Second

	b := outbound.NewBudget(outbound.Limit{Calls: calls, Within: within})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

	var taken []time.Time

	// A caller that rests now and then, and else calls as soon as it may.
	for range 200 {
		until, free := b.Take(now)
		if free {
			taken = append(taken, now)
			until = now
		}

		if now = until; len(taken)%40 == 20 {
			now = now.Add(7 * time.Second)
		}
	}

	for i, at := range taken {
		if i >= calls && at.Sub(taken[i-calls]) < within {
			t.Fatalf("calls %d to %d within %v", i-calls, i, at.Sub(taken[i-calls]))
		}
	}

	// It is not stricter than it has to be, either: a burst of a fifth, and then four fifths in the time.
	if n := len(taken); n < 100 || taken[2].Sub(taken[0]) != 0 {
		t.Errorf("%d calls, the third after %v", n, taken[2].Sub(taken[0]))
	}
}
