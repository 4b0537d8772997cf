package pms_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"stayledger/platform/apitest"
	sandbox "stayledger/provider/sandbox/pms"
)

// waiting returns how many issues of each code the team has, from pages of three, and fails unless GET /team counts as many.
func (s *scene) waiting() map[string]int {
	s.T.Helper()

	out, all, seen := map[string]int{}, int64(0), map[string]bool{}

	for cursor := ""; ; {
		got := s.Get("/teams/issues?limit=3" + cursor).Want(200)
		for i := range got.Len("data") {
			at := fmt.Sprintf("data.%d.", i)
			if name := got.String(at + "id"); seen[name] || got.String(at+"message") == "" || got.ID(at+"teamId") != s.ID {
				s.T.Errorf("the issue %s is %s", name, got.Body)
			} else {
				seen[name] = true
			}

			out[got.String(at+"code")]++
			all++
		}

		if got.Value("page.hasMore") != true {
			break
		}

		cursor = "&cursor=" + got.String("page.nextCursor")
	}

	if got := s.Get("/team").Want(200); got.Int("issueCount") != all {
		s.T.Errorf("the team has %d issues and counts %d", all, got.Int("issueCount"))
	}

	return out
}

// wantWaiting compares the issues of the team.
func (s *scene) wantWaiting(when string, want map[string]int) {
	s.T.Helper()

	if got := s.waiting(); !maps.Equal(got, want) {
		s.T.Errorf("%s: the issues are %v, want %v", when, got, want)
	}
}

// codes returns the codes of the issues of a record, in order.
func codes(got *apitest.Response) (out []string) {
	for i := range got.Len("issues") {
		out = append(out, got.String(fmt.Sprintf("issues.%d.code", i)))
	}

	return out
}

// What a sync could not do waits in the list of issues, at the record, its listing or the connection, and at the team, each until it is
// settled and no longer: ten stays that fail, three of a listing that no one has mapped, two that were changed under a published statement.
//
// Proves: PAG-04.
func TestWhatASyncCouldNotDoWaits(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	house := s.Listing("House 1", s.Contact("owner", "Ada"))
	s.Listing("House 2", s.Contact("owner", "Bert"))
	s.system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Currency: "usd"})

	for _, name := range []string{"r1", "r2"} {
		s.system.SetReservation(booked(name, "L1", "2026-01-10", "2026-01-13"))
	}

	s.adopt()
	s.wantWaiting("at first", map[string]int{})

	statement := s.Statement(house, "2026-01")
	s.Put("/statements/"+statement.String(), object{"status": "published"}).Want(200)

	// What goes wrong: bad days, a listing that could be one here, other rents under the statement.
	s.system.SetListing(sandbox.Listing{ID: "L2", Name: "House 2", Currency: "usd"})

	for i := range 10 {
		bad := booked(fmt.Sprint("bad", i), "L1", "2026-03-10", "2026-03-12")
		if i%2 == 0 {
			bad.CheckOut = bad.CheckIn
		} else {
			bad.CheckIn, bad.CheckOut = "2060-03-10", "2060-03-12" // later than any request may name
		}

		s.system.SetReservation(bad)
	}

	for i := range 3 {
		s.system.SetReservation(booked(fmt.Sprint("other", i), "L2", fmt.Sprintf("2026-03-%d1", i), fmt.Sprintf("2026-03-%d3", i)))
	}

	for _, name := range []string{"r1", "r2"} {
		lower := booked(name, "L1", "2026-01-10", "2026-01-13")
		lower.Total, lower.Lines[0].Amount = "350.50", "300.50"
		s.system.SetReservation(lower)
	}

	done := s.sync("full")
	if done.Int("reasons.locked") != 2 || done.Int("reasons.unmapped") != 4 {
		t.Errorf("the reasons are %v", done.Value("reasons"))
	}

	s.wantWaiting("after the reading", map[string]int{"recordFailed": 10, "recordUnmapped": 3, "recordLocked": 2})

	// A second reading adds nothing.
	s.sync("full")
	s.wantWaiting("after another reading", map[string]int{"recordFailed": 10, "recordUnmapped": 3, "recordLocked": 2})

	if got := codes(s.stay("C-r1")); !slices.Contains(got, "recordLocked") {
		t.Errorf("the issues of the stay are %v", got)
	}

	if got := s.Get("/listings/" + house.ID.String()).Want(200); got.Len("issues") != 5 || got.String("issues.0.context.field") == "" {
		t.Errorf("the issues of the listing are %s", got.Body)
	}

	if got := s.Get(s.path("")).Want(200); got.Len("issues") != 8 || got.Int("lastSync.reasons.locked") != 2 {
		t.Errorf("the issues of the connection are %s", got.Body)
	}

	// One of another team sees nothing of it.
	stranger := newScene(t)
	stranger.wantWaiting("another team", map[string]int{})

	// Then each is settled.
	for i := range 9 {
		s.system.SetReservation(booked(fmt.Sprint("bad", i), "L1", fmt.Sprintf("2026-04-%d1", i%3), fmt.Sprintf("2026-04-%d2", i%3)))
	}

	s.sync("full")
	s.wantWaiting("after nine are mended at the system", map[string]int{"recordFailed": 1, "recordUnmapped": 3, "recordLocked": 2})

	if err := s.system.DeleteReservation("bad9"); err != nil {
		t.Fatal(err)
	}

	s.sync("full")
	s.wantWaiting("after the tenth is gone there", map[string]int{"recordUnmapped": 3, "recordLocked": 2})

	s.Put(s.path("/listing-mappings"), object{"data": array{}}).Want(200)
	s.sync("full")
	s.wantWaiting("after the listing is mapped", map[string]int{"recordLocked": 2})

	s.Put("/statements/"+statement.String(), object{"status": "draft"}).Want(200)
	s.Outlast(nil)
	s.wantWaiting("after the statement is a draft again", map[string]int{})
}

