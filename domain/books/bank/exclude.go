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

// maxExcluded is how many records one request excludes or brings back, attaches or detaches.
const maxExcluded = 10_000

// ErrTooManyRecords refuses to exclude or bring back more than maxExcluded records in one request (RSN-07).
var ErrTooManyRecords = apierr.New(
	apierr.CodeBadRequest, apierr.ReasonBankAccountTooManyRecords, "Too many bank records to initialize in one request",
)

// Exclude excludes the records of an account before its first day and brings those back that an earlier first day had
// excluded; bank rules are applied to these. Records excluded by a person stay excluded, reconciled records stay as
// they are. It fails with bankAccountTooManyRecords.
func (rules Rules) Exclude(
	ctx context.Context, tx *db.Tx,
	account id.ID,
	first day.Day,
) (excluded, back int64, err error) {
	const (
		older = `r.team_id = @team and r.account_id = @account and r.status = 'active' and r.date < @first
		and not exists (select from bank_reconciliation c where c.team_id = r.team_id and c.bank_record_id = r.id)`
		newer = `r.team_id = @team and r.account_id = @account and r.status = 'inactive' and r.date >= @first
		and exists (select from account_excluded_record x where x.team_id = r.team_id and x.bank_record_id = r.id)`
	)

	type row struct{ Older, Newer int64 }

	// First count them, up to the limit, so that nothing is changed if there are too many.
	r, err := db.Get[row](ctx, tx, `select (select count(*) from (select from bank_record r where `+older+` limit @max::int + 1) n) as older,
		(select count(*) from (select from bank_record r where `+newer+` limit @max::int + 1) n) as newer`,
		db.Args{"team": tx.Team, "account": account, "first": first, "max": maxExcluded})
	if err != nil {
		return 0, 0, fmt.Errorf("count bank records: %w", err)
	}

	if r.Older+r.Newer > maxExcluded {
		return 0, 0, ErrTooManyRecords.With(map[string]any{"maxRecords": maxExcluded})
	}

	withNow := db.Args{"team": tx.Team, "account": account, "first": first, "now": tx.Now}

	// Then exclude the older ones with a mark, and bring the newer ones with a mark back.
	left, err := db.Select[id.ID](ctx, tx, `
		with kept as (insert into account_excluded_record (team_id, bank_record_id) select r.team_id, r.id from bank_record r where `+older+`
			on conflict do nothing)
		update bank_record r set status = 'inactive', updated_at = @now where `+older+` returning r.id`, withNow)
	if err != nil {
		return 0, 0, fmt.Errorf("exclude bank records: %w", err)
	}

	returned, err := db.Select[id.ID](ctx, tx, `
		with back as (update bank_record r set status = 'active', updated_at = @now where `+newer+` returning r.id), gone as (
			delete from account_excluded_record x using back where x.team_id = @team and x.bank_record_id = back.id)
		select id from back`, withNow)
	if err != nil {
		return 0, 0, fmt.Errorf("bring bank records back: %w", err)
	}

	type view struct {
		Status string `json:"status"`
	}

	// Last, write the audit events and apply bank rules to the records that count again.
	for _, record := range left {
		audit.Note(
			tx, audit.Updated, audit.BankRecord, record,
			view{"active"},
			view{"inactive"},
			audit.Ref(audit.RoleAccount, audit.Account, account),
		)
	}

	for _, record := range returned {
		audit.Note(
			tx, audit.Updated, audit.BankRecord, record,
			view{"inactive"},
			view{"active"},
			audit.Ref(audit.RoleAccount, audit.Account, account),
		)
	}

	return r.Older, r.Newer, rules.Offer(ctx, tx, returned)
}
