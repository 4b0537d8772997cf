package bank

import (
	"context"
	"fmt"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Start holds the amounts that bank and books have on different sides of the first day of an account.
type Start struct {
	// Booked is the balance of the books on that day, without the transaction that opens the account. Opening
	// balances of the day itself are part of it.
	Booked money.Cents
	// Transit is the part of Booked that is not at the bank yet, less what the bank had and is booked later. Payments
	// that are outstanding make it smaller.
	Transit money.Cents
	// Counted goes with the account, so that Compare shows only what is found out after it was opened.
	Counted money.Cents
}

// LoadStart loads what the books have on the first day of an account, and how much of it the bank has not. The records
// before that day must be excluded already, as far as they are.
func LoadStart(ctx context.Context, tx *db.Tx, account id.ID, currency string, first day.Day) (*Start, error) {
	args := db.Args{"team": tx.Team, "account": account, "currency": currency, "first": first}

	// What is settled with records before the first day is not in transit: its entries and records need not be read.
	start, err := db.One[Start](ctx, tx, apierr.NotFound, `
		with opened as (select a.banking_opening_transaction_id as by from account a where a.team_id = @team and a.id = @account
		), source as materialized (
			select @first::date as first, c.source_id, `+opensSQL+` as opens from opened o cross join lateral (
				select c.source_id from bank_clearing c where c.team_id = @team and c.account_id = @account
					and (c.settled_at = 'infinity' or c.booked_at <= @first and c.settled_at >= @first)
				union
				select c.source_id from bank_clearing c where c.team_id = @team and c.account_id = @account
					and c.seen_at < c.booked_at and c.seen_at < @first and c.booked_at >= @first) c
			where c.source_id is distinct from o.by
		), side as (
			select s.opens, `+beforeSQL+` as before, coalesce(bool_or(x.is_record and x.at >= s.first), false) as comes
			from source s cross join lateral (
				select e.txn_at as at, e.cent_total as booked, 0::bigint as seen, false as is_record from ledger_entry e
					where e.team_id = @team and e.source_id = s.source_id and e.account_id is not distinct from @account and e.currency = @currency
						and e.status = 'active' and e.ledger <> 'historical'
				union all
				select r.date, 0, n.cent_total, true from bank_reconciliation n
					join bank_record r on r.team_id = n.team_id and r.id = n.bank_record_id
					where n.team_id = @team and n.transaction_id = s.source_id and n.account_id = @account and r.status = 'active'`+db.Fence+`) x
			group by s.source_id, s.opens
		), booked as (
			select coalesce(sum(e.cent_total), 0) as cents from ledger_entry e, opened o
			where e.team_id = @team and e.account_id = @account and e.currency = @currency and e.status = 'active' and e.ledger <> 'historical'
				and e.source_id is distinct from o.by and (e.txn_at < @first or e.txn_at = @first and (e.source_id = @team
					or exists (select from transaction t where t.team_id = @team and t.id = e.source_id and t.is_opening_balance)))
		)
		select b.cents::bigint as booked, coalesce(sum(d.before) filter (where d.comes or not d.opens), 0)::bigint as transit,
			(-coalesce(sum(d.before) filter (where d.comes and d.opens), 0) - u.open)::bigint as counted
		from booked b cross join (`+lackSQL("@account", "@first::date")+`) u left join side d on true group by b.cents, u.open`, args)
	if err != nil {
		return nil, fmt.Errorf("read what was in transit on the first day of a bank account: %w", err)
	}

	return &start, nil
}
