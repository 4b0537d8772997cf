package ledger

import (
	"context"
	"fmt"

	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// What keeps records from moving to others while an owner statement or closed books hold their entries.
var (
	errMoveAttached = apierr.New(apierr.CodeConflict, apierr.ReasonStatementAttachment, "Records that would move are in an owner statement")
	errMoveClosed   = apierr.New(apierr.CodeConflict, apierr.ReasonBooksClosed, "Records that would move are in closed books")
)

// MoveRefusals are the refusals of moves of held records, in their order.
var MoveRefusals = apierr.List{errMoveAttached, errMoveClosed}

// Held counts the sources with posted entries that must not change.
type Held struct {
	// Attached are in a statement that is no draft, Closed dated before the first open day of the books; Sources counts
	// those with either.
	Attached, Closed, Sources int64
}

// Refusal returns what a move of these sources is refused with, nil for none that is held.
func (h Held) Refusal() error {
	switch {
	case h.Attached > 0:
		return errMoveAttached
	case h.Closed > 0:
		return errMoveClosed
	}

	return nil
}

// heldByStatement and heldByDay return the conditions that an owner statement, or closed books, hold a stored entry h. They
// know the parameters @team and @reader.
func heldByStatement() string {
	return anyLock(func(r *lockRule) string {
		if r.source != "" {
			return "" // The bank account of a transaction does not move.
		}

		return r.entry
	})
}

func heldByDay() string {
	return anyLock(func(r *lockRule) string {
		if r.day == "" {
			return ""
		}

		return r.onEntry()
	})
}

// CountHeld counts the sources among some with active entries that a statement or closed books hold. With listings only
// entries on these count; nil for all.
func CountHeld(ctx context.Context, tx *db.Tx, sources, listings []id.ID) (Held, error) {
	out, err := db.Get[Held](ctx, tx, `
		select count(*) filter (where attached) as attached, count(*) filter (where closed) as closed, count(*) as sources
		from (
			select h.source_id, bool_or(`+heldByStatement()+`) as attached, bool_or(`+heldByDay()+`) as closed
			from ledger_entry h
			where h.team_id = @team and h.source_id = any(@sources) and `+reported+` and (@listings::uuid[] is null or h.listing_id = any(@listings))
			group by h.source_id) h
		where attached or closed`, db.Args{"team": tx.Team, "sources": sources, "listings": listings, "reader": tx.Actor.User})
	if err != nil {
		return out, fmt.Errorf("count journals that are held: %w", err)
	}

	return out, nil
}
