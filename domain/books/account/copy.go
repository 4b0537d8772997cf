package account

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"stayledger/domain/record/audit"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

// chartCopy is the chart of a team for another team that copies it. It leaves out last digits and opening balances,
// because they belong to real bank accounts.
type chartCopy struct {
	categories  []Category
	accounts    []chartAccount
	assignments []assignmentRow
}

// readCopy loads the chart of a team that the transaction may read, and returns the function that copies it:
// accounts first, then assignments.
func readCopy(ctx context.Context, tx *db.Tx, from id.ID) (parts.Paste, error) {
	c, err := loadChartCopy(ctx, tx, from)

	return func(ctx context.Context, tx *db.Tx, asked bool, here parts.Counterparts) error {
		if asked {
			if err := c.copyAccounts(ctx, tx); err != nil {
				return err
			}
		}

		// Other parts of the copy need the counterparts even if the chart itself is not copied.
		own, err := c.loadCounterparts(ctx, tx)
		if maps.Copy(here, own); err != nil || !asked {
			return err
		}

		return c.copyAssignments(ctx, tx, own)
	}, err
}

// chartAccount is an account in use. Its category is given by the name, which both teams share.
type chartAccount struct {
	ID              id.ID   `json:"id"`
	Code            *string `json:"code"`
	Name            string  `json:"name"`
	UniqueRef       *string `json:"unique_ref"`
	Type            Type    `json:"type"`
	Category        string  `json:"category"`
	BankingCategory *string `json:"banking_category"`
	BankingType     *string `json:"banking_type"`
	BankingCurrency *string `json:"banking_currency"`
}

// assignmentRow is an assignment with its account.
type assignmentRow struct {
	Assignment Assignment `json:"assignment"`
	AccountID  id.ID      `json:"account_id"`
}

// loadChartCopy loads the chart of a team that the transaction may read.
func loadChartCopy(ctx context.Context, tx *db.Tx, team id.ID) (*chartCopy, error) {
	c := &chartCopy{}
	args := db.Args{"team": team}

	var err error
	if c.categories, err = db.Select[Category](ctx, tx, `select `+categoryColumns+` from account_category where team_id = @team order by position`, args); err != nil {
		return nil, fmt.Errorf("read the categories to copy: %w", err)
	}

	c.accounts, err = db.Select[chartAccount](ctx, tx, `
		select a.id, a.code, a.name, a.unique_ref, a.type, c.name as category, a.banking_category, a.banking_type, a.banking_currency
		from account a join account_category c on c.team_id = a.team_id and c.id = a.category_id
		where a.team_id = @team and a.status = 'active' order by a.id`, args)
	if err != nil {
		return nil, fmt.Errorf("read the accounts to copy: %w", err)
	}

	c.assignments, err = db.Select[assignmentRow](ctx, tx, `select assignment, account_id from account_assignment where team_id = @team`, args)
	if err != nil {
		return nil, fmt.Errorf("read the assignments to copy: %w", err)
	}

	return c, nil
}