// A system that cannot be read is an issue of its connection at once, and one whose answers are not of the protocol ends the sync after three
// attempts, so that the next sync need not wait for it.
func TestASystemThatCannotBeReadWaits(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Listing("House 1", s.Contact("owner", "Ada"))
	s.system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Currency: "usd"})
	s.system.SetReservation(booked("r1", "L1", "2026-01-10", "2026-01-13"))
	s.adopt()

	s.system.Break(sandbox.Fault{Mode: sandbox.WrongType, On: sandbox.OnReservations, Times: 3})

	if got := s.sync("full"); got.String("status") != "failed" || got.String("error.code") != "protocolError" {
		t.Errorf("the sync is %s", got.Body)
	}

	s.wantWaiting("after three bad answers", map[string]int{"syncFailed": 1})

	if got := s.Get(s.path("")).Want(200); got.String("issues.0.code") != "syncFailed" || got.String("issues.0.context.error") != "protocolError" ||
		got.String("lastSync.error.code") != "protocolError" {
		t.Errorf("the connection is %s", got.Body)
	}

	if got := s.sync("full"); got.String("status") != "completed" {
		t.Errorf("the next sync is %s", got.Body)
	}

	s.wantWaiting("after a good reading", map[string]int{})

	// One that is away is tried for a day, and says so from the first attempt on.
	s.system.Break(sandbox.Fault{Mode: sandbox.Page500, On: sandbox.OnReservations, Times: 2})
	s.Post(s.path("/sync"), object{"mode": "full"}).Want(202)

	looked := false

	s.Outlast(func(time.Duration) {
		if looked {
			return
		}

		looked = true

		s.wantWaiting("after an attempt", map[string]int{"syncDelayed": 1})

		if got := s.Get("/syncs?limit=1&connectionIds=" + s.connection.String()).Want(200); got.String("data.0.status") != "started" ||
			got.String("data.0.error.code") != "unavailable" {
			t.Errorf("the sync is %s", got.Body)
		}
	})

	if !looked {
		t.Error("the sync went on without a pause")
	}

	s.wantWaiting("after the system is back", map[string]int{})
}
