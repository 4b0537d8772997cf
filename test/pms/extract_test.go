package pms_test

import (
	"maps"
	"strings"
	"testing"

	sandbox "stayledger/provider/sandbox/pms"
	"stayledger/test/fixture"
)

// extract makes a file and returns its lines.
func (s *scene) extract(body object) []string {
	s.T.Helper()
	body["connectionId"] = s.connection

	ack := s.Post("/connections/extract", body).Want(202)
	if ack.String("type") != "connection-extract" || ack.ID("resource.id") != s.connection {
		s.T.Errorf("acknowledgement: %s", ack.Body)
	}

	s.Outlast(nil)

	done := s.Get("/operations/" + ack.String("operationId")).Want(200)
	for i := range done.Len("resources") {
		if at := "resources." + string(rune('0'+i)); done.String(at+".type") == "file" && done.String(at+".role") == "result" {
			content := s.Get("/files/" + done.String(at+".id") + "/download").Want(200)
			return strings.Split(strings.TrimSpace(string(content.Body)), "\r\n")
		}
	}

	s.T.Fatalf("no file was made: %s", done.Body)

	return nil
}

// A file has what the system has, and nothing comes into the books.
//
// Proves: INIT-15.
func TestFilesAreMadeOfWhatASystemHas(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	page := 2
	s.system.Set(sandbox.Settings{PageSize: &page})
	names := s.fill(5)
	s.system.SetListing(sandbox.Listing{ID: "L2", Name: "=House 2", Address: &sandbox.Address{Street: "2 Shore Road", City: "Harborview"}})

	fixture.Connection(s.Team, "nacha") // no files are made of what a bank has

	none := s.Get("/team").Want(200)
	s.connect()

	// The team says where files can be made from.
	if got := s.Get("/team").Want(200); none.Len("extractableConnections") != 0 || got.Len("extractableConnections") != 1 ||
		got.ID("extractableConnections.0.id") != s.connection || got.String("extractableConnections.0.name") != "Rentals" ||
		got.String("extractableConnections.0.appId") != "pmsProtocol" {
		t.Errorf("files can be made from %s", got.Body)
	}

	listings := s.extract(object{"extractor": "listings"})
	if len(listings) != 3 || !strings.HasPrefix(listings[0], "id,name,street,") || listings[1] != "L1,House 1,,,,,,USD,,,false" ||
		listings[2] != "L2,'=House 2,2 Shore Road,Harborview,,,,,,,false" {
		t.Errorf("listings:\n%s", strings.Join(listings, "\n"))
	}

	stays := s.extract(object{"extractor": "reservations"})
	if len(stays) != 1+len(names) || stays[1] != "r000,L1,booked,guest,C-r000,airbnb,Ada,,,,2026-01-01,2026-01-04,2026-01-02,,USD,450.50,450.50,,," {
		t.Errorf("reservations:\n%s", strings.Join(stays, "\n"))
	}

	// A range is about nights: r001 ends on the first day, r004 begins after the last.
	some := s.extract(object{"extractor": "reservations", "dateRange": object{"startAt": "2026-01-08", "endAt": "2026-01-16"}})
	if len(some) != 3 || !strings.HasPrefix(some[1], "r002,") || !strings.HasPrefix(some[2], "r003,") {
		t.Errorf("some reservations:\n%s", strings.Join(some, "\n"))
	}

	lines := s.extract(object{"extractor": "reservationLines"})
	if len(lines) != 1+2*len(names) || lines[1] != "r000,L1,booked,2026-01-01,2026-01-04,rent,,USD,400.50" {
		t.Errorf("lines:\n%s", strings.Join(lines, "\n"))
	}

	// Syncs of their own view tell of them, and the connection was not synced.
	got := s.Get("/syncs?limit=1").Want(200)
	if got.String("data.0.view") != "extract" || got.String("data.0.extractor") != "reservationLines" || got.String("data.0.status") != "completed" ||
		got.Int("data.0.counts.reservation.completed") != 5 {
		t.Errorf("the sync is %s", got.Body)
	}

	if got := s.Get(s.path("")).Want(200); got.String("lastSyncAt") != "null" || got.String("lastSync") != "null" {
		t.Errorf("the connection is %s", got.Body)
	}

	if got := s.Get("/reservations").Want(200); got.Len("data") != 0 {
		t.Errorf("reservations are here: %s", got.Body)
	}
}

