package pms_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/provider/sandbox/hostaway"
	"stayledger/provider/sandbox/ownerrez"
	sandbox "stayledger/provider/sandbox/pms"
	"stayledger/provider/sandbox/stage"
	"stayledger/test/world"
)

// newHouse returns a team whose listing the system has as L1.
func newHouse(t *testing.T) (*scene, id.ID) {
	t.Helper()

	s := newScene(t)
	s.system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Currency: "usd"})
	s.connect()
	s.sync("full")

	return s, s.Get("/listings?search=House").Want(200).ID("data.0.id")
}

// nights is the body of a request about nights of a listing.
func nights(listing id.ID, start, end string) object {
	return object{"listingIds": array{listing}, "startAt": start, "endAt": end}
}

// send sends a request about blocks, runs its operation, and returns how that has ended.
func (s *scene) send(method string, body object) string {
	s.T.Helper()

	operation := s.Call(method, "/calendar-blocks", body).Want(202).String("operationId")
	s.Outlast(nil)

	return s.Get("/operations/" + operation).Want(200).String("status")
}

// blocks returns the blocks of the team in words.
func (s *scene) blocks() string {
	s.T.Helper()

	found := s.Get("/calendar-blocks?sort=startAt").Want(200)
	out := make([]string, found.Len("data"))

	for i := range out {
		at := fmt.Sprintf("data.%d.", i)
		out[i] = found.String(at+"startAt") + " " + found.String(at+"status")

		if found.Has(at + "error.code") {
			out[i] += " (" + found.String(at+"error.code") + ")"
		}
	}

	slices.Sort(out)

	return strings.Join(out, ", ")
}

// retry lets the time pass after which systems are told again, and tells them.
func (s *scene) retry() {
	s.T.Helper()
	s.Exec(`update calendar_block set try_at = now() - interval '1 second' where team_id = @team and try_at is not null`, db.Args{})

	if err := s.RunTask("calendar-block"); err != nil {
		s.T.Fatal(err)
	}

	s.Outlast(nil)
}

// wantBlocks checks the blocks of the team, and those of the system.
func (s *scene) wantBlocks(when, here string, there ...string) {
	s.T.Helper()

	if got := s.blocks(); got != here {
		s.T.Errorf("%s: blocks %q, want %q", when, got, here)
	}

	var has []string
	for _, b := range s.system.Blocks() {
		has = append(has, b.StartAt+" "+b.EndAt)
	}

	slices.Sort(has)

	if !slices.Equal(has, there) {
		s.T.Errorf("%s: the system has %q, want %q", when, has, there)
	}
}

// A note can be null, as it is read.
func TestABlockWithoutANote(t *testing.T) {
	t.Parallel()
	s, house := newHouse(t)

	body := nights(house, "2027-03-01", "2027-03-04")
	body["note"] = nil

	s.Post("/calendar-blocks", body).Want(202)

	if got := s.Get("/calendar-blocks").Want(200); got.Len("data") != 1 || got.String("data.0.note") != "null" {
		t.Errorf("the blocks are %s", got.Body)
	}
}

