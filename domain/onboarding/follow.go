package onboarding

import (
	"context"
	"fmt"
	"slices"

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
	charged, err := chargedOn(ctx, tx, changed)
	if err != nil {
		return err
	}
	o.Reservations = append(o.Reservations, charged...)
	slices.SortFunc(o.Reservations, id.ID.Compare)
	o.Reservations = slices.Compact(o.Reservations)
	if o.Transactions, err = sources(ctx, tx, "transaction", moves); err != nil {
		return err
	}
	_, err = ledger.Outdate(ctx, tx, o)
	return err
}

// chargedOn finds the reservations, in the order of their ids, whose deposits have a line on an account that took on or gave up a part, where the
// line was or becomes what the channel or the processor kept: fees charge that on, and no entry of the stay's own names the account.
func chargedOn(ctx context.Context, tx *db.Tx, changed []account.Reassigned) ([]id.ID, error) {
	costs := []string{string(account.DepositChannelFee), string(account.DepositMerchantFee)}
	var accounts, moved []id.ID
	for _, c := range changed {
		accounts = append(accounts, c.From, c.To)
		if slices.Contains(costs, string(c.Assignment)) {
			moved = append(moved, c.From, c.To)
		}
	}
	if len(accounts) == 0 {
		return nil, nil
	}
	found, err := db.Select[id.ID](ctx, tx, `
		select distinct l.reservation_id from transaction_line l
		join transaction t on t.team_id = l.team_id and t.id = l.transaction_id and t.type = 'deposit' and t.status = 'active'
		where l.team_id = @team and l.reservation_id is not null
			and (l.account_id = any(@moved::uuid[]) or l.account_id = any(@accounts::uuid[]) and l.assignment = any(@costs::text[]))
		order by l.reservation_id`, db.Args{"team": tx.Team, "accounts": accounts, "moved": moved, "costs": costs})
	if err != nil {
		return nil, fmt.Errorf("find the stays whose deposits a change touches: %w", err)
	}
	return found, nil
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
	return team.Hooks{SettingsChanged: settingsChanged, Unlocked: ledger.RetryReopened}
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
