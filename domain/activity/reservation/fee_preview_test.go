package reservation_test

import (
	"strconv"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/golden"
	"stayledger/platform/id"
)

// lines are the previewed lines as text: name, amount and why not, with a star for those of the previewed fee.
func previewLines(r *apitest.Response) (out []string) {
	for i := range r.Len("lines") {
		at := "lines." + strconv.Itoa(i) + "."

		text := r.String(at+"type") + " " + r.String(at+"name") + " " + r.String(at+"amount")
		if reason := r.String(at + "inactiveReason"); reason != "null" {
			text += " " + reason
		}

		if r.String(at+"fee") == "true" {
			text += " *"
		}

		out = append(out, text)
	}

	return out
}

func wantTotals(t *testing.T, r *apitest.Response, want map[string]int64) {
	t.Helper()

	for name, amount := range want {
		if got := r.Int("totals." + name); got != amount {
			t.Errorf("%s %d, want %d: %s", name, got, amount, r.Body)
		}
	}
}

// Example A before and after a fee is agreed on: the owner is left 762.04, the manager 350.00.
// Proves: DRY-65, DRY-66.
func TestFeePreview(t *testing.T) {
	t.Parallel()
	b := newBooks(t)

	const path = "/recurring-fees/preview"

	b.Post("/recurring-fees", b.fee("name", "Cleaning", "formula", "cleaningFee", "defaultRate", 100_000)).Want(201)
	merchant := b.Post("/recurring-fees", b.fee("name", "Merchant", "formula", "merchantFee", "defaultRate", 100_000, "listingSubscriptions", []any{})).Want(201)
	r := b.Post("/reservations", b.stay()).Want(201)
	b.pay(r.ID("id"), 128_800, 3_796)
	stored := b.entries()
	fingerprint := b.Fingerprint()
	unsaved := b.fee()
	delete(unsaved, "listingSubscriptions")
	got := b.Post(path, object{"reservationId": r.ID("id"), "fee": unsaved}).Want(200)
	wantTotals(t, got, map[string]int64{
		"tax": 13_800, "reservation": 128_800, "guest": 128_800, "deposit": 128_800, "expense": 3_796, "fee": 20_000, "owner": 80_000, "manager": 35_000 - 3_796,
	})

	want := []string{
		"reservation rent 100000", "reservation cleaningFee 15000", "reservation tax 13800", "recurringFee Cleaning 15000", "recurringFee Management 20000 *",
		"deposit merchantFee 3796",
	}
	golden.List(t, "lines", previewLines(got), want)

	if got.String("lines.0.account.name") != "Rent" || got.String("lines.4.recurringFee.name") != "Management" || got.String("lines.5.transaction.date") != "2026-01-05" {
		t.Errorf("%s", got.Body)
	}

	got = b.Post(path, object{"reservationId": r.ID("id"), "recurringFeeId": merchant.ID("id")}).Want(200)
	wantTotals(t, got, map[string]int64{"fee": 3_796, "owner": 100_000 - 3_796, "manager": 15_000})

	if b.Fingerprint() != fingerprint {
		t.Error("a preview changed rows")
	}

	if got.Has("id") || got.Has("name") {
		t.Errorf("the preview of a fee reads like a fee: %s", got.Body)
	}

	b.wantEntries(stored...)

	b.Put("/reservations/"+r.String("id"), object{"status": "canceled"}).Want(200)
	got = b.Post(path, object{"reservationId": r.ID("id"), "fee": unsaved}).Want(200)
	wantTotals(t, got, map[string]int64{"fee": 0, "owner": 0, "guest": 0, "tax": 0})

	if lines := previewLines(got); lines[0] != "reservation rent 100000 reservationCancelled" || lines[4] != "recurringFee Management 0 reservationCancelled *" {
		t.Errorf("%q", lines)
	}

	unknown := id.New(b.DB.Now())
	b.Post(path, object{"reservationId": unknown, "fee": unsaved}).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "reservationId")
	b.Post(path, object{"reservationId": r.ID("id"), "recurringFeeId": unknown}).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "recurringFeeId")
	b.Post(path, object{"reservationId": r.ID("id")}).WantError(apierr.CodeBadRequest, "").WantIssue("contradiction", "fee")

	unsaved["formula"] = "rent +"
	b.Post(path, object{"reservationId": r.ID("id"), "fee": unsaved}).WantError(apierr.CodeBadRequest, "").WantIssue("formulaInvalid", "fee.formula")
	b.Post(path+"?dryRun=true", object{"reservationId": r.ID("id")}).WantError(apierr.CodeBadRequest, "")
}

