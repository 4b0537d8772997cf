package e2e_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
)

// TestTwoProcessesPostByTheNewestMappings has 24 writers change where lines of a type of their own are posted, in one
// process, and book a stay with such a line in the other as soon as that was answered. Each process keeps the mappings of
// the team; none posts by those that it had before.
func TestTwoProcessesPostByTheNewestMappings(t *testing.T) {
	t.Parallel()

	b := initialized(t)
	other := b.client
	other.base = start(t, b.database, b.data, "serve").base
	processes := []*client{&b.client, &other}

	const writers, rounds = 24, 4

	var working sync.WaitGroup

	for w := range writers {
		lineType := fmt.Sprintf("extra %d", w)
		mapping := b.post("/reservations/line-mappings", map[string]any{"lineType": lineType, "accountId": b.accounts["4000"], "party": "manager"}).want(http.StatusCreated).text("id")

		working.Go(func() {
			for round := range rounds {
				here, there := processes[(w+round)%2], processes[(w+round+1)%2]
				code := []string{"4000", "4100"}[(round+1)%2]

				mapped := here.put("/reservations/line-mappings/"+mapping, map[string]any{"accountId": b.accounts[code]})

				stay := there.post("/reservations", map[string]any{
					"listingId": b.listing, "checkIn": "2026-01-10", "checkOut": "2026-01-12",
					"lines": []any{map[string]any{"type": lineType, "amount": 100 + round}},
				})
				if mapped.status != http.StatusOK || stay.status != http.StatusCreated {
					t.Errorf("writer %d, round %d: %s %s", w, round, mapped.body, stay.body)
					return
				}

				found := false

				for _, e := range there.get("/reports/journal-entries?limit=250&reservationIds=" + stay.text("id")).list("data") {
					account, _ := e["account"].(map[string]any)
					found = found || account["code"] == code
				}

				if !found {
					t.Errorf("writer %d, round %d: the stay is not posted to %s", w, round, code)
				}
			}
		})
	}

	working.Wait()
}
