package payout_test

import (
	"context"
	"testing"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// The manager draws from the trust, and the operating ledger books what arrives.
func TestTheManagerDraws(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.Post("/transactions", object{"type": "deposit", "date": "2026-01-09", "lines": array{
		object{"accountId": h.Account("4100"), "amount": 35000, "party": "manager"},
	}}).Want(201)

	r := h.Post("/statements/manager/pay", object{"amount": 30000, "date": "2026-02-05"}).Want(201)
	if r.String("type") != "payout" || r.Int("total") != 30000 || r.ID("accountId") != h.Account("1000") || r.Len("issues") != 0 ||
		r.String("lines.0.party") != "manager" || r.String("lock.status") != "open" || r.String("journalStatus.status") != "current" {
		t.Errorf("draw %s", r.Body)
	}

	h.wantEntries(r.ID("id"), map[string]int64{"trust 2400 manager": 30000, "trust 1000 ": -30000})

	r = h.Post("/statements/manager/pay", object{"amount": 6000, "date": "2026-02-05", "lineAccountId": h.Account("1010")}).Want(201)
	h.wantEntries(r.ID("id"), map[string]int64{"trust 2400 manager": 6000, "trust 1000 ": -6000, "operating 1010 ": 6000, "operating 2400 manager": -6000})

	if r.Len("issues") != 2 || r.String("issues.0.code") != "insufficientManagerFunds" || r.String("issues.0.severity") != "warning" ||
		r.Int("issues.0.context.available") != 5000 || r.Int("issues.0.context.amount") != 6000 || r.String("issues.1.context.balance") != "bankAccount" {
		t.Errorf("issues %v", r.Value("issues"))
	}

	r = h.Post("/statements/manager/pay", object{"amount": -1000}).Want(201)
	h.wantEntries(r.ID("id"), map[string]int64{"trust 2400 manager": -1000, "trust 1000 ": 1000})

	if r.String("date") != h.DB.Now().Format("2006-01-02") || r.Len("issues") != 0 {
		t.Errorf("the manager pays in: %s", r.Body)
	}
}

func TestDrawsAreChecked(t *testing.T) {
	t.Parallel()
	h := newHouse(t)

	const path = "/statements/manager/pay"

	second := h.bank("Second trust", "usd")
	euro := h.bank("Euro", "eur")
	h.Exec(`update account set banking_category = 'operating' where team_id = @team and id = @id`, db.Args{"id": euro})

	for _, c := range map[string]struct {
		body        object
		code, where string
	}{
		"nothing":       {object{"amount": 0}, "zeroAmount", "amount"},
		"unknown bank":  {object{"amount": 1, "bankAccountId": h.villa.ID}, "notFound", "bankAccountId"},
		"unknown line":  {object{"amount": 1, "lineAccountId": h.villa.ID}, "notFound", "lineAccountId"},
		"same ledger":   {object{"amount": 1, "lineAccountId": second}, "sameLedger", "lineAccountId"},
		"same account":  {object{"amount": 1, "lineAccountId": h.Account("1000")}, "sameLedger", "lineAccountId"},
		"currency":      {object{"amount": 1, "lineAccountId": euro}, "currencyMismatch", "lineAccountId"},
		"before starts": {object{"amount": 1, "date": "2025-12-31"}, "beforeStatementStartDate", "date"},
	} {
		h.Post(path, c.body).Want(400).WantIssue(c.code, c.where)
	}

	h.Post(path, object{"amount": 1, "lineAccountId": h.Account("2500")}).WantError(apierr.CodeBadRequest, apierr.ReasonNotBankAccount)
	h.As([]string{"statements:write", "transactions:pay"}, nil).Post(path, object{"amount": 1}).WantError(apierr.CodeForbidden, "")
	h.Exec(`delete from account_assignment where team_id = @team and assignment = 'payout_bankAccount'`, nil)
	h.Post(path, object{"amount": 1}).WantError(apierr.CodeBadRequest, apierr.ReasonRequiredAccountMissing)
}

// wantEntries compares the journal of a transaction, by ledger, account and party.
func (h *house) wantEntries(source id.ID, want map[string]int64) {
	h.T.Helper()

	type entry struct {
		What  string
		Cents int64
	}

	var found []entry

	h.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
		found, err = db.Select[entry](ctx, tx, `
			select e.ledger || ' ' || a.code || ' ' || coalesce(e.party, '') as what, e.cent_total as cents
			from ledger_entry e join account a on a.team_id = e.team_id and a.id = e.account_id
			where e.team_id = @team and e.source_id = @source`, db.Args{"team": tx.Team, "source": source})

		return err
	})

	for _, e := range found {
		if want[e.What] != e.Cents {
			h.T.Errorf("entry %+v, want %v", e, want)
		}
	}

	if len(found) != len(want) {
		h.T.Errorf("entries %v, want %v", found, want)
	}
}
