package payment

import (
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// MoveContact has payments name another contact than before. Their methods go with them.
func MoveContact(ctx context.Context, tx *db.Tx, from, into id.ID) error {
	changed, err := db.Select[id.ID](ctx, tx, `update payment set contact_id = @into, updated_at = @now where team_id = @team and contact_id = @from returning id`,
		db.Args{"team": tx.Team, "from": from, "into": into, "now": tx.Now})
	if err != nil {
		return fmt.Errorf("move the payments of a contact: %w", err)
	}

	audit.NoteMoved(tx, audit.Payment, changed, "contactId", audit.ContactMove(from, into))

	return nil
}
