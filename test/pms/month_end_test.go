package pms_test

import (
	"fmt"
	"testing"
	"time"

	"stayledger/platform/db"
	sandbox "stayledger/provider/sandbox/pms"
)

// wantSystems wants what is open of the first step of a month, as code and count.
func (s *scene) wantSystems(month string, want ...string) {
	s.T.Helper()

	r := s.Get("/month-end?month=" + month).Want(200)
	got := []string{}

	for i := range r.Len("steps.0.items") {
		item := fmt.Sprintf("steps.0.items.%d.", i)
		got = append(got, r.String(item+"code")+" "+r.String(item+"count"))

		s.Get(r.String(item + "list")).Want(200)
	}

	if r.String("steps.0.step") != "systemsRead" || fmt.Sprint(got) != fmt.Sprint(want) {
		s.T.Errorf("open of the systems in %s: %v, want %v", month, got, want)
	}
}

// A month waits for its systems until each was read as a whole after its last day; a stay that could not be taken in is
// open until somebody settles it. A system whose dates lie elsewhere is waited for in its own months only.
func TestAMonthWaitsForItsSystems(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.wantSystems("2026-01")

	s.system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Currency: "usd"})
	s.system.SetReservation(booked("r1", "L1", "2026-01-10", "2026-01-13"))
	s.connect()
	s.wantSystems("2026-01", "systemsNotRead 1")

	// Only the listings, or only some days, are not all that it has.
	for _, part := range []object{{"kinds": []string{"listing"}}, {"dateRange": object{"startAt": "2026-01-01", "endAt": "2026-01-31"}}} {
		part["mode"] = "full"
		s.Post(s.path("/sync"), part).Want(202)
		s.Outlast(nil)
		s.wantSystems("2026-01", "systemsNotRead 1")
	}

	s.sync("incremental")
	s.wantSystems("2026-01")

	// What is changed on both sides waits for a person.
	stay := s.stay("C-r1").String("id")
	s.Put("/reservations/"+stay, object{"guestName": "Grace"}).Want(200)
	s.system.SetReservation(sandbox.Reservation{
		ID: "r1", ListingID: "L1", Status: "booked", Code: "C-r1", Channel: "airbnb", Guest: sandbox.Guest{Name: "Bea"},
		CheckIn: "2026-01-10", CheckOut: "2026-01-13", BookedAt: "2026-01-02", Currency: "usd", Total: "450.50",
		Lines: []sandbox.Line{{Type: "rent", Amount: "400.50"}, {Type: "cleaningFee", Amount: "50"}},
	})
	s.sync("full")
	s.wantSystems("2026-01", "recordConflict 1")

	s.settle(s.Get("/sync-conflicts").Want(200).String("data.0.id"), "ours").Want(200)
	s.wantSystems("2026-01")

	// The month of today is not over, and has been read today; one that ends later waits for a sync after it.
	month := time.Now().UTC().Format("2006-01")
	s.wantSystems(month)
	s.Exec(`update sync set started_at = started_at - interval '2 days' where team_id = @team`, db.Args{})
	s.wantSystems(month, "systemsNotRead 1")
	s.wantSystems("2026-01")
	s.Exec(`update sync set started_at = '2026-01-31 23:00Z' where team_id = @team`, db.Args{})
	s.wantSystems("2026-01", "systemsNotRead 1")

	// No month after its dates waits for it.
	s.Put(s.path(""), object{"accountingEndAt": "2026-01-01"}).Want(200)
	s.wantSystems("2026-01")
}
