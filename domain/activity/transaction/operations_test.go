package transaction_test

import (
	"testing"

	"stayledger/platform/apierr"
)

// A team without Operations Accounting has no transactions of operating accounts alone, by any route that writes one.
// Those that touch the trust or name a listing are as ever, and what is there can be taken back.
//
// Proves: RSN-36.
func TestTransactionsOfOperatingAccountsNeedOperationsAccounting(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	line := func(code string, more ...any) object {
		l := object{"accountId": w.accounts[code], "amount": 500, "party": "manager"}
		for i := 0; i < len(more); i += 2 {
			l[more[i].(string)] = more[i+1] //nolint:forcetypeassert // names
		}

		return l
	}
	office := object{"type": "expense", "date": "2026-02-01", "accountId": w.accounts["1010"], "lines": list{line("5200")}}
	transfer := object{"type": "transfer", "date": "2026-02-01", "accountId": w.accounts["1010"], "lines": list{object{"accountId": w.accounts["1000"], "amount": 500}}}
	fromTrust := object{"type": "expense", "date": "2026-02-01", "accountId": w.accounts["1000"], "lines": list{line("5200")}}
	forListing := object{"type": "expense", "date": "2026-02-01", "accountId": w.accounts["1010"], "lines": list{line("5200", "listingId", w.villa)}}

	stored := "/transactions/" + w.Post("/transactions", office).Want(201).String("id")
	trust := "/transactions/" + w.Post("/transactions", fromTrust).Want(201).String("id")
	w.Exec(`update team set operations_accounting = false where id = @team`, nil)

	refused := func(body object) {
		t.Helper()
		w.Post("/transactions", body).WantError(apierr.CodeBadRequest, apierr.ReasonOperationsAccountingDisabled)
		w.Post("/transactions/batch", object{"data": list{body}}).Want(200).WantFields("issues.0", object{"code": "BAD_REQUEST", "reason": "operationsAccountingDisabled"})
	}
	refused(office)
	refused(object{"type": "deposit", "date": "2026-02-01", "accountId": w.accounts["1010"], "lines": list{line("4100")}})

	for _, body := range []object{transfer, fromTrust, forListing} {
		w.Post("/transactions", body).Want(201)
	}

	// Nor does a transaction become one, and one that is there changes no more, until it is taken back.
	w.Put(trust, object{"accountId": w.accounts["1010"]}).WantError(apierr.CodeBadRequest, apierr.ReasonOperationsAccountingDisabled)
	w.Put(stored, object{"date": "2026-02-02"}).WantError(apierr.CodeBadRequest, apierr.ReasonOperationsAccountingDisabled)
	w.Put(stored, object{"status": "inactive"}).Want(200)
	w.Delete(stored).Want(204)

	w.Exec(`update team set operations_accounting = true where id = @team`, nil)
	w.Post("/transactions", office).Want(201)
}
