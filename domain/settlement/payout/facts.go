package payout

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/account"
	"stayledger/domain/settlement/chain"
	"stayledger/domain/settlement/statement"
	"stayledger/domain/tenant/team"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// facts is the data that payouts are decided on, loaded for all statements at once.
type facts struct {
	found map[id.ID]*chain.Payable
	// failed are the active payouts, by statement, with a payment that brought nothing and was not put away. unknown
	// are the statements with a payout about which the provider has not reported yet.
	failed  map[id.ID][]id.ID
	unknown map[id.ID]bool
	// own are the bank accounts that certain owners are paid from.
	own      map[id.ID]id.ID
	assigned id.ID
	basis    team.PayoutBasis
	banks    map[id.ID]bank
}

// bank is an account that may pay.
type bank struct {
	ID       id.ID
	Bank     bool
	Active   bool
	Currency *string
}

// lockPeriods locks the ownership periods of statements. Payouts of the same period must wait for each other, since
// each decides by what the others have paid on any statement of the chain. Changes of the statements wait as well: they
// lock the ownership period first.
func lockPeriods(ctx context.Context, tx *db.Tx, statements []id.ID) error {
	err := tx.Pipeline(ctx,
		db.Stmt{
			SQL: `
			select from listing_ownership_period where team_id = @team and id in (
				select ownership_period_id from statement where team_id = @team and id = any(@ids)) order by id for no key update`,
			Args: db.Args{"team": tx.Team, "ids": statements},
		})
	if err != nil {
		return fmt.Errorf("lock ownership periods: %w", err)
	}

	return nil
}

// loadFacts loads the facts of a request. If toPay is set, it locks the ownership periods and statements first.
func loadFacts(ctx context.Context, tx *db.Tx, r *Request, toPay bool) (*facts, error) {
	if toPay {
		if err := lockPeriods(ctx, tx, r.StatementIDs); err != nil {
			return nil, err
		}
	}

	// Then the statements with their balances.
	payables, err := loadPayables(ctx, tx, r, toPay)
	if err != nil {
		return nil, err
	}

	f := &facts{found: make(map[id.ID]*chain.Payable, len(payables))}

	var owners []id.ID

	// The accounts of all their members are loaded at once.
	for i := range payables {
		p := &payables[i]

		f.found[p.ID] = p
		for _, o := range p.Owners() {
			owners = append(owners, o.ContactID)
		}
	}

	// Last, everything else in one round trip.
	return f, tx.Together(ctx,
		db.Load(&f.basis, loadBasis),
		func(ctx context.Context, tx *db.Tx) error { return f.loadFailed(ctx, tx, r.StatementIDs) },
		func(ctx context.Context, tx *db.Tx) error { return f.loadAccounts(ctx, tx, r, id.Distinct(owners)) })
}

// loadPayables loads the statements of a request. Drafts are among them, since a payout on one is refused otherwise than
// one on an unknown statement.
func loadPayables(ctx context.Context, tx *db.Tx, r *Request, toPay bool) ([]chain.Payable, error) {
	payables, err := chain.LoadPayables(ctx, tx, r.StatementIDs, r.day(tx), toPay)
	if err != nil {
		return nil, err
	}

	// In most cases all are saved, and none has to be looked for among the drafts.
	saved := make(map[id.ID]bool, len(payables))
	for i := range payables {
		saved[payables[i].ID] = true
	}

	rest := slices.DeleteFunc(slices.Clone(r.StatementIDs), func(v id.ID) bool { return saved[v] })

	chains, err := statement.FindDrafts(ctx, tx, rest)
	if err != nil {
		return nil, err
	}

	drafts, err := chain.LoadDrafts(ctx, tx, chains)

	return append(payables, drafts...), err
}

