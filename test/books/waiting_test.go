package books_test

import (
	"fmt"
	"testing"

	"stayledger/platform/id"
	"stayledger/test/world"
)

// waiting returns the warning of a code in the trust reconciliation of a day, or fails if it is there although it should
// not be.
func waiting(w *world.World, date, code string, want bool) string {
	w.T.Helper()

	r := w.Get("/reports/trust-reconciliation?date=" + date).Want(200)
	for i := range r.Len("warnings") {
		if at := fmt.Sprintf("warnings.%d", i); r.String(at+".code") == code {
			if !want {
				w.T.Errorf("%s is still there: %s", code, r.String(at))
			}

			return at
		}
	}

	if want {
		w.T.Fatalf("no %s among %s", code, r.String("warnings"))
	}

	return ""
}

// wantWaiting wants a finding with one place: its amount, since when, and what it is about.
func wantWaiting(w *world.World, date, code string, item object) {
	w.T.Helper()

	at := waiting(w, date, code, true)
	r := w.Get("/reports/trust-reconciliation?date=" + date).Want(200)
	r.WantFields(at, object{"count": 1, "total": item["centTotal"], "currency": "usd"})
	r.WantFields(at+".items.0", item)
}

// deposit books money into the trust bank.
func deposit(w *world.World, date string, cents int64, line object) id.ID {
	w.T.Helper()

	if line["accountId"] == nil {
		line["assignment"] = "accountsReceivable"
	}

	line["amount"] = cents

	return w.Post("/transactions", object{"type": "deposit", "date": date, "lines": list{line}}).Want(201).ID("id")
}

// Money that belongs to no stay, or to one that was cancelled, is found with its amount and age until it is settled.
func TestTheTrustFindsGuestMoneyThatWaits(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	villa := w.Listing("Villa", w.Contact("owner", "Ann"))
	unknown := deposit(w, "2026-01-10", 12300, object{})
	wantWaiting(w, "2026-02-28", "unassignedGuestMoney", object{"centTotal": 12300, "since": "2026-01-10", "transactionId": unknown})

	stay := w.Stay(villa, "2026-01-20", 80000)
	waiting(w, "2026-02-28", "cancelledStayMoney", false)
	w.Put("/reservations/"+stay.String(), object{"status": "canceled", "cancelledAt": "2026-01-15"}).Want(200)
	wantWaiting(w, "2026-11-20", "cancelledStayMoney", object{"centTotal": 80000, "since": "2026-01-20", "reservationId": stay, "listingId": villa.ID})

	// Both are settled by what people do about them.
	w.Put("/transactions/"+unknown.String(), object{"lines": list{object{"accountId": w.Account("4000"), "amount": 12300, "listingId": villa.ID}}}).Want(200)
	waiting(w, "2026-02-28", "unassignedGuestMoney", false)
	w.Post("/transactions", object{
		"type": "expense", "date": "2026-11-10", "accountId": w.Account("1000"),
		"lines": list{object{"assignment": "accountsReceivable", "amount": 80000, "reservationId": stay}},
	}).Want(201)
	waiting(w, "2026-11-20", "cancelledStayMoney", false)
}

// A security deposit is where it belongs until the guest leaves, and a finding from then on.
func TestTheTrustFindsDepositsKeptAfterTheStay(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	villa := w.Listing("Villa", w.Contact("owner", "Ann"))
	stay := w.Stay(villa, "2026-01-20", 80000)
	deposit(w, "2026-01-20", 25000, object{"accountId": w.Account("2300"), "reservationId": stay})
	waiting(w, "2026-01-20", "depositHeldAfterStay", false)
	wantWaiting(w, "2026-02-28", "depositHeldAfterStay", object{"centTotal": 25000, "since": "2026-01-21", "reservationId": stay})

	w.Post("/transactions", object{
		"type": "expense", "date": "2026-02-10", "accountId": w.Account("1000"),
		"lines": list{object{"accountId": w.Account("2300"), "amount": 25000, "reservationId": stay}},
	}).Want(201)
	waiting(w, "2026-02-28", "depositHeldAfterStay", false)
}

