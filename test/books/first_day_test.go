package books_test

import (
	"maps"
	"testing"
)

// autumn is a villa whose books begin on 1 October 2026, with 250.00 held for its owners before.
func autumn(t *testing.T) *villa {
	t.Helper()
	v := newVilla(t)
	v.settings(object{"statementStartAt": "2026-10-01"})
	v.Put("/listings/"+v.listing+"/opening-balance", object{"amount": 25000}).Want(200)

	return v
}

// wantLedger compares how a stay is shown with what is wanted: its general ledger status, the reason for it, and which
// lists find it.
func (v *villa) wantLedger(stay, status string, reason any) {
	v.t.Helper()

	shown := v.Get("/reservations/" + stay).Want(200)
	shown.WantFields("", object{"generalLedgerStatus": status, "generalLedgerInactiveReason": reason, "journalStatus.status": "current"})

	for _, s := range []string{"active", "inactive"} {
		found := v.Get("/reservations?ids=" + stay + "&generalLedgerStatus=" + s).Want(200)
		if (found.Len("data") == 1) != (s == status) {
			v.t.Errorf("the list of %s reservations has %d of %s, which is %s", s, found.Len("data"), stay, status)
		}
	}
}

// wantPart compares the finding about the part of a stay before the first day of the books; nil is none.
func (v *villa) wantPart(stay string, want object) {
	v.t.Helper()

	shown := v.Get("/reservations/" + stay).Want(200)
	if want == nil {
		if n := shown.Len("issues"); n != 0 {
			v.t.Errorf("%d issues: %s", n, shown.Body)
		}

		return
	}

	context := object{"centTotal": 0, "feeCentTotal": 0, "deferredCentTotal": 0, "currency": "usd", "statementStartAt": "2026-10-01"}
	maps.Copy(context, want)
	shown.WantFields("issues.0", object{"code": "beforeStatementStartDate", "severity": "warning"})
	shown.WantFields("issues.0.context", context)
}

// A stay of August is before the books that begin in October: its 300.00 are part of the opening balance, however it
// comes, and the owners start October with the 250.00 that this holds.
func TestAStayBeforeTheFirstDayOfTheBooks(t *testing.T) {
	t.Parallel()
	v := autumn(t)
	before := v.trial("2026-01", "2026-12", "")

	one := v.stay("2026-08-10", "2026-08-13", object{"rent": 30000})
	many := v.Post("/reservations/batch", object{"data": list{object{
		"listingId": v.listing, "checkIn": "2026-08-20", "checkOut": "2026-08-23", "uniqueRef": "b", "lines": list{object{"type": "rent", "amount": 30000}},
	}}}).Want(200).String("data.0.id")
	v.Post("/reservations/"+one+"/adjustments", object{"description": "Late", "amount": 500, "accountId": v.account("4000")}).Want(201)

	for _, stay := range []string{one, many} {
		v.wantLedger(stay, "inactive", "beforeStatementStartDate")
		v.wantPart(stay, nil)

		preview := v.Get("/reservations/" + stay + "/journal-preview").Want(200)
		if preview.Len("entries") != 0 || preview.String("lines.0.inactiveReason") != "beforeStatementStartDate" {
			t.Errorf("the preview is %s", preview.Body)
		}
	}

	if after := v.trial("2026-01", "2026-12", ""); !maps.Equal(before, after) {
		t.Errorf("the trial balance is %v, was %v", after, before)
	}

	if s := v.month("2026-10"); s.Financials.BalanceStart != 25000 || s.Financials.BalanceEnd != 25000 {
		t.Errorf("October is %+v", s.Financials)
	}

	// What the guest owes is a fact of the stay, whatever the books hold.
	v.Get("/reservations/"+one).Want(200).WantFields("financials", object{"total": 30500, "balance": 30500})

	// An adjustment of October is posted, with the rest left out.
	v.Post("/reservations/"+many+"/adjustments", object{
		"description": "Damage", "amount": 700, "accountId": v.account("4000"), "generalLedgerPostingAt": "2026-10-05",
	}).Want(201)
	v.wantLedger(many, "active", nil)
	v.wantPart(many, object{"centTotal": 30000})
	v.want("2026-12-31", map[string]int64{"1000": 25000, "2900 owners": -25000, "2000": 700, "4000 owners": -700})
}

// Moving the first day changes what is posted, without anybody touching the stay; what a person said of the stay stays.
func TestTheFirstDayOfTheBooksMoves(t *testing.T) {
	t.Parallel()
	v := newVilla(t)
	v.fee("Management", "managementFee", "rent", 20000, "5100", "4100")

	august := v.stay("2026-08-10", "2026-08-13", object{"rent": 30000})
	kept := v.stay("2026-08-14", "2026-08-15", object{"rent": 10000})
	v.Put("/reservations/"+kept, object{"generalLedgerStatus": "inactive"}).Want(200)

	august300 := map[string]int64{"2000": 30000, "4000 owners": -30000, "5100 owners": 6000, "4100 manager": -6000}
	v.want("2026-12-31", maps.Clone(august300))
	v.wantLedger(august, "active", nil)

	// Later: nothing of August is posted any more.
	v.settings(object{"statementStartAt": "2026-10-01"})
	v.want("2026-12-31", map[string]int64{})
	v.wantLedger(august, "inactive", "beforeStatementStartDate")
	v.wantLedger(kept, "inactive", nil)

	// A change of another field leaves the status as it was set.
	v.Put("/reservations/"+august, object{"guestName": "Cleo"}).Want(200)

	// Earlier again, and without a first day.
	v.settings(object{"statementStartAt": "2026-08-01"})
	v.want("2026-12-31", maps.Clone(august300))
	v.wantLedger(august, "active", nil)
	v.wantLedger(kept, "inactive", nil)
	v.settings(object{"statementStartAt": "2026-09-01"})
	v.want("2026-12-31", map[string]int64{})
	v.settings(object{"statementStartAt": nil})
	v.want("2026-12-31", august300)

	// Entries in closed books stay where they are.
	v.must("POST", "/team/books-closing", object{"booksClosedAt": "2026-09-01", "reason": "month end"})
	v.settings(object{"statementStartAt": "2026-10-01"})
	v.want("2026-12-31", august300)
	v.Get("/reservations/"+august).Want(200).WantFields("", object{"generalLedgerStatus": "active", "generalLedgerInactiveReason": nil})
}

