package books_test

import (
	"testing"

	"stayledger/platform/apierr"
)

// A team comes from another system: its last statements are imported, their balance is brought into the books as an
// opening balance, and the first statement of the books goes on where they ended. Until it is there, the gap keeps that
// statement from being saved.
// Proves: HST-35, HST-53, ERR-112.
func TestTheFirstStatementGoesOnWhereTheImportedOnesEnd(t *testing.T) {
	t.Parallel()
	v := newVilla(t)
	v.Post("/statements/historic", object{
		"uniqueRef": "old-12", "listingId": v.listing, "startAt": "2025-12-01", "endAt": "2025-12-31", "currency": "usd", "status": "published",
		"centBalanceStart": 20000, "lines": list{
			object{"uniqueRef": "1", "type": "line", "accountId": v.account("4000"), "centTotal": 50000},
			object{"uniqueRef": "2", "type": "payout", "centTotal": 30000},
		},
	}).Want(201)
	v.stay("2026-01-10", "2026-01-12", object{"rent": 10000})
	january := "/statements/" + v.month("2026-01").ID

	refused := v.Put(january, object{"status": "published"}).WantError(apierr.CodeBadRequest, apierr.ReasonStatementHasBlockingIssues)
	if code := refused.String("context.issues.0.code"); code != "balanceMismatch_start" {
		t.Errorf("the gap is told as %s", refused.Body)
	}

	v.Put("/listings/"+v.listing+"/opening-balance", object{"amount": 40000}).Want(200)

	s := v.Put(january, object{"status": "published"}).Want(200)
	if s.Int("financials.balanceStart") != 40000 || s.Int("financials.balanceEnd") != 50000 || s.Len("issues") != 0 {
		t.Errorf("January is %s", s.Body)
	}
}
