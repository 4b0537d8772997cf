package report

import (
	"context"
	"fmt"

	"stayledger/domain/books/account"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// chartAccount is an account in its place in the chart.
type chartAccount struct {
	ID             id.ID
	Code           *string
	Name           string
	CategoryID     id.ID
	CategoryName   string
	Classification account.Classification
	// Held accounts are bank accounts and those for amounts that guests owe or have paid ahead. Their balance does not
	// depend on the party to whom it belongs.
	Held bool
}

// heldAccountsSQL is SQL for the accounts with entries that never count to the balance of a party.
const heldAccountsSQL = `(select h.id from account h where h.team_id = @team and (h.type = 'bank' or exists (select from account_assignment s
	where s.team_id = h.team_id and s.account_id = h.id and s.assignment in ('accountsReceivable', 'deposit_coHostPayout'))))`

// ref returns the account as figures refer to it.
func (a *chartAccount) ref() account.Ref { return account.Ref{ID: a.ID, Code: a.Code, Name: a.Name} }

// loadChart loads the team's accounts by code, or first by category and then by code.
func loadChart(ctx context.Context, tx *db.Tx, byCategory bool) ([]chartAccount, error) {
	order := ""
	if byCategory {
		order = "c.position, c.id, "
	}

	// Accounts without a code come last, by name. The id makes the order stable.
	accounts, err := db.Select[chartAccount](ctx, tx, `
		select a.id, a.code, a.name, c.id as category_id, c.name as category_name, c.classification,
			a.id in `+heldAccountsSQL+` as held
		from account a join account_category c on c.team_id = a.team_id and c.id = a.category_id
		where a.team_id = @team order by `+order+page.TextSQL("a.code")+` nulls last, `+page.TextSQL("a.name")+`, a.id`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read the chart: %w", err)
	}

	return accounts, nil
}
