package pms_test

import (
	"testing"

	"stayledger/platform/apierr"
	sandbox "stayledger/provider/sandbox/pms"
)

// A stay that is here and whose row cannot be read any more is there all the same: a complete reading does not take it as deleted, and says
// what is wrong until it can be read again.
func TestAStayThatCannotBeReadStays(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Currency: "usd"})
	s.system.SetReservation(booked("r1", "L1", "2026-03-10", "2026-03-13"))
	s.connect()
	s.sync("full")

	broken := booked("r1", "L1", "2026-03-10", "2026-03-13")
	broken.Status = "teleported"
	s.system.SetReservation(broken)
	s.sync("full")

	got := s.stay("C-r1")
	if got.String("status") != "booked" || got.String("issues.1.code") != "recordFailed" && got.String("issues.0.code") != "recordFailed" {
		t.Errorf("the stay is %s", got.Body)
	}

	if waiting := s.waiting(); waiting["recordFailed"] != 1 {
		t.Errorf("there wait %v", waiting)
	}

	s.system.SetReservation(booked("r1", "L1", "2026-03-10", "2026-03-13"))
	s.sync("full")

	if waiting := s.waiting(); waiting["recordFailed"] != 0 {
		t.Errorf("there still wait %v", waiting)
	}
}

// What the lines lack of a stated total is in no account, is an issue with its amount, and keeps the statement from being saved, until a
// person says what it is.
func TestADifferenceWaitsUntilAPersonSaysWhatItIs(t *testing.T) {
	t.Parallel()
	s := newLateScene(t)

	stay := booked("r9", "L1", "2026-04-10", "2026-04-13")
	stay.Total = "462.00"
	s.system.SetReservation(stay)
	s.sync("full")

	got := s.stay("C-r9")
	if got.Int("financials.total") != 46_200 || got.String("lines.2.type") != "difference" || got.Int("lines.2.amount") != 1_150 ||
		got.String("issues.0.code") != "totalDeviation" || got.Int("issues.0.context.centTotal") != 1_150 {
		t.Errorf("the stay is %s", got.Body)
	}

	if waiting := s.waiting(); waiting["totalDeviation"] != 1 || waiting["unassignedAccount"] != 0 {
		t.Errorf("there wait %v", waiting)
	}

	april := "/statements/" + s.Statement(s.house, "2026-04").String()
	s.Put(april, object{"status": "published"}).WantError(apierr.CodeBadRequest, apierr.ReasonStatementHasBlockingIssues)

	s.Post("/reservations/line-mappings", object{"lineType": "difference", "accountId": s.Account("4020"), "party": "owners"}).Want(201)
	s.Outlast(nil)
	s.Put(april, object{"status": "published"}).Want(200)

	if got := s.stay("C-r9"); got.Len("issues") != 0 {
		t.Errorf("the stay still has %s", got.Body)
	}

	if waiting := s.waiting(); waiting["totalDeviation"] != 0 {
		t.Errorf("there still wait %v", waiting)
	}
}

// A connection can take a difference as a fee of the guest, or refuse the stay.
func TestAConnectionSaysWhatADifferenceIs(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Currency: "usd"})

	s.Post("/connections", object{
		"appId": "pmsProtocol", "name": "Rentals", "settings": object{"baseUrl": s.url, "onTotalDifference": "guess"}, "credentials": object{"token": token},
	}).WantIssue("enum", "settings.onTotalDifference")

	s.connect()

	for setting, want := range map[string]string{"fee": "guestFee", "issue": "difference"} {
		s.Put(s.path(""), object{"settings": object{"baseUrl": s.url, "onTotalDifference": setting}}).Want(200)
		s.Outlast(nil)

		stay := booked("r-"+setting, "L1", "2026-03-10", "2026-03-13")
		stay.Total = "462.00"
		s.system.SetReservation(stay)
		s.sync("full")

		if got := s.stay("C-r-" + setting); got.String("lines.2.type") != want || got.Int("lines.2.amount") != 1_150 {
			t.Errorf("%s: the stay is %s", setting, got.Body)
		}
	}

	s.Put(s.path(""), object{"settings": object{"baseUrl": s.url, "onTotalDifference": "fail"}}).Want(200)
	s.Outlast(nil)

	stay := booked("r-fail", "L1", "2026-03-10", "2026-03-13")
	stay.Total = "462.00"
	s.system.SetReservation(stay)

	if got := s.sync("full"); got.Int("reasons.totalDeviation") != 3 {
		t.Errorf("the sync is %s", got.Body)
	}

	if s.Get("/reservations?search=C-r-fail").Want(200).Len("data") != 0 {
		t.Error("a stay that should be refused is here")
	}
}
