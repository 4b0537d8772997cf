package pms_test

import (
	"strings"
	"testing"
	"time"

	"stayledger/platform/apitest"
	sandbox "stayledger/provider/sandbox/pms"
)

// A long address of a listing is cut as other texts are, and the listing keeps its stays.
func TestALongAddressIsCut(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Address: &sandbox.Address{
		Street: strings.Repeat("x", 300), City: strings.Repeat("y", 200), State: "Maine",
	}})
	s.system.SetReservation(booked("r1", "L1", "2026-01-05", "2026-01-08"))
	s.connect()
	s.sync("full")

	if got := s.stay("C-r1"); got.String("status") != "booked" {
		t.Errorf("the stay is %s", got.Body)
	}

	got := s.Get("/listings?search=House").Want(200)
	if len(got.String("data.0.address.line1")) != 200 || len(got.String("data.0.address.city")) != 100 || got.String("data.0.address.state") != "Maine" {
		t.Errorf("the listing is %s", got.Body)
	}

	if got := s.Get("/listings/" + got.String("data.0.id")).Want(200); got.String("issues.0.code") != "textShortened" ||
		!strings.Contains(string(got.Body), "address.line1") {
		t.Errorf("the listing is %s", got.Body)
	}
}

// refusing makes the system take no calls for some seconds.
func (e *endless) refusing(seconds string) {
	e.refuse.Store(&seconds)
}

// A system that takes no calls for long is waited for, and the sync and the connection say so meanwhile.
func TestALongWaitIsSaid(t *testing.T) {
	t.Parallel()

	e := &endless{reservations: 1, noNext: true, listings: 1}
	s, _ := e.begin(t)
	s.Outlast(nil)
	s.Put(s.path("/listing-mappings"), object{"data": []any{}}).Want(200)
	e.refusing("3600")
	e.calls.Store(0)

	operation := s.Post(s.path("/sync"), nil).Want(202).String("operationId")
	s.Work() // until it waits

	if got := s.Get("/syncs?limit=1").Want(200); got.String("data.0.status") != "started" || got.String("data.0.error.code") != "unavailable" {
		t.Errorf("the sync is %s", got.Body)
	}

	if got := s.Get(s.path("")).Want(200); got.String("issues.0.code") != "syncDelayed" {
		t.Errorf("the connection is %s", got.Body)
	}

	e.refuse.Store(nil)

	if passed := s.Outlast(nil); passed < 50*time.Minute || e.calls.Load() > 5 {
		t.Errorf("it waited %v, with %d calls", passed, e.calls.Load())
	}

	if got := s.Get("/operations/" + operation).Want(200); got.String("status") != "completed" {
		t.Errorf("the operation is %s", got.Body)
	}

	if got := s.Get(s.path("")).Want(200); got.Len("issues") != 0 {
		t.Errorf("the connection is %s", got.Body)
	}

	// So is a file, without asking again before.
	e.refusing("3600")
	e.calls.Store(0)

	extract := s.Post("/connections/extract", object{"connectionId": s.connection, "extractor": "reservations"}).Want(202).String("operationId")
	s.Outlast(func(passed time.Duration) {
		if passed > 2*time.Hour {
			e.refuse.Store(nil)
		}
	})

	if got := s.Get("/operations/" + extract).Want(200); got.String("status") != "completed" || e.calls.Load() > 6 {
		t.Errorf("the operation is %s after %d calls", got.Body, e.calls.Load())
	}
}

// An attempt to connect is not made again before the system wants it: soon, or not at all.
func TestConnectingKeepsToTheWaitOfASystem(t *testing.T) {
	t.Parallel()

	for seconds, want := range map[string]string{"3600": "limited", "20": ""} {
		t.Run(seconds, func(t *testing.T) {
			t.Parallel()

			e := &endless{listings: 1, noNext: true}
			e.refusing(seconds)

			s, _ := e.begin(t)
			s.Outlast(func(passed time.Duration) {
				if got := s.Get(s.path("")).Want(200); got.String("status") == "connecting" &&
					(got.String("issues.0.code") != "connectDelayed" || got.String("issues.0.severity") != "warning") {
					t.Errorf("meanwhile the connection is %s", got.Body)
				}

				if passed > 30*time.Second {
					e.refuse.Store(nil)
				}
			})

			got := s.Get(s.path("")).Want(200)
			if want == "" {
				if got.String("status") != "active" || got.Len("issues") != 0 || e.refused.Load() > 2 {
					t.Errorf("after %d refusals the connection is %s", e.refused.Load(), got.Body)
				}

				return
			}

			if got.String("status") != "disabled" || got.String("issues.0.context.error") != want || e.refused.Load() != 1 {
				t.Errorf("after %d refusals the connection is %s", e.refused.Load(), got.Body)
			}
		})
	}
}

// A page on its way when a connection is archived or switched off is not taken in, and its sync ends as one that was
// canceled.
func TestAPageOnItsWayIsDroppedWithItsConnection(t *testing.T) {
	t.Parallel()

	for name, stop := range map[string]func(s *scene){
		"disabled": func(s *scene) { s.Put(s.path(""), object{"status": "disabled"}).Want(200) },
		"archived": func(s *scene) {
			// The archive is made by the worker that reads the system, as its next job.
			s.Delete(s.path("?outcome=archive")).Want(202)

			for deadline := time.Now().Add(time.Minute); s.Get(s.path("")).Want(200).String("status") != "archived"; time.Sleep(5 * time.Millisecond) {
				if time.Now().After(deadline) {
					s.T.Fatal("the connection is not archived")
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			reached, goOn := make(chan struct{}), make(chan struct{})
			e := &endless{listings: 1, noNext: true}
			s, _ := e.begin(t)
			s.Outlast(nil)
			s.Put(s.path("/listing-mappings"), object{"data": []any{}}).Want(200)

			e.reservations = 3
			e.calls.Store(0)

			e.at = func(call int64) {
				if call == 2 {
					close(reached)
					<-goOn
				}
			}

			operation := s.Post(s.path("/sync"), object{"mode": "full"}).Want(202).String("operationId")
			left := make(chan struct{})

			go func() { defer close(left); s.Outlast(nil) }()

			apitest.Receive(t, reached)
			stop(s)
			close(goOn)
			apitest.Receive(t, left)

			if got := s.Get("/reservations").Want(200); got.Len("data") != 0 {
				t.Errorf("reservations were taken in: %s", got.Body)
			}

			if got := s.Get("/syncs?limit=1").Want(200); got.String("data.0.status") != "failed" || got.String("data.0.error") != "null" {
				t.Errorf("the sync is %s", got.Body)
			}

			if got := s.Get("/operations/" + operation).Want(200); got.String("status") != "failed" || got.String("failure") != "null" {
				t.Errorf("the operation is %s", got.Body)
			}
		})
	}
}
