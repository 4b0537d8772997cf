package books_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestStatementsKeepWhatTheyCarry: a saved statement has carried the balance of everything before it forward, so
// nothing may be booked there any more, whether the days before it have a saved statement of their own, a draft, or
// none because they are before the first month.
func TestStatementsKeepWhatTheyCarry(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		save []string
		late func(v *villa) (method, path string, body object)
	}{
		"a bill in an earlier draft": {[]string{"2026-02"}, func(v *villa) (string, string, object) {
			return "POST", "/transactions", object{"type": "expense", "date": "2026-01-20", "lines": list{
				object{"accountId": v.account("5200"), "amount": 5000, "listingId": v.listing},
			}}
		}},
		"a stay before the first month": {[]string{"2026-01"}, func(v *villa) (string, string, object) {
			return "POST", "/reservations", object{
				"listingId": v.listing, "checkIn": "2026-02-10", "checkOut": "2026-02-12", "generalLedgerPostingAt": "2025-11-30",
				"lines": list{object{"type": "rent", "amount": 50000}},
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVilla(t)
			v.stay("2026-02-20", "2026-02-22", object{"rent": 10000})

			for _, month := range c.save {
				v.must("POST", "/statements", object{"month": month, "status": "inReview"})
			}

			method, path, body := c.late(v)
			status, answer := v.send(method, path, body)
			chain := v.statements("")
			slices.SortFunc(chain, func(a, b statement) int { return strings.Compare(a.StartAt, b.StartAt) })

			for i := 1; i < len(chain); i++ {
				if was, now := chain[i-1].Financials.BalanceEnd, chain[i].Financials.BalanceStart; was != now {
					t.Fatalf("%s after %d %s", fmt.Sprintf("%s (%s) starts with %d, the month before (%s) ended with %d", chain[i].StartAt, chain[i].Status, now, chain[i-1].Status, was), status, answer)
				}
			}
		})
	}
}