// A fee that is not stored may bear the name of one that is, and a stored one is charged once, whatever stays its
// listing periods leave out.
func TestFeePreviewOfStoredFees(t *testing.T) {
	t.Parallel()
	b := newBooks(t)

	const path = "/recurring-fees/preview"

	stored := b.Post("/recurring-fees", b.fee("listingSubscriptions", []any{
		object{"listingId": b.listing, "endAt": "2020-01-01", "rate": 1}, object{"listingId": b.listing, "startAt": "2030-01-01", "rate": 2},
	})).Want(201)
	r := b.Post("/reservations", b.stay()).Want(201)
	fee := func(want int64, body object) {
		t.Helper()

		body["reservationId"] = r.ID("id")
		got := b.Post(path, body).Want(200)
		wantTotals(t, got, map[string]int64{"fee": want})

		for i, line := range previewLines(got)[3:] {
			if i > 0 {
				t.Errorf("charged twice: %s", line)
			}
		}
	}
	fee(20_000, object{"recurringFeeId": stored.ID("id")})
	b.Put("/reservations/"+r.String("id"), object{"generalLedgerPostingAt": "2031-05-05"}).Want(200)
	fee(2, object{"recurringFeeId": stored.ID("id")})

	unknown := id.New(b.DB.Now())
	b.Post(path, object{"reservationId": r.ID("id"), "fee": b.fee("listingSubscriptions", []any{object{"listingId": unknown}})}).
		WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "fee.listingSubscriptions.0.listingId")
	b.Delete("/recurring-fees/" + stored.String("id") + "?onLocked=archive").Want(204)
	fee(10_000, object{"fee": b.fee("defaultRate", 10_000)})
	b.Post(path, object{"reservationId": r.ID("id"), "recurringFeeId": stored.ID("id")}).WantError(apierr.CodeBadRequest, "").WantIssue("notFound", "recurringFeeId")
}

// The journal preview shows what does not count, and why.
// Proves: VER-05.
func TestPreviewShowsInactiveLines(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.Post("/recurring-fees", b.fee("bookingChannelsFilter", []string{"airbnb"})).Want(201)
	r := b.Post("/reservations", b.stay("lines", []any{object{"type": "rent", "amount": 100}, object{"type": "spa", "amount": 50}})).Want(201)
	path := "/reservations/" + r.String("id")
	b.Post(path+"/adjustments", object{"amount": 10, "accountRef": "4030", "description": "Broken lamp"}).Want(201)

	previewed := func(want ...string) {
		t.Helper()

		got := b.Get(path + "/journal-preview").Want(200)

		lines := previewLines(got)
		for i := range want {
			if i >= len(lines) || lines[i] != want[i] {
				t.Fatalf("%q, want %q", lines, want)
			}
		}
	}
	previewed("reservation rent 100", "reservation spa 50 unassignedAccount", "adjustment Broken lamp 10", "recurringFee Management 0 channelNotIncluded")
	b.Put(path, object{"status": "canceled"}).Want(200)
	previewed("reservation rent 100 reservationCancelled", "reservation spa 50 reservationCancelled", "adjustment Broken lamp 10", "recurringFee Management 0 reservationCancelled")
	b.Put(path, object{"status": "booked", "generalLedgerStatus": "inactive"}).Want(200)
	previewed("reservation rent 100 generalLedgerInactive", "reservation spa 50 unassignedAccount", "adjustment Broken lamp 10 generalLedgerInactive", "recurringFee Management 0 channelNotIncluded")
}
