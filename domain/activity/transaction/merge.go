package transaction

import (
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// MoveContact has transactions and lines name another contact than before. Their journals have to name it, too.
func MoveContact(ctx context.Context, tx *db.Tx, from, into id.ID) error {
	args := db.Args{"team": tx.Team, "from": from, "into": into}

	// Heads and lines change under the lock of their transaction.
	if _, err := db.Select[id.ID](ctx, tx, `
		select t.id from transaction t where t.team_id = @team and (t.contact_id = @from or t.id in (
			select l.transaction_id from transaction_line l where l.team_id = @team and l.contact_id = @from)) order by t.id for update`,
		db.Args{"team": tx.Team, "from": from}); err != nil {
		return fmt.Errorf("lock the transactions of a contact: %w", err)
	}

	heads, err := db.Select[id.ID](ctx, tx, `update transaction set contact_id = @into where team_id = @team and contact_id = @from returning id`, args)
	if err != nil {
		return fmt.Errorf("move the transactions of a contact: %w", err)
	}

	lines, err := db.Select[moved](ctx, tx, `
		update transaction_line l set contact_id = @into where l.team_id = @team and l.contact_id = @from
		returning l.transaction_id, l.id as line_id, l.listing_id as old_listing_id, l.listing_id, l.reservation_id, null::uuid as old_statement`, args)
	if err != nil {
		return fmt.Errorf("move the lines of a contact: %w", err)
	}

	audit.NoteMoved(tx, audit.Transaction, heads, "contactId", audit.ContactMove(from, into))

	for i := range lines {
		noteLine(
			tx, audit.Updated, &lines[i], map[string]*id.ID{"contactId": &from}, map[string]*id.ID{"contactId": &into},
		)
	}

	return nil
}
