package pms_test

import (
	"net/http/httptest"
	"testing"

	"stayledger/provider/sandbox/ownerrez"
	"stayledger/test/world"
)

func TestOwnerRezIsReadIntoTheBooks(t *testing.T) {
	t.Parallel()

	system, err := ownerrez.New(ownerrez.Config{Email: "ada@example.com", Token: "pt_ours", AccountID: "77"})
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewServer(system)

	t.Cleanup(func() {
		system.Close()
		server.Close()
	})

	system.SetProperty(ownerrez.Object{"id": 40001, "name": "House 1", "active": true, "currency_code": "USD"})

	for i, kind := range []string{"booking", "owner", "block"} {
		system.SetBooking(ownerrez.Object{
			"id": i + 1, "property_id": 40001, "type": kind, "is_block": kind == "block", "status": "active", "listing_site": "Airbnb",
			"platform_reservation_number": "HM-" + kind, "currency_code": "USD", "arrival": "2026-01-10", "departure": "2026-01-13",
			"booked_utc": "2026-01-02T10:00:00Z", "total_amount": 450.5, "charges": []ownerrez.Object{
				ownerrez.Charge("rent", "Rent", 410.5), ownerrez.Charge("rent", "Weekly discount", -10), ownerrez.Charge("surcharge", "Cleaning", 50),
			},
		})
	}

	// The hold of a channel, of which a booking is made later.
	system.SetBooking(ownerrez.Object{
		"id": 9, "property_id": 40001, "type": "block", "is_block": true, "status": "pending", "title": "Hold for HM-held", "currency_code": "USD",
		"platform_reservation_number": "HM-held", "arrival": "2026-02-10", "departure": "2026-02-13", "total_amount": 90,
	})

	s := &scene{World: world.New(t)}
	s.connection = s.Post("/connections", object{
		"appId": "ownerrez", "name": "Rentals", "settings": object{"baseUrl": server.URL + "/v2"},
		"credentials": object{"email": "ada@example.com", "token": "pt_ours"},
	}).Want(202).ID("resource.id")
	s.Outlast(nil)

	if got := s.Get(s.path("")).Want(200); got.String("status") != "active" || got.String("externalAccount.id") != "77" {
		t.Fatalf("the connection is %s", got.Body)
	}

	// Blocks and holds are left out.
	got := s.sync("incremental")
	if got.String("status") != "completed" || got.Int("counts.reservation.completed") != 2 || got.Int("counts.reservation.skipped") != 2 {
		t.Fatalf("the sync is %s", got.Body)
	}

	one := s.stay("HM-booking")
	if one.Int("financials.total") != 45_050 || one.String("bookingPlatform") != "airbnb" || one.Len("lines") != 3 {
		t.Errorf("the stay is %s", one.Body)
	}

	if own := s.stay("HM-owner"); own.String("type") != "ownerStay" || own.Len("lines") != 0 {
		t.Errorf("the owner stay is %s", own.Body)
	}

	// The hold becomes a booking under the same id, and the first stay is canceled with a part of the money kept.
	err = system.ConvertHold("9")
	if err == nil {
		err = system.ChangeBooking("1", func(o ownerrez.Object) { o["status"], o["total_amount"] = "canceled", 100 })
	}

	if err != nil {
		t.Fatal(err)
	}

	s.sync("incremental")

	if held := s.stay("HM-held"); held.String("status") != "booked" || held.Int("financials.total") != 9000 {
		t.Errorf("the stay that was a hold is %s", held.Body)
	}

	if one = s.stay("HM-booking"); one.String("status") != "canceled" || one.Int("lines.0.amount") != 10_000 {
		t.Errorf("the canceled stay is %s", one.Body)
	}
}

// OwnerRez gives instants. Their days are those of the listing's zone, or else of the team's.
func TestAnInstantOfASystemIsADayOfTheListing(t *testing.T) {
	t.Parallel()

	system, err := ownerrez.New(ownerrez.Config{Email: "ada@example.com", Token: "pt_ours", AccountID: "77"})
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewServer(system)

	t.Cleanup(func() {
		system.Close()
		server.Close()
	})

	for i, name := range []string{"chicago", "tokyo"} {
		system.SetProperty(ownerrez.Object{"id": 40001 + i, "name": name, "active": true, "currency_code": "USD"})
		system.SetBooking(ownerrez.Object{
			"id": 1 + i, "property_id": 40001 + i, "type": "booking", "is_block": false, "status": "active", "platform_reservation_number": name,
			"currency_code": "USD", "arrival": "2026-12-10", "departure": "2026-12-13", "booked_utc": "2026-07-01T04:30:00Z", "total_amount": 0,
		})
	}

	s := &scene{World: world.New(t)}
	s.SetZone("America/Chicago")
	s.connection = s.Post("/connections", object{
		"appId": "ownerrez", "name": "Rentals", "settings": object{"baseUrl": server.URL + "/v2"},
		"credentials": object{"email": "ada@example.com", "token": "pt_ours"},
	}).Want(202).ID("resource.id")
	s.Outlast(nil)
	s.sync("incremental")

	// Both are booked on the evening of 30 June in Chicago. From now on the second listing has its own zone.
	for _, name := range []string{"chicago", "tokyo"} {
		if got := s.stay(name).String("bookedAt"); got != "2026-06-30" {
			t.Errorf("%s is booked on %s", name, got)
		}
	}

	tokyo := "/listings/" + s.stay("tokyo").String("listing.id")
	if got := s.Put(tokyo, object{"timeZone": "Asia/Tokyo"}).Want(200); got.String("timeZone") != "Asia/Tokyo" {
		t.Errorf("the listing is %s", got.Body)
	}

	// Canceled on 31 October at 21:30 in Chicago, which is 11:30 on 1 November in Tokyo.
	for _, stay := range []string{"1", "2"} {
		err := system.ChangeBooking(stay, func(o ownerrez.Object) { o["status"], o["canceled_utc"] = "canceled", "2026-11-01T02:30:00Z" })
		if err != nil {
			t.Fatal(err)
		}
	}

	s.sync("incremental")

	for name, want := range map[string]string{"chicago": "2026-10-31 2026-06-30", "tokyo": "2026-11-01 2026-07-01"} {
		if got := s.stay(name); got.String("status") != "canceled" || got.String("cancelledAt")+" "+got.String("bookedAt") != want {
			t.Errorf("%s: %s", name, got.Body)
		}
	}

	s.Put(tokyo, object{"timeZone": "Tokyo"}).WantError("BAD_REQUEST", "").WantIssue("timeZone", "timeZone")
}

// OwnerRez gives addresses one by one, so its listings come 20 at a time, on pages that overlap.
func TestManyListingsOfOwnerRezAreConnected(t *testing.T) {
	t.Parallel()

	const many = 45

	system, err := ownerrez.New(ownerrez.Config{Email: "ada@example.com", Token: "pt_ours"})
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewServer(system)

	t.Cleanup(func() {
		system.Close()
		server.Close()
	})

	if err := system.Generate(ownerrez.Plan{Properties: many}); err != nil {
		t.Fatal(err)
	}

	s := &scene{World: world.New(t)}
	s.connection = s.Post("/connections", object{
		"appId": "ownerrez", "name": "Rentals", "settings": object{"baseUrl": server.URL + "/v2"},
		"credentials": object{"email": "ada@example.com", "token": "pt_ours"},
	}).Want(202).ID("resource.id")
	s.Outlast(nil)

	if got := s.Get(s.path("/listing-mappings")).Want(200); got.Len("data") != many {
		t.Errorf("%d listings are connected: %s", got.Len("data"), got.Body)
	}
}
