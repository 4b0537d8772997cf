package payout

import (
	"context"
	"fmt"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/settlement/chain"
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Draw is money that the manager takes from the balance that the trust holds for him.
type Draw struct {
	Amount        money.Cents `json:"amount" minimum:"-9007199254740991" maximum:"9007199254740991" doc:"Cents; negative when the manager pays in. Not 0."`
	Date          *day.Day    `json:"date,omitempty" doc:"Today when absent."`
	BankAccountID *id.ID      `json:"bankAccountId,omitempty" doc:"Bank account that pays; the one assigned to payout_bankAccount when absent."`
	LineAccountID *id.ID      `json:"lineAccountId,omitempty" doc:"Where the money goes: a bank account of the other ledger, which is booked in the same transaction. Absent: the account assigned to payout_distribution."`
}

// Resolve refuses a draw of 0.
func (d *Draw) Resolve() []apierr.Issue {
	if d.Amount == 0 {
		return []apierr.Issue{apierr.IssueZeroAmount.InBody("amount")}
	}

	return nil
}

// Drawn is the transaction of a draw with the findings about it.
type Drawn struct {
	transaction.Transaction
	Issues []finding.Finding `json:"issues" doc:"insufficientManagerFunds when the draw takes more than the manager has, or than the bank account holds."`
}

type drawInput struct{ Body Draw }

// addDraw books a draw: the manager's balance is debited, the bank account credited.
func addDraw(ctx context.Context, tx *db.Tx, in *drawInput) (*Drawn, error) {
	d := &in.Body

	date := tx.Today()
	if d.Date != nil {
		date = *d.Date
	}

	// The accounts are checked before anything is written.
	from, to, err := d.loadAccounts(ctx, tx)
	if err != nil {
		return nil, err
	}

	// One line of the manager, on the other bank account or on the distributions.
	create := transaction.Create{
		Type: transaction.Payout, Date: date, AccountID: api.Set(from.ID), Description: api.Set("Manager payout"),
		Lines: []transaction.LineInput{{Amount: d.Amount}},
	}

	create.Lines[0].Party = api.Set(ledger.Manager)
	if to != nil {
		create.Lines[0].AccountID = api.Set(to.ID)
	}

	if from.Currency != nil {
		create.Currency = api.Set(*from.Currency)
	}

	added, err := transaction.Add(ctx, tx, &create, ledger.Lenience{})
	if err != nil {
		return nil, err
	}

	// A transaction that was booked just now, on no listing, has no locks.
	added.Lock, added.JournalStatus = ledger.NoLock(), ledger.CurrentJournal()
	issues, err := findOverdrafts(ctx, tx, added, from)

	return &Drawn{Transaction: *added, Issues: issues}, err
}

// drawAccount is an account of a draw with its ledger.
type drawAccount struct {
	bank
	Ledger string
}

// loadAccounts returns the account that pays and the one that is paid; to is nil if the money goes to the
// distributions.
func (d *Draw) loadAccounts(ctx context.Context, tx *db.Tx) (from, to *drawAccount, err error) {
	// The account of the request pays, else the assigned one, which must exist then.
	var ids []id.ID
	if d.BankAccountID != nil {
		ids = []id.ID{*d.BankAccountID}
	} else {
		have, err := account.LoadAssigned(ctx, tx)
		if err != nil {
			return nil, nil, fmt.Errorf("read the account assignments: %w", err)
		}

		if err := account.Require(have, account.PayoutBankAccount); err != nil {
			return nil, nil, err
		}

		ids = []id.ID{have[account.PayoutBankAccount]}
	}

	if d.LineAccountID != nil {
		ids = append(ids, *d.LineAccountID)
	}

	// Load both accounts at once. A bank account belongs to the trust unless it is an operating one.
	rows, err := db.Select[drawAccount](ctx, tx, `
		select id, type = 'bank' as bank, status = 'active' as active, lower(banking_currency) as currency,
			case when banking_category = 'operating' then 'operating' else 'trust' end as ledger
		from account where team_id = @team and id = any(@ids)`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, nil, fmt.Errorf("read the accounts of a draw: %w", err)
	}

	banks := map[id.ID]bank{}

	found := map[id.ID]*drawAccount{}
	for i := range rows {
		banks[rows[i].ID], found[rows[i].ID] = rows[i].bank, &rows[i]
	}

	if err := checkAccount(banks, ids[0], "bankAccountId"); err != nil {
		return nil, nil, err
	}

	// Without a second account the distributions are paid.
	if d.LineAccountID == nil {
		return found[ids[0]], nil, nil
	}

	if err := checkAccount(banks, ids[1], "lineAccountId"); err != nil {
		return nil, nil, err
	}

	// Money of the manager moves between ledgers, and in one currency.
	from, to = found[ids[0]], found[ids[1]]
	switch {
	case from.Ledger == to.Ledger:
		return nil, nil, apierr.BadRequest.At(apierr.IssueSameLedger.InBody("lineAccountId"))
	case from.Currency != nil && to.Currency != nil && *from.Currency != *to.Currency:
		return nil, nil, apierr.BadRequest.At(apierr.IssueCurrencyMismatch.InBody("lineAccountId"))
	}

	return from, to, nil
}

// findOverdrafts returns a warning for each balance that a draw has taken below zero.
func findOverdrafts(
	ctx context.Context,
	tx *db.Tx,
	t *transaction.Transaction,
	from *drawAccount,
) ([]finding.Finding, error) {
	issues := []finding.Finding{}
	if t.Total <= 0 {
		return issues, nil
	}

	// The balances already contain the draw.
	manager, err := loadManagerBalance(ctx, tx, from.Ledger, t.Currency, t.Date)
	if err != nil {
		return nil, err
	}

	held, err := loadBankBalances(ctx, tx, []id.ID{from.ID}, t.Date)
	if err != nil {
		return nil, err
	}

	// Available is the balance before the draw.
	found := func(left money.Cents, context map[string]any) {
		if left < 0 {
			context["available"] = left + t.Total
			context["amount"] = t.Total
			context["currency"] = t.Currency
			context["date"] = t.Date
			issues = append(issues, finding.Finding{
				Code:     insufficientManagerFunds,
				Severity: finding.Warning,
				Context:  context,
			})
		}
	}
	found(manager, map[string]any{"balance": "manager", "ledger": from.Ledger})
	found(held[fund{
		account: from.ID,
		Chain:   chain.Chain{Currency: t.Currency},
	}], map[string]any{"balance": "bankAccount", "accountId": from.ID})

	return issues, nil
}