// Six nights for 600.00 across the first day: the three of October are posted, and the fee of 20 % on them.
func TestAStayAcrossTheFirstDayByNight(t *testing.T) {
	t.Parallel()
	v := autumn(t)
	v.settings(object{"defaultRevenueRecognition": "proRata"})
	v.fee("Management", "managementFee", "rent", 20000, "5100", "4100")

	stay := v.stay("2026-09-28", "2026-10-04", object{"rent": 60000})
	v.wantLedger(stay, "active", nil)
	v.wantPart(stay, object{"centTotal": 30000, "feeCentTotal": 6000})
	v.want("2026-12-31", map[string]int64{
		"1000": 25000, "2900 owners": -25000, "2000": 30000, "4000 owners": -30000, "5100 owners": 6000, "4100 manager": -6000,
	})

	// A first day within a month cuts the nights of that month.
	v.settings(object{"statementStartAt": "2026-10-03"})
	v.want("2026-10-02", map[string]int64{"1000": 25000, "2900 owners": -25000})
	v.want("2026-12-31", map[string]int64{
		"1000": 25000, "2900 owners": -25000, "2000": 10000, "4000 owners": -10000, "5100 owners": 2000, "4100 manager": -2000,
	})
}

// The date of each entry decides, whatever sets it.
func TestDatesAcrossTheFirstDay(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name        string
		recognition string
		change      object
		posted      int64
	}{
		{"check-in before", "checkIn", object{}, 0},
		{"check-out on the day", "checkOut", object{"checkOut": "2026-10-01"}, 50000},
		{"check-out before", "checkOut", object{"checkOut": "2026-09-30"}, 0},
		{"booked before, stayed after", "bookedAt", object{"checkIn": "2026-10-10", "checkOut": "2026-10-12"}, 0},
		{"a posting date on the day", "checkIn", object{"generalLedgerPostingAt": "2026-10-01"}, 50000},
		{"a posting date before", "checkIn", object{"checkIn": "2026-10-10", "checkOut": "2026-10-12", "generalLedgerPostingAt": "2026-09-30"}, 0},
		{"kept of a stay that was canceled after", "checkIn", object{
			"status": "canceled", "cancelledAt": "2026-10-02", "lines": list{object{"type": "retained", "amount": 50000}},
		}, 50000},
		{"kept of a stay that was canceled before", "checkIn", object{
			"checkIn": "2026-10-10", "checkOut": "2026-10-12", "status": "canceled", "cancelledAt": "2026-09-20",
			"lines": list{object{"type": "retained", "amount": 50000}},
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := autumn(t)
			v.settings(object{"defaultRevenueRecognition": c.recognition})

			body := object{
				"listingId": v.listing, "checkIn": "2026-09-28", "checkOut": "2026-10-04", "bookedAt": "2026-05-01",
				"lines": list{object{"type": "rent", "amount": 50000}},
			}
			maps.Copy(body, c.change)
			stay := v.Post("/reservations", body).Want(201).String("id")

			if got := v.balances("2026-12-31")["2000"]; got != c.posted {
				t.Errorf("posted %d, want %d", got, c.posted)
			}

			if c.posted == 0 {
				v.wantLedger(stay, "inactive", "beforeStatementStartDate")
			} else {
				v.wantLedger(stay, "active", nil)
				v.wantPart(stay, nil)
			}
		})
	}
}

// Cleaning of 100.00 is recognised at check-out, after the books begin; it was deferred with the check-in, before. The
// opening balance of deferred revenue holds it, and the release takes it from there.
func TestARevenueDeferredBeforeTheFirstDay(t *testing.T) {
	t.Parallel()
	v := autumn(t)
	v.mapping("cleaningFee", "checkOut")
	v.Put("/teams/opening-balances/accounts-receivable-deferred-revenue", object{"accountsReceivableAmount": 0, "deferredRevenueAmount": 10000}).Want(200)

	stay := v.stay("2026-09-28", "2026-10-04", object{"rent": 40000, "cleaningFee": 10000})
	v.wantPart(stay, object{"centTotal": 40000, "deferredCentTotal": 10000})
	v.want("2026-10-03", map[string]int64{"1000": 35000, "2900 owners": -25000, "2010": -10000})
	v.want("2026-10-04", map[string]int64{"1000": 35000, "2900 owners": -25000, "4010 owners": -10000})
}