// copyAccounts inserts the categories and accounts of a chart that the team does not have. Running it again adds
// nothing.
func (c *chartCopy) copyAccounts(ctx context.Context, tx *db.Tx) error {
	categories, accounts := append([]Category{}, c.categories...), append([]chartAccount{}, c.accounts...)
	for i := range categories {
		categories[i].ID = tx.NewID()
	}

	for i := range accounts {
		accounts[i].ID = tx.NewID()
	}

	// First the categories, because accounts find theirs by the name.
	insert := categoryTable.Insert(tx, db.Refs(categories)...)

	made, err := db.Select[Category](ctx, tx, insert.SQL+" on conflict (team_id, name) do nothing returning "+categoryColumns, insert.Args)
	if err != nil {
		return fmt.Errorf("copy the categories of a chart of accounts: %w", err)
	}

	for i := range made {
		audit.Note(tx, audit.Created, audit.Category, made[i].ID, nil, made[i])
	}

	// An account that the team has by name, code or reference is skipped.
	added, err := db.Select[id.ID](ctx, tx, `
		insert into account (team_id, id, code, name, unique_ref, type, category_id, banking_category, banking_type, banking_currency, created_at, updated_at)
		select @team, x.id, x.code, x.name, x.unique_ref, x.type, c.id, x.banking_category, x.banking_type, x.banking_currency, @now, @now
		from jsonb_to_recordset(@rows) as x (id uuid, code text, name text, unique_ref text, type text, category text, banking_category text,
			banking_type text, banking_currency text)
		join account_category c on c.team_id = @team and c.name = x.category
		where not exists (select from account a where a.team_id = @team and (a.name = x.name or a.code = x.code or a.unique_ref = x.unique_ref))
		returning id`, db.Args{"team": tx.Team, "now": tx.Now, "rows": accounts})
	if err != nil {
		return fmt.Errorf("copy a chart of accounts: %w", err)
	}

	// Only accounts that were inserted have an audit event.
	for i := range accounts {
		if a := &accounts[i]; slices.Contains(added, a.ID) {
			audit.Note(tx, audit.Created, audit.Account, a.ID, nil, map[string]any{
				"code":      a.Code,
				"name":      a.Name,
				"uniqueRef": a.UniqueRef,
				"type":      a.Type,
				"category":  map[string]any{"name": a.Category},
			})
		}
	}

	return nil
}

// loadCounterparts loads the team's own accounts by those of a chart that they correspond to: of the same name, else
// code, else reference.
func (c *chartCopy) loadCounterparts(ctx context.Context, tx *db.Tx) (map[id.ID]id.ID, error) {
	type own struct {
		ID              id.ID
		Name            string
		Code, UniqueRef *string
	}

	rows, err := db.Select[own](ctx, tx, `select id, name, code, unique_ref from account where team_id = @team and status = 'active'`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, fmt.Errorf("read the accounts of the team that copies: %w", err)
	}

	names, codes, refs := map[string]id.ID{}, map[string]id.ID{}, map[string]id.ID{}
	for _, a := range rows {
		names[a.Name] = a.ID
		if a.Code != nil {
			codes[*a.Code] = a.ID
		}

		if a.UniqueRef != nil {
			refs[*a.UniqueRef] = a.ID
		}
	}

	out := map[id.ID]id.ID{}

	for i := range c.accounts {
		a := &c.accounts[i]

		// The name comes first, because every account has one.
		here := names[a.Name]
		if here.IsZero() && a.Code != nil {
			here = codes[*a.Code]
		}

		if here.IsZero() && a.UniqueRef != nil {
			here = refs[*a.UniqueRef]
		}

		if !here.IsZero() {
			out[a.ID] = here
		}
	}

	return out, nil
}

// copyAssignments makes the assignments of a chart, with the counterparts of its accounts, unless the team has made
// them itself.
func (c *chartCopy) copyAssignments(ctx context.Context, tx *db.Tx, counterparts map[id.ID]id.ID) error {
	rows := []assignmentRow{}

	for _, a := range c.assignments {
		if here, exists := counterparts[a.AccountID]; exists {
			rows = append(rows, assignmentRow{a.Assignment, here})
		}
	}

	// An assignment that the team has made stays where it is.
	made, err := db.Select[assignmentRow](ctx, tx, `
		insert into account_assignment (team_id, assignment, account_id)
		select @team, x.assignment, x.account_id from jsonb_to_recordset(@rows) as x (assignment text, account_id uuid)
		on conflict (team_id, assignment) do nothing returning assignment, account_id`, db.Args{"team": tx.Team, "rows": rows})
	if err != nil {
		return fmt.Errorf("copy account assignments: %w", err)
	}

	parts := map[id.ID][]Assignment{}
	for _, a := range made {
		parts[a.AccountID] = append(parts[a.AccountID], a.Assignment)
	}

	for account, played := range parts {
		audit.Note(tx, audit.Updated, audit.Account, account, nil, map[string]any{"assignments": played})
	}

	return nil
}
