package account_test

import (
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// totals checks the totals of an account's summary by their names.
func totals(t *testing.T, r *apitest.Response, want map[string]int64) {
	t.Helper()

	for name, cents := range want {
		if got := r.Int("totals." + name); got != cents {
			t.Errorf("%s is %d, want %d: %s", name, got, cents, r.Body)
		}
	}
}

// The January of the trust reconciliation's worked example: a vendor's cheque of 100.00 has not cleared by the end of
// the month.
func TestSummaryReconcilesTheBankWithTheBooks(t *testing.T) {
	t.Parallel()
	x, codes := standard(t)
	bank, accounts := codes["1000"], [2]id.ID{codes["1000"], codes["2400"]}
	path := "/accounts/" + bank.String() + "/summary"
	opening, deposits, payout, cheque := transaction(x, bank), transaction(x, bank), transaction(x, bank), transaction(x, bank)
	moved(x, "2026-01-01", accounts, opening, 30000)
	moved(x, "2026-01-10", accounts, deposits, 125004)
	moved(x, "2026-01-12", accounts, payout, -10000)
	moved(x, "2026-01-20", accounts, cheque, -10000)
	match(x, bank, record(x, bank, "2026-01-02", 30000), opening, 30000)
	in := record(x, bank, "2026-01-11", 125004)
	match(x, bank, in, deposits, 125004)
	match(x, bank, record(x, bank, "2026-01-12", -10000), payout, -10000)

	want := map[string]int64{
		"bankAccountBalance": 145004, "bookBalance": 135004, "unclearedTransactionsBalance": -10000, "unmatchedTransactionsBalance": -10000,
		"unmatchedBankRecordsBalance": 0, "adjustedBankAccountBalance": 135004, "difference": 0,
	}
	r := x.Get(path + "?dateRange=2026-01").Want(200)
	totals(t, r, want)

	if r.Len("unmatched.bankRecords") != 0 || r.Len("unmatched.transactions") != 1 || r.ID("unmatched.transactions.0.id") != cheque ||
		r.Int("unmatched.transactions.0.centTotal") != -10000 {
		t.Errorf("unmatched %s", r.String("unmatched"))
	}
	// The days before the cheque end with the balance without it.
	totals(t, x.Get(path+"?dateRange=2026-01-01...2026-01-20&isDateRangeEndInclusive=false"), map[string]int64{"bookBalance": 145004, "unclearedTransactionsBalance": 0})
	// The cheque clears in February: January stays as it was, but for the cheque, which is matched now.
	match(x, bank, record(x, bank, "2026-02-03", -10000), cheque, -10000)

	want["unmatchedTransactionsBalance"] = 0
	totals(t, x.Get(path+"?dateRange=2026-01"), want)
	totals(t, x.Get(path+"?dateRange=2026-02"), map[string]int64{"bankAccountBalance": 135004, "unclearedTransactionsBalance": 0, "difference": 0})
	// The rest is a fee that no one booked.
	record(x, bank, "2026-02-04", -500)
	r = x.Get(path + "?dateRange=2026-02").Want(200)
	totals(t, r, map[string]int64{"bankAccountBalance": 134504, "bookBalance": 135004, "unmatchedBankRecordsBalance": -500, "difference": -500})

	if r.Len("unmatched.bankRecords") != 1 || r.Int("unmatched.bankRecords.0.centTotal") != -500 {
		t.Errorf("unmatched %s", r.String("unmatched"))
	}

	totals(t, x.Get(path), map[string]int64{"difference": -500, "unmatchedBankRecordsBalance": -500})
	// The range without its last day ends before the fee.
	totals(t, x.Get(path+"?dateRange=2026-01-01...2026-02-04&isDateRangeEndInclusive=false"), map[string]int64{"difference": 0, "unmatchedBankRecordsBalance": 0})
}

func TestSummaryTakesPartsBalancesAndManualEntriesIntoAccount(t *testing.T) {
	t.Parallel()
	x, codes := standard(t)
	bank, accounts := codes["1000"], [2]id.ID{codes["1000"], codes["2400"]}
	path := "/accounts/" + bank.String() + "/summary?dateRange=2026"
	// Half a payout has come in; an entry by hand is in the books and on no record yet.
	payout := transaction(x, bank)
	moved(x, "2026-03-01", accounts, payout, 1000)
	match(x, bank, record(x, bank, "2026-03-02", 700), payout, 400)
	moved(x, "2026-03-05", accounts, id.Zero, 50)
	r := x.Get(path).Want(200)
	totals(t, r, map[string]int64{
		"bankAccountBalance": 700, "bookBalance": 1050, "unclearedTransactionsBalance": 650, "unmatchedTransactionsBalance": 650,
		"unmatchedBankRecordsBalance": 300, "adjustedBankAccountBalance": 1350, "difference": 300,
	})
	// A stated balance includes all records up to its day; one that is excluded, or of another currency in the books,
	// is not there.
	x.Exec(`insert into bank_record (team_id, id, account_id, date, status, type, amount, balance, created_at, updated_at) values
		(@team, gen_random_uuid(), @account, '2026-03-02', 'active', 'balance', 0, 2000, now(), now()),
		(@team, gen_random_uuid(), @account, '2026-03-09', 'inactive', 'balance', 0, 9000, now(), now()),
		(@team, gen_random_uuid(), @account, '2026-03-09', 'inactive', 'transaction', 77, null, now(), now())`, db.Args{"account": bank})
	record(x, bank, "2026-03-03", 5)
	x.Exec(`update account set banking_opening_at = '2026-03-02', banking_opening = 900, banking_opening_counted = 1000 where team_id = @team and id = @account`, db.Args{"account": bank})
	totals(t, x.Get(path), map[string]int64{"bankAccountBalance": 2005, "bookBalance": 1050, "unclearedTransactionsBalance": 650, "inTransitAtOpeningBalance": -1000})
	// Without a stated balance the opening balance counts, with the records since; what was booked before and is on no
	// record is in transit.
	x.Exec(`delete from bank_record where team_id = @team and type = 'balance'`, nil)
	r = x.Get(path).Want(200)
	totals(t, r, map[string]int64{"bankAccountBalance": 1605, "unclearedTransactionsBalance": 650, "unmatchedTransactionsBalance": 650})

	if r.Len("unmatched.transactions") != 2 {
		t.Errorf("unmatched %s", r.String("unmatched"))
	}
}

// Proves: RSN-33.
func TestOnlyABankAccountHasASummary(t *testing.T) {
	t.Parallel()
	x, codes := standard(t)
	x.Get("/accounts/"+codes["2000"].String()+"/summary").WantError(apierr.CodeBadRequest, apierr.ReasonNotBankAccount).WantIssue("notBankAccount", "id")
	x.Get("/accounts/"+id.New(x.DB.Now()).String()+"/summary").WantError(apierr.CodeNotFound, "")
	x.Get("/accounts/"+codes["1000"].String()+"/summary?dateRange=soon").WantError(apierr.CodeBadRequest, "").WantIssue("dateRange", "dateRange")
	newTeam(t).Get("/accounts/"+codes["1000"].String()+"/summary").WantError(apierr.CodeNotFound, "")
}
