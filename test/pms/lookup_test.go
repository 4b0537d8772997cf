package pms_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// A system that looks nothing up is read as a whole when a reservation has to be looked at: what it has no more is inactive, and no sync waits.
func TestASystemWithoutLookupIsReadThrough(t *testing.T) {
	t.Parallel()

	rows := []object{}
	for _, name := range []string{"1", "2", "3", "4", "5", "6"} {
		rows = append(rows, object{
			"id": name, "listingId": "L1", "status": "booked", "code": "P-" + name + "-", "checkIn": "2026-01-1" + name, "checkOut": "2026-01-2" + name,
			"currency": "usd", "lines": array{object{"type": "rent", "amount": "100.00"}},
		})
	}

	asked := 0

	s := connectTo(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var answer any

		switch {
		case r.URL.Path == "/account":
			answer = object{"id": "acc_1", "name": "Rentals"}
		case r.URL.Path == "/listings":
			answer = object{"listings": array{object{"id": "L1", "name": "House 1", "currency": "usd"}}, "next": ""}
		case r.URL.Path == "/reservations" && r.Method == http.MethodGet:
			asked++
			answer = object{"reservations": rows, "next": "", "mark": "", "complete": true}
		default:
			http.Error(w, "no such thing", http.StatusNotFound)
			return
		}

		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}), "pmsProtocol", "", object{"token": token})

	s.sync("full")

	rows = rows[:5]
	done := s.sync("full")

	if got := s.Get("/reservations?search=P-6-").Want(200); got.String("data.0.status") != "inactive" {
		t.Errorf("the stay is %s, after %s", got.Body, done.Body)
	}

	if got := s.Get("/reservations?search=P-5-").Want(200); got.String("data.0.status") != "booked" {
		t.Errorf("a stay that is there is %s", got.Body)
	}

	if asked < 3 || !strings.Contains(string(done.Body), `"status":"completed"`) {
		t.Errorf("asked %d times, the sync is %s", asked, done.Body)
	}
}
