package outbound_test

import (
	"net/url"
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

func TestAHostHasOneName(t *testing.T) {
	t.Parallel()

	for address, want := range map[string]string{
		"https://api.example.com/v1": "api.example.com", "https://API.Example.COM:443": "api.example.com", "https://api.example.com.:443/": "api.example.com",
		"http://api.example.com:80": "api.example.com", "https://api.example.com:8443": "api.example.com:8443", "http://[::1]:8080": "[::1]:8080",
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}

		if got := outbound.HostName(u); got != want {
			t.Errorf("%s is %s, want %s", address, got, want)
		}
	}
}
