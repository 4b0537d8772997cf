package pms_test

import (
	"context"
	"testing"

	"stayledger/platform/db"
	sandbox "stayledger/provider/sandbox/pms"
)

// A team connects its system, says which listings are which, and reads it: then edits, a cancellation, an owner stay, a
// deletion and an edit of a person's.
//
// Proves: INIT-14, AUD-04, AUD-05.
func TestJourneyOverOurProtocol(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	here := s.Listing("House 1", s.Contact("owner", "Ada"))
	s.system.SetListing(sandbox.Listing{ID: "L1", Name: " HOUSE  1", Currency: "usd"})
	s.system.SetListing(sandbox.Listing{ID: "L2", Name: "House 2", Currency: "usd", Address: &sandbox.Address{Street: "2 Shore Road", City: "Harborview"}})
	s.system.SetReservation(booked("r1", "L1", "2026-01-10", "2026-01-13"))
	s.system.SetReservation(booked("r2", "L2", "2026-01-10", "2026-01-13"))
	s.connect()

	if got := s.Get(s.path("")).Want(200); got.String("externalAccount.id") != "acc_1" || got.String("app.kind") != "pms" {
		t.Errorf("the connection is %s", got.Body)
	}

	// The first sync waits until it is said which listings are which.
	s.Post(s.path("/sync"), nil).WantError("CONFLICT", "listingMappingRequired")

	mappings := s.Get(s.path("/listing-mappings")).Want(200)
	if mappings.String("data.0.status") != "matched" || mappings.String("data.0.suggestedListing.id") != here.ID.String() ||
		mappings.String("data.1.status") != "unmapped" || mappings.Has("data.1.suggestedListing.id") {
		t.Errorf("the mappings are %s", mappings.Body)
	}

	s.Put(s.path("/listing-mappings"), object{"data": array{}}).Want(200)

	if got := s.sync("incremental"); got.String("status") != "completed" || got.Int("counts.reservation.completed") != 2 {
		t.Fatalf("the sync is %s", got.Body)
	}

	one, two := s.stay("C-r1"), s.stay("C-r2")
	if one.String("listingId") != here.ID.String() || one.String("connectionId") != s.connection.String() || one.String("sourceId") != "r1" ||
		one.String("appId") != "pmsProtocol" || one.String("source.id") != "r1" || one.Int("financials.total") != 45_050 || one.String("bookingPlatform") != "airbnb" {
		t.Errorf("the stay is %s", one.Body)
	}

	if got := s.Get("/listings/" + two.String("listingId")).Want(200); got.String("name") != "House 2" || got.String("address.line1") != "2 Shore Road" ||
		got.String("connectionId") != s.connection.String() || got.String("source.id") != "L2" || got.String("source.appId") != "pmsProtocol" {
		t.Errorf("the new listing is %s", got.Body)
	}

	// Events of what came over the connection say so.
	s.Tx(func(ctx context.Context, tx *db.Tx) error {
		told, err := db.Get[int64](ctx, tx, `
			select count(*) from audit_event where team_id = @team and entity_type = 'reservation' and entity_id = @id and source_type = 'integration'
				and connection_id = @connection`, db.Args{"team": tx.Team, "id": one.ID("id"), "connection": s.connection})
		if err == nil && told != 1 {
			t.Errorf("%d events tell of the import", told)
		}

		return err
	})

	if got := s.Get("/listings?connectionIds=" + s.connection.String()).Want(200); got.Len("data") != 2 {
		t.Errorf("the listings of the system are %s", got.Body)
	}

	s.followChanges()
}

