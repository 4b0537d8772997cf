package statement_test

import (
	"testing"

	"stayledger/platform/apierr"
	"stayledger/test/world"
)

// A saved statement has the reference that its caller gives it, unique in the team. Lists find it, an import that names
// it is refused and changes nothing, and null takes it away.
//
// Proves: HST-47, RSN-20.
func TestReferenceOfAStatement(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	ann := w.Contact("owner", "Ann")
	villa, barn := w.Listing("Villa", ann), w.Listing("Barn", ann)
	create := func(ref any, listings ...world.Listing) world.Object {
		periods := world.Array{}
		for _, l := range listings {
			periods = append(periods, l.Period)
		}

		return world.Object{"month": "2026-01", "listingPeriodIds": periods, "uniqueRef": ref}
	}

	// One reference is for one statement.
	w.Post("/statements", create("jan", villa, barn)).WantError(apierr.CodeBadRequest, "").WantIssue("contradiction", "uniqueRef")
	w.Post("/statements", create("", villa)).WantError(apierr.CodeBadRequest, "").WantIssue("length", "uniqueRef")

	first := w.Post("/statements", create("jan", villa)).Want(201)
	if got := first.String("data.0.uniqueRef"); got != "jan" {
		t.Errorf("the reference is %q", got)
	}

	path := "/statements/" + first.String("data.0.id")

	// Another statement cannot have it, when it is saved and later.
	w.Post("/statements", create("jan", barn)).WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef)

	second := "/statements/" + w.Post("/statements", create(nil, barn)).Want(201).String("data.0.id")
	w.Put(second, world.Object{"uniqueRef": "jan"}).WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef)
	w.Put(second, world.Object{"status": "inReview", "uniqueRef": "barn"}).Want(200).WantFields("", map[string]any{"uniqueRef": "barn", "status": "inReview"})

	// It is kept by other changes, found, and shown where statements are.
	w.Put(path, world.Object{"status": "published"}).Want(200).WantFields("", map[string]any{"uniqueRef": "jan", "status": "published"})

	found := w.Get("/statements?uniqueRefs=jan,other").Want(200)
	if found.Int("pagination.total") != 1 || found.String("data.0.uniqueRef") != "jan" {
		t.Errorf("the list finds %s", found.Body)
	}

	// An import that names it is refused.
	w.Post("/statements/historic", world.Object{
		"uniqueRef": "jan", "listingId": villa.ID, "startAt": "2025-12-01", "endAt": "2025-12-31", "currency": "usd", "status": "published", "centBalanceStart": 0,
		"lines": world.Array{world.Object{"uniqueRef": "1", "type": "line", "accountId": w.Account("4000"), "centTotal": 5000}},
	}).WantError(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef)
	w.Get(path).Want(200).WantFields("", map[string]any{"uniqueRef": "jan", "status": "published", "startAt": "2026-01-01"})

	// Null takes it away; the statement stays published.
	w.Put(path, world.Object{"uniqueRef": nil}).Want(200).WantFields("", map[string]any{"uniqueRef": nil, "status": "published"})
	w.Put(second, world.Object{"uniqueRef": "jan"}).Want(200)

	// A draft has none, and loses it when the statement returns to draft.
	w.Put(second, world.Object{"status": "draft", "uniqueRef": "jan"}).WantError(apierr.CodeBadRequest, "").WantIssue("notStorable", "uniqueRef")
	w.Put(second, world.Object{"status": "draft"}).Want(200).WantFields("", map[string]any{"uniqueRef": nil, "status": "draft"})
	w.Put(second, world.Object{"uniqueRef": "jan"}).WantError(apierr.CodeBadRequest, "").WantIssue("notStorable", "uniqueRef")
	w.Put(second, world.Object{"status": "inReview", "uniqueRef": "jan"}).Want(200).WantFields("", map[string]any{"uniqueRef": "jan"})
}

// The reference of an imported statement is that by which imports find it, so it stays.
func TestReferenceOfAnImportedStatement(t *testing.T) {
	t.Parallel()
	w := severalBooks(t)
	path := "/statements/" + w.Get("/statements?uniqueRefs=old").Want(200).String("data.0.id")
	w.Put(path, world.Object{"uniqueRef": "new"}).WantError(apierr.CodeBadRequest, "").WantIssue("contradiction", "uniqueRef")
	w.Put(path, world.Object{"uniqueRef": nil}).WantError(apierr.CodeBadRequest, "").WantIssue("contradiction", "uniqueRef")
	w.Put(path, world.Object{"uniqueRef": "old"}).Want(200)
}
