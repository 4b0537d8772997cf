package connection

import (
	"context"
	"fmt"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Due is a connection that its schedule reads now.
type Due struct {
	TeamID, ID id.ID
	Zone       day.Zone
}

// ListDue returns active connections of all teams that are to be read by their schedule, the longest due first. Teams
// that are frozen or inactive are left out.
func ListDue(ctx context.Context, tx *db.Tx, most int) ([]Due, error) {
	found, err := db.Select[Due](ctx, tx, `
		select c.team_id, t.time_zone as zone, c.id from connection c join team t on t.id = c.team_id
		where c.next_sync_at <= @now and c.status = 'active' and c.is_sync_enabled and t.status = 'active' and t.freeze_reason is null
		order by c.next_sync_at, c.id limit @most`, db.Args{"now": tx.Now, "most": most})
	if err != nil {
		return nil, fmt.Errorf("find connections that are due: %w", err)
	}

	return found, nil
}

// Schedule sets when a connection is read by its schedule. It is no change that a person made.
func Schedule(ctx context.Context, tx *db.Tx, connection id.ID, at time.Time) error {
	_, err := tx.Exec(ctx, `update connection set next_sync_at = @at where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": connection, "at": at})
	if err != nil {
		return fmt.Errorf("schedule a connection: %w", err)
	}

	return nil
}
