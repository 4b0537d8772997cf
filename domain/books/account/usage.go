package account

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// use is one kind of record that refers to an account.
type use struct {
	Reason string
	// Refers keeps the account from being deleted, Holds from being archived: history alone does not hold, but locked
	// history and parts still played do.
	Refers bool
	Holds  bool
}

// usesSQL returns the SQL of the uses of an account, in the order in which they are reported.
func usesSQL() string {
	return `
	select reason, refers, holds from (
		select 1 as n, 'journalEntries' as reason, true as refers, false as holds
			where exists (select from ledger_entry where team_id = @team and account_id = @id)
		union all select 2, 'lockedJournalEntries', false, true
			where exists (select from ledger_entry e where e.team_id = @team and e.account_id = @id and ` + ledger.LockedEntrySQL("e") + `)
		union all select 3, 'reconciledTransactions', false, true
			where exists (select from bank_reconciliation where team_id = @team and account_id = @id)
		union all select 4, 'transactions', true, false
			where exists (select from transaction where team_id = @team and (account_id = @id or payment_account_id = @id))
				or exists (select from transaction_line where team_id = @team and account_id = @id)
		union all select 5, 'bankRecords', true, false where exists (select from bank_record where team_id = @team and account_id = @id)
		union all select 6, 'recurringTemplates', true, bool_or(t.status = 'active')
			from transaction_template t where t.team_id = @team and (t.account_id = @id or exists (
				select from jsonb_array_elements(t.lines) l where l ->> 'account_id' = @id::uuid::text)) having count(*) > 0
		union all select 7, 'journals', true, false
			where exists (select from journal_line where team_id = @team and account_id = @id)
				or exists (select from historical_entry where team_id = @team and account_id = @id)
		union all select 8, 'reservations', true, false where exists (select from reservation_line where team_id = @team and account_id = @id)
		union all select 9, 'adjustments', true, false where exists (select from reservation_adjustment where team_id = @team and account_id = @id)
		union all select 10, 'recurringFees', true, bool_or(f.status = 'active')
			from fee f where f.team_id = @team and (f.credit_account_id = @id or f.debit_account_id = @id
				or exists (select from fee_reference r where r.team_id = @team and r.fee_id = f.id and r.target_account_id = @id)
				or exists (select from fee_condition c where c.team_id = @team and c.fee_id = f.id and c.account_id = @id)) having count(*) > 0
		union all select 11, 'lineMappings', true, true where exists (select from reservation_line_mapping where team_id = @team and account_id = @id)
		union all select 12, 'assignments', true, true where exists (select from account_assignment where team_id = @team and account_id = @id)
		union all select 13, 'offsetAccounts', true, false where exists (select from account where team_id = @team and offset_account_id = @id)
		union all select 14, 'payoutAccounts', true, true where exists (select from contact where team_id = @team and payout_account_id = @id)
		union all select 15, 'accountConnections', true, true where exists (select from account_connection where team_id = @team and account_id = @id)
	) u order by n`
}

// loadUses loads the uses of an account.
func loadUses(ctx context.Context, tx *db.Tx, account id.ID) ([]use, error) {
	// One query for all kinds of uses.
	uses, err := db.Select[use](ctx, tx, usesSQL(), db.Args{"team": tx.Team, "id": account})
	if err != nil {
		return nil, fmt.Errorf("find what uses an account: %w", err)
	}

	return uses, nil
}

// checkDelete refuses to delete an account in use: ERR-72, ERR-73, ERR-74, RSN-03.
func checkDelete(uses []use) error {
	var refers []string

	for _, u := range uses {
		if u.Refers {
			refers = append(refers, u.Reason)
		}
	}

	if refers == nil {
		return nil
	}

	// Archiving is suggested only if it would work.
	context := apierr.InUse{LockReasons: refers}
	if checkArchive(uses) == nil {
		context.SuggestedOnLocked = apierr.Archive
	}

	return errInUse.With(context)
}

// checkArchive refuses to archive an account that still has an assignment, or with locked history.
func checkArchive(uses []use) error {
	var holds []string

	for _, u := range uses {
		if u.Holds {
			holds = append(holds, u.Reason)
		}
	}

	if holds == nil {
		return nil
	}

	return errInUse.With(apierr.InUse{LockReasons: holds})
}
