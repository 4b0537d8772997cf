package layout

import (
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// MoveListing has a layout that was chosen for a listing be that of another, unless one is chosen for the other already.
func MoveListing(ctx context.Context, tx *db.Tx, from, into id.ID) error {
	moved, err := db.Select[id.ID](ctx, tx, `
		with gone as (delete from layout_listing where team_id = @team and listing_id = @from returning layout_id)
		insert into layout_listing (team_id, listing_id, layout_id) select @team, @into, layout_id from gone
		on conflict (team_id, listing_id) do nothing returning layout_id`, db.Args{"team": tx.Team, "from": from, "into": into})
	if err != nil {
		return fmt.Errorf("move the layout of a listing: %w", err)
	}

	audit.NoteMoved(tx, audit.StatementLayout, moved, "listingIds", audit.ListingMove(from, into))

	return nil
}
