package ledger

import (
	"context"
	"fmt"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// What keeps records from moving to others while an owner statement or closed books hold their entries.
var (
	errMoveAttached = apierr.New(
		apierr.CodeConflict, apierr.ReasonStatementAttachment, "Records that would move are in an owner statement",
	)
	errMoveClosed = apierr.New(
		apierr.CodeConflict, apierr.ReasonBooksClosed, "Records that would move are in closed books",
	)
)

// MoveRefusals are the refusals of moves of held records, in their order.
var MoveRefusals = apierr.List{errMoveAttached, errMoveClosed}

// Held counts the sources with posted entries that must not change.
type Held struct {
	// Attached counts entries in a saved statement, Closed entries dated before the first open day of the books;
	// Sources counts sources with either kind.
	Attached, Closed, Sources int64
	// Covered counts entries which would come under another listing's saved statement.
	Covered int64 `db:"-"`
}

// Refusal returns what a move of these sources is refused with, nil for none that is held.
func (h Held) Refusal() error {
	switch {
	case h.Attached > 0:
		return errMoveAttached
	case h.Closed > 0:
		return errMoveClosed
	case h.Covered > 0:
		return ErrStatementPeriod
	}

	return nil
}

// statementHoldSQL and dayHoldSQL return the conditions that an owner statement, or closed books, hold a stored entry
// h. They know the parameters @team and @reader.
func statementHoldSQL() string {
	return anyLock(func(r *lockRule) string {
		if r.source != "" {
			return "" // The bank account of a transaction does not move.
		}

		return r.entry
	})
}

func dayHoldSQL() string {
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
			select h.source_id, bool_or(`+statementHoldSQL()+`) as attached, bool_or(`+dayHoldSQL()+`) as closed
			from ledger_entry h
			where h.team_id = @team and h.source_id = any(@sources) and `+reported+` and (@listings::uuid[] is null or h.listing_id = any(@listings))
			group by h.source_id) h
		where attached or closed`, db.Args{"team": tx.Team, "sources": sources, "listings": listings, "reader": tx.Actor.User})
	if err != nil {
		return out, fmt.Errorf("count journals that are held: %w", err)
	}

	return out, nil
}

// ListHeld returns those sources among some with active entries that a statement or closed books hold.
func ListHeld(ctx context.Context, tx *db.Tx, sources []id.ID) ([]id.ID, error) {
	out, err := db.Select[id.ID](ctx, tx, `
		select distinct h.source_id from ledger_entry h
		where h.team_id = @team and h.source_id = any(@sources) and `+reported+` and (`+statementHoldSQL()+` or `+dayHoldSQL()+`)`,
		db.Args{"team": tx.Team, "sources": sources, "reader": tx.Actor.User})
	if err != nil {
		return nil, fmt.Errorf("find journals that are held: %w", err)
	}

	return out, nil
}

// Relink has the entries of some sources that name some reservations name others: to[i] for from[i], nil for none. Held
// entries do so, too: no amount, account, date or party changes.
func Relink(ctx context.Context, tx *db.Tx, sources, from []id.ID, to []*id.ID) error {
	_, err := tx.Exec(ctx, `
		update ledger_entry e set reservation_id = g.to_id from unnest(@from::uuid[], @to::uuid[]) g (from_id, to_id)
		where e.team_id = @team and e.reservation_id = g.from_id and e.source_id = any(@sources)`,
		db.Args{"team": tx.Team, "sources": sources, "from": from, "to": to})
	if err != nil {
		return fmt.Errorf("link the entries of reservations anew: %w", err)
	}

	return nil
}

// Dated is where and when the entries of something would be dated first.
type Dated struct {
	ListingID id.ID
	Currency  string
	At        day.Day
}

// UnderLock returns which of some entries would be under a saved statement of the listing, or in closed books.
func UnderLock(ctx context.Context, tx *db.Tx, dated []Dated) ([]bool, error) {
	listings, currencies, days := make([]id.ID, len(dated)), make([]string, len(dated)), make([]day.Day, len(dated))
	for i, p := range dated {
		listings[i], currencies[i], days[i] = p.ListingID, p.Currency, p.At
	}

	found, err := db.Select[bool](ctx, tx, `
		select g.at < `+closedBefore+` or g.at < `+softClosedBefore+` or exists (
			select from statement x where `+holding+` and x.listing_id = g.listing_id and x.currency = g.currency and x.end_at >= g.at)
		from unnest(@listings::uuid[], @currencies::text[], @days::date[]) with ordinality g (listing_id, currency, at, n) order by g.n`,
		db.Args{"team": tx.Team, "listings": listings, "currencies": currencies, "days": days, "reader": tx.Actor.User})
	if err != nil {
		return nil, fmt.Errorf("find what is under a lock: %w", err)
	}

	return found, nil
}

// CountUnderStatements counts the sources among some with entries on listings that would come under a saved statement
// of another listing, to[i] for from[i].
func CountUnderStatements(ctx context.Context, tx *db.Tx, sources, from, to []id.ID) (int64, error) {
	n, err := db.Get[int64](ctx, tx, `
		select count(distinct h.source_id) from ledger_entry h join unnest(@from::uuid[], @to::uuid[]) g (from_id, to_id) on g.from_id = h.listing_id
		where h.team_id = @team and h.source_id = any(@sources) and `+reported+` and exists (
			select from statement x where `+holding+` and x.listing_id = g.to_id and x.currency = h.currency and x.end_at >= h.txn_at)`,
		db.Args{"team": tx.Team, "sources": sources, "from": from, "to": to})
	if err != nil {
		return 0, fmt.Errorf("count what would come under a statement: %w", err)
	}

	return n, nil
}
