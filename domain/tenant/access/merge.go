package access

import (
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/domain/tenant/team"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// MoveContact has people who are an owner, and links that were made for one, see what belongs to another contact from now
// on.
func MoveContact(ctx context.Context, tx *db.Tx, from, into id.ID) error {
	args := db.Args{"team": tx.Team, "from": from, "into": into}

	people, err := db.Select[id.ID](ctx, tx, `update access_member set contact_id = @into where team_id = @team and contact_id = @from returning user_id`, args)
	if err != nil {
		return fmt.Errorf("move the people of a contact: %w", err)
	}

	links, err := db.Select[id.ID](ctx, tx, `update access_owner_link set contact_id = @into where team_id = @team and contact_id = @from returning id`, args)
	if err != nil {
		return fmt.Errorf("move the links of a contact: %w", err)
	}

	audit.NoteMoved(tx, audit.User, people, "contactId", audit.ContactMove(from, into))
	audit.NoteMoved(tx, audit.OwnerLink, links, "contactId", audit.ContactMove(from, into))

	return team.Announce(ctx, tx)
}