// A trust account below zero is found with the day since when; one that recovered is found in the month of it alone.
func TestTheTrustFindsAccountsBelowZero(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	villa := w.Listing("Villa", w.Contact("owner", "Ann"))
	deposit(w, "2026-01-05", 10000, object{"accountId": w.Account("4000"), "listingId": villa.ID})
	w.Expense(villa, "2026-01-20", 15000)
	w.Expense(villa, "2026-01-25", 2000)
	waiting(w, "2026-01-19", "trustAccountBelowZero", false)
	wantWaiting(w, "2026-01-31", "trustAccountBelowZero", object{"centTotal": -7000, "since": "2026-01-20", "accountId": w.Account("1000")})

	deposit(w, "2026-02-03", 9000, object{"accountId": w.Account("4000"), "listingId": villa.ID})
	waiting(w, "2026-02-28", "trustAccountBelowZero", false)
	wantWaiting(w, "2026-02-28", "trustAccountWasBelowZero", object{"centTotal": -7000, "since": "2026-02-01", "accountId": w.Account("1000")})
	waiting(w, "2026-03-31", "trustAccountWasBelowZero", false)
}

// What the bank has not seen for more than 90 days is found: on the 91st day, and until a record has it.
func TestTheTrustFindsWhatTheBankHasNotSeenForLong(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	villa := w.Listing("Villa", w.Contact("owner", "Ann"))
	w.Post("/bank-records/batch", object{"data": list{object{
		"accountId": w.Account("1000"), "date": "2026-01-01", "type": "balance", "balance": 0, "description": "Stated",
	}}}).Want(201)

	came := deposit(w, "2026-01-10", 40000, object{"accountId": w.Account("4000"), "listingId": villa.ID})
	left := w.Expense(villa, "2026-01-11", 3000)
	waiting(w, "2026-04-10", "depositInTransitOver90Days", false)
	wantWaiting(w, "2026-04-11", "depositInTransitOver90Days", object{"centTotal": 40000, "since": "2026-01-10", "transactionId": came, "accountId": w.Account("1000")})
	waiting(w, "2026-04-11", "outstandingPaymentOver90Days", false)
	wantWaiting(w, "2026-04-12", "outstandingPaymentOver90Days", object{"centTotal": -3000, "since": "2026-01-11", "transactionId": left})

	record := w.Post("/bank-records/batch", object{"data": list{object{
		"accountId": w.Account("1000"), "date": "2026-02-01", "amount": 40000, "description": "Rent",
	}}}).Want(201).String("data.0.id")
	w.Post("/bank-records/"+record+"/reconcile", object{"transactions": list{object{"id": came}}}).Want(200)
	waiting(w, "2026-04-12", "depositInTransitOver90Days", false)
}

