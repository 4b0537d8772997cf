package plaid_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stayledger/platform/hostile"
	"stayledger/provider/plaid"
)

// hostileClient returns a client of a server with one answer, which waits half a second for it.
func hostileClient(t *testing.T, answer http.HandlerFunc) *plaid.Client {
	t.Helper()

	client, err := plaid.New(plaid.Config{
		Address: hostile.Serve(t, answer), ClientID: clientID, Secret: secret, AllowPrivate: true,
		Within: 500 * time.Millisecond, CallsPerMinute: 1_000_000,
	})
	if err != nil {
		t.Fatal(err)
	}

	return client
}

// An answer that means harm is an error, takes no longer than a call may, and memory for the largest answer only.
func TestHostileAnswersAreBounded(t *testing.T) { //nolint:paralleltest // It counts what the process allocates.
	calls := map[string]func(c *plaid.Client) error{
		"sync": func(c *plaid.Client) error {
			_, err := c.SyncTransactions(t.Context(), plaid.SyncRequest{AccessToken: "access"}, func(plaid.Page) error { return nil })
			return err
		},
		"accounts": func(c *plaid.Client) error { _, _, err := c.Accounts(t.Context(), "access"); return err },
	}

	answers := hostile.Answers("application/json")
	answers["accounts without end"] = hostile.Endless("application/json", `{"request_id":"r","accounts":[`, `{"account_id":"a"},`)

	for name, answer := range answers { //nolint:paralleltest // It counts what the process allocates.
		c := hostileClient(t, answer)

		for call, do := range calls {
			t.Run(name+" "+call, func(t *testing.T) {
				hostile.Bound(t, 5*time.Second, 128<<20, func() {
					if err := do(c); !errors.Is(err, plaid.ErrUnavailable) && !errors.Is(err, plaid.ErrTimeout) {
						t.Errorf("failed with %v", err)
					}
				})
			})
		}
	}
}

// A sync whose pages never end fails after its last page, whether cursors come again or are new for ever.
func TestPagesWithoutEndAreNotRead(t *testing.T) { //nolint:paralleltest // It counts what the process allocates.
	for name, cursors := range map[string]int64{"the same cursor": 1, "two cursors in turn": 2, "new cursors": 1 << 62} { //nolint:paralleltest // It counts what the process allocates.
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64

			c := hostileClient(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"request_id":"r","accounts":[],"added":[],"modified":[],"removed":[],"has_more":true,"next_cursor":"c%d"}`,
					asked.Add(1)%cursors)
			})

			hostile.Bound(t, time.Minute, 256<<20, func() {
				_, err := c.SyncTransactions(t.Context(), plaid.SyncRequest{AccessToken: "access"}, func(plaid.Page) error { return nil })
				if !errors.Is(err, plaid.ErrUnavailable) || !strings.Contains(err.Error(), "never ends") {
					t.Errorf("failed with %v", err)
				}
			})

			if n := asked.Load(); n > 2000 {
				t.Errorf("%d pages were read", n)
			}
		})
	}
}

// A login with 100,000 accounts is none.
func TestTooManyAccountsAreRefused(t *testing.T) { //nolint:paralleltest // It counts what the process allocates.
	c := hostileClient(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"request_id":"r","item":{"item_id":"i"},"accounts":[`)

		for i := range 100_000 {
			if i > 0 {
				_, _ = io.WriteString(w, ",")
			}

			_, _ = fmt.Fprintf(w, `{"account_id":"a%d","name":"n","type":"depository","balances":{"current":1,"iso_currency_code":"USD"}}`, i)
		}

		_, _ = io.WriteString(w, `]}`)
	})

	hostile.Bound(t, 10*time.Second, 256<<20, func() {
		_, _, err := c.Accounts(t.Context(), "access")
		if !errors.Is(err, plaid.ErrUnavailable) || !strings.Contains(err.Error(), "too many accounts") {
			t.Errorf("failed with %v", err)
		}
	})
}