// Proves: INIT-07, INIT-08.
func TestNightsAreBlockedAndOpened(t *testing.T) {
	t.Parallel()
	s, house := newHouse(t)

	// One listing that the system has, and one that none has: which is blocked at once.
	own := s.Listing("Cabin", s.Contact("owner", "Ada")).ID
	ack := s.Post("/calendar-blocks", object{"listingIds": array{house, own}, "startAt": "2027-03-01", "endAt": "2027-03-04", "note": "Roof"}).Want(202)

	if ack.String("type") != "calendar-block" || ack.String("status") != "queued" || ack.Value("resource") != nil {
		t.Errorf("the acknowledgement is %s", ack.Body)
	}

	s.wantBlocks("before the system is told", "2027-03-01 blocked, 2027-03-01 pending")
	s.Outlast(nil)
	s.wantBlocks("afterwards", "2027-03-01 blocked, 2027-03-01 blocked", "2027-03-01 2027-03-04")

	if got := s.Get("/operations/" + ack.String("operationId")).Want(200); got.String("status") != "completed" || got.Len("resources") != 2 {
		t.Errorf("the operation is %s", got.Body)
	}

	one := s.Get("/calendar-blocks?listingIds=" + house.String()).Want(200)
	if one.Len("data") != 1 || one.ID("data.0.connectionId") != s.connection || one.String("data.0.note") != "Roof" || one.Has("data.0.error.code") {
		t.Errorf("the block is %s", one.Body)
	}

	// Each filter, with what is found and what is not.
	for query, want := range map[string]int{
		"startAt=2027-03-03": 2, "startAt=2027-03-04": 0, "endAt=2027-03-02": 2, "endAt=2027-03-01": 0, "status=blocked": 2, "status=refused": 0,
		"connectionIds=null": 1, "connectionIds=" + s.connection.String(): 1, "ids=!" + one.String("data.0.id"): 1, "startAt=2027-03-01&endAt=2027-03-04": 2,
	} {
		if got := s.Get("/calendar-blocks?" + query).Want(200); got.Len("data") != want || got.Int("pagination.total") != int64(want) {
			t.Errorf("%s: %s", query, got.Body)
		}
	}

	// A block comes back from the system, and is no reservation.
	s.system.SetReservation(sandbox.Reservation{
		ID: "b1", ListingID: "L1", Block: true, Status: "booked", CheckIn: "2027-03-01", CheckOut: "2027-03-04", Currency: "usd",
	})

	if got := s.sync("full"); got.Int("counts.reservation.skipped") != 1 || s.Get("/reservations").Want(200).Len("data") != 0 {
		t.Errorf("the sync is %s", got.Body)
	}

	away := s.Call("DELETE", "/calendar-blocks", nights(house, "2027-02-01", "2027-04-01")).Want(202)
	if away.String("type") != "calendar-unblock" || away.ID("resource.id") != house {
		t.Errorf("the acknowledgement is %s", away.Body)
	}

	s.wantBlocks("before the system is told", "2027-03-01 blocked, 2027-03-01 unblocking", "2027-03-01 2027-03-04")
	s.Outlast(nil)
	s.wantBlocks("afterwards", "2027-03-01 blocked")

	left := s.Get("/calendar-blocks").Want(200).ID("data.0.id")
	if got := s.send("DELETE", object{"ids": array{left}}); got != "completed" {
		t.Errorf("the operation is %s", got)
	}

	s.wantBlocks("at the end", "")
}

func TestNightsThatAreTakenAreRefused(t *testing.T) {
	t.Parallel()
	s, house := newHouse(t)
	other := newScene(t)
	foreign := other.Listing("Theirs", other.Contact("owner", "Bo")).ID

	s.system.SetReservation(booked("r1", "L1", "2027-03-05", "2027-03-08"))
	s.sync("incremental")

	if got := s.send("POST", nights(house, "2027-03-01", "2027-03-04")); got != "completed" {
		t.Fatalf("the operation is %s", got)
	}

	// From the check-out on, and up to the check-in, nights are free.
	for _, c := range []struct{ start, end, want string }{
		{"2027-03-04", "2027-03-06", "overlap"},
		{"2027-03-07", "2027-03-09", "overlap"},
		{"2027-03-03", "2027-03-05", "overlap"},
		{"2027-03-04", "2027-03-05", ""},
		{"2027-03-08", "2027-03-09", ""},
	} {
		if c.want == "" {
			s.Post("/calendar-blocks", nights(house, c.start, c.end)).Want(202)
			continue
		}

		s.Post("/calendar-blocks", nights(house, c.start, c.end)).WantError("CONFLICT", "").WantIssue(c.want, "listingIds.0")
	}

	s.Outlast(nil)

	refuses := func(body object, code, at string) {
		t.Helper()
		s.Post("/calendar-blocks", body).WantError("BAD_REQUEST", "").WantIssue(code, at)
	}
	refuses(nights(foreign, "2027-05-01", "2027-05-02"), "notFound", "listingIds.0")
	refuses(nights(house, "2027-05-01", "2027-05-01"), "dateOrder", "endAt")
	refuses(nights(house, "2027-05-01", "2029-05-03"), "range", "endAt")

	away := func(body object, code, at string) {
		t.Helper()
		s.Call("DELETE", "/calendar-blocks", body).WantError("BAD_REQUEST", "").WantIssue(code, at)
	}
	away(object{}, "required", "ids")
	away(object{"listingIds": array{house}, "startAt": "2027-03-01"}, "required", "endAt")
	away(object{"startAt": "2027-03-01", "endAt": "2027-03-02"}, "required", "listingIds")
	away(nights(house, "2027-03-02", "2027-03-01"), "dateOrder", "endAt")
	away(nights(house, "2027-06-02", "2027-06-03"), "selectionEmpty", "listingIds")
	away(object{"ids": array{foreign}}, "notFound", "ids.0")
	away(object{"ids": array{foreign}, "startAt": "2027-03-01"}, "contradiction", "startAt")

	// A block is not parted.
	s.Call("DELETE", "/calendar-blocks", nights(house, "2027-03-02", "2027-03-10")).WantError("CONFLICT", "")
	s.wantBlocks("at the end", "2027-03-01 blocked, 2027-03-04 blocked, 2027-03-08 blocked",
		"2027-03-01 2027-03-04", "2027-03-04 2027-03-05", "2027-03-08 2027-03-09")
}

