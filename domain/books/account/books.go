package account

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Books are the terms of a team's postings: its currency, the first day of its statements, and its chart of
// accounts. They are shared and must not be changed.
type Books struct {
	DefaultCurrency string
	// StatementStartAt is the first day on which anything is posted, nil for none.
	StatementStartAt *day.Day
	// Accounts are all accounts of the team.
	Accounts map[id.ID]Fact
	// Assigned are the accounts by the parts that they play; parts without an account are absent.
	Assigned map[Assignment]id.ID
	// Banks are the bank accounts, with the ledger that their money belongs to.
	Banks map[id.ID]ledger.Ledger
	// parts are the assignments of each account that has any.
	parts map[id.ID][]Assignment
}

// Fact is what decides whether something may be posted to an account, and how.
type Fact struct {
	ID             id.ID
	Type           Type
	Status         Status
	Classification Classification
	// BankingCategory and Currency are those of a bank account, nil for others, which take any currency.
	BankingCategory *string
	Currency        *string
}

// reference keeps the books of teams.
var reference = db.NewReference(loadBooks)

// LoadBooks loads the books of the team.
func LoadBooks(ctx context.Context, tx *db.Tx) (*Books, error) { return reference.Load(ctx, tx) }

// loadBooks reads the books of the team, and the version that they have, in one statement.
func loadBooks(ctx context.Context, tx *db.Tx) (*Books, int64, error) {
	type row struct {
		DefaultCurrency  string
		StatementStartAt *day.Day
		ReferenceVersion int64
		Accounts         []Fact
		Assigned         map[Assignment]id.ID
	}

	// A bank account without a currency of its own is in the team's.
	r, err := db.Get[row](ctx, tx, `
		select k.default_currency, k.statement_start_at, k.reference_version,
			coalesce((select jsonb_agg(jsonb_build_object('ID', a.id, 'Type', a.type, 'Status', a.status, 'Classification', c.classification,
					'BankingCategory', a.banking_category, 'Currency', case when a.type = 'bank' then coalesce(a.banking_currency, k.default_currency) end))
				from account a join account_category c on c.team_id = a.team_id and c.id = a.category_id where a.team_id = @team), '[]') as accounts,
			coalesce((select jsonb_object_agg(s.assignment, s.account_id) from account_assignment s where s.team_id = @team), '{}') as assigned
		from team k where k.team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return nil, 0, fmt.Errorf("read the team's chart of accounts: %w", err)
	}

	b := &Books{
		DefaultCurrency: r.DefaultCurrency, StatementStartAt: r.StatementStartAt, Assigned: r.Assigned,
		Accounts: make(map[id.ID]Fact, len(r.Accounts)), Banks: map[id.ID]ledger.Ledger{}, parts: map[id.ID][]Assignment{},
	}

	for _, f := range r.Accounts {
		b.Accounts[f.ID] = f
		if f.BankingCategory != nil {
			b.Banks[f.ID] = ledger.Trust
			if *f.BankingCategory == "operating" {
				b.Banks[f.ID] = ledger.Operating
			}
		}
	}

	// In the contract's order, so that they are the same whenever they are loaded.
	for _, name := range Assignment("").Enum() {
		a := Assignment(name)
		if account, is := b.Assigned[a]; is {
			b.parts[account] = append(b.parts[account], a)
		}
	}

	return b, r.ReferenceVersion, nil
}
