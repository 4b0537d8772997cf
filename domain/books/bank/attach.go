package bank

import (
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// ErrReconciled refuses to take a record from its account while transactions make it up, in whole or in part
// (RSN-11).
var ErrReconciled = apierr.New(apierr.CodeForbidden, apierr.ReasonBankRecordReconciled, "Bank record is reconciled")

// maxNamed is how many records a refusal names.
const maxNamed = 25

// place is the place of a record as the audit event shows it.
type place struct {
	AccountID *id.ID `json:"accountId"`
	Status    Status `json:"status"`
}

// Attach puts a bank account's records without an account of the chart on an account. It excludes records before the
// account's first day as Exclude does, and applies bank rules to the others. It fails with ErrTooManyRecords.
func (rules Rules) Attach(ctx context.Context, tx *db.Tx, bankAccount, account id.ID) error {
	loose, err := lockFeedRecords(ctx, tx, bankAccount, nil)
	if err != nil || len(loose) == 0 {
		return err
	}

	moved, err := db.Select[id.ID](ctx, tx, `
		update bank_record set account_id = @account, updated_at = @now where team_id = @team and id = any(@ids) returning id`,
		db.Args{"team": tx.Team, "ids": loose, "account": account, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("attach bank records: %w", err)
	}

	for _, record := range moved {
		audit.Note(
			tx, audit.Updated, audit.BankRecord, record,
			place{},
			place{AccountID: &account},
			audit.Ref(audit.RoleAccount, audit.Account, account),
		)
	}

	// The account may have a first day already.
	first, err := db.Get[*day.Day](ctx, tx, `select banking_opening_at from account where team_id = @team and id = @account`,
		db.Args{"team": tx.Team, "account": account})
	if err != nil {
		return err
	}

	if first != nil {
		if _, _, err := rules.Exclude(ctx, tx, account, *first); err != nil {
			return err
		}
	}

	return rules.Offer(ctx, tx, moved)
}

// Detach takes the records of an account at a bank from their account of the chart. Records that its first day had
// excluded count again. They keep their currency. It fails with ErrTooManyRecords, and with ErrReconciled if
// transactions make up a record.
func Detach(ctx context.Context, tx *db.Tx, bankAccount, account id.ID) error {
	ids, err := lockFeedRecords(ctx, tx, bankAccount, &account)
	if err != nil || len(ids) == 0 {
		return err
	}

	reconciled, err := db.Select[id.ID](ctx, tx, `
		select distinct bank_record_id from bank_reconciliation where team_id = @team and bank_record_id = any(@ids) order by 1 limit @most`,
		db.Args{"team": tx.Team, "ids": ids, "most": maxNamed})
	if err != nil {
		return fmt.Errorf("find reconciled bank records: %w", err)
	}

	if len(reconciled) > 0 {
		return ErrReconciled.With(map[string]any{"bankRecordIds": reconciled})
	}

	type row struct {
		ID       id.ID
		Status   Status
		Returned bool
	}

	// A record without an account has no currency from it, so the currency is stored with the record.
	freed, err := db.Select[row](ctx, tx, `
		with returned as (delete from account_excluded_record where team_id = @team and bank_record_id = any(@ids) returning bank_record_id)
		update bank_record r set account_id = null, currency = `+Currency+`, updated_at = @now,
			status = case when r.id in (select bank_record_id from returned) then 'active' else r.status end
		from account a join team k on k.team_id = a.team_id
		where r.team_id = @team and r.id = any(@ids) and a.team_id = r.team_id and a.id = @account
		returning r.id, r.status, r.id in (select bank_record_id from returned) as returned`,
		db.Args{"team": tx.Team, "ids": ids, "account": account, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("detach bank records: %w", err)
	}

	// A record that counts again was excluded before.
	for _, r := range freed {
		before := place{AccountID: &account, Status: r.Status}
		if r.Returned {
			before.Status = Inactive
		}

		audit.Note(
			tx, audit.Updated, audit.BankRecord, r.ID, before,
			place{Status: r.Status},
			audit.Ref(audit.RoleAccount, audit.Account, account),
		)
	}

	return nil
}

// lockFeedRecords locks the records of an account at a bank that are on an account of the chart, or for nil on none,
// until the transaction ends. It fails with ErrTooManyRecords.
func lockFeedRecords(ctx context.Context, tx *db.Tx, bankAccount id.ID, account *id.ID) ([]id.ID, error) {
	on := "account_id is null"

	args := db.Args{"team": tx.Team, "bank": bankAccount, "most": maxExcluded + 1}
	if account != nil {
		on, args["account"] = "account_id = @account", *account
	}

	// One more than the limit is read, to see whether there are too many.
	ids, err := db.Select[id.ID](ctx, tx, `select id from bank_record where team_id = @team and bank_account_id = @bank and `+on+`
		order by id limit @most for update`, args)
	if err != nil {
		return nil, fmt.Errorf("hold the records of an account at a bank: %w", err)
	}

	if len(ids) > maxExcluded {
		return nil, ErrTooManyRecords.With(map[string]any{"maxRecords": maxExcluded})
	}

	return ids, nil
}
