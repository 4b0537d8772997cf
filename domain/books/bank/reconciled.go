package bank

import (
	"context"
	"fmt"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Parts of statements that other packages build. Excluded records count in none of them.
const (
	// Cleared has a row for each transaction on each record of the team: account_id, transaction_id, the cents that it is part of the record
	// with, and the date of the record.
	Cleared = `select n.account_id, n.transaction_id, n.cent_total as cents, r.date
		from bank_reconciliation n join bank_record r on r.team_id = n.team_id and r.id = n.bank_record_id
		where n.team_id = @team and r.status = 'active'`

	// RecordsOfTransaction are the records b of a transaction t.
	RecordsOfTransaction = `select from bank_reconciliation n join bank_record b on b.team_id = n.team_id and b.id = n.bank_record_id
		where n.team_id = t.team_id and n.transaction_id = t.id`

	// ShortRefs are the short references of the transactions of a record r, as a text.
	ShortRefs = `(select string_agg(t.short_ref, '; ' order by t.date, t.id)
		from bank_reconciliation n join transaction t on t.team_id = n.team_id and t.id = n.transaction_id
		where n.team_id = r.team_id and n.bank_record_id = r.id)`

	// CountsOfAccount tells of an account a how many movements it has and how many of them transactions make up to the cent.
	CountsOfAccount = `(
		select jsonb_build_object('reconciled', count(*) filter (where made.cents = r.amount), 'total', count(*),
			'unreconciled', count(*) filter (where made.cents is distinct from r.amount), 'latestCreatedAt', max(r.created_at))
		from bank_record r left join lateral (
			select sum(n.cent_total) as cents from bank_reconciliation n
			where n.team_id = a.team_id and n.account_id = a.id and n.bank_record_id = r.id) made on true
		where r.team_id = a.team_id and r.account_id = a.id and r.status = 'active' and r.type = 'transaction')`

	// LatestOfBankAccount is when the latest record of an account at a bank c came.
	LatestOfBankAccount = `(select max(r.created_at) from bank_record r where r.team_id = c.team_id and r.bank_account_id = c.id)`

	// Titles name the records with ids @ids, in the columns id and name.
	Titles = `select id, concat_ws(' ', date, nullif(description, '')) as name from bank_record where team_id = @team and id = any(@ids)`
)

// Span is the movements that are asked for: of some accounts, from a day on (nil for the first there is) and before another.
type Span struct {
	Accounts []id.ID
	First    *day.Day
	Before   day.Day
}

// Unmatched is a movement that its transactions do not make up to the cent. Open is the rest, positive into the account.
type Unmatched struct {
	ID        id.ID
	AccountID id.ID
	Open      money.Cents
}

// UnmatchedIn are the movements of a span that are unmatched, oldest first: at most so many, or with 0 all of them. The total is that of all.
func UnmatchedIn(ctx context.Context, tx *db.Tx, s Span, most int) (found []Unmatched, total money.Cents, err error) {
	type row struct {
		Unmatched
		Total money.Cents
	}
	rows, err := db.Select[row](ctx, tx, `
		select u.id, r.account_id, u.open, u.total from ( /* records and what is made of them are added up in one pass, however many the planner expects */
			select id, min(date) as date, sum(cents)::bigint as open, (sum(sum(cents)) over ())::bigint as total from (
				select r.id, r.date, r.amount as cents from bank_record r
				where r.team_id = @team and r.account_id = any(@accounts::uuid[]) and r.status = 'active' and r.type = 'transaction'
					and r.date < @before and r.date >= coalesce(@first::date, '-infinity')
				union all
				select n.bank_record_id, null, -n.cent_total from bank_reconciliation n where n.team_id = @team and n.account_id = any(@accounts::uuid[])) m
			group by id having count(date) > 0 and sum(cents) <> 0
			order by 2, 1 limit nullif(@most::int, 0)) u
		join bank_record r on r.team_id = @team and r.id = u.id
		order by u.date, u.id`,
		db.Args{"team": tx.Team, "accounts": s.Accounts, "first": s.First, "before": s.Before, "most": most})
	if err != nil {
		return nil, 0, fmt.Errorf("read unmatched bank records: %w", err)
	}
	found = make([]Unmatched, len(rows))
	for i := range rows {
		found[i], total = rows[i].Unmatched, rows[i].Total
	}
	return found, total, nil
}
