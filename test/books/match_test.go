package books_test

import "testing"

// Money that arrives before its reservation is linked when the reservation does, and its processor's fee is charged on
// like any other.
func TestMoneyWaitsForItsReservation(t *testing.T) {
	t.Parallel()
	v := newVilla(t)
	v.usualFees()

	paid := object{"assignment": "accountsReceivable", "amount": 64400, "matchReservationConfirmationCode": "HM1"}
	kept := object{"assignment": "deposit_merchantFee", "amount": -1898, "matchReservationConfirmationCode": "HM1"}
	deposit := v.Post("/transactions", object{"type": "deposit", "date": "2026-01-05", "lines": list{paid, kept}}).Want(201).String("id")

	stay := v.Post("/reservations", object{
		"listingId": v.listing, "checkIn": "2026-01-29", "checkOut": "2026-02-03", "confirmationCode": "HM1", "lines": list{object{"type": "rent", "amount": 100000}},
	}).Want(201).String("id")
	if got := v.Get("/transactions/" + deposit).String("journalStatus.status"); got != "recalculating" {
		t.Errorf("the journal of the deposit is %s", got)
	}

	v.Work()

	if got := v.Get("/transactions/" + deposit); got.String("lines.0.reservationId") != stay || got.String("journalStatus.status") != "current" {
		t.Errorf("linked %s", got.Body)
	}

	if got := v.Get("/reservations/" + stay).String("financials.paid"); got != "64400" {
		t.Errorf("paid %s", got)
	}

	v.want("2026-01-31", map[string]int64{
		"1000": 62502, "5010 manager": 1898, "2000": 35600, "4000 owners": -100000, "5100 owners": 20000, "4100 manager": -20000,
		"5120 owners": 1898, "4120 manager": -1898,
	})
}
