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