// Bills, bank rules and recurring templates that name archived records are findings until the record is active again.
func TestTheTrustFindsNamesOfArchivedRecords(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	villa, vendor := w.Listing("Villa", w.Contact("owner", "Ann")), w.Contact("vendor", "Fix-It")
	lines := list{object{"accountId": w.Account("5200"), "amount": 7000, "listingId": villa.ID}}
	bill := w.Post("/transactions", object{"type": "expense", "date": "2026-01-10", "contactId": vendor, "lines": lines}).Want(201).ID("id")
	template := w.Post("/transactions/recurring-templates", object{
		"date": "2026-12-01", "contactId": vendor, "lines": lines, "pattern": object{"frequency": "monthly"},
	}).Want(201).ID("id")
	rule := w.Post("/bank-rules", object{
		"name": "Depot", "transactionType": "expense", "vendorContactId": vendor, "conditions": list{object{"type": "description", "operator": "contains", "value": "depot"}},
		"lines": list{object{"splitMode": "remainder", "accountId": w.Account("5200"), "listingId": villa.ID}},
	}).Want(201).ID("id")
	path := "/transactions/recurring-templates/" + template.String()
	w.Get(path).Want(200).WantFields("", object{"issues": list{}})

	w.Put("/contacts/"+vendor.String(), object{"status": "inactive"}).Want(200)

	named := object{"type": "contact", "id": vendor}
	for read, at := range map[string]string{path: "contactId", "/bank-rules/" + rule.String(): "vendorContactId"} {
		found := object{"issues": list{object{"code": "inactiveReference", "severity": "warning", "context": object{
			"path": list{at}, "type": named["type"], "id": named["id"],
		}}}}
		w.Get(read).Want(200).WantFields("", found)
	}

	w.Get("/bank-rules").Want(200).WantFields("data.0.issues.0", object{"code": "inactiveReference"})
	w.Get("/transactions/recurring-templates").Want(200).WantFields("data.0.issues.0", object{"code": "inactiveReference"})

	r := w.Get("/reports/trust-reconciliation?date=2026-01-31").Want(200)
	r.WantFields(waiting(w, "2026-01-31", "inactiveReferenceOnBill", true), object{"count": 1, "total": 7000})
	r.WantFields(waiting(w, "2026-01-31", "inactiveReferenceOnBill", true)+".items.0", object{"transactionId": bill, "contactId": vendor, "since": "2026-01-10"})
	r.WantFields(waiting(w, "2026-01-31", "inactiveReferenceInRule", true)+".items.0", object{"bankRuleId": rule, "contactId": vendor})
	r.WantFields(waiting(w, "2026-01-31", "inactiveReferenceInTemplate", true)+".items.0", object{"recurringTemplateId": template, "centTotal": 7000})

	w.Put("/contacts/"+vendor.String(), object{"status": "active"}).Want(200)
	w.Get(path).Want(200).WantFields("", object{"issues": list{}})
	w.Get("/bank-rules/"+rule.String()).Want(200).WantFields("", object{"issues": list{}})

	for _, code := range []string{"inactiveReferenceOnBill", "inactiveReferenceInRule", "inactiveReferenceInTemplate"} {
		waiting(w, "2026-01-31", code, false)
	}
}

// A closing says what is open in its days: bank and books that differ, drafts, and lines without an account.
func TestAClosingSaysWhatIsOpen(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	villa := w.Listing("Villa", w.Contact("owner", "Ann"))
	w.Stay(villa, "2026-01-10", 100000)
	w.Post("/bank-records/batch", object{"data": list{object{
		"accountId": w.Account("1000"), "date": "2026-01-31", "amount": 86321, "description": "Unknown",
	}}}).Want(201)
	odd := w.Post("/reservations", object{
		"listingId": villa.ID, "checkIn": "2026-01-15", "checkOut": "2026-01-16", "bookedAt": "2026-01-15",
		"lines": list{object{"type": "balloonRide", "amount": 4500}},
	}).Want(201).ID("id")

	closed := w.Post("/team/books-closing", object{"booksClosedAt": "2026-02-01", "reason": "January is done"}).Want(201)

	got := map[string]string{}

	for i := range closed.Len("issues") {
		at := fmt.Sprintf("issues.%d.", i)
		got[closed.String(at+"code")] = closed.String(at+"context.count") + " " + closed.String(at+"context.centTotal")
	}

	for code, want := range map[string]string{
		"bankDiffersFromBooks": "1 86321", "unmatchedBankRecords": "1 86321", "statementsDraft": "1 100000", "unassignedAccount": "1 4500",
	} {
		if got[code] != want {
			t.Errorf("%s is %q, want %q, in %s", code, got[code], want, closed.String("issues"))
		}
	}

	for i := range closed.Len("issues") {
		if at := fmt.Sprintf("issues.%d.", i); closed.String(at+"code") == "unassignedAccount" && closed.ID(at+"context.reservationIds.0") != odd {
			t.Errorf("the stay is %s", closed.String(at))
		}
	}

	// Opening says nothing, and nor does the list of closings.
	w.Post("/team/books-closing", object{"booksClosedAt": nil, "reason": "Once more"}).Want(201).WantFields("", object{"issues": list{}})

	if w.Get("/team/books-closings").Want(200).Has("data.0.issues") {
		t.Error("a list has issues")
	}
}
