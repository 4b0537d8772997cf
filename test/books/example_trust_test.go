package books_test

import (
	"testing"

	"stayledger/platform/apitest"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// bankRecord is what the bank says happened on the trust account; it belongs to a transaction unless that is empty.
func (v *villa) bankRecord(date string, amount int64, transaction string) {
	v.t.Helper()
	record := id.New(v.DB.Now())
	v.Exec(`insert into bank_record (team_id, id, account_id, date, amount, created_at, updated_at)
		values (@team, @id, @account, @date::text::date, @amount, now(), now())`,
		db.Args{"id": record, "account": v.account("1000"), "date": date, "amount": amount})
	v.Exec(`insert into bank_reconciliation (team_id, bank_record_id, transaction_id, account_id, cent_total, created_at)
		values (@team, @id, @transaction::text::uuid, @account, @amount, now())`,
		db.Args{"id": record, "transaction": transaction, "account": v.account("1000"), "amount": amount})
}

// TestTrustReconciliation: the three legs of the worked table, on January 31, pro rata: the balance of the bank,
// that of the books, and the parties that it is owed to.
func TestTrustReconciliation(t *testing.T) {
	t.Parallel()
	v := newVilla(t)
	v.settings(object{"defaultRevenueRecognition": "proRata"})
	v.usualFees()
	v.Put("/listings/"+v.listing+"/opening-balance", object{"amount": 30000}).Want(200)
	v.payOut("2026-01-10", 10000, nil)
	v.payA(v.stayA())
	v.billF()
	v.Exec(`insert into bank_record (team_id, id, account_id, date, type, amount, balance, created_at, updated_at)
		values (@team, @id, @account, '2026-01-31', 'balance', 0, 145004, now(), now())`, db.Args{"id": id.New(v.DB.Now()), "account": v.account("1000")})

	var booked struct {
		Data []struct {
			ID, Type, Date string
			Total          int64
		}
	}
	v.read("/transactions?type=deposit,payout&isOpeningBalance=false", &booked)

	for _, b := range booked.Data {
		if b.Type == "payout" {
			b.Total = -b.Total
		}

		v.bankRecord(b.Date, b.Total, b.ID)
	}

	r := v.Get("/reports/trust-reconciliation?date=2026-01-31").Want(200)
	for path, want := range map[string]int64{
		"bank.statementBalance": 145004, "bank.depositsInTransit": 0, "bank.outstandingPayments": -10000, "bank.adjustedBalance": 135004,
		"book.centTotal": 135004, "liabilities.centTotal": 135004, "difference.bankToBook": 0, "difference.bookToLiabilities": 0,
		"liabilities.guestBalances.centTotal": 51520, "liabilities.guestBalances.inHouse.centTotal": 51520,
		"liabilities.guestBalances.departed.centTotal": 0, "liabilities.guestBalances.upcoming.centTotal": 0,
		"liabilities.ownerBalances.centTotal": 53072, "liabilities.managerBalance.centTotal": 20482,
	} {
		if got := r.Int(path); got != want {
			t.Errorf("%s = %d, want %d", path, got, want)
		}
	}

	for claim, want := range map[string]map[string]int64{"taxes": {"2100": 8280, "2110": 1650}, "accountsPayable": {}} {
		if got := claimOf(r, claim); len(got) != len(want) || got["2100"] != want["2100"] || got["2110"] != want["2110"] {
			t.Errorf("%s: %v, want %v", claim, got, want)
		}
	}
}

// claimOf is a row of the liabilities by account code.
func claimOf(r *apitest.Response, claim string) map[string]int64 {
	var answer struct {
		Liabilities struct {
			Rows []struct {
				Claim    string
				Accounts []struct {
					Account   account
					CentTotal int64
				}
			}
		}
	}
	r.Into(&answer)

	out := map[string]int64{}

	for _, row := range answer.Liabilities.Rows {
		for _, a := range row.Accounts {
			if row.Claim == claim {
				out[a.Account.Code] = a.CentTotal
			}
		}
	}

	return out
}
