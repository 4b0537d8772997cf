package books_test

import (
	"fmt"
	"strconv"
	"testing"

	"stayledger/platform/id"
	"stayledger/test/world"
)

// TestAMonthAtTheBank: what a back office does with a month of its trust account, through the endpoints alone. A channel's payout of eleven stays is found as one set, a
// cleaner is booked by a rule as it arrives, a supplier from the record itself, a transfer is reconciled on both of its accounts, what came twice is excluded. At
// the end nothing is open, and bank, books and liabilities are the same to the cent; one row of the bank that nobody explains shows as that difference.
func TestAMonthAtTheBank(t *testing.T) {
	t.Parallel()
	w := world.New(t)
	trust, operating, repairs := w.Account("1000"), w.Account("1010"), w.Account("5200")
	house := w.Listing("Beach House", w.Contact("owner", "Ann Owner"))
	w.Post("/bank-rules", object{
		"name": "Cleaner", "transactionType": "expense", "mode": "auto", "conditions": []any{object{"type": "description", "operator": "contains", "value": "sparkle"}},
		"lines": []any{object{"splitMode": "remainder", "accountId": repairs, "listingId": house.ID}},
	}).Want(201)

	payout := int64(0)
	for n := range 11 {
		stay := w.Post("/reservations", object{
			"listingId": house.ID, "checkIn": fmt.Sprintf("2026-02-%02d", 2*n+1), "checkOut": fmt.Sprintf("2026-02-%02d", 2*n+2), "bookingPlatform": "airbnb",
			"confirmationCode": "HMZZ" + strconv.Itoa(n+10), "lines": []any{object{"type": "rent", "amount": 20000 + 1370*n}},
		}).Want(201).ID("id")
		w.Post("/transactions", object{
			"type": "deposit", "date": "2026-02-24", "accountId": trust, "lines": []any{object{"assignment": "accountsReceivable", "amount": 20000 + 1370*n, "reservationId": stay}},
		}).Want(201)
		payout += int64(20000 + 1370*n)
	}
	transfer := w.Post("/transactions", object{"type": "transfer", "date": "2026-02-25", "accountId": trust, "lines": []any{object{"accountId": operating, "amount": 5000}}}).Want(201).ID("id")

	row := func(account id.ID, date, text string, cents int64) object {
		return object{"accountId": account, "date": date, "description": text, "amount": cents, "source": "csv"}
	}
	file := w.Post("/bank-records/batch", object{"data": []any{
		row(trust, "2026-02-25", "AIRBNB PAYMENTS", payout), row(trust, "2026-02-26", "SPARKLE CLEANING", -8800), row(trust, "2026-02-26", "Hardware", -1250),
		row(trust, "2026-02-26", "To operating", -5000), row(operating, "2026-02-27", "From trust", 5000),
	}}).Want(201)
	record := func(n int) string { return file.String("data." + strconv.Itoa(n) + ".id") }
	again := row(trust, "2026-02-26", "Airbnb", payout)
	again["source"] = "manual"
	twice := w.Post("/bank-records/batch", object{"data": []any{again}}).Want(201)
	if twice.String("data.0.duplicates.0.id") != record(0) {
		t.Fatalf("what came twice: %s", twice.Body)
	}
	w.Put("/bank-records/"+twice.String("data.0.id"), object{"status": "inactive"}).Want(200)
	w.Work()

	open := w.Get("/bank-records/suggestions?accountIds=" + trust.String()).Want(200)
	found := false
	for i := range open.Len("data") {
		at := "data." + strconv.Itoa(i) + "."
		if open.String(at+"bankRecord.id") != record(0) {
			continue
		}
		found = true
		if open.String(at+"result") != "unique" || open.Len(at+"sets.0.transactions") != 11 {
			t.Fatalf("the payout: %s", open.Body)
		}
		parts := []any{}
		for k := range 11 {
			parts = append(parts, object{"id": open.String(at + "sets.0.transactions." + strconv.Itoa(k) + ".id")})
		}
		w.Post("/bank-records/"+record(0)+"/reconcile", object{"transactions": parts}).Want(200)
	}
	if !found || open.Int("pagination.total") != 3 {
		t.Fatalf("open records: %s", open.Body)
	}
	w.Post("/bank-records/"+record(2)+"/reconcile", object{"create": []any{object{
		"type": "expense", "date": "2026-02-26", "accountId": trust, "lines": []any{object{"accountId": repairs, "amount": 1250, "listingId": house.ID}},
	}}}).Want(200)
	w.Post("/bank-records/reconcile", object{"data": []any{
		object{"bankRecordId": record(3), "transactions": []any{object{"id": transfer}}}, object{"bankRecordId": record(4), "transactions": []any{object{"id": transfer}}},
	}}).Want(200)
	w.Work()

	legs := func(difference int64) {
		t.Helper()
		summary := w.Get("/accounts/" + trust.String() + "/summary?dateRange=2026-02").Want(200)
		report := w.Get("/reports/trust-reconciliation?date=2026-02-28").Want(200)
		if got := summary.Int("totals.difference"); got != difference || summary.Int("totals.unmatchedBankRecordsBalance") != difference || summary.Len("unmatched.transactions") != 0 {
			t.Errorf("the account differs by %d, want %d: %s", got, difference, summary.Body)
		}
		if report.Int("difference.bankToBook") != difference || report.Int("difference.bookToLiabilities") != 0 || report.Int("bank.outstandingPayments") != 0 ||
			report.Int("book.centTotal") != payout-8800-1250-5000 {
			t.Errorf("the three legs, apart by %d: %s", difference, report.Body)
		}
	}
	legs(0)
	stray := w.Post("/bank-records/batch", object{"data": []any{row(trust, "2026-02-28", "Correction", 37)}}).Want(201)
	legs(37)
	w.Delete("/bank-records/" + stray.String("data.0.id")).Want(204)
	legs(0)
}