// loadBasis loads the basis on which the team has payouts suggested.
func loadBasis(ctx context.Context, tx *db.Tx) (team.PayoutBasis, error) {
	basis, err := db.Get[team.PayoutBasis](ctx, tx, `select payout_basis from team where id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return "", fmt.Errorf("read the basis of payouts: %w", err)
	}

	return basis, nil
}

// loadFailed loads the payouts that count as paid although no money has moved.
func (f *facts) loadFailed(ctx context.Context, tx *db.Tx, statements []id.ID) error {
	type row struct {
		StatementID, TransactionID id.ID
		Refused                    bool
	}

	rows, err := db.Select[row](ctx, tx, `
		select distinct n.statement_id, n.transaction_id, p.refused
		from transaction_line n join payment_not_received p on p.team_id = n.team_id and p.transaction_id = n.transaction_id
		where n.team_id = @team and n.statement_id = any(@statements) and p.transaction_type = 'payout' and p.missing > 0
		order by 1, 2`, db.Args{"team": tx.Team, "statements": statements})
	if err != nil {
		return fmt.Errorf("find failed payments: %w", err)
	}

	// A refused payment must be archived first; one without news may still arrive.
	f.failed, f.unknown = map[id.ID][]id.ID{}, map[id.ID]bool{}

	for _, r := range rows {
		if r.Refused {
			f.failed[r.StatementID] = append(f.failed[r.StatementID], r.TransactionID)
		} else {
			f.unknown[r.StatementID] = true
		}
	}

	return nil
}

// loadAccounts loads the accounts that may pay. If the request names an account, it must be one that can pay.
func (f *facts) loadAccounts(ctx context.Context, tx *db.Tx, r *Request, owners []id.ID) error {
	var (
		own  []payoutAccount
		have map[account.Assignment]id.ID
	)
	if err := tx.Together(ctx, db.LoadBy(&own, loadPaidFrom, owners), db.Load(&have, account.LoadAssigned)); err != nil {
		return err
	}

	// The accounts of owners, the assigned one and the one of the request are loaded together.
	f.own, f.assigned = make(map[id.ID]id.ID, len(own)), have[account.PayoutBankAccount]

	ids := []id.ID{f.assigned}
	for _, o := range own {
		f.own[o.ID] = o.PayoutAccountID
		ids = append(ids, o.PayoutAccountID)
	}

	if r.BankAccountID != nil {
		ids = append(ids, *r.BankAccountID)
	}

	f.banks = map[id.ID]bank{}
	if err := f.addBanks(ctx, tx, ids); err != nil || r.BankAccountID == nil {
		return err
	}

	return checkAccount(f.banks, *r.BankAccountID, "bankAccountId")
}

// payoutAccount is an owner and the bank account that he or she is paid from.
type payoutAccount struct{ ID, PayoutAccountID id.ID }

// loadPaidFrom loads the owners who have an account of their own to be paid from.
func loadPaidFrom(ctx context.Context, tx *db.Tx, owners []id.ID) ([]payoutAccount, error) {
	found, err := db.Select[payoutAccount](ctx, tx, `select id, payout_account_id from contact where team_id = @team and id = any(@owners) and payout_account_id is not null`,
		db.Args{"team": tx.Team, "owners": owners})
	if err != nil {
		return nil, fmt.Errorf("read owners: %w", err)
	}

	return found, nil
}

// addBanks loads the accounts that are not loaded yet.
func (f *facts) addBanks(ctx context.Context, tx *db.Tx, ids []id.ID) error {
	ids = slices.DeleteFunc(id.Distinct(ids), func(v id.ID) bool {
		_, loaded := f.banks[v]
		return loaded || v.IsZero()
	})
	if len(ids) == 0 {
		return nil
	}

	// Accounts of any type are loaded, so that a wrong one can be refused for its type.
	rows, err := db.Select[bank](ctx, tx, `
		select id, type = 'bank' as bank, status = 'active' as active, lower(banking_currency) as currency from account where team_id = @team and id = any(@ids)`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return fmt.Errorf("read bank accounts: %w", err)
	}

	for _, b := range rows {
		f.banks[b.ID] = b
	}

	return nil
}

// checkAccount refuses an account, named in a field of the request, that cannot pay.
func checkAccount(banks map[id.ID]bank, account id.ID, field string) error {
	switch b, ok := banks[account]; {
	case !ok:
		return apierr.BadRequest.At(apierr.IssueNotFound.InBody(field))
	case !b.Bank:
		return transaction.ErrNotBank.At(apierr.IssueNotBankAccount.InBody(field))
	case !b.Active:
		return apierr.BadRequest.At(apierr.IssueAccountInactive.InBody(field))
	}

	return nil
}
