package bank_test

import (
	"strconv"
	"strings"
	"testing"

	"stayledger/domain/books/bank"
	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/test/fixture"
)

func itoa(i int) string { return strconv.Itoa(i) }

func TestRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.deposit("1000", "2026-02-03", 700, true)
	record := w.record("Payout", "1000", "2026-02-04", 1000)
	rule := fixture.BankRule(w.Team, "Rule")
	w.Exec(`insert into account_connection (team_id, id, name, currency, status, created_at, updated_at) values (@team, @id, 'Checking', 'usd', 'detached', now(), now())`,
		db.Args{"id": record})
	w.Exec(`update bank_record set unique_ref = 'FIT-1', source = 'bankfeed', bank_account_id = @id, matched_by_bank_rule = @rule where team_id = @team and id = @id`,
		db.Args{"id": record, "rule": rule})
	w.reconcile(record, made, "1000", 700)

	got := w.Get("/bank-records/" + record.String()).Want(200)
	for path, want := range map[string]string{
		"id": record.String(), "uniqueRef": "FIT-1", "date": "2026-02-04", "status": "active", "description": "Payout", "source": "bankfeed", "type": "transaction",
		"accountId": w.accounts["1000"].String(), "bankAccountId": record.String(), "matchedByBankRule": rule.String(), "currency": "usd",
		"reconciliation.status": "underpaid", "reconciliation.transactions.0.id": made.String(), "reconciliation.transactions.0.type": "deposit",
		"reconciliation.transactions.0.date": "2026-02-03", "reconciliation.transactions.0.description": "2026-02-03",
	} {
		if is := got.String(path); is != want {
			t.Errorf("%s is %q, want %q", path, is, want)
		}
	}

	if got.Int("amount") != 1000 || got.Int("reconciliation.transactions.0.amount") != 700 || got.Len("reconciliation.transactions") != 1 {
		t.Errorf("amounts of %s", got.Body)
	}

	for _, null := range []string{`"balance":null`, `"connectionId":null`, `"matchingTransactions":[]`, `"matchingRules":[]`} {
		if !strings.Contains(string(got.Body), null) {
			t.Errorf("%s is missing in %s", null, got.Body)
		}
	}

	w.Get("/bank-records/"+w.id().String()).WantError(apierr.CodeNotFound, "")
}

// A status compares in the direction of the movement.
func TestReconcileStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)

	made := w.deposit("1000", "2026-02-03", 1, false)
	for _, test := range []struct {
		amount, matched int64
		want            bank.ReconcileStatus
	}{
		{100, 0, bank.Unpaid},
		{100, 60, bank.Underpaid},
		{100, 100, bank.Paid},
		{100, 101, bank.Overpaid},
		{100, -5, bank.Underpaid},
		{-100, 0, bank.Unpaid},
		{-100, -60, bank.Underpaid},
		{-100, -100, bank.Paid},
		{-100, -101, bank.Overpaid},
		{-100, 5, bank.Underpaid},
		{0, 0, bank.Paid},
		{0, 5, bank.Overpaid},
		{0, -5, bank.Overpaid},
	} {
		r := w.record("x", "1000", "2026-02-03", test.amount)
		if test.matched != 0 {
			w.reconcile(r, made, "1000", test.matched)
		}

		if got := w.Get("/bank-records/" + r.String()).String("reconciliation.status"); got != string(test.want) {
			t.Errorf("%d of %d is %s, want %s", test.matched, test.amount, got, test.want)
		}
	}
}

// A stated balance is that of the end of its day, and an opening that of the start of its day.
func TestBalances(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.record("before", "1000", "2026-01-31", 77)
	first := w.stated("first", "1000", "2026-02-01", 1000)
	w.record("same day", "1000", "2026-02-01", 5)
	w.record("in", "1000", "2026-02-02", 250)
	excluded := w.record("excluded", "1000", "2026-02-02", 9999)
	w.Exec(`update bank_record set status = 'inactive' where team_id = @team and id = @id`, db.Args{"id": excluded})
	w.record("elsewhere", "1010", "2026-02-02", 50)
	w.record("out", "1000", "2026-02-03", -50)
	second := w.stated("second", "1000", "2026-02-03", 1210)
	third := w.stated("third", "1000", "2026-02-04", 1210)
	want := func(name string, r *apitest.Response, current int64, correction string) {
		t.Helper()

		if r.Int("balance.current") != current || !strings.Contains(string(r.Body), `"correction":`+correction+`}`) ||
			!strings.Contains(string(r.Body), `"reconciliation":null`) {
			t.Errorf("%s: %s", name, r.Body)
		}
	}
	want("first", w.Get("/bank-records/"+first.String()).Want(200), 1000, "null")
	want("second", w.Get("/bank-records/"+second.String()).Want(200), 1210, "10")
	want("third", w.Get("/bank-records/"+third.String()).Want(200), 1210, "0")
	w.Exec(`update account set banking_opening_at = '2026-01-31', banking_opening = 900 where team_id = @team and id = @id`, db.Args{"id": w.accounts["1000"]})
	want("first after an opening", w.Get("/bank-records/"+first.String()).Want(200), 1000, "18") // 900 + 77 + 5 + 18
}