// The system of a listing that has no calendar: nothing is stored, of no listing.
func TestASystemWithoutACalendarIsNotImplemented(t *testing.T) {
	t.Parallel()
	s, house := newHouse(t)
	own := s.Listing("Cabin", s.Contact("owner", "Ada")).ID
	s.Exec(`update connection set app_id = 'nacha' where team_id = @team`, db.Args{})
	s.Post("/calendar-blocks", object{"listingIds": array{own, house}, "startAt": "2027-03-01", "endAt": "2027-03-04"}).WantError("NOT_IMPLEMENTED", "")
	s.wantBlocks("at the end", "")

	for _, app := range []string{"pmsProtocol", "hostaway", "ownerrez"} {
		apps := s.Get("/apps").Want(200)
		for i := range apps.Len("data") {
			at := fmt.Sprintf("data.%d.", i)
			if apps.String(at+"id") == app && !strings.Contains(fmt.Sprint(apps.Value(at+"capabilities")), "calendarBlocks") {
				t.Errorf("%s does not say that it has a calendar", app)
			}
		}
	}
}

// Whatever goes wrong for a while, there is one block in the end, and none after it was taken away.
func TestFaultsOfASystemEndInOneBlock(t *testing.T) {
	t.Parallel()

	pause := 5

	for _, fault := range []sandbox.Fault{
		{Mode: sandbox.Page500, Times: 3},
		{Mode: sandbox.TooMany, Times: 12, RetryAfter: &pause},
		{Mode: sandbox.DropBefore, Times: 2},
		{Mode: sandbox.DropAfter, Times: 2},
		{Mode: sandbox.SlowBody, Times: 1},
		{Mode: sandbox.Redirect, Times: 1},
	} {
		t.Run(string(fault.Mode), func(t *testing.T) {
			t.Parallel()
			s, house := newHouse(t)
			fault.On = sandbox.OnBlocks

			s.system.Break(fault)

			if got := s.send("POST", nights(house, "2027-03-01", "2027-03-04")); got != "completed" {
				t.Errorf("the operation is %s", got)
			}

			s.system.Reset()
			s.wantBlocks("blocked", "2027-03-01 blocked", "2027-03-01 2027-03-04")
			s.system.Break(fault)

			if got := s.send("DELETE", nights(house, "2027-03-01", "2027-03-04")); got != "completed" {
				t.Errorf("the operation is %s", got)
			}

			s.wantBlocks("opened", "")
		})
	}
}

// A system that stays away fails the operation; the block waits and is told later, and so is its end.
func TestASystemThatWasAwayIsToldLater(t *testing.T) {
	t.Parallel()
	s, house := newHouse(t)

	s.system.Break(sandbox.Fault{Mode: sandbox.Page500, On: sandbox.OnBlocks})

	if got := s.send("POST", nights(house, "2027-03-01", "2027-03-04")); got != "failed" {
		t.Errorf("the operation is %s", got)
	}

	s.wantBlocks("away", "2027-03-01 pending (unavailable)")
	s.retry()
	s.wantBlocks("still away", "2027-03-01 pending (unavailable)")
	s.system.Reset()
	s.retry()
	s.wantBlocks("back", "2027-03-01 blocked", "2027-03-01 2027-03-04")

	s.system.Break(sandbox.Fault{Mode: sandbox.Page500, On: sandbox.OnBlocks})

	if got := s.send("DELETE", nights(house, "2027-03-01", "2027-03-04")); got != "failed" {
		t.Errorf("the operation is %s", got)
	}

	s.wantBlocks("away again", "2027-03-01 unblocking (unavailable)", "2027-03-01 2027-03-04")
	s.system.Reset()
	s.retry()
	s.wantBlocks("back again", "")
}

