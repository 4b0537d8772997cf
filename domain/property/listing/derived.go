package listing

import (
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/platform/db"
)

// AddPeriods adds ownership periods to listings that have none. A period that is derived from elsewhere may have no
// members until somebody names the owner. The periods of a listing do not overlap.
func AddPeriods(ctx context.Context, tx *db.Tx, periods []Period) error {
	var members []*memberRow
	for i := range periods {
		members = append(members, memberRows(&periods[i])...)
	}

	err := tx.Pipeline(ctx, periodTable.Insert(tx, db.Refs(periods)...), memberTable.Insert(tx, members...))
	if err != nil {
		return fmt.Errorf("add ownership periods: %w", err)
	}

	for i := range periods {
		notePeriod(tx, audit.Created, nil, &periods[i])
	}

	return nil
}
