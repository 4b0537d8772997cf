package transaction

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// LineCounts are the lines of listings: of payments (deposits and payouts), and of all other transactions.
type LineCounts struct{ Payments, Others int64 }

// CountLines counts the lines of active transactions on some listings.
func CountLines(ctx context.Context, tx *db.Tx, listings []id.ID) (LineCounts, error) {
	out, err := db.Get[LineCounts](ctx, tx, `
		select count(*) filter (where t.type in ('deposit', 'payout')) as payments, count(*) filter (where t.type not in ('deposit', 'payout')) as others
		from transaction_line l join transaction t on t.team_id = l.team_id and t.id = l.transaction_id
		where l.team_id = @team and l.listing_id = any(@listings)`, db.Args{"team": tx.Team, "listings": listings})
	if err != nil {
		return out, fmt.Errorf("count the lines of listings: %w", err)
	}

	return out, nil
}

// ListByListing loads the transactions with a line on some listings.
func ListByListing(ctx context.Context, tx *db.Tx, listings []id.ID) ([]id.ID, error) {
	return loadIDsByListing(ctx, tx, listings)
}

// ListByPlace loads the active transactions with a line on some listings or reservations.
func ListByPlace(ctx context.Context, tx *db.Tx, listings, reservations []id.ID) ([]id.ID, error) {
	found, err := db.Select[id.ID](ctx, tx, `
		select t.id from transaction t where t.team_id = @team and t.status = 'active' and t.id in (
			select l.transaction_id from transaction_line l where l.team_id = @team and l.listing_id = any(@listings)
			union all
			select l.transaction_id from transaction_line l where l.team_id = @team and l.reservation_id = any(@reservations)) order by t.id`,
		db.Args{"team": tx.Team, "listings": listings, "reservations": reservations})
	if err != nil {
		return nil, fmt.Errorf("read the transactions of listings and reservations: %w", err)
	}

	return found, nil
}

// Move moves the lines of some listings to others, from[i] to to[i]. It returns the transactions, whose journals are
// then to be derived again.
func Move(ctx context.Context, tx *db.Tx, from, to []id.ID) ([]id.ID, error) {
	if err := lockLines(ctx, tx, `l.listing_id = any(@from)`, db.Args{"from": from}); err != nil {
		return nil, err
	}

	found, err := db.Select[moved](ctx, tx, `
		update transaction_line l set listing_id = g.to_id from unnest(@from::uuid[], @to::uuid[]) g (from_id, to_id), transaction_line o
		where l.team_id = @team and l.listing_id = g.from_id and o.team_id = l.team_id and o.id = l.id
		returning l.transaction_id, l.id as line_id, o.listing_id as old_listing_id, l.listing_id, l.reservation_id, null::uuid as old_statement`,
		db.Args{"team": tx.Team, "from": from, "to": to})
	if err != nil {
		return nil, fmt.Errorf("move the lines of listings: %w", err)
	}

	for i := range found {
		m := &found[i]
		noteLine(
			tx, audit.Updated, m, map[string]*id.ID{"listingId": m.OldListingID},
			map[string]*id.ID{"listingId": m.ListingID},
		)
	}

	return transactionIDs(found), nil
}

// Relink gives the lines of some reservations to others, from[i] to to[i]; nil detaches them, and they keep their
// listing and remember what they named: lines that were detached before are linked again. The entries of the lines go
// along, held ones, too: which stay an entry names is no money. It returns the transactions, whose journals are then
// to be derived again.
func Relink(ctx context.Context, tx *db.Tx, from []id.ID, to []*id.ID) ([]id.ID, error) {
	if err := lockLines(ctx, tx, `(l.reservation_id = any(@from) or l.detached_reservation_id = any(@from))`, db.Args{"from": from}); err != nil {
		return nil, err
	}

	return relink(ctx, tx, from, to, nil)
}

// relink is Relink for the lines of some transactions, nil for all, which are locked.
func relink(ctx context.Context, tx *db.Tx, from []id.ID, to []*id.ID, transactions []id.ID) ([]id.ID, error) {
	type link struct {
		moved

		OldReservationID *id.ID
	}

	found, err := db.Select[link](ctx, tx, `
		update transaction_line l set reservation_id = g.to_id, detached_reservation_id = case when g.to_id is null then g.from_id end, follows_reservation = l.follows_reservation and g.to_id is not null
		from unnest(@from::uuid[], @to::uuid[]) g (from_id, to_id), transaction_line o
		where l.team_id = @team and (l.reservation_id = g.from_id or l.reservation_id is null and l.detached_reservation_id = g.from_id)
			and l.reservation_id is distinct from g.to_id and o.team_id = l.team_id and o.id = l.id
			and (@transactions::uuid[] is null or l.transaction_id = any(@transactions))
		returning l.transaction_id, l.id as line_id, o.listing_id as old_listing_id, l.listing_id, l.reservation_id, null::uuid as old_statement,
			o.reservation_id as old_reservation_id`,
		db.Args{"team": tx.Team, "from": from, "to": to, "transactions": transactions})
	if err != nil {
		return nil, fmt.Errorf("link the lines of reservations anew: %w", err)
	}

	all := make([]moved, len(found))

	for i := range found {
		m := &found[i]
		all[i] = m.moved
		noteLine(
			tx, audit.Updated, &m.moved, map[string]*id.ID{"reservationId": m.OldReservationID},
			map[string]*id.ID{"reservationId": m.ReservationID},
		)
	}

	changed := transactionIDs(all)

	return changed, ledger.Relink(ctx, tx, changed, from, to)
}

// lockLines locks the transactions with lines that meet a condition with arguments.
func lockLines(ctx context.Context, tx *db.Tx, condition string, args db.Args) error {
	args["team"] = tx.Team

	_, err := db.Select[id.ID](ctx, tx, `
		select t.id from transaction t where t.team_id = @team and t.id in (
			select l.transaction_id from transaction_line l where l.team_id = @team and `+condition+`) order by t.id for update`, args)
	if err != nil {
		return fmt.Errorf("lock transactions: %w", err)
	}

	return nil
}

// transactionIDs returns the transactions of lines, each once.
func transactionIDs(lines []moved) []id.ID {
	var out []id.ID

	seen := map[id.ID]bool{}

	for i := range lines {
		if one := lines[i].TransactionID; !seen[one] {
			seen[one], out = true, append(out, one)
		}
	}

	return out
}
