package listing

import (
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// AddPeriods adds ownership periods to listings that have none. A period that is derived from elsewhere may have no
// members until somebody names the owner. The periods of a listing do not overlap.
func AddPeriods(ctx context.Context, tx *db.Tx, periods []Period) error {
	type member struct {
		PeriodID  id.ID `json:"period_id"`
		Position  int   `json:"position"`
		ContactID id.ID `json:"contact_id"`
		Split     int64 `json:"split"`
	}

	members := []member{}

	for i := range periods {
		for at, m := range periods[i].Members {
			members = append(members, member{periods[i].ID, at + 1, m.ContactID, m.Split})
		}
	}

	err := tx.Pipeline(ctx,
		db.Stmt{
			SQL: `
			insert into listing_ownership_period (team_id, id, listing_id, start_at, end_at, business_model, reserve, set_listing_inactive, created_at, updated_at)
			select @team, id, "listingId", "startAt", "endAt", "businessModel", reserve, false, @now, @now
			from jsonb_to_recordset(@periods) as p (id uuid, "listingId" uuid, "startAt" date, "endAt" date, "businessModel" text, reserve bigint)`,
			Args: db.Args{"team": tx.Team, "now": tx.Now, "periods": periods},
		},
		db.Stmt{
			SQL: `
			insert into listing_ownership_member (team_id, period_id, position, contact_id, split)
			select @team, period_id, position, contact_id, split
			from jsonb_to_recordset(@members) as m (period_id uuid, position integer, contact_id uuid, split bigint)`,
			Args: db.Args{"team": tx.Team, "members": members},
		})
	if err != nil {
		return fmt.Errorf("add ownership periods: %w", err)
	}

	for i := range periods {
		notePeriod(tx, audit.Created, nil, &periods[i])
	}

	return nil
}
