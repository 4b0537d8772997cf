package legacy

import (
	"context"
	"fmt"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// MoveContact has the shares and payouts of a legacy team that name a contact name another. Shares in one listing add
// up when they are derived.
func MoveContact(ctx context.Context, tx *db.Tx, from, into id.ID) error {
	args := db.Args{"team": tx.Team, "from": from, "into": into}

	err := tx.Pipeline(ctx,
		db.Stmt{SQL: `update legacy_ownership set contact_id = @into where team_id = @team and contact_id = @from`, Args: args},
		db.Stmt{
			SQL: `update legacy_statement set lines = replace(lines::text, @from::uuid::text, @into::uuid::text)::jsonb
				where team_id = @team and position(@from::uuid::text in lines::text) > 0`,
			Args: args,
		})
	if err != nil {
		return fmt.Errorf("move what a legacy team has of an owner: %w", err)
	}

	return nil
}

// MoveListing has the statements of a legacy team that name a listing name another. Its shares go if the other has
// some: they say who owns it.
func MoveListing(ctx context.Context, tx *db.Tx, from, into id.ID) error {
	args := db.Args{"team": tx.Team, "from": from, "into": into}

	err := tx.Pipeline(ctx,
		db.Stmt{SQL: `update legacy_statement set listing_id = @into where team_id = @team and listing_id = @from`, Args: args},
		db.Stmt{
			SQL: `delete from legacy_ownership where team_id = @team and listing_id = @from
				and exists (select from legacy_ownership where team_id = @team and listing_id = @into)`,
			Args: args,
		},
		db.Stmt{SQL: `update legacy_ownership set listing_id = @into where team_id = @team and listing_id = @from`, Args: args})
	if err != nil {
		return fmt.Errorf("move what a legacy team has of a listing: %w", err)
	}

	return nil
}