// What a page repeats is in the file once, and what cannot be read is counted.
func TestFilesHoldOutAgainstFaults(t *testing.T) {
	t.Parallel()

	for mode, want := range map[sandbox.Mode]int{
		sandbox.DuplicateIDs: 6, sandbox.Page500: 6, sandbox.TooMany: 6, sandbox.CursorLost: 6, sandbox.Unreadable: 5, sandbox.Shift: 6,
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			page := 2
			s.system.Set(sandbox.Settings{PageSize: &page})
			s.fill(5)
			s.connect()
			s.system.Break(sandbox.Fault{Mode: mode, On: sandbox.OnReservations, Times: 1, RetryAfter: new(0)})

			if got := s.extract(object{"extractor": "reservations"}); len(got) != want {
				t.Errorf("got\n%s", strings.Join(got, "\n"))
			}

			if got := s.Get("/syncs?limit=1").Want(200); got.Int("data.0.counts.reservation.completed")+got.Int("data.0.counts.reservation.failed") != 5 {
				t.Errorf("the sync is %s", got.Body)
			}
		})
	}
}

func TestExtractsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(1)
	s.connect()

	for _, c := range []struct {
		change             object
		code, issue, place string
	}{
		{object{"extractor": "payouts"}, "NOT_IMPLEMENTED", "", ""},
		{object{"connectionId": "01a21560-0000-7000-8000-000000000000"}, "BAD_REQUEST", "notFound", "connectionId"},
		{object{"dateRange": object{"startAt": "2026-01-01"}, "extractor": "listings"}, "BAD_REQUEST", "contradiction", "dateRange"},
		{object{"dateRange": object{"startAt": "2026-01-02", "endAt": "2026-01-01"}}, "BAD_REQUEST", "dateOrder", "dateRange.endAt"},
	} {
		body := object{"connectionId": s.connection, "extractor": "reservations"}
		maps.Copy(body, c.change)

		got := s.Post("/connections/extract", body)
		if got.String("code") != c.code {
			t.Errorf("%v: %s", c.change, got.Body)
		}

		if c.issue != "" {
			got.WantIssue(c.issue, c.place)
		}
	}

	s.Post("/connections/extract?dryRun=true", object{"connectionId": s.connection, "extractor": "listings"}).WantError("BAD_REQUEST", "")

	// The system takes the credentials no more.
	s.system.Break(sandbox.Fault{Mode: sandbox.Refused})
	s.Post("/connections/extract", object{"connectionId": s.connection, "extractor": "listings"}).Want(202)
	s.Outlast(nil)

	if got := s.Get("/syncs?limit=1").Want(200); got.String("data.0.status") != "failed" || got.String("data.0.error.code") != "reconnectRequired" {
		t.Errorf("the sync is %s", got.Body)
	}

	s.Post("/connections/extract", object{"connectionId": s.connection, "extractor": "listings"}).WantError("CONNECTION_RECONNECT_REQUIRED", "")
}

// An extract waits for no sync and keeps none waiting, and one that is cancelled keeps no file.
func TestExtractsTakeNoTurns(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(3)
	s.connect()

	body := object{"connectionId": s.connection, "extractor": "reservations"}
	s.Post(s.path("/sync"), nil).Want(202)
	s.Post("/connections/extract", body).Want(202)
	s.Post(s.path("/sync"), nil).Want(202)

	canceled := s.Post("/connections/extract", body).Want(202)
	s.Post("/syncs/"+s.Get("/syncs?limit=1").Want(200).String("data.0.id")+"/cancel", nil).Want(200)
	s.Outlast(nil)

	if got := s.Get("/operations/" + canceled.String("operationId")).Want(200); got.String("status") != "failed" || got.Len("resources") != 1 {
		t.Errorf("the cancelled extract is %s", got.Body)
	}

	got := s.Get("/syncs").Want(200)
	for i, want := range []string{"failed", "completed", "completed"} {
		if at := "data." + string(rune('0'+i)); got.String(at+".status") != want {
			t.Errorf("%s is %s", at, got.Body)
		}
	}
}

// A connection that is archived gets no more messages.
func TestAnArchivedConnectionIsUnsubscribed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(1)
	s.connect()
	s.sync("full")
	s.system.Break(sandbox.Fault{Mode: sandbox.Page500, Times: 2})
	s.Delete(s.path("")).Want(202)
	s.Outlast(nil)

	if got := s.Get(s.path("")).Want(200); got.String("status") != "archived" {
		t.Errorf("the connection is %s", got.Body)
	}

	if got := s.Get("/team").Want(200); got.Len("extractableConnections") != 0 {
		t.Errorf("files can be made from %s", got.Body)
	}

	if got := s.system.Subscription(); got.URL != "" {
		t.Errorf("messages still go to %s", got.URL)
	}
}
