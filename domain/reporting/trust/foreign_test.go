package trust_test

import (
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	whole "stayledger/test/world"
)

// euros makes a bank account in euros.
func euros(w *whole.World) id.ID {
	w.T.Helper()

	return w.Post("/accounts", whole.Object{
		"name": "Euros", "code": "1090", "type": "bank", "categoryId": w.Get("/accounts/" + w.Account("1000").String()).Want(200).String("category.id"),
		"banking": whole.Object{"category": "trust", "currency": "eur"},
	}).Want(201).ID("id")
}

// Money of another currency comes on no bank account, whoever writes it: an account at a bank has one currency.
func TestNoWriterBooksAnotherCurrencyOnABank(t *testing.T) {
	t.Parallel()
	w := whole.New(t)
	bank, income := euros(w), w.Account("2300")
	lines := whole.Array{whole.Object{"accountId": income, "amount": 1000}}
	refused := func(path string, body whole.Object, at string) {
		t.Helper()
		w.Post(path, body).WantError(apierr.CodeBadRequest, "").WantIssue("currencyMismatch", at)
	}

	// Without an account the team's own bank is meant, and that is in dollars.
	refused("/transactions", whole.Object{"type": "deposit", "date": "2026-09-04", "currency": "eur", "lines": lines}, "currency")
	refused("/transactions", whole.Object{"type": "deposit", "date": "2026-09-04", "accountId": bank, "lines": lines}, "accountId")
	refused("/transactions", whole.Object{
		"type": "transfer", "date": "2026-09-04", "accountId": w.Account("1000"), "lines": whole.Array{whole.Object{"accountId": bank, "amount": 1000}},
	}, "lines.0.accountId")
	refused("/transactions", whole.Object{
		"type": "expense", "date": "2026-09-04", "lines": whole.Array{whole.Object{"accountId": w.Account("5200"), "amount": 1000}},
		"payment": whole.Object{"date": "2026-09-05", "accountId": bank},
	}, "payment.accountId")
	refused("/general-ledger/journals", whole.Object{"date": "2026-09-04", "description": "By hand", "lines": whole.Array{
		whole.Object{"accountId": bank, "centTotal": 1000}, whole.Object{"accountId": income, "centTotal": -1000},
	}}, "lines.0.accountId")

	stored := w.Post("/transactions", whole.Object{
		"type": "deposit", "date": "2026-09-04", "currency": "eur", "accountId": bank, "lines": lines,
	}).Want(201).String("id")
	w.Put("/transactions/"+stored, whole.Object{"currency": "usd"}).WantError(apierr.CodeBadRequest, "").WantIssue("currencyMismatch", "accountId")
	w.Put("/transactions/"+stored, whole.Object{"accountId": w.Account("1000")}).WantError(apierr.CodeBadRequest, "").WantIssue("currencyMismatch", "accountId")
}

// Old entries of another currency on a bank account count in no leg, and a warning says what they add up to.
func TestTheTrustLeavesBanksOfAnotherCurrencyOut(t *testing.T) {
	t.Parallel()
	w := whole.New(t)
	bank := euros(w)
	w.Post("/transactions", whole.Object{
		"type": "deposit", "date": "2026-09-04", "currency": "eur", "accountId": bank,
		"lines": whole.Array{whole.Object{"accountId": w.Account("2300"), "amount": 1000}},
	}).Want(201)
	w.Post("/bank-records/batch", whole.Object{"data": whole.Array{
		whole.Object{"accountId": w.Account("1000"), "date": "2026-09-04", "description": "Stated", "type": "balance", "balance": 5555},
	}}).Want(201)

	// As rows were that were written before such were refused.
	w.Exec(`update account set banking_currency = 'usd' where team_id = @team and id = @id`, db.Args{"id": bank})
	got := w.Get("/reports/trust-reconciliation?currency=eur&date=2026-09-30").Want(200)
	got.WantFields("bank", whole.Object{"statementBalance": 0, "accounts": whole.Array{}}).WantFields("book", whole.Object{"centTotal": 0})
	got.WantFields("liabilities", whole.Object{"centTotal": 1000}).WantFields("difference", whole.Object{"bankToBook": 0, "bookToLiabilities": -1000})
	got.WantFields("warnings.0", whole.Object{"code": "entriesOnBankOfAnotherCurrency", "total": 1000, "count": 1})
	got.WantFields("warnings.0.items.0", whole.Object{"accountId": bank})
}
