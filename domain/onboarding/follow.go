package onboarding

import (
	"context"
	"fmt"

	"stayledger/domain/account"
	"stayledger/domain/ledger"
	"stayledger/domain/operation"
	"stayledger/domain/team"
	"stayledger/domain/transaction"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// derivation is what journals look a part of the chart up for whenever they are derived, as opposed to parts that a transaction asks for once,
// when it is written.
type derivation struct{ reservations, transactions bool }

func derivations() map[account.Assignment]derivation {
	return map[account.Assignment]derivation{
		account.AccountsReceivable:  {reservations: true},
		account.DepositCoHostPayout: {reservations: true},
		account.DeferredRevenue:     {reservations: true},
		account.CancellationRevenue: {reservations: true},
		account.ExpenseSalesTax:     {reservations: true, transactions: true},
		account.AccountsPayable:     {transactions: true},
		account.ExpenseMarkup:       {transactions: true},
		account.DueToFromTrust:      {transactions: true},
		account.PayoutDistribution:  {transactions: true},
	}
}

// reach is which journals a change touches: those with entries on the accounts, or all.
type reach struct {
	accounts []id.ID
	all      bool
}

// add takes in a part that moved. When nobody played it before, journals that need it could not be derived and have no entries to be found by.
func (r *reach) add(c account.Reassigned) {
	r.all = r.all || c.From.IsZero()
	for _, a := range []id.ID{c.From, c.To} {
		if !a.IsZero() {
			r.accounts = append(r.accounts, a)
		}
	}
}

// AssignmentsChanged marks the journals as stale that parts of the chart decide on, now that other accounts play them, and has them derived:
// those with entries on the old or the new account, and all of the team when nobody played a part before. The opening trial balance follows at once.
func AssignmentsChanged(ctx context.Context, tx *db.Tx, changed []account.Reassigned) error {
	var stays, moves reach
	rules := derivations()
	for _, c := range changed {
		if rules[c.Assignment].reservations {
			stays.add(c)
		}
		if rules[c.Assignment].transactions {
			moves.add(c)
		}
		if c.Assignment == account.OpeningBalance {
			if err := transaction.RebookTrialBalance(ctx, tx); err != nil {
				return err
			}
		}
	}
	o := ledger.Outdated{Reason: ledger.MappingChanged, Cause: operation.Resource{Type: operation.Team, ID: tx.Team}}
	var err error
	if o.Reservations, err = sources(ctx, tx, "reservation", stays); err != nil {
		return err
	}
	if o.Transactions, err = sources(ctx, tx, "transaction", moves); err != nil {
		return err
	}
	_, err = ledger.Outdate(ctx, tx, o)
	return err
}

// sources finds reservations or transactions, in the order of their ids.
func sources(ctx context.Context, tx *db.Tx, table string, r reach) ([]id.ID, error) {
	if len(r.accounts) == 0 && !r.all {
		return nil, nil
	}
	found, err := db.Select[id.ID](ctx, tx, `select s.id from `+table+` s where s.team_id = @team and (@all or exists (
			select from ledger_entry e where e.team_id = @team and e.source_id = s.id and e.account_id = any(@accounts::uuid[]))) order by s.id`,
		db.Args{"team": tx.Team, "accounts": r.accounts, "all": r.all})
	if err != nil {
		return nil, fmt.Errorf("find the journals that a change touches: %w", err)
	}
	return found, nil
}

// Hooks are what a change of the selected team sets off.
func Hooks() team.Hooks {
	return team.Hooks{SettingsChanged: settingsChanged, Unlocked: unlocked}
}

// settingsChanged outdates the journals of all stays, whose dates the team's settings decide on.
func settingsChanged(ctx context.Context, tx *db.Tx) error {
	stays, err := sources(ctx, tx, "reservation", reach{all: true})
	if err != nil {
		return err
	}
	_, err = ledger.Outdate(ctx, tx, ledger.Outdated{
		Reason: ledger.MappingChanged, Cause: operation.Resource{Type: operation.Team, ID: tx.Team}, Reservations: stays,
	})
	return err
}

func unlocked(ctx context.Context, tx *db.Tx) error {
	return ledger.RetryLocked(ctx, tx, operation.Resource{Type: operation.Team, ID: tx.Team}, nil)
}