// followChanges changes records at the system and here, and holds what is here to both.
func (s *scene) followChanges() {
	s.T.Helper()

	must := func(err error) {
		s.T.Helper()

		if err != nil {
			s.T.Fatal(err)
		}
	}

	// A person gives the guest another name; the system then gives the stay another night.
	s.Put("/reservations/"+s.stay("C-r1").String("id"), object{"guestName": "Ada Lovelace"}).Want(200)
	must(s.system.ChangeReservation("r1", func(r *sandbox.Reservation) { r.CheckOut, r.Guest.Name, r.Total = "2026-01-14", "A. L.", "500.50" }))
	must(s.system.ChangeReservation("r2", func(r *sandbox.Reservation) { r.Status, r.CanceledAt, r.Total = "canceled", "2026-01-05", "0.00" }))

	owner := booked("r3", "L1", "2026-02-01", "2026-02-03")
	owner.OwnerStay = true
	s.system.SetReservation(owner)

	inquiry := booked("r4", "L1", "2026-02-10", "2026-02-13")
	inquiry.Status = "inquiry"
	s.system.SetReservation(inquiry)
	s.sync("incremental")

	one := s.stay("C-r1")
	if one.String("guestName") != "Ada Lovelace" || one.String("checkOut") != "2026-01-14" || one.Int("financials.total") != 50_050 {
		s.T.Errorf("the changed stay is %s", one.Body)
	}

	if got := s.stay("C-r2"); got.String("status") != "canceled" || got.String("cancelledAt") != "2026-01-05" || got.Int("financials.total") != 0 {
		s.T.Errorf("the canceled stay is %s", got.Body)
	}

	if got := s.stay("C-r3"); got.String("type") != "ownerStay" || got.Int("financials.total") != 0 {
		s.T.Errorf("the owner's stay is %s", got.Body)
	}

	if got := s.Get("/reservations?search=C-r4").Want(200); got.Len("data") != 0 {
		s.T.Errorf("the inquiry is here: %s", got.Body)
	}

	// What the system deletes shows in a complete reading.
	must(s.system.DeleteReservation("r1"))
	s.sync("full")

	if got := s.stay("C-r1"); got.String("status") != "inactive" {
		s.T.Errorf("the deleted stay is %s", got.Body)
	}

	if got := s.Get("/reservations?connectionIds=" + s.connection.String()).Want(200); got.Len("data") != 3 {
		s.T.Errorf("of the connection are %s", got.Body)
	}
}

// What is not certain is decided by a person before anything is read.
//
// Proves: RSN-29, RSN-30.
func TestMappingsThatHaveToBeDecided(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	ada := s.Contact("owner", "Ada")
	one, other := s.Listing("House 1", ada), s.Listing("House 1", ada)
	s.system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Currency: "usd"})
	s.connect()

	asked := s.Get(s.path("/listing-mappings")).Want(200)
	if asked.Len("data") != 1 || asked.String("data.0.status") != "ambiguous" {
		t.Errorf("the mappings are %s", asked.Body)
	}

	s.Put(s.path("/listing-mappings"), object{"data": array{}}).WantError("CONFLICT", "listingMappingAmbiguous")
	s.Post(s.path("/sync"), nil).WantError("CONFLICT", "listingMappingRequired")
	s.Put(s.path("/listing-mappings"), object{"data": array{object{
		"targetListingConnectionId": asked.String("data.0.targetListingConnectionId"), "listingId": other.ID,
	}}}).Want(200)
	s.sync("full")

	if got := s.Get("/listings?connectionIds=" + s.connection.String()).Want(200); got.Len("data") != 1 || got.ID("data.0.id") != other.ID {
		t.Errorf("the listing of the system is %s, not %s or %s", got.Body, one.ID, other.ID)
	}
}

// Listings of a system that have one name are different listings, on whatever page they come; they are not taken for one
// that the system has brought before.
func TestListingsOfOneNameAreNotTakenForEachOther(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	page := 1
	s.system.Set(sandbox.Settings{PageSize: &page})

	for _, name := range []string{"L1", "L2", "L3"} {
		s.system.SetListing(sandbox.Listing{ID: name, Name: "Apartment", Currency: "usd"})
		s.system.SetReservation(booked("r"+name, name, "2026-01-10", "2026-01-13"))
	}

	s.connect()
	s.sync("full")
	s.same([]string{"rL1", "rL2", "rL3"})

	if got := s.Get("/listings?connectionIds=" + s.connection.String()).Want(200); got.Len("data") != 3 {
		t.Errorf("the listings are %s", got.Body)
	}
}

