package opening

import (
	"context"
	"fmt"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/books/trial"
	"stayledger/platform/api"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Guests is the money that guests had paid for future stays, and the deferred revenue, when the books were opened.
type Guests struct {
	Amount                   money.Cents  `json:"amount" doc:"Cents in the bank for it: the sum of the two."`
	Currency                 string       `json:"currency"`
	UpdatedAt                *day.Instant `json:"updatedAt"`
	TransactionID            *id.ID       `json:"transactionId" doc:"The deposit that books it; null while there is none."`
	AccountsReceivableAmount money.Cents  `json:"accountsReceivableAmount" doc:"Cents of advance deposits, negative when guests owed more."`
	DeferredRevenueAmount    money.Cents  `json:"deferredRevenueAmount" doc:"Cents of revenue that is to be recognised later."`
}

// PutGuests is the body that sets the opening balance of guests.
type PutGuests struct {
	AccountsReceivableAmount money.Cents     `json:"accountsReceivableAmount" minimum:"-9007199254740991" maximum:"9007199254740991" doc:"Cents."`
	DeferredRevenueAmount    money.Cents     `json:"deferredRevenueAmount" minimum:"-9007199254740991" maximum:"9007199254740991" doc:"Cents."`
	Currency                 api.Opt[string] `json:"currency,omitzero" pattern:"^[A-Za-z]{3}$" doc:"Absent: as it is, at first the team's default currency."`
}

// opened is the SQL of the part of the guests' opening balance that a line l is.
var opened = account.ActingPartSQL("l", account.AccountsReceivable, account.DeferredRevenue)

// getGuestOpening answers with the opening balance of guests, zero while there is none.
func getGuestOpening(ctx context.Context, tx *db.Tx, _ *api.None) (*Guests, error) {
	// A deposit that was archived counts as none.
	o, err := db.Get[Guests](ctx, tx, `
		select coalesce(t.total, 0) as amount, coalesce(t.currency, m.default_currency) as currency, t.updated_at, t.id as transaction_id,
			coalesce((select sum(l.amount)::bigint from transaction_line l where l.team_id = @team and l.transaction_id = t.id
				and `+opened+` = 'accountsReceivable'), 0) as accounts_receivable_amount,
			coalesce((select sum(l.amount)::bigint from transaction_line l where l.team_id = @team and l.transaction_id = t.id
				and `+opened+` = 'deferredRevenue'), 0) as deferred_revenue_amount
		from team m left join opening_balance o on o.team_id = m.team_id
			left join transaction t on t.team_id = o.team_id and t.id = o.transaction_id and t.status = 'active'
		where m.team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read the opening balance of guests: %w", err)
	}

	return &o, nil
}

type putGuestOpening struct{ Body PutGuests }

// putGuestOpeningBalance keeps one deposit for the team, dated the day before the first day of the books. Putting it
// again as it is changes nothing.
func putGuestOpeningBalance(ctx context.Context, tx *db.Tx, in *putGuestOpening) (*Guests, error) {
	terms, err := trial.LockTerms(ctx, tx)
	if err != nil {
		return nil, err
	}

	// One line for each part that is not zero. A deposit has at least one line, even if both are.
	var lines []transaction.LineInput
	for _, part := range []struct {
		assignment account.Assignment
		amount     money.Cents
	}{
		{account.AccountsReceivable, in.Body.AccountsReceivableAmount},
		{account.DeferredRevenue, in.Body.DeferredRevenueAmount},
	} {
		if part.amount != 0 || lines == nil && part.assignment == account.DeferredRevenue {
			lines = append(lines, transaction.LineInput{
				Amount:     part.amount,
				LineFields: transaction.LineFields{Assignment: api.Set(part.assignment)},
			})
		}
	}

	if lines[0].Amount == 0 {
		lines[0].Assignment = api.Set(account.AccountsReceivable) // a deposit of nothing needs no account of its own
	}

	if err := saveGuestOpening(ctx, tx, terms, in.Body.Currency, lines); err != nil {
		return nil, err
	}

	return getGuestOpening(ctx, tx, nil)
}

// saveGuestOpening makes the opening deposit of guests or changes the stored one.
func saveGuestOpening(
	ctx context.Context, tx *db.Tx,
	terms *trial.Terms,
	currency api.Opt[string],
	lines []transaction.LineInput,
) error {
	stored, err := db.Select[id.ID](ctx, tx, `select transaction_id from opening_balance where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return fmt.Errorf("read the opening balance of guests: %w", err)
	}

	at := terms.At()
	if len(stored) == 0 {
		t, err := transaction.Add(ctx, tx, &transaction.Create{
			Type:             transaction.Deposit,
			Date:             at,
			IsOpeningBalance: true,
			Currency:         currency,
			Description:      api.Set("Opening balance of guests"),
			Lines:            lines,
		}, ledger.Lenience{})
		if err != nil {
			return err
		}

		_, err = tx.Exec(ctx, `insert into opening_balance (team_id, transaction_id) values (@team, @transaction)`, db.Args{"team": tx.Team, "transaction": t.ID})

		return err
	}

	// There is one already: change it, unless it is the wanted one.
	old, err := transaction.Lock(ctx, tx, stored[0])
	if err != nil {
		return err
	}

	assigned, err := account.LoadAssigned(ctx, tx)
	if err != nil {
		return fmt.Errorf("read the account assignments: %w", err)
	}

	if isSameOpening(old, at, currency.Value, lines, assigned) {
		return nil
	}

	if currency.Value == nil {
		currency = api.Set(old.Currency)
	}

	_, err = transaction.Change(
		ctx, tx, old.ID,
		&transaction.Update{Status: transaction.Active, Date: &at, Currency: currency, Lines: lines},
		ledger.Lenience{},
	)

	return err
}

// isSameOpening reports whether a stored opening deposit is the wanted one. A line with the assigned account counts
// like a line with the assignment.
func isSameOpening(
	old *transaction.Transaction,
	at day.Day,
	currency *string,
	lines []transaction.LineInput,
	assigned map[account.Assignment]id.ID,
) bool {
	if old.Status != transaction.Active || old.Date != at || len(old.Lines) != len(lines) {
		return false
	}

	// An absent currency means the stored one, so it makes no difference.
	if currency != nil {
		if wanted, err := money.ParseCurrency(*currency); err != nil || string(wanted) != old.Currency {
			return false
		}
	}

	for i := range lines {
		l, part := &old.Lines[i], *lines[i].Assignment.Value
		if l.Amount != lines[i].Amount ||
			(l.Assignment == nil || *l.Assignment != part) && l.AccountID != assigned[part] {
			return false
		}
	}

	return true
}
