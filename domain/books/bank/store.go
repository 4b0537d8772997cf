package bank

import (
	"context"
	"fmt"

	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

const (
	tables = `bank_record r` + beside

	// The tables that go with bank records r.
	beside = ` join team k on k.team_id = r.team_id left join account a on a.team_id = r.team_id and a.id = r.account_id
		cross join lateral (
			select case when r.type = 'balance' then null when r.made = r.amount then 'paid' when r.made = 0 then 'unpaid'
				when (r.made > r.amount) = (r.amount > 0) or r.amount = 0 then 'overpaid' else 'underpaid' end as status) state`

	// Currency is the currency of a record r: its own, its account's (a), or its team's (k).
	Currency = `coalesce(r.currency, a.banking_currency, k.default_currency)`

	// Correction is the difference between a balance r and the previous stated balance, or the opening of account a,
	// with the movements since. A stated balance holds at the end of its day, the opening at the start of its day.
	Correction = `(select (r.balance - s.balance - coalesce((
			select sum(m.amount) from bank_record m where m.team_id = r.team_id and m.account_id = r.account_id and m.status = 'active'
				and m.type = 'transaction' and m.date > s.date and m.date <= r.date), 0))::bigint
		from (
			(select p.date, p.balance from bank_record p where p.team_id = r.team_id and p.account_id = r.account_id and p.status = 'active'
				and p.type = 'balance' and (p.date, p.arrival, p.id) < (r.date, r.arrival, r.id) order by p.date desc, p.arrival desc, p.id desc limit 1)
			union all select a.banking_opening_at - 1, a.banking_opening where a.banking_opening_at <= r.date
			order by date desc limit 1) s)`

	columns = `r.id, r.unique_ref, r.date, r.status, r.description, r.bank_account_id, r.account_id, r.connection_id, r.source, r.type, r.amount,
		` + Currency + ` as currency,
		case when r.type = 'balance' then jsonb_build_object('current', r.balance, 'correction', ` + Correction + `) end as balance,
		case when r.type = 'transaction' then jsonb_build_object('status', state.status, 'transactions', coalesce((
			select jsonb_agg(jsonb_build_object('id', t.id, 'date', t.date, 'description', t.description, 'type', t.type, 'amount', n.cent_total)
				order by t.date, t.id)
			from bank_reconciliation n cross join lateral (
				select t.id, t.date, t.description, t.type from transaction t where t.team_id = n.team_id and t.id = n.of_transaction
				union all select j.id, j.date, j.description, 'journal' from journal j where j.team_id = n.team_id and j.id = n.of_journal) t
			where n.team_id = r.team_id and n.bank_record_id = r.id), '[]')) end as reconciliation,
		r.matched_by_bank_rule, r.created_at, r.updated_at`

	ofReservation = `exists (select from bank_reconciliation n
		join transaction_line l on l.team_id = n.team_id and l.transaction_id = n.transaction_id and l.reservation_id is not null
		where n.team_id = r.team_id and n.bank_record_id = r.id)`
)

// newQuery returns the list of all bank records.
func newQuery(tx *db.Tx) page.Query {
	return page.Query{
		Columns: columns,
		From:    tables,
		Rows:    "bank_record r",
		Joined:  "a k state",
		Where:   []string{"r.team_id = @team"},
		Args:    db.Args{"team": tx.Team},
		Sorts:   sorts,
		Default: "-date",
		Tie:     "r.arrival",
		ID:      "r.id",
	}
}

var sorts = page.Sorts{
	{Name: "date", Expr: "r.date"},
	{Name: "amount", Expr: "r.amount"},
	{Name: "description", Expr: "r.description", Text: true},
	{Name: "createdAt", Expr: "r.created_at"},
}

// ByID loads records without the transactions that match them; ids that name none are absent.
func ByID(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]*Record, error) {
	q := newQuery(tx)
	q.And("r.id = any(@ids)", db.Args{"ids": ids})

	found, err := db.Select[Record](ctx, tx, q.SQL(""), q.Args)
	if err != nil {
		return nil, fmt.Errorf("read bank records: %w", err)
	}

	out := make(map[id.ID]*Record, len(found))
	for i := range found {
		out[found[i].ID] = &found[i]
	}

	return out, nil
}
