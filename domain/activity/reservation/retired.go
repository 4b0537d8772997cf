package reservation

import (
	"context"
	"fmt"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// restore makes reservations active again if a cutover retired them without a pair and they are back in their
// connection's accounting window. It returns them, and the transactions to derive again, also those with lines that the
// cutover detached.
func restore(ctx context.Context, tx *db.Tx, ids []id.ID) (restored, transactions []id.ID, err error) {
	type row struct {
		ID           id.ID
		ConnectionID id.ID
		Dates
	}

	found, err := db.Select[row](ctx, tx, `
		select r.id, r.connection_id, r.check_in, r.check_out, r.booked_at, r.general_ledger_posting_at from reservation r
		where r.team_id = @team and r.id = any(@ids) and r.status = 'inactive' and r.retired_status is not null and r.connection_id is not null
			and not exists (select from reservation_pair p where p.team_id = @team and p.source_id = r.id) order by r.id`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil || len(found) == 0 {
		return nil, nil, err
	}

	s, err := loadSettings(ctx, tx)
	if err != nil {
		return nil, nil, err
	}

	for i := range found {
		if r := &found[i]; s.Windows[r.ConnectionID].has(r.accountingDate(s)) {
			restored = append(restored, r.ID)
		}
	}

	if len(restored) == 0 {
		return nil, nil, nil
	}

	if err := lockReservations(ctx, tx, restored); err != nil {
		return nil, nil, err
	}

	rows, err := db.Select[rehomed](ctx, tx, `
		update reservation r set status = r.retired_status, retired_status = null, updated_at = @now from reservation o
		where r.team_id = @team and r.id = any(@ids)`+rehomedSQL, db.Args{"team": tx.Team, "ids": restored, "now": tx.Now})
	if err != nil {
		return nil, nil, fmt.Errorf("make reservations active again: %w", err)
	}

	waiting, err := noteRehomed(ctx, tx, rows)
	if err != nil {
		return nil, nil, err
	}

	linked, err := loadLinked(ctx, tx, nil, restored)

	return restored, id.Distinct(append(waiting, linked...)), err
}
