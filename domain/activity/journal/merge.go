package journal

import (
	"context"
	"fmt"
	"strconv"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// MoveContact has lines of journals name another contact than before. Their entries have to name it, too.
func MoveContact(ctx context.Context, tx *db.Tx, from, into id.ID) error {
	_, err := moveLines(ctx, tx, "contact_id", "contactId", audit.ContactMove(from, into))
	return err
}

// MoveListing has lines of journals name another listing than before. It returns the journals, which are then to be
// derived again.
func MoveListing(ctx context.Context, tx *db.Tx, from, into id.ID) ([]id.ID, error) {
	return moveLines(ctx, tx, "listing_id", "listingId", audit.ListingMove(from, into))
}

// moveLines has lines name another record in a column, those of journals and those of imports that wait to be posted.
func moveLines(ctx context.Context, tx *db.Tx, column, field string, m audit.Move) ([]id.ID, error) {
	type line struct {
		JournalID id.ID
		Position  int64
	}

	args := db.Args{"team": tx.Team, "from": m.From, "into": m.Into}

	if _, err := db.Select[id.ID](ctx, tx, `select j.id from journal j where j.team_id = @team and j.id in (
		select l.journal_id from journal_line l where l.team_id = @team and l.`+column+` = @from) order by j.id for update`,
		db.Args{"team": tx.Team, "from": m.From}); err != nil {
		return nil, fmt.Errorf("lock journals: %w", err)
	}

	found, err := db.Select[line](ctx, tx, `update journal_line set `+column+` = @into where team_id = @team and `+column+` = @from
		returning journal_id, position::bigint`, args)
	if err != nil {
		return nil, fmt.Errorf("move the lines of journals: %w", err)
	}

	if _, err := tx.Exec(ctx, `update historical_entry set `+column+` = @into where team_id = @team and `+column+` = @from`, args); err != nil {
		return nil, fmt.Errorf("move the entries of imports: %w", err)
	}

	// Lines have no ids, so the events name them by their places.
	journals := make([]id.ID, len(found))

	for i, l := range found {
		at := func(v id.ID) any {
			return map[string]any{"lines": map[string]any{strconv.FormatInt(l.Position, 10): map[string]id.ID{field: v}}}
		}

		journals[i] = l.JournalID
		audit.Note(tx, audit.Updated, audit.Journal, l.JournalID, at(m.From), at(m.Into), audit.Ref(m.Role, m.Type, m.From), audit.Ref(m.Role, m.Type, m.Into))
	}

	return id.Distinct(journals), nil
}

// Relink has lines of journals that name reservations name others, to[i] for from[i], and their entries with them, held ones,
// too: which stay an entry names is no money. Where there is no other one, a line goes on to name its own.
func Relink(ctx context.Context, tx *db.Tx, from []id.ID, to []*id.ID) error {
	type line struct {
		JournalID    id.ID
		Position     int64
		FromID, ToID id.ID
	}

	var (
		old []id.ID
		now []*id.ID
	)

	for i := range from {
		if to[i] != nil {
			old, now = append(old, from[i]), append(now, to[i])
		}
	}

	found, err := db.Select[line](ctx, tx, `
		update journal_line l set reservation_id = g.to_id from unnest(@from::uuid[], @to::uuid[]) g (from_id, to_id)
		where l.team_id = @team and l.reservation_id = g.from_id returning l.journal_id, l.position::bigint, g.from_id, g.to_id`,
		db.Args{"team": tx.Team, "from": old, "to": now})
	if err != nil {
		return fmt.Errorf("link the lines of journals anew: %w", err)
	}

	journals := make([]id.ID, len(found))

	for i, l := range found {
		at := func(v id.ID) any {
			return map[string]any{"lines": map[string]any{strconv.FormatInt(l.Position, 10): map[string]id.ID{"reservationId": v}}}
		}

		journals[i] = l.JournalID
		audit.Note(
			tx, audit.Updated, audit.Journal, l.JournalID, at(l.FromID), at(l.ToID),
			audit.Ref(audit.RoleReservation, audit.Reservation, l.FromID), audit.Ref(audit.RoleReservation, audit.Reservation, l.ToID),
		)
	}

	return ledger.Relink(ctx, tx, id.Distinct(journals), old, now)
}
