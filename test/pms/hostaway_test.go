package pms_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"stayledger/platform/db"
	"stayledger/provider/sandbox/hostaway"
	"stayledger/test/world"
)

func TestHostawayIsReadIntoTheBooks(t *testing.T) {
	t.Parallel()

	system, err := hostaway.New(hostaway.Config{AccountID: "28673", APIKey: "our-key"})
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewServer(system)

	t.Cleanup(func() {
		system.Close()
		server.Close()
	})

	system.SetListing(hostaway.Object{"id": 40160, "name": "Charming", "internalListingName": "House 1", "currencyCode": "USD", "timeZoneName": "America/Chicago"})

	for i, status := range []string{"new", "ownerStay", "awaitingPayment"} {
		system.SetReservation(hostaway.Object{
			"id": i + 1, "listingMapId": 40160, "channelId": 2018, "status": status, "confirmationCode": "H-" + status, "currency": "USD",
			"arrivalDate": "2026-01-10", "departureDate": "2026-01-13", "reservationDate": "2026-01-02 02:30:00", "totalPrice": "450.50000",
			"financeField": []hostaway.Object{
				hostaway.Field("accommodation", "baseRate", 410.5), hostaway.Field("discount", "couponDiscount", 10),
				hostaway.Field("fee", "cleaningFee", "50"), hostaway.Field("totals", "totalPriceFromChannel", 450.5),
			},
		})
	}

	s := &scene{World: world.New(t)}
	s.connection = s.Post("/connections", object{
		"appId": "hostaway", "name": "Rentals", "settings": object{"baseUrl": server.URL + "/v1"},
		"credentials": object{"accountId": "28673", "apiKey": "our-key"},
	}).Want(202).ID("resource.id")
	s.Outlast(nil)

	if got := s.Get(s.path("")).Want(200); got.String("status") != "active" || got.String("externalAccount.id") != "28673" {
		t.Fatalf("the connection is %s", got.Body)
	}

	// What waits for payment is left out.
	got := s.sync("incremental")
	if got.String("status") != "completed" || got.Int("counts.reservation.completed") != 2 || got.Int("counts.reservation.skipped") != 1 {
		t.Fatalf("the sync is %s", got.Body)
	}

	one := s.stay("H-new")
	if one.Int("financials.total") != 45_050 || one.String("bookingPlatform") != "airbnb" || one.Len("lines") != 3 || one.String("bookedAt") != "2026-01-01" {
		t.Errorf("the stay is %s", one.Body)
	}

	if own := s.stay("H-ownerStay"); own.String("type") != "ownerStay" || own.Len("lines") != 0 {
		t.Errorf("the owner stay is %s", own.Body)
	}

	// Each call counted as one of the team.
	s.System(func(ctx context.Context, tx *db.Tx) error {
		used, err := db.Get[float64](ctx, tx, `select coalesce(sum((uses ->> @team)::float8), 0) from call_budget where name = @host`,
			db.Args{"team": s.ID.String(), "host": strings.TrimPrefix(server.URL, "http://")})
		if used < 2 {
			t.Errorf("the team made %g calls", used)
		}

		return err
	})

	// It is canceled, and a part of the money is kept.
	err = system.ChangeReservation("1", func(o hostaway.Object) {
		o["status"], o["cancellationDate"] = "cancelled", "2026-11-01 02:30:00"
		o["financeField"] = []hostaway.Object{hostaway.Field("totals", "cancellationPayout", 100)}
	})
	if err != nil {
		t.Fatal(err)
	}

	s.sync("incremental")

	if one = s.stay("H-new"); one.String("status") != "canceled" || one.Int("lines.0.amount") != 10_000 || one.String("cancelledAt") != "2026-10-31" {
		t.Errorf("the canceled stay is %s", one.Body)
	}
}
