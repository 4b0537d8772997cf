package intake_test

import (
	"context"
	"testing"

	"stayledger/app"
	"stayledger/domain/record/intake"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Listings come before their stays, are the same by their reference, and stay when their source has them no more.
func TestListingsAreTakenIn(t *testing.T) {
	t.Parallel()

	source := &script{kinds: []string{"listing", "reservation"}}
	s := newScene(t, func(o *app.External) {
		o.Sources = func(context.Context, *db.DB, db.Scope, id.ID) (intake.Source, error) { return source, nil }
	})
	mine := s.Post("/listings", object{"name": "My own name", "uniqueRef": "L2"}).Want(201).ID("id")

	source.give("listing", "1", object{"name": "Beach house", "uniqueRef": "L1", "address": object{"city": "Lisbon"}})
	source.give("listing", "2", object{"name": "Their name", "uniqueRef": "L2", "address": object{"city": "Porto"}})
	source.give("listing", "3", object{"uniqueRef": "L3"})
	source.give("listing", "4", object{"name": "Attic", "defaultCurrency": "zzz"})
	source.give("listing", "5", object{"name": "Cellar", "uniqueRef": "L1"})
	source.give("reservation", "r1", object{"checkIn": "2026-02-01", "checkOut": "2026-02-03", "confirmationCode": "C1"})
	source.changes[5].Refs = map[string]intake.Reference{"listingId": {Kind: "listing", ExternalID: "1"}}

	s.sync(intake.Incremental)

	s.want(map[string]string{
		"1": "completed", "2": "completed conflict", "3": "failed required", "4": "failed currency", "5": "failed duplicateUniqueRef", "r1": "completed",
	})
	s.Get("/listings/"+mine.String()).Want(200).WantFields("", object{"name": "My own name", "address.city": "Porto", "status": "active"})

	beach := s.Get("/listings?search=beach").Want(200)
	beach.WantFields("data.0", object{"name": "Beach house", "uniqueRef": "L1", "address.city": "Lisbon", "defaultCurrency": "usd"})

	s.Get("/reservations?listingIds="+beach.String("data.0.id")).Want(200).WantFields("data.0", object{"confirmationCode": "C1"})

	source.changes = []intake.Change{{Kind: "listing", ExternalID: "1", Gone: true}}

	s.sync(intake.Incremental)
	s.Get("/listings/"+beach.String("data.0.id")).Want(200).WantFields("", object{"status": "active"})
}

// A system that says another currency of a listing with amounts in its own changes everything else.
func TestASyncKeepsTheCurrencyOfAListingInUse(t *testing.T) {
	t.Parallel()

	source := &script{kinds: []string{"listing"}}
	s := newScene(t, func(o *app.External) {
		o.Sources = func(context.Context, *db.DB, db.Scope, id.ID) (intake.Source, error) { return source, nil }
	})
	used := s.Post("/listings", object{"name": "Used", "uniqueRef": "L1", "initialOwnership": object{
		"members": array{object{"contactId": s.Contact("owner", "Ben"), "split": 100_000}}, "reserve": 20_000,
	}}).Want(201).String("id")
	free := s.Post("/listings", object{"name": "Free", "uniqueRef": "L2"}).Want(201).String("id")

	for _, currency := range []string{"usd", "gbp"} {
		source.changes = nil
		source.give("listing", "1", object{"uniqueRef": "L1", "address": object{"city": "Leeds " + currency}, "defaultCurrency": currency})
		source.give("listing", "2", object{"uniqueRef": "L2", "address": object{"city": "York " + currency}, "defaultCurrency": currency})
		s.sync(intake.Incremental)
	}

	s.Get("/listings/"+used).Want(200).WantFields("", object{"address.city": "Leeds gbp", "defaultCurrency": "usd"})
	s.Get("/listings/"+free).Want(200).WantFields("", object{"address.city": "York gbp", "defaultCurrency": "gbp"})

	// A person is asked, cannot take what would change the unit of amounts, and is asked until the system says the same again.
	s.open("1 defaultCurrency usd/gbp")

	got := s.Post("/sync-conflicts/settle", object{"data": array{object{"id": s.conflict("1", "defaultCurrency"), "take": "theirs"}}}).Want(200)
	if got.String("issues.0.reason") != "inUse" {
		t.Errorf("settling is answered with %s", got.Body)
	}

	s.sync(intake.Full)
	s.open("1 defaultCurrency usd/gbp")

	source.changes = nil
	source.give("listing", "1", object{"uniqueRef": "L1", "defaultCurrency": "usd"})
	s.sync(intake.Full)
	s.open()
}
