package calendar

import (
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// MergeErrors are the errors of MoveListing.
var MergeErrors = apierr.List{errTaken}

// MoveListing moves the blocks of a listing to another. Systems keep their own id of the listing. It fails with
// errTaken for nights blocked at both listings.
func MoveListing(ctx context.Context, tx *db.Tx, from, into id.ID) error {
	changed, err := db.Select[id.ID](ctx, tx, `update calendar_block set listing_id = @into, updated_at = @now where team_id = @team and listing_id = @from returning id`,
		db.Args{"team": tx.Team, "from": from, "into": into, "now": tx.Now})
	if db.Constraint(err) == "calendar_block_overlap" {
		return errTaken.Because(err)
	}

	if err != nil {
		return fmt.Errorf("move the blocks of a listing: %w", err)
	}

	audit.NoteMoved(tx, audit.CalendarBlock, changed, "listingId", audit.ListingMove(from, into))

	return nil
}
