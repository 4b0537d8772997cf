package pms_test

import (
	"testing"

	sandbox "stayledger/provider/sandbox/pms"
)

// merge merges a listing into another.
func (s *scene) merge(from, into string) {
	s.T.Helper()

	path := "/listings/" + from + "/merge"
	plan := s.Post(path+"?dryRun=true", object{"intoId": into}).Want(200)
	s.Post(path+"?dryRun=false", object{"intoId": into, "planHash": plan.String("planHash")}).Want(200)
	s.Work()
}

// at returns the listing here that a listing of the system is.
func (s *scene) at(external string) string {
	s.T.Helper()

	found := s.Get("/listings?connectionIds=" + s.connection.String() + "&search=House+" + external).Want(200)
	if found.Len("data") != 1 {
		s.T.Fatalf("%s: %s", external, found.Body)
	}

	return found.String("data.0.id")
}

// Listings of a system that a person merges stay one here, whatever the system says of either: what it says of stays at
// both is at the one that stays, and the one that goes does not come back.
//
// Proves: RSN-31.
func TestMergedListingsOfASystemStayOne(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	names := []string{"r1", "r2"}

	for i, name := range []string{"L1", "L2"} {
		s.system.SetListing(sandbox.Listing{ID: name, Name: "House " + name, Currency: "usd"})
		s.system.SetReservation(booked(names[i], name, "2026-01-10", "2026-01-13"))
	}

	s.connect()
	s.sync("full")
	s.same(names)

	into, from := s.at("L1"), s.at("L2")
	s.merge(from, into)

	for _, mode := range []string{"full", "incremental"} {
		name := "r-" + mode
		s.system.SetListing(sandbox.Listing{ID: "L2", Name: "House renamed for a " + mode + " sync", Currency: "usd"})
		s.system.SetReservation(booked(name, "L2", "2026-02-10", "2026-02-13"))
		s.change("r2", func(r *sandbox.Reservation) { r.Guest.Name = "Guest of a " + mode + " sync" })

		names = append(names, name)
		done := s.sync(mode)
		s.same(names)

		for _, code := range []string{"C-r1", "C-r2", "C-" + name} {
			if got := s.stay(code); got.String("listingId") != into {
				t.Errorf("after the %s sync %s is at %s, not at %s", mode, code, got.String("listingId"), into)
			}
		}

		if got := s.stay("C-r2"); got.String("guestName") != "Guest of a "+mode+" sync" {
			t.Errorf("the %s sync leaves %s, %s", mode, got.Body, done.Body)
		}

		if got := s.Get("/listings/" + from).Want(200); got.String("status") != "inactive" {
			t.Errorf("the %s sync has the listing back: %s", mode, got.Body)
		}

		if got := s.Get("/listings/" + into).Want(200); got.String("name") != "House L1" {
			t.Errorf("the %s sync names the listing after the one that went: %s", mode, got.Body)
		}

		if got := s.Get("/listings?connectionIds=" + s.connection.String()).Want(200); got.Len("data") != 1 {
			t.Errorf("the %s sync makes listings: %s", mode, got.Body)
		}
	}
}
