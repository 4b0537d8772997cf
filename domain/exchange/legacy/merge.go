package legacy

import (
	"context"
	"fmt"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// MoveContact moves the shares and payouts of a legacy team from one contact to another. Two shares of a contact in the
// same listing stay separate rows; DerivePeriods adds them up.
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

// MoveListing moves the statements of a legacy team from one listing to another. The shares move too, unless the other
// listing has shares, which then say who owns it.
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