// What the system refuses is told and takes no nights; refused credentials wait until the connection is connected again.
func TestWhatASystemRefusesIsTold(t *testing.T) {
	t.Parallel()
	s, house := newHouse(t)

	// The system has a guest there that was not read yet.
	s.system.SetReservation(booked("r1", "L1", "2027-03-02", "2027-03-03"))

	if got := s.send("POST", nights(house, "2027-03-01", "2027-03-04")); got != "failed" {
		t.Errorf("the operation is %s", got)
	}

	s.wantBlocks("refused", "2027-03-01 refused (refused)")
	s.retry()
	s.wantBlocks("refused for good", "2027-03-01 refused (refused)")

	// The nights around are free for another block.
	if got := s.send("POST", nights(house, "2027-03-03", "2027-03-04")); got != "completed" {
		t.Errorf("the operation is %s", got)
	}

	if got := s.send("DELETE", nights(house, "2027-03-01", "2027-03-04")); got != "completed" {
		t.Errorf("the operation is %s", got)
	}

	s.system.Break(sandbox.Fault{Mode: sandbox.Refused, On: sandbox.OnBlocks, Times: 1})

	if got := s.send("POST", nights(house, "2027-04-01", "2027-04-04")); got != "failed" {
		t.Errorf("the operation is %s", got)
	}

	s.wantBlocks("credentials refused", "2027-04-01 pending (reconnectRequired)")

	if got := s.Get(s.path("")).Want(200).String("status"); got != "reconnectRequired" {
		t.Errorf("the connection is %s", got)
	}

	s.retry()
	s.wantBlocks("not connected", "2027-04-01 pending (reconnectRequired)")
	s.Post(s.path("/connect"), object{"credentials": object{"token": token}}).Want(202)
	s.Outlast(nil)
	s.retry()
	s.wantBlocks("connected again", "2027-04-01 blocked", "2027-04-01 2027-04-04")
}

// Of many writers one blocks the nights, and a block that is taken away while it is sent is not left behind.
func TestManyWritersMakeOneBlock(t *testing.T) {
	t.Parallel()
	s, house := newHouse(t)

	var (
		group    sync.WaitGroup
		answers  [24]*apitest.Response
		conflict int
	)

	for i := range answers {
		group.Go(func() { answers[i] = s.Post("/calendar-blocks", nights(house, "2027-03-01", "2027-03-04")) })
	}

	group.Wait()

	for _, a := range answers {
		if a.Status == 409 {
			conflict++
		}
	}

	if conflict != len(answers)-1 {
		t.Errorf("%d of %d were refused", conflict, len(answers))
	}

	// It is taken away while the system has the request and has not answered.
	s.system.Break(sandbox.Fault{Mode: sandbox.HangAfter, On: sandbox.OnBlocks, Times: 1})

	ended := make(chan struct{})

	go func() {
		defer close(ended)

		s.Outlast(nil)
	}()

	if _, err := s.system.Await(t.Context(), stage.HeldAfter, 0); err != nil {
		t.Fatal(err)
	}

	for i := range answers {
		group.Go(func() {
			answers[i] = s.Call("DELETE", "/calendar-blocks", nights(house, "2027-03-01", "2027-03-04"))
		})
	}

	group.Wait()

	for _, a := range answers {
		a.Want(202)
	}

	s.system.Release()
	<-ended
	s.Outlast(nil)
	s.wantBlocks("at the end", "")
}

