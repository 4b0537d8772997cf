package statement

import (
	"context"
	"encoding/json"
	"fmt"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// collectPublished returns the ids of the published ones among the rows.
func collectPublished(rows []row) []id.ID {
	var out []id.ID

	for i := range rows {
		if rows[i].Status == Published {
			out = append(out, rows[i].ID)
		}
	}

	return out
}

// insertVersions saves what published statements show, figures and lines with their names, before they are reopened.
func insertVersions(ctx context.Context, tx *db.Tx, statements []id.ID) error {
	// The lines are built in the database from the attached entries and the kept names. They have the fields that
	// keptLine reads.
	_, err := tx.Exec(ctx, `
		insert into statement_version (team_id, statement_id, version, published_at, reopened_at,
			balance_start, net_revenue, expenses, payouts, balance_end, reserve, lines)
		select v.team_id, v.id, 1 + (select count(*) from statement_version o where o.team_id = @team and o.statement_id = v.id), v.published_at, @now::timestamptz,
			v.balance_start, v.net_revenue, v.expenses, v.payouts, v.balance_end, v.reserve, l.lines
		from statement v cross join lateral (
			select coalesce(jsonb_agg(jsonb_build_object('sourceId', e.source_id, 'txnCode', e.txn_code, 'ref', e.ref, 'date', e.date, 'section', e.section,
				'description', e.description, 'account', jsonb_build_object('id', e.account_id, 'name', v.words -> 'accounts' -> e.account_id::text ->> 'name'),
				'reservation', jsonb_build_object('id', e.reservation_id) || (v.words -> 'stays' -> e.reservation_id::text) - 'bookingPlatform' - 'status',
				'transactionId', e.transaction_id, 'total', e.total) order by e.date, e.id), '[]') as lines
			from (
				select e.id, e.source_id, e.txn_code, e.ref, e.txn_at as date, `+section+` as section, e.description, e.account_id, e.reservation_id,
					e.transaction_id, -e.cent_total as total
				from ledger_entry e cross join `+specialAccounts+`
				where e.team_id = @team and e.statement_id = v.id
			) e
			where e.section <> 'balanceStart'
		) l where v.team_id = @team and v.id = any(@ids) and v.status = 'published'`,
		db.Args{"team": tx.Team, "ids": statements, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("keep published statements: %w", err)
	}

	return nil
}

// version is a statement as it was while it was published.
type version struct {
	Version      int64
	PublishedAt  day.Instant
	ReopenedAt   day.Instant
	BalanceStart money.Cents
	NetRevenue   money.Cents
	Expenses     money.Cents
	Payouts      money.Cents
	BalanceEnd   money.Cents
	Reserve      money.Cents
	Lines        json.RawMessage
}

// financials returns the figures of the version. The balance at the end is the stored one, because it need not
// follow from the others if the statement was imported.
func (v *version) financials() Financials {
	f := Financials{
		BalanceStart: v.BalanceStart,
		NetRevenue:   v.NetRevenue,
		Expenses:     v.Expenses,
		Payouts:      v.Payouts,
		Reserve:      v.Reserve,
	}.complete()
	f.BalanceEnd, f.Available = v.BalanceEnd, v.BalanceEnd-v.Reserve

	return f
}

// loadLastVersion loads the last version that was saved of a statement, nil when it was never reopened.
func loadLastVersion(ctx context.Context, tx *db.Tx, statement id.ID) (*version, error) {
	v, err := db.Maybe[version](ctx, tx, `
		select version, published_at, reopened_at, balance_start, net_revenue, expenses, payouts, balance_end, reserve, lines
		from statement_version where team_id = @team and statement_id = @id order by version desc limit 1`, db.Args{"team": tx.Team, "id": statement})
	if err != nil {
		return nil, fmt.Errorf("read version of a statement: %w", err)
	}

	return v, nil
}
