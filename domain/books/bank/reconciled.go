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
	// RecordsOfTransaction are the records b of a transaction t.
	RecordsOfTransaction = `select from bank_reconciliation n join bank_record b on b.team_id = @team and b.id = n.bank_record_id
		where n.team_id = @team and n.transaction_id = t.id`

	// ShortRefs are the short references of the transactions and journals of a record r, as a text.
	ShortRefs = `(select string_agg(t.short_ref, '; ' order by t.date, t.id)
		from bank_reconciliation n cross join lateral (
			select t.id, t.date, t.short_ref from transaction t where t.team_id = n.team_id and t.id = n.of_transaction
			union all select j.id, j.date, j.short_ref from journal j where j.team_id = n.team_id and j.id = n.of_journal) t
		where n.team_id = r.team_id and n.bank_record_id = r.id)`

	// CountsOfAccount counts the movements of an account a, and the movements made up by transactions to the cent.
	CountsOfAccount = `(
		select jsonb_build_object('reconciled', everything.records - open.records, 'total', everything.records, 'unreconciled', open.records,
			'latestCreatedAt', (select max(r.created_at) from bank_record r
				where r.team_id = a.team_id and r.account_id = a.id and r.status = 'active' and r.type = 'transaction' and r.created_at is not null))
		from (select coalesce(sum(d.records), 0)::bigint as records from bank_day d where d.team_id = a.team_id and d.account_id = a.id) everything,
			(select count(*) as records from bank_record r
				where r.team_id = a.team_id and r.account_id = a.id and r.status = 'active' and r.type = 'transaction' and r.made <> r.amount) open)`

	// LatestOfBankAccount is when the latest record of an account at a bank c came.
	LatestOfBankAccount = `(select max(r.created_at) from bank_record r where r.team_id = c.team_id and r.bank_account_id = c.id)`

	// Titles name the records with ids @ids, in the columns id and name.
	Titles = `select id, concat_ws(' ', date, nullif(description, '')) as name from bank_record where team_id = @team and id = any(@ids)`
)

// Span selects movements: of some accounts, from a day on (nil for the first one) and before another.
type Span struct {
	Accounts []id.ID
	First    *day.Day
	Before   day.Day
}

// Order says which of many records come first.
type Order string

// The orders.
const (
	OldestFirst  Order = "u.date, u.id"
	LargestFirst Order = "abs(u.open) desc, u.id"
)

// Unmatched is a movement that its transactions do not make up to the cent. Open is the rest, positive into the
// account.
type Unmatched struct {
	ID        id.ID
	AccountID id.ID
	Date      day.Day
	Open      money.Cents
}

// AllUnmatched are the unmatched movements of a span: the first of them, their number, and the sum of their open
// amounts.
type AllUnmatched struct {
	First []Unmatched
	Count int
	Total money.Cents
}

// ListUnmatched loads the unmatched movements of a span, none before the first day of their account. It returns at
// most so many of them.
func ListUnmatched(ctx context.Context, tx *db.Tx, s Span, by Order, most int) (*AllUnmatched, error) {
	type row struct {
		Unmatched
		Count int
		Total money.Cents
	}

	// Count and total are of all of them, whatever the limit.
	rows, err := db.Select[row](ctx, tx, `
		select u.id, u.account_id, u.date, u.open, count(*) over () as count, (sum(u.open) over ())::bigint as total from (
			select r.*, a.first from (
				select id, coalesce(banking_opening_at, '-infinity') as first from account where team_id = @team and id = any(@accounts::uuid[])`+db.Fence+`) a
			cross join lateral (
				select r.id, r.account_id, r.date, r.amount - r.made as open from bank_record r
				where r.team_id = @team and r.account_id = a.id and r.status = 'active' and r.type = 'transaction' and r.made <> r.amount`+db.Fence+`) r /* days and order must not lead to an index of all records by date: what is open is little */
			where r.date < @before and r.date >= greatest(a.first, @first::date)) u
		order by `+string(by)+` limit @most`,
		db.Args{"team": tx.Team, "accounts": s.Accounts, "first": s.First, "before": s.Before, "most": most})
	if err != nil {
		return nil, fmt.Errorf("read unmatched bank records: %w", err)
	}

	out := &AllUnmatched{First: make([]Unmatched, len(rows))}
	for i := range rows {
		out.First[i], out.Count, out.Total = rows[i].Unmatched, rows[i].Count, rows[i].Total
	}

	return out, nil
}

// PartsSQL returns the SQL with a row for each active record of an account that a source makes up, in whole or in
// part: the cents of the part and the date of the record.
func PartsSQL(source, account string) string {
	return `select n.cent_total as cents, r.date from bank_reconciliation n join bank_record r on r.team_id = n.team_id and r.id = n.bank_record_id
		where n.team_id = @team and n.transaction_id = ` + source + ` and n.account_id = ` + account + ` and r.status = 'active'`
}

// OpenSourcesSQL returns the SQL of the sources of entries on a bank account, column source_id, that may still have
// something open in the books or at the bank on a day. Comparing books and bank by then only needs the entries and
// records of these sources (migration 0047).
func OpenSourcesSQL(account, at string) string {
	return `select c.source_id from bank_clearing c where c.team_id = @team and c.account_id = ` + account + ` and c.settled_at > ` + at
}
