package pms

import (
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/intake"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// MoveListing moves the bindings and external records of one listing here to another.
func MoveListing(ctx context.Context, tx *db.Tx, from, into id.ID) error {
	type ref struct{ ID, ConnectionID id.ID }

	changed, err := db.Select[ref](ctx, tx, `update listing_connection set listing_id = @into, is_decided = true where team_id = @team and listing_id = @from
		returning id, connection_id`, db.Args{"team": tx.Team, "from": from, "into": into})
	if err != nil {
		return fmt.Errorf("move the mappings of a listing: %w", err)
	}

	for _, r := range changed {
		at := func(v id.ID) any { return map[string]any{"listingMappings": map[string]id.ID{r.ID.String(): v}} }
		audit.Note(tx, audit.Updated, audit.Connection, r.ConnectionID, at(from), at(into),
			audit.Ref(audit.RoleListing, audit.Listing, into))
	}

	return intake.RebindAll(ctx, tx, listingKind, from, into)
}
