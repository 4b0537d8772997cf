package bank

import (
	"context"
	"fmt"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// candidatesSQL returns the SQL of the transactions that move a bank account and are reconciled with no record of it:
// their amounts and dates. The entries e that are added up come from the given tables.
func candidatesSQL(tables string) string {
	return `select e.account_id, e.currency, e.transaction_id as id, min(e.txn_at) as date, sum(e.cent_total)::bigint as cents
		from ` + tables + `
		where e.team_id = @team and e.status = 'active' and e.ledger <> 'historical' and e.transaction_id is not null
			and not exists (select from bank_reconciliation n
				where n.team_id = e.team_id and n.transaction_id = e.transaction_id and n.account_id = e.account_id)
		group by e.account_id, e.currency, e.transaction_id having sum(e.cent_total) <> 0`
}

// found are the ids of the records that have a candidate at most @days away, or, when @matching is false, of all
// others. It sorts records and candidates of an account and amount into one line and looks at the neighbours: a join by
// amount and time is planned as a search per record where a team is new to the planner. What is open of a record that
// is not open is null, and so are its neighbours.
var found = `
	select w.id from (
		select s.id, s.date, max(s.moved) over (partition by s.account_id, s.currency, s.cents order by s.date) as before,
			min(s.moved) over (partition by s.account_id, s.currency, s.cents order by s.date desc) as after
		from (
			select r.id, r.account_id, ` + Currency + ` as currency, case when ` + open + ` then r.amount - r.made end as cents,
				r.date, null::date as moved
			from ` + tables + ` where r.team_id = @team
			union all
			select null, c.account_id, c.currency, c.cents, c.date, c.date from (` +
	candidatesSQL(`account b join ledger_entry e on e.team_id = b.team_id and e.account_id = b.id and b.type = 'bank'`) + `) c) s) w
	where w.id is not null and coalesce(w.date - w.before <= @days::int or w.after - w.date <= @days::int, false) = @matching`

// foundTables are tables with the records r that were found, each looked up by its id. As a condition on the ids, they
// would be gone through for each record as soon as the planner expects more of them than it may keep in a hash table.
var foundTables = `(` + found + `) found cross join lateral (
	select b.* from bank_record b where b.team_id = @team and b.id = found.id` + db.Fence + `) r` + beside

// open is the SQL condition on records r that transactions can make up.
const open = `r.type = 'transaction' and r.status = 'active' and r.account_id is not null and r.amount <> r.made`

// matchesShown is how many matching transactions a record lists: the same amount can be moved every day.
const matchesShown = 25

// matchesSQL selects the matching transactions of the records @ids that are at most @days away, no more than @most of
// each, with their places: the nearest in time first. The query narrows step by step: open records, the days around them,
// the transactions of these days that no record has, and equal amounts.
var matchesSQL = `
	with open as materialized (
		select r.id, r.account_id, ` + Currency + ` as currency, r.amount - r.made as cents, r.date
		from ` + tables + ` where r.team_id = @team and r.id = any(@ids) and ` + open + `
	), around as materialized (
		select o.account_id, min(o.date) - @days::int as first, max(o.date) + @days::int as last from open o group by o.account_id
	), touched as materialized (
		select distinct x.account_id, x.transaction_id
		from around a join ledger_entry x on x.account_id = a.account_id and x.txn_at between a.first and a.last
		where x.team_id = @team and x.transaction_id is not null and exists (select from bank_clearing c
			where c.team_id = @team and c.account_id = x.account_id and c.source_id = x.transaction_id and c.settled_at = 'infinity'` + db.Fence + `)
	), candidate as materialized (` + candidatesSQL(`touched x join ledger_entry e on e.transaction_id = x.transaction_id and e.account_id = x.account_id`) + `
	), placed as (
		select o.id as record_id, c.*, row_number() over (partition by o.id order by abs(c.date - o.date), c.date, c.id) as place
		from open o join candidate c on c.account_id = o.account_id and c.currency = o.currency and c.cents = o.cents
			and abs(c.date - o.date) <= @days::int
	)
	select p.record_id, p.id, p.date, t.description, t.type, p.cents as amount, p.place
	from placed p join transaction t on t.team_id = @team and t.id = p.id where p.place <= @most`

// loadMatches fills in the matching transactions of records that are at most some days away.
func loadMatches(ctx context.Context, tx *db.Tx, records []Record, days int) error {
	at := make(map[id.ID]int, len(records))

	ids := make([]id.ID, len(records))
	for i := range records {
		at[records[i].ID], ids[i] = i, records[i].ID
		records[i].MatchingTransactions = []Transaction{}
	}

	if len(records) == 0 {
		return nil
	}

	type row struct {
		RecordID id.ID
		Transaction
	}

	found, err := db.Select[row](ctx, tx, `
		select m.record_id, m.id, m.date, m.description, m.type, m.amount from (`+matchesSQL+`) m order by m.record_id, m.place`,
		db.Args{"team": tx.Team, "ids": ids, "days": days, "most": matchesShown})
	if err != nil {
		return fmt.Errorf("match bank records with transactions: %w", err)
	}

	for i := range found {
		r := &records[at[found[i].RecordID]]
		r.MatchingTransactions = append(r.MatchingTransactions, found[i].Transaction)
	}

	return nil
}
