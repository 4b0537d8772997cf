package pms_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"stayledger/provider/pms"
)

func TestTokensInMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var (
			tokens pms.MemoryTokens
			count  int
			broken error
		)

		renew := func(context.Context, pms.Token) (pms.Token, error) {
			count++
			return pms.Token{Access: strconv.Itoa(count), Refresh: "r", ExpiresAt: time.Now().Add(100 * time.Minute)}, broken
		}
		get := func() string {
			got, err := tokens.Token(t.Context(), renew)
			if !errors.Is(err, broken) {
				t.Errorf("got %v", err)
			}

			return got.Access
		}

		// Many ask at once, and one renews.
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { get() })
		}

		all.Wait()

		// It is kept until nine tenths of its life are over.
		time.Sleep(89 * time.Minute)

		if got := get(); got != "1" {
			t.Errorf("got token %s", got)
		}

		time.Sleep(2 * time.Minute)

		if got := get(); got != "2" {
			t.Errorf("got token %s", got)
		}

		// A refusal of an old one forgets nothing, one of the kept one does.
		for i, want := range []string{"2", "3"} {
			_ = tokens.Refused(t.Context(), pms.Token{Access: strconv.Itoa(i + 1)})

			if got := get(); got != want {
				t.Errorf("got token %s, want %s", got, want)
			}
		}

		// What fails is not kept.
		broken = errors.New("broken")
		_ = tokens.Refused(t.Context(), pms.Token{Access: "3"})

		get()

		broken = nil

		if got := get(); got != "5" {
			t.Errorf("got token %s", got)
		}
	})
}
