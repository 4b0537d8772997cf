package books_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/test/world"
)

// TestAMonthAtTheBank: what a back office does with a month of its trust account, through the endpoints alone. A
// channel's payout of eleven stays is found as one set, a cleaner is booked by a rule as it arrives, a supplier from
// the record itself, a transfer is reconciled on both of its accounts, what came twice is excluded. At the end nothing
// is open, and bank, books and liabilities are the same to the cent; one row of the bank that no one explains shows as
// that difference.
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

// TestAMonthAtTheBankByHledger: a month with a deposit that was in transit when the account began, a manual journal and
// a bill that the bank paid before it was booked. At each day hledger adds up the books from their journal, and the
// bank from its records with what the service says only one side has: both are the same to the cent, and the figures of
// the account.
func TestAMonthAtTheBankByHledger(t *testing.T) {
	t.Parallel()
	needHledger(t)
	x := newTeam(t)
	x.Exec(`update team set statement_start_at = null where team_id = @team`, nil)
	trust := x.accounts["1000"].ID
	path := "/accounts/" + trust.String()
	lines := func(account string, cents int64) []any {
		return []any{object{"accountId": x.accounts[account].ID, "amount": cents}}
	}

	// The month, as its bookkeeper writes it down.
	transit := x.Post("/transactions", object{"type": "deposit", "date": "2026-01-30", "accountId": trust, "lines": lines("2300", 30000)}).Want(201).String("id")
	x.Post(path+"/banking-init", object{"startingBalanceDate": "2026-02-01", "startingBalanceAmount": 100000}).Want(200)
	charge := x.Post("/general-ledger/journals", object{"date": "2026-02-10", "description": "Bank charges", "lines": []any{
		object{"accountId": trust, "centTotal": -725, "party": "manager"}, object{"accountId": x.accounts["5200"].ID, "centTotal": 725, "party": "manager"},
	}}).Want(201).String("id")
	rent := x.Post("/transactions", object{"type": "deposit", "date": "2026-02-20", "accountId": trust, "lines": lines("2300", 45000)}).Want(201).String("id")
	bill := x.Post("/transactions", object{"type": "expense", "date": "2026-03-01", "accountId": trust, "lines": lines("5200", 20000)}).Want(201).String("id")

	// The bank, and which of its records stand for what.
	movements := []struct {
		date   string
		cents  int64
		source string
	}{{"2026-02-02", 30000, transit}, {"2026-02-12", -725, charge}, {"2026-02-23", 45000, rent}, {"2026-02-28", -20000, bill}}
	for i, m := range movements {
		record := x.Post("/bank-records/batch", object{"data": []any{object{
			"accountId": trust, "date": m.date, "amount": m.cents, "description": "Row", "uniqueRef": "row " + strconv.Itoa(i),
		}}}).Want(201).String("data.0.id")
		x.Post("/bank-records/"+record+"/reconcile", object{"transactions": []any{object{"id": m.source}}}).Want(200)
	}

	books := x.writeJournal(x.entries(""))

	for _, date := range []string{"2026-02-01", "2026-02-11", "2026-02-21", "2026-02-28", "2026-03-01"} {
		after := dayOf(t, date).AddDays(1).String()
		book := only(hledger(t, books, "balance", "--end", after, "acct:1000")[x.accounts["1000"].name()])

		// The bank's side as a journal of its own: opening, records, and the items that the service lists.
		var side strings.Builder
		side.WriteString("commodity USD 1000.00\n\n2026-02-01 opening\n  bank:statement  USD 1000.00\n  rest\n")

		for _, m := range movements {
			fmt.Fprintf(&side, "\n%s record\n  bank:statement  USD %s\n  rest\n", m.date, money.Cents(m.cents).Decimal("usd"))
		}

		items := x.Get(path + "/reconciling-items?limit=250&date=" + date).Want(200)
		for i := range items.Len("data") {
			cents := items.Int("data." + strconv.Itoa(i) + ".open")
			fmt.Fprintf(&side, "\n%s item\n  bank:items  USD %s\n  rest\n", date, money.Cents(cents).Decimal("usd"))
		}

		file := filepath.Join(t.TempDir(), "bank.journal")
		if err := os.WriteFile(file, []byte(side.String()), 0o600); err != nil {
			t.Fatal(err)
		}

		bank := hledger(t, file, "balance", "--end", after, "bank")
		statement, adjusted := only(bank["bank:statement"]), only(bank["bank:statement"])+only(bank["bank:items"])

		if adjusted != book {
			t.Errorf("%s: by hledger the bank is at %d with its items, and the books at %d", date, adjusted, book)
		}

		x.Get(path+"/summary?dateRange=2026-01-01..."+date).Want(200).WantFields("totals", object{
			"bankAccountBalance": statement, "bookBalance": book, "adjustedBankAccountBalance": adjusted, "difference": 0,
		})
		x.Get("/reports/trust-reconciliation?date="+date).Want(200).WantFields("difference", object{"bankToBook": 0, "bookToLiabilities": 0})
	}
}