// Listings that come twice while a team is connected, on one page or on pages that overlap, are there once, as they came
// last.
func TestListingsThatComeTwiceAreThereOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t)

	for _, name := range []string{"L1", "L2"} {
		s.system.SetListing(sandbox.Listing{ID: name, Name: "House " + name, Currency: "usd"})
	}

	s.system.Break(sandbox.Fault{Mode: sandbox.DuplicateIDs, On: sandbox.OnListings})
	s.connect()

	if got := s.Get(s.path("/listing-mappings")).Want(200); got.Len("data") != 2 || got.String("data.1.name") != "House L2" {
		t.Errorf("the listings are %s", got.Body)
	}
}

// Nothing that asks a system, or has it asked, can be tried without effect.
//
// Proves: DRY-61.
func TestSyncsHaveNoDryRun(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.fill(1)
	s.connect()
	s.Post(s.path("/sync?dryRun=true"), nil).WantError("BAD_REQUEST", "")
	s.Put(s.path("/listing-mappings?dryRun=true"), object{"data": array{}}).WantError("BAD_REQUEST", "")

	sync := s.sync("full").String("id")
	s.Post("/syncs/"+sync+"/cancel?dryRun=true", nil).WantError("BAD_REQUEST", "")
	s.Put("/syncs/"+sync+"?dryRun=true", object{"status": "failed"}).WantError("BAD_REQUEST", "")
}

// Only reservations with an accounting date in the window of their connection are in the books, also when the window or
// the setting of the team changes.
//
// Proves: CUT-01, CUT-13..CUT-17, OPEN-56.
func TestOnlyWhatIsInTheWindowIsInTheBooks(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.system.SetListing(sandbox.Listing{ID: "L1", Name: "House 1", Currency: "usd"})
	s.system.SetReservation(booked("r1", "L1", "2026-01-30", "2026-02-03"))
	s.connect()
	s.sync("incremental")

	stay := s.stay("C-r1").String("id")
	posted := func() bool {
		return s.Get("/reports/journal-entries?reservationIds="+stay+"&startDate=2025-01-01&endDate=2027-01-01").Want(200).Len("data") > 0
	}

	if !posted() {
		t.Error("without a window nothing is posted")
	}

	for _, c := range []struct {
		window      object
		recognition string
		want        bool
	}{
		{object{"accountingStartAt": "2026-02-01", "accountingEndAt": nil}, "checkIn", false},
		{object{"accountingStartAt": "2026-02-01", "accountingEndAt": nil}, "checkOut", true},
		{object{"accountingStartAt": "2026-02-01", "accountingEndAt": nil}, "bookedAt", false},
		{object{"accountingStartAt": "2026-01-01", "accountingEndAt": "2026-02-03"}, "proRata", false},
		{object{"accountingStartAt": "2026-01-01", "accountingEndAt": "2026-02-03"}, "bookedAt", true},
		{object{"accountingStartAt": nil, "accountingEndAt": "2026-01-30"}, "checkIn", false},
		{object{"accountingStartAt": nil, "accountingEndAt": nil}, "checkIn", true},
	} {
		s.Put(s.path(""), c.window).Want(200)
		s.Put("/team", object{"defaultRevenueRecognition": c.recognition}).Want(200)
		s.Outlast(nil)

		if posted() != c.want {
			t.Errorf("%v by %s: posted %v", c.window, c.recognition, !c.want)
		}
	}

	// A window that ends before it starts is none, and closed books stay as they are.
	s.Put(s.path(""), object{"accountingStartAt": "2026-03-01", "accountingEndAt": "2026-03-01"}).WantError("BAD_REQUEST", "")
	s.Post("/team/books-closing", object{"booksClosedAt": "2026-02-01", "reason": "Done"}).Want(201)
	s.Put(s.path(""), object{"accountingStartAt": "2026-01-15"}).WantError("BAD_REQUEST", "")
	s.Put(s.path(""), object{"accountingStartAt": "2026-02-01"}).Want(200)
}
