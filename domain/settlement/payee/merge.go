package payee

import (
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// MoveContact gives the payment methods of a contact to another. The default of that one stays its default; if it has
// none, that of the first contact goes on as such. For it each of them is a new destination.
func MoveContact(ctx context.Context, tx *db.Tx, from, into id.ID) error {
	args := db.Args{"team": tx.Team, "from": from, "into": into, "now": tx.Now}

	// A person chose where money of the contact that stays goes.
	if _, err := updateMethods(ctx, tx, `is_default = false`, `m.contact_id = @from and m.is_default and exists (
		select from payee_method d where d.team_id = @team and d.contact_id = @into and d.is_default)`, args); err != nil {
		return fmt.Errorf("keep the default payment method of a contact: %w", err)
	}

	// For the contact that stays they are destinations that were chosen now, by whoever merges.
	moved, err := db.Select[Method](ctx, tx, `
		update payee_method m set contact_id = @into, chosen_at = @now, chosen_by = @user, released_at = null, released_by = null, updated_at = @now
		where m.team_id = @team and m.contact_id = @from returning `+columns,
		db.Args{"team": tx.Team, "from": from, "into": into, "now": tx.Now, "user": tx.Actor.User})
	if err != nil {
		return fmt.Errorf("move the payment methods of a contact: %w", err)
	}

	changed := make([]id.ID, len(moved))
	for i := range moved {
		changed[i] = moved[i].ID

		if moved[i].Status == Archived || moved[i].Status == Rejected {
			continue
		}

		if err := insertChange(ctx, tx, &moved[i], Moved); err != nil {
			return err
		}
	}

	if _, err := tx.Exec(ctx, `update payee_change set contact_id = @into where team_id = @team and contact_id = @from`,
		db.Args{"team": tx.Team, "from": from, "into": into}); err != nil {
		return fmt.Errorf("move the changes of payment methods: %w", err)
	}

	audit.NoteMoved(tx, audit.PaymentMethod, changed, "contactId", audit.ContactMove(from, into))

	return nil
}
