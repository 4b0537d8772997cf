package fee_test

import (
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/id"
)

const periods = "/recurring-fees/listing-periods"

// Proves: DRY-41, ERR-111.
func TestListingPeriods(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.stay("2026-01-29")
	feeID := b.Post("/recurring-fees", b.fee()).Want(201).String("id")
	b.wantCharged(0)

	p := b.Post(periods, object{"recurringFeeId": feeID, "listingId": b.listing, "startAt": "2026-01-01", "rate": 5_000}).Want(201)
	if p.String("recurringFee.name") != "Management" || p.String("endAt") != "null" || p.Int("rate") != 5_000 {
		t.Errorf("%s", p.Body)
	}

	b.wantCharged(5_000)

	own := periods + "/" + p.String("id")
	b.Put(own, object{"rate": nil}).Want(200)
	b.wantCharged(20_000)
	b.Post(periods, object{"recurringFeeId": feeID, "listingId": b.listing, "startAt": "2027-01-01"}).WantError(apierr.CodeBadRequest, "").WantIssue("overlap", "startAt")
	b.Put(own, object{"endAt": "2026-01-01"}).WantError(apierr.CodeBadRequest, "").WantIssue("dateOrder", "endAt")
	b.Put(own, object{"endAt": "2026-01-29"}).Want(200)
	b.wantCharged(0)
	b.Post(periods, object{"recurringFeeId": feeID, "listingId": b.listing, "startAt": "2026-01-29"}).Want(201)
	b.wantCharged(20_000)

	if got := b.Get(periods + "?recurringFeeId=" + feeID + "&listingIds=" + b.listing.String() + "&sort=-startAt").Want(200); got.Len("data") != 2 || got.String("data.0.startAt") != "2026-01-29" {
		t.Errorf("%s", got.Body)
	}

	b.Delete(own).Want(204)
	b.Delete(own).WantError(apierr.CodeNotFound, "")
	b.Put(own, object{}).WantError(apierr.CodeNotFound, "")

	if got := b.Get(periods).Want(200); got.Len("data") != 1 {
		t.Errorf("%s", got.Body)
	}

	b.Delete(periods + "/" + b.Get(periods).String("data.0.id")).Want(204)
	b.wantCharged(0)
	b.Get(periods+"?recurringFeeId=abc").WantError(apierr.CodeBadRequest, "").WantIssue("uuid", "recurringFeeId")
}

// A new period can end the open one before it, and only where it starts later.
func TestPeriodTruncatesTheEarlierOne(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	january, march := b.stay("2026-01-10"), b.stay("2026-03-10")
	path := b.add("listingSubscriptions", b.subscriptions(object{"startAt": "2026-01-01"}))
	b.wantCharged(40_000)

	feeID := path[len("/recurring-fees/"):]
	earlier := b.Get(periods).String("data.0.id")

	next := func(startAt any) object {
		return object{"recurringFeeId": feeID, "listingId": b.listing, "startAt": startAt, "rate": 10_000, "onConflict": "truncate"}
	}
	for _, startAt := range []any{nil, "2025-12-01", "2026-01-01"} {
		body := next(startAt)
		if startAt == nil {
			delete(body, "startAt")
		}

		b.Post(periods, body).WantError(apierr.CodeBadRequest, "").WantIssue("overlap", "startAt")
	}

	b.Post(periods, next("2026-03-01")).Want(201)
	b.wantStale(path, january, march) // both are on a date that one of the periods had before

	if got := b.Get(periods + "?ids=" + earlier).String("data.0.endAt"); got != "2026-03-01" {
		t.Errorf("the earlier period ends %s", got)
	}

	b.wantCharged(30_000)

	between := next("2026-02-01")
	between["endAt"] = "2026-02-20"
	b.Post(periods, between).WantError(apierr.CodeBadRequest, "").WantIssue("overlap", "startAt") // the one in the way has an end
}

func TestPeriodRefusals(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	feeID := b.Post("/recurring-fees", b.fee()).Want(201).String("id")
	unknown := id.New(b.DB.Now())
	b.Post(periods, object{"recurringFeeId": unknown, "listingId": b.listing}).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "recurringFeeId")
	b.Post(periods, object{"recurringFeeId": feeID, "listingId": unknown}).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "listingId")
	b.Post(periods, object{"recurringFeeId": feeID, "listingId": b.listing, "onConflict": "ignore"}).WantError(apierr.CodeBadRequest, "").WantIssue("enum", "onConflict")
	p := periods + "/" + b.Post(periods, object{"recurringFeeId": feeID, "listingId": b.listing}).Want(201).String("id")
	stranger := newBooks(t)
	stranger.Put(p, object{}).WantError(apierr.CodeNotFound, "")
	stranger.Delete(p).WantError(apierr.CodeNotFound, "")
	stranger.Post(periods, object{"recurringFeeId": feeID, "listingId": stranger.listing}).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "recurringFeeId")

	if got := stranger.Get(periods + "?recurringFeeId=" + feeID).Len("data"); got != 0 {
		t.Error("another team's listing period is listed")
	}
}
