package reconciliation_test

import (
	"testing"

	"stayledger/platform/apierr"
	whole "stayledger/test/world"
)

// Of a reconciled transaction only what the bank has seen is locked: the amount, the day and the account. What it says
// and what it was for can change.
func TestAReconciledTransactionKeepsItsMoney(t *testing.T) {
	t.Parallel()
	w := whole.New(t)
	bank, repairs, cleaning := w.Account("1000"), w.Account("5200"), w.Account("5010")
	made := w.Post("/transactions", whole.Object{
		"type": "expense", "date": "2026-02-10", "accountId": bank, "lines": whole.Array{whole.Object{"accountId": repairs, "amount": 1500}},
	}).Want(201)
	path, line := "/transactions/"+made.String("id"), made.String("lines.0.id")
	record := w.Post("/bank-records/batch", whole.Object{"data": whole.Array{whole.Object{
		"accountId": bank, "date": "2026-02-10", "amount": -1500, "description": "Hardware",
	}}}).Want(201).String("data.0.id")
	w.Post("/bank-records/"+record+"/reconcile", whole.Object{"transactions": whole.Array{whole.Object{"id": made.String("id")}}}).Want(200)

	w.Put(path, whole.Object{"description": "Paint", "contactId": w.Contact("vendor", "Painter")}).Want(200).WantFields("", whole.Object{"description": "Paint"})
	w.Put(path, whole.Object{"lines_update": whole.Array{whole.Object{"id": line, "accountId": cleaning, "description": "Cleaning"}}}).Want(200).
		WantFields("lines.0", whole.Object{"accountId": cleaning})
	w.Get("/bank-records/"+record).Want(200).WantFields("reconciliation", whole.Object{"status": "paid"})

	for _, body := range []whole.Object{
		{"date": "2026-02-11"},
		{"accountId": w.Account("1010")},
		{"lines_update": whole.Array{whole.Object{"id": line, "amount": 1501}}},
		{"lines_create": whole.Array{whole.Object{"accountId": repairs, "amount": 1}}},
	} {
		w.Put(path, body).WantError(apierr.CodeForbidden, apierr.ReasonTransactionReconciled)
	}

	w.Delete(path).WantError(apierr.CodeForbidden, apierr.ReasonTransactionReconciled)
}