// A worker that is killed after the system has made the block, and before that is saved, leaves one block.
func TestAWorkerKilledAfterTheSystemWasToldLeavesOneBlock(t *testing.T) {
	t.Parallel()

	system, err := sandbox.New(sandbox.Config{Token: token})
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewServer(system)

	t.Cleanup(func() {
		system.Close()
		server.Close()
	})

	url := apitest.Database(t)

	d, err := db.Open(t.Context(), db.Config{URL: url, MaxConnections: 8})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	s := &scene{World: world.In(t, d), system: system, url: server.URL}
	system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Currency: "usd"})
	s.connect()
	s.sync("full")

	house := s.Get("/listings?search=House").Want(200).ID("data.0.id")

	for _, c := range []struct {
		method, here, killed string
		there                []string
	}{
		{method: "POST", killed: "2027-03-01 pending", here: "2027-03-01 blocked", there: []string{"2027-03-01 2027-03-04"}},
		{method: "DELETE", killed: "2027-03-01 unblocking"},
	} {
		system.Break(sandbox.Fault{Mode: sandbox.HangAfter, On: sandbox.OnBlocks, Times: 1})

		before := system.Last()
		operation := s.Call(c.method, "/calendar-blocks", nights(house, "2027-03-01", "2027-03-04")).Want(202).String("operationId")
		worker := s.newWorker(url)

		if err := worker.Start(); err != nil {
			t.Fatal(err)
		}

		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()

		if _, err := system.Await(ctx, stage.HeldAfter, before); err != nil {
			t.Fatal(err)
		}

		if err := worker.Process.Kill(); err != nil {
			t.Fatal(err)
		}

		_ = worker.Wait()

		system.Release()
		s.wantBlocks("killed", c.killed, c.there...)

		// As after the time of a lease.
		s.Exec(`update job set worker_id = null, due_at = clock_timestamp() where team_id = @team`, db.Args{})
		s.Outlast(nil)
		s.wantBlocks("afterwards", c.here, c.there...)

		if got := s.Get("/operations/" + operation).Want(200).String("status"); got != "completed" {
			t.Errorf("the operation is %s", got)
		}
	}
}

// Both vendors: the nights are closed and opened again, ours alone, and come back as no reservation.
func TestNightsAreBlockedAtVendors(t *testing.T) {
	t.Parallel()

	rooms, err := hostaway.New(hostaway.Config{AccountID: "28673", APIKey: "our-key"})
	if err != nil {
		t.Fatal(err)
	}

	homes, err := ownerrez.New(ownerrez.Config{Email: "ada@example.com", Token: "pt_ours"})
	if err != nil {
		t.Fatal(err)
	}

	one, other := httptest.NewServer(rooms), httptest.NewServer(homes)

	t.Cleanup(func() {
		rooms.Close()
		homes.Close()
		one.Close()
		other.Close()
	})

	rooms.SetListing(hostaway.Object{"id": 40160, "name": "House", "currencyCode": "USD"})
	homes.SetProperty(ownerrez.Object{"id": 40001, "name": "House", "currency_code": "USD", "active": true})

	for _, c := range []struct {
		app, url    string
		credentials object
		closed      func() int
		want        int
	}{
		{"hostaway", one.URL + "/v1", object{"accountId": "28673", "apiKey": "our-key"}, func() int { return len(rooms.Blocked("40160")) }, 3},
		{"ownerrez", other.URL + "/v2", object{"email": "ada@example.com", "token": "pt_ours"}, func() int { return len(homes.Blocks("40001")) }, 1},
	} {
		s := &scene{World: world.New(t)}
		s.connection = s.Post("/connections", object{
			"appId": c.app, "name": "Rentals", "settings": object{"baseUrl": c.url}, "credentials": c.credentials,
		}).Want(202).ID("resource.id")
		s.Outlast(nil)
		s.sync("full")

		house := s.Get("/listings?search=House").Want(200).ID("data.0.id")

		// The first answer is lost.
		rooms.Break(hostaway.Fault{Mode: "none", On: hostaway.OnCalendar, Times: 1})
		rooms.Break(hostaway.Fault{Mode: hostaway.DropAfter, On: hostaway.OnCalendar, Times: 1})
		homes.Break(ownerrez.Fault{Mode: ownerrez.DropAfter, On: ownerrez.OnBlocks, Times: 1})

		if got := s.send("POST", nights(house, "2027-03-01", "2027-03-04")); got != "completed" || s.blocks() != "2027-03-01 blocked" || c.closed() != c.want {
			t.Errorf("%s: %s, %s, %d closed", c.app, got, s.blocks(), c.closed())
		}

		if got := s.sync("full"); s.Get("/reservations").Want(200).Len("data") != 0 {
			t.Errorf("%s: the sync is %s", c.app, got.Body)
		}

		if got := s.send("DELETE", nights(house, "2027-03-01", "2027-03-04")); got != "completed" || s.blocks() != "" || c.closed() != 0 {
			t.Errorf("%s: %s, %s, %d closed", c.app, got, s.blocks(), c.closed())
		}
	}
}
