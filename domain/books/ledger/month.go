package ledger

import (
	"context"
	"fmt"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// MonthKey is the key by which a month's active entries are added up. Entries without a reservation have none here.
type MonthKey struct {
	AccountID     id.ID
	Currency      string
	Month         day.Day // its first day
	ReservationID id.ID
}

// SumMonths adds up the active entries of some sources by account, month and reservation, without the historical
// ledger.
func SumMonths(ctx context.Context, tx *db.Tx, sources []id.ID) (map[MonthKey]money.Cents, error) {
	type row struct {
		MonthKey

		Cents money.Cents
	}

	rows, err := db.Select[row](ctx, tx, `
		select account_id, currency, date_trunc('month', txn_at::timestamp)::date as month,
			coalesce(reservation_id, '00000000-0000-0000-0000-000000000000') as reservation_id, sum(cent_total)::bigint as cents
		from ledger_entry where team_id = @team and source_id = any(@sources::uuid[]) and status = 'active' and ledger <> 'historical'
		group by 1, 2, 3, 4`, db.Args{"team": tx.Team, "sources": sources})
	if err != nil {
		return nil, fmt.Errorf("add up journals by month: %w", err)
	}

	out := make(map[MonthKey]money.Cents, len(rows))
	for _, r := range rows {
		out[r.MonthKey] = r.Cents
	}

	return out, nil
}
