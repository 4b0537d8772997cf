package intake

import (
	"context"
	"fmt"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Moves say that records here are others now: From[i] is To[i].
type Moves struct{ From, To []id.ID }

// Rebind says that records of a source are others here: what the source says of them goes there from now on.
func Rebind(ctx context.Context, tx *db.Tx, source id.ID, kind string, m Moves) error {
	_, err := tx.Exec(ctx, `
		update external_record r set entity_id = g.to_id from unnest(@from::uuid[], @to::uuid[]) g (from_id, to_id)
		where r.team_id = @team and r.source_id = @source and r.kind = @kind and r.entity_id = g.from_id`,
		db.Args{"team": tx.Team, "source": source, "kind": kind, "from": m.From, "to": m.To})
	if err != nil {
		return fmt.Errorf("bind records of a source anew: %w", err)
	}

	return nil
}

// RebindAll says that a record is another one here, as every source knows it.
func RebindAll(ctx context.Context, tx *db.Tx, kind string, from, into id.ID) error {
	_, err := tx.Exec(ctx, `update external_record set entity_id = @into where team_id = @team and kind = @kind and entity_id = @from`,
		db.Args{"team": tx.Team, "kind": kind, "from": from, "into": into})
	if err != nil {
		return fmt.Errorf("bind records of all sources anew: %w", err)
	}

	return nil
}
