package bank

import (
	"context"
	"fmt"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Since is an account whose balance is asked for, and what is known of it from elsewhere.
type Since struct {
	Account id.ID
	// First is the first day whose records count; nil for all of them.
	First *day.Day
	// Opening is what the account held at the start of that day, as far as the bank has stated no balance since.
	Opening money.Cents
}

// Held is what the bank says that an account holds.
type Held struct {
	AccountID id.ID
	// StatedAt is the day of the last balance that the bank stated; nil when it has stated none.
	StatedAt *day.Day
	Cents    money.Cents
	// Records counts the records of both types.
	Records int64
}

// Balances are what the bank says that accounts hold at the start of a day: the last balance that it stated, or the opening, and every later
// movement. A stated balance is that of the end of its day. There is one for each account asked about, in no order.
func Balances(ctx context.Context, tx *db.Tx, accounts []Since, before day.Day) ([]Held, error) {
	ids, firsts, openings := make([]id.ID, len(accounts)), make([]*day.Day, len(accounts)), make([]money.Cents, len(accounts))
	for i, a := range accounts {
		ids[i], firsts[i], openings[i] = a.Account, a.First, a.Opening
	}
	found, err := db.Select[Held](ctx, tx, `
		with record as (
			select s.account_id, s.opening, r.id, r.date, r.type, r.amount, r.balance
			from unnest(@accounts::uuid[], @firsts::date[], @openings::bigint[]) s (account_id, first, opening)
			left join bank_record r on r.team_id = @team and r.account_id = s.account_id and r.account_id = any(@accounts::uuid[]) and r.status = 'active'
				and r.date < @before and (r.date >= s.first or s.first is null)
		), stated as (
			select distinct on (account_id) account_id, date, balance from record where type = 'balance' order by account_id, date desc, id desc
		)
		select r.account_id, s.date as stated_at, count(r.id) as records,
			(coalesce(s.balance, r.opening) + coalesce(sum(r.amount) filter (where r.type = 'transaction' and (s.date is null or r.date > s.date)), 0))::bigint as cents
		from record r left join stated s on s.account_id = r.account_id
		group by r.account_id, r.opening, s.date, s.balance`,
		db.Args{"team": tx.Team, "accounts": ids, "firsts": firsts, "openings": openings, "before": before})
	if err != nil {
		return nil, fmt.Errorf("read what banks say that accounts hold: %w", err)
	}
	return found, nil
}

// StatedBefore is the last balance that the bank stated of an account before a day, 0 when it stated none. Records that Exclude has left out
// are asked as well: they are left out because of that balance.
func StatedBefore(ctx context.Context, tx *db.Tx, account id.ID, before day.Day) (money.Cents, error) {
	cents, err := db.Get[money.Cents](ctx, tx, `
		select coalesce((select r.balance from bank_record r
			where r.team_id = @team and r.account_id = @account and r.type = 'balance' and r.date < @before
				and (r.status = 'active' or exists (select from account_excluded_record x where x.team_id = r.team_id and x.bank_record_id = r.id))
			order by r.date desc, r.id desc limit 1), 0)::bigint`, db.Args{"team": tx.Team, "account": account, "before": before})
	if err != nil {
		return 0, fmt.Errorf("read the balance that a bank has stated: %w", err)
	}
	return cents, nil
}
