package bank

import (
	"context"
	"fmt"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Since is an account to compute a balance for, with the facts about it that the caller knows.
type Since struct {
	Account id.ID
	// First is the first day on which records count; nil for all records.
	First *day.Day
	// Opening is the balance at the start of that day; it counts if the bank has stated no balance since.
	Opening money.Cents
}

// Held is the balance of an account according to the bank.
type Held struct {
	AccountID id.ID
	// StatedAt is the day of the last balance that the bank stated; nil when it has stated none.
	StatedAt *day.Day
	Cents    money.Cents
	// Known is whether there is any record, of either type.
	Known bool
}

// ListBalances loads the balances of accounts according to the bank at the start of a day: the last balance that it
// stated, or the opening, and every later movement. A stated balance holds at the end of its day. There is a balance
// for each account, in no order.
func ListBalances(ctx context.Context, tx *db.Tx, accounts []Since, before day.Day) ([]Held, error) {
	ids, firsts := make([]id.ID, len(accounts)), make([]*day.Day, len(accounts))

	openings := make([]money.Cents, len(accounts))
	for i, a := range accounts {
		ids[i], firsts[i], openings[i] = a.Account, a.First, a.Opening
	}

	found, err := db.Select[Held](ctx, tx,
		balancesSQL("unnest(@accounts::uuid[], @firsts::date[], @openings::bigint[])", "@before"),
		db.Args{"team": tx.Team, "accounts": ids, "firsts": firsts, "openings": openings, "before": before})
	if err != nil {
		return nil, fmt.Errorf("read what banks say that accounts hold: %w", err)
	}

	return found, nil
}

// balancesSQL returns the SQL with the columns of Held for accounts at the start of a day. The accounts are a table with
// three columns, those of Since. The movements of the day of a stated balance are part of it, so only later days are added.
func balancesSQL(accounts, before string) string {
	return `select s.account_id, stated.date as stated_at, stated.date is not null or moved.records > 0 as known,
			(coalesce(stated.balance, s.opening) + moved.cents)::bigint as cents
		from ` + accounts + ` s (account_id, first, opening)
		left join lateral (
			select r.date, r.balance from bank_record r
			where r.team_id = @team and r.account_id = s.account_id and r.status = 'active' and r.type = 'balance'
				and r.date < ` + before + ` and r.date >= coalesce(s.first, '-infinity')
			order by r.date desc, r.arrival desc, r.id desc limit 1) stated on true
		cross join lateral (
			select coalesce(sum(d.cents) filter (where d.day > coalesce(stated.date, '-infinity')), 0) as cents, coalesce(sum(d.records), 0) as records
			from bank_day d where d.team_id = @team and d.account_id = s.account_id and d.day < ` + before + `
				and d.day >= coalesce(s.first, '-infinity')) moved`
}

// LoadStatedBefore loads the last balance that the bank stated for an account before a day, 0 if it stated none.
// Records excluded by Exclude count as well: they are excluded because of this balance.
func LoadStatedBefore(ctx context.Context, tx *db.Tx, account id.ID, before day.Day) (money.Cents, error) {
	cents, err := db.Get[money.Cents](ctx, tx, `
		select coalesce((select r.balance from bank_record r
			where r.team_id = @team and r.account_id = @account and r.type = 'balance' and r.date < @before
				and (r.status = 'active' or exists (select from account_excluded_record x where x.team_id = r.team_id and x.bank_record_id = r.id))
			order by r.date desc, r.arrival desc, r.id desc limit 1), 0)::bigint`, db.Args{"team": tx.Team, "account": account, "before": before})
	if err != nil {
		return 0, fmt.Errorf("read the balance that a bank has stated: %w", err)
	}

	return cents, nil
}
