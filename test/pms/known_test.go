package pms_test

import (
	"net/http/httptest"
	"strconv"
	"testing"

	"stayledger/platform/db"
	"stayledger/platform/golden"
	"stayledger/platform/id"
	sandbox "stayledger/provider/sandbox/pms"
)

// enter enters a stay of the system by hand, before the system is connected.
func (s *scene) enter(listing id.ID, name string) string {
	s.T.Helper()

	r, err := s.system.Reservation(name)
	if err != nil {
		s.T.Fatal(err)
	}

	return s.Post("/reservations", object{
		"listingId": listing, "confirmationCode": r.Code, "status": r.Status, "checkIn": r.CheckIn, "checkOut": r.CheckOut, "bookingPlatform": r.Channel,
		"bookedAt": r.BookedAt, "guestName": r.Guest.Name, "currency": r.Currency, "lines": byHandLines(&r),
	}).Want(201).String("id")
}

// adopt connects the team, takes the listings that are suggested, and syncs.
func (s *scene) adopt() {
	s.T.Helper()
	s.connect()
	s.Put(s.path("/listing-mappings"), object{"data": array{}}).Want(200)
	s.sync("full")
}

// ids returns the ids of the reservations that are not inactive and have a confirmation code.
func (s *scene) ids(code string) (out []string) {
	s.T.Helper()

	found := s.Get("/reservations?sort=createdAt&search=" + code).Want(200)
	for i := range found.Len("data") {
		if at := "data." + strconv.Itoa(i); found.String(at+".status") != "inactive" {
			out = append(out, found.String(at+".id"))
		}
	}

	return out
}

// A stay that a person entered before the system was connected is the system's stay of the same confirmation code at the
// same listing. Two of one code are left as they are, and the sync says so.
func TestStaysEnteredByHandAreThoseOfTheSystem(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	house := s.Listing("House 1", s.Contact("owner", "Ada"))
	elsewhere := s.Listing("House 2", s.Contact("owner", "Bob"))
	s.system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Currency: "usd"})

	for _, name := range []string{"known", "twice", "elsewhere", "new"} {
		s.system.SetReservation(booked(name, "L1", "2026-01-10", "2026-01-13"))
	}

	known, other := s.enter(house.ID, "known"), s.enter(elsewhere.ID, "elsewhere")
	s.enter(house.ID, "twice")
	s.enter(house.ID, "twice")

	s.adopt()

	if got := s.ids("C-known"); len(got) != 1 || got[0] != known {
		t.Errorf("the stay that was entered is %s, and there are %v", known, got)
	}

	if got := s.stay("C-known"); got.ID("connectionId") != s.connection || got.String("sourceId") != "known" || got.Int("financials.total") != 45_050 {
		t.Errorf("the stay that was entered is now %s", got.Body)
	}

	if got := s.ids("C-twice"); len(got) != 2 {
		t.Errorf("of the stays of one code there are %v", got)
	}

	if got := s.ids("C-elsewhere"); len(got) != 2 || got[0] != other {
		t.Errorf("of a code at two listings there are %v", got)
	}

	if got := s.ids("C-new"); len(got) != 1 {
		t.Errorf("of the new stay there are %v", got)
	}

	items := s.Get("/syncs/" + s.latest().String("id") + "/items?outcome=failed").Want(200)
	if items.Len("data") != 1 || items.String("data.0.reason") != "ambiguous" {
		t.Errorf("the sync says of the stays of one code %s", items.Body)
	}

	// What the system changes is changed in the stay that was entered.
	s.change("known", func(r *sandbox.Reservation) { r.Guest.Name = "Grace" })
	s.sync("incremental")

	if got := s.stay("C-known"); got.String("id") != known || got.String("guestName") != "Grace" {
		t.Errorf("after a change the stay is %s", got.Body)
	}
}

// Stays of a connection that was archived are those of the connection that is made to the same system then: none is there
// twice, and the books are what they were.
func TestStaysOfAnArchivedConnectionAreTakenOver(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Listing("House 1", s.Contact("owner", "Ada"))
	s.system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Currency: "usd"})

	names := []string{"r1", "r2"}
	for _, name := range names {
		s.system.SetReservation(booked(name, "L1", "2026-01-10", "2026-01-13"))
	}

	s.adopt()

	before, one := s.books(), s.ids("C-r1")
	s.Delete(s.path("?outcome=archive"))
	s.Outlast(nil)

	if got := s.Get(s.path("")).Want(200); got.String("status") != "archived" {
		t.Fatalf("the connection is %s", got.Body)
	}

	s.adopt()
	s.same(names)

	if got := s.Get("/listings?connectionIds=" + s.connection.String()).Want(200); got.Len("data") != 1 || got.ID("data.0.connectionId") != s.connection ||
		got.String("data.0.source.status") != "active" {
		t.Errorf("the listings of the connection are %s", got.Body)
	}

	if got := s.ids("C-r1"); len(got) != 1 || got[0] != one[0] {
		t.Errorf("the stay was %v and is %v", one, got)
	}

	golden.List(t, "books", s.books(), before)
}

// A stay that the accounting window of another system would keep out of the books stays with the connection that brought
// it, locked or not: the other system's own is outside of the window.
func TestAStayBeforeTheWindowOfAnotherSystemStays(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	house := s.Listing("House 1", s.Contact("owner", "Ada"))
	s.system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Currency: "usd"})
	s.system.SetReservation(booked("r1", "L1", "2026-01-10", "2026-01-13"))
	s.adopt()

	old := s.connection
	statement := s.Statement(house, "2026-01")
	s.Put("/statements/"+statement.String(), object{"status": "published"}).Want(200)

	before := s.books()
	s.Delete(s.path("?outcome=archive"))
	s.Outlast(nil)

	// The same records at another address are those of another account.
	other := httptest.NewServer(s.system)
	defer other.Close()

	s.url = other.URL
	s.connect()
	s.Exec(`update connection set accounting_start_at = '2026-02-01' where team_id = @team and id = @id`, db.Args{"id": s.connection})
	s.Put(s.path("/listing-mappings"), object{"data": array{}}).Want(200)
	s.sync("full")
	golden.List(t, "books", s.books(), before)

	s.Put("/statements/"+statement.String(), object{"status": "draft"}).Want(200)
	s.sync("full")
	golden.List(t, "books", s.books(), before)

	if got := s.Get("/reservations?search=C-r1&connectionIds=" + old.String()).Want(200); got.Len("data") != 1 || s.counting() != 2 {
		t.Errorf("the stays are %s", got.Body)
	}
}
