package pms_test

import (
	"testing"

	sandbox "stayledger/provider/sandbox/pms"
)

// What channels have paid out is kept with the stays that it is made of, follows its system, and posts nothing.
func TestPayoutsOfChannelsAreKept(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Currency: "usd"})
	s.system.SetReservation(booked("r1", "L1", "2026-01-10", "2026-01-13"))
	s.system.SetReservation(booked("r2", "L1", "2026-01-15", "2026-01-18"))

	payout := sandbox.Payout{
		ID: "p1", Channel: "airbnb", Reference: "G-ABC", Date: "2026-01-16", Currency: "usd", Amount: "750.85", Members: []sandbox.PayoutMember{
			{ReservationID: "r1", Gross: "450.50", Fees: "69.83", Taxes: "0.00"},
			{Code: " c-R2 ", Gross: "450.50", Fees: "69.83"},
			{Description: "Resolution", Gross: "-10.49"},
		},
	}
	s.system.SetPayout(payout)
	s.connect()

	if got := s.sync("full"); got.Int("counts.payout.completed") != 1 {
		t.Fatalf("the sync is %s", got.Body)
	}

	one, two := s.stay("C-r1").String("id"), s.stay("C-r2").String("id")

	got := s.Get("/channel-payouts?dateRange=2026-01-01...2026-02-01").Want(200)
	if got.Len("data") != 1 || got.Int("data.0.amount") != 75_085 || got.Int("data.0.difference") != 0 || got.String("data.0.reference") != "G-ABC" ||
		got.String("data.0.members.0.reservationId") != one || got.Int("data.0.members.0.amount") != 38_067 ||
		got.String("data.0.members.1.reservationId") != two || got.Value("data.0.members.2.reservationId") != nil ||
		got.Int("data.0.members.2.amount") != -1_049 {
		t.Errorf("the payouts are %s", got.Body)
	}

	path := "/channel-payouts/" + got.String("data.0.id")

	// What changes at the system changes here, and nothing of it is an entry.
	payout.Amount = "740.85"
	s.system.SetPayout(payout)
	s.sync("incremental")

	if got := s.Get(path).Want(200); got.Int("amount") != 74_085 || got.Int("difference") != -1_000 {
		t.Errorf("the payout is %s", got.Body)
	}

	if got := s.Get("/reports/journal-entries?startDate=2025&endDate=2028&accountIds=" + s.Account("1000").String()).Want(200); got.Len("data") != 0 {
		t.Errorf("the bank has entries: %s", got.Body)
	}

	// One that cannot be read stays, and one that the system has no more is inactive.
	payout.Amount = "much"
	s.system.SetPayout(payout)
	s.sync("full")

	if got := s.Get(path).Want(200); got.String("status") != "active" {
		t.Errorf("the payout is %s", got.Body)
	}

	s.system.DeletePayout("p1")
	s.sync("full")

	if got := s.Get(path).Want(200); got.String("status") != "inactive" {
		t.Errorf("the payout is %s", got.Body)
	}

	if got := s.Get("/channel-payouts?status=active").Want(200); got.Len("data") != 0 {
		t.Errorf("the active payouts are %s", got.Body)
	}
}
