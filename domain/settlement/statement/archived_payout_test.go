package statement_test

import (
	"testing"

	"stayledger/platform/apierr"
	"stayledger/test/world"
)

// A payout that was archived brought no one anything: it neither keeps the statement published nor pays it.
// Proves: RSN-60.
func TestAnArchivedPayoutHoldsNothing(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	ada := w.Contact("owner", "Ada")
	villa := w.Listing("Villa", ada)
	w.Stay(villa, "2026-01-10", 10_000)
	w.Publish("2026-01", villa)
	statement := w.Statement(villa, "2026-01")
	payout := w.Post("/transactions", world.Object{"type": "payout", "date": "2026-02-05", "lines": world.Array{
		world.Object{"amount": 10_000, "listingId": villa.ID, "contactId": ada, "ownerStatementId": statement},
	}}).Want(201).ID("id")

	path := "/statements/" + statement.String()
	for _, status := range []string{"inReview", "draft"} {
		w.Put(path, world.Object{"status": status}).WantError(apierr.CodeConflict, apierr.ReasonStatementHasPayouts)
	}

	w.Put("/transactions/"+payout.String(), world.Object{"status": "inactive"}).Want(200)

	if s := w.Get(path).Want(200); s.Int("payment.received") != 0 || s.String("payment.status") != "unpaid" {
		t.Errorf("the payout that was archived still pays: %s", s.Body)
	}

	w.Put(path, world.Object{"status": "inReview"}).Want(200)
	w.Put(path, world.Object{"status": "draft"}).Want(200)
	w.Put(path, world.Object{"status": "published"}).Want(200)
	w.Put("/transactions/"+payout.String(), world.Object{"status": "active"}).Want(200)
	// Back in the books it settles what is open, and names the statement no more.
	if s := w.Get(path).Want(200); s.Int("payment.received") != 10_000 || s.Len("payouts") != 0 {
		t.Errorf("the payout that was taken off: %s", s.Body)
	}

	w.Put(path, world.Object{"status": "inReview"}).Want(200)
}
