package reservation

import (
	"context"
	"fmt"

	"stayledger/domain/activity/fee"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/intake"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/ptr"
)

// accountingDateSQL is Input.accountingDate of the row r by the settings of its team t.
const accountingDateSQL = `coalesce(r.general_ledger_posting_at, case
	when t.default_revenue_recognition in ('` + string(fee.CheckOut) + `', '` + string(fee.ProRata) + `') or r.check_out - r.check_in > t.long_term_stay_nights then r.check_out
	when t.default_revenue_recognition = '` + string(fee.BookedAt) + `' then coalesce(r.booked_at, r.check_in)
	else r.check_in end)`

// Recognition is how a team recognises revenue, as far as dates of reservations go.
type Recognition struct{ settings *settings }

// LoadRecognition loads how the team recognises revenue.
func LoadRecognition(ctx context.Context, tx *db.Tx) (*Recognition, error) {
	s, err := loadSettings(ctx, tx)
	return &Recognition{s}, err
}

// AccountingDate returns the date that decides whether a reservation is in an accounting window (CUT-14..CUT-17).
func (r *Recognition) AccountingDate(d *Dates) day.Day { return d.accountingDate(r.settings) }

// FirstDate returns the first day on which a reservation posts revenue.
func (r *Recognition) FirstDate(d *Dates) day.Day {
	in := Input{
		Reservation:        Reservation{CheckIn: d.CheckIn, CheckOut: d.CheckOut},
		Recognition:        r.settings.DefaultRevenueRecognition,
		LongTermStayNights: r.settings.LongTermStayNights,
	}

	at := r.AccountingDate(d)
	if d.GeneralLedgerPostingAt == nil && in.recognition() == fee.ProRata && d.CheckIn.Before(at) {
		return d.CheckIn
	}

	return at
}

// Totals returns the sums of the lines and financial adjustments of reservations.
func Totals(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]money.Cents, error) {
	type row struct {
		ID    id.ID
		Total money.Cents
	}

	rows, err := db.Select[row](ctx, tx, `
		select g.id, (coalesce((select sum(l.amount) from reservation_line l where l.team_id = @team and l.reservation_id = g.id), 0)
			+ coalesce((select sum(a.amount) from reservation_adjustment a where a.team_id = @team and a.reservation_id = g.id and a.type = 'financial'), 0))::bigint as total
		from unnest(@ids::uuid[]) g (id)`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("add up reservations: %w", err)
	}

	out := make(map[id.ID]money.Cents, len(rows))
	for _, r := range rows {
		out[r.ID] = r.Total
	}

	return out, nil
}

// rehomed is a reservation that has left the books or moved to another listing.
type rehomed struct {
	ID                         id.ID
	OldStatus, Status          Status
	OldListingID, ListingID    id.ID
	ConfirmationCode, GuestRef *string
}

// rehomedSQL ends an update of the row r from the row o that it was. It returns the reservation.
const rehomedSQL = ` and o.team_id = r.team_id and o.id = r.id
	returning r.id, o.status as old_status, r.status, o.listing_id as old_listing_id, r.listing_id, r.confirmation_code, r.metadata->>'stripeGuestRef' as guest_ref`

// Retire makes reservations inactive until the accounting window of their connection has them again. It returns
// transactions; their journals and the journals of the reservations have to be derived again.
func Retire(ctx context.Context, tx *db.Tx, ids []id.ID) ([]id.ID, error) {
	return putAway(ctx, tx, ids, "r.status")
}

// Discard makes reservations inactive for good because another reservation is the same stay. It returns transactions;
// their journals and the journals of the reservations have to be derived again.
func Discard(ctx context.Context, tx *db.Tx, ids []id.ID) ([]id.ID, error) {
	return putAway(ctx, tx, ids, "null")
}

// putAway makes reservations inactive. The SQL expression retired is the status that they come back with.
func putAway(ctx context.Context, tx *db.Tx, ids []id.ID, retired string) ([]id.ID, error) {
	if err := lockReservations(ctx, tx, ids); err != nil {
		return nil, err
	}

	found, err := db.Select[rehomed](ctx, tx, `
		update reservation r set status = 'inactive', retired_status = `+retired+`, updated_at = @now from reservation o
		where r.team_id = @team and r.id = any(@ids) and r.status <> 'inactive'`+rehomedSQL,
		db.Args{"team": tx.Team, "ids": ids, "now": tx.Now})
	if err != nil {
		return nil, fmt.Errorf("make reservations inactive: %w", err)
	}

	return noteRehomed(ctx, tx, found)
}

// Move moves all reservations of the listings from[i] to the listing to[i]. It returns the reservations and the
// transactions that follow; the journals of both have to be derived again.
func Move(ctx context.Context, tx *db.Tx, from, to []id.ID) (moved, following []id.ID, err error) {
	if moved, err = loadIDsByListing(ctx, tx, from); err != nil || len(moved) == 0 {
		return nil, nil, err
	}

	if err := lockReservations(ctx, tx, moved); err != nil {
		return nil, nil, err
	}

	found, err := db.Select[rehomed](ctx, tx, `
		update reservation r set listing_id = g.to_id, updated_at = @now from unnest(@from::uuid[], @to::uuid[]) g (from_id, to_id), reservation o
		where r.team_id = @team and r.id = any(@ids) and r.listing_id = g.from_id`+rehomedSQL,
		db.Args{"team": tx.Team, "ids": moved, "from": from, "to": to, "now": tx.Now})
	if err != nil {
		return nil, nil, fmt.Errorf("move reservations: %w", err)
	}

	if following, err = noteRehomed(ctx, tx, found); err != nil {
		return nil, nil, err
	}

	// The systems of the reservations go on to move them.
	referring := intake.Referring{Kind: kindName, Field: "listingId", Records: moved}
	if err := intake.MoveReferences(ctx, tx, referring, intake.Moves{From: from, To: to}); err != nil {
		return nil, nil, err
	}

	led, err := loadFollowers(ctx, tx, moved)

	return moved, id.Distinct(append(following, led...)), err
}

// noteRehomed writes the audit events of reservations. It returns the transactions that know such a reservation, or a
// similar reservation, only by confirmation code or guest: they may belong to another reservation now.
func noteRehomed(ctx context.Context, tx *db.Tx, found []rehomed) ([]id.ID, error) {
	var codes, guests []string

	for i := range found {
		r := &found[i]
		codes, guests = append(codes, ptr.Value(r.ConfirmationCode)), append(guests, ptr.Value(r.GuestRef))

		audit.Note(
			tx, audit.Updated, audit.Reservation, r.ID,
			map[string]any{"status": r.OldStatus, "listingId": r.OldListingID},
			map[string]any{"status": r.Status, "listingId": r.ListingID},
			audit.Ref(audit.RoleListing, audit.Listing, r.OldListingID),
			audit.Ref(audit.RoleListing, audit.Listing, r.ListingID),
		)
	}

	return loadUnlinkedTransactions(ctx, tx, codes, guests)
}

// Adopt moves the reservations of a connection to another connection of the same account and returns them. Their
// journals have to be derived again, by the accounting window of the new connection.
func Adopt(ctx context.Context, tx *db.Tx, into, from id.ID) ([]id.ID, error) {
	found, err := db.Select[id.ID](ctx, tx, `
		update reservation set connection_id = @into, updated_at = @now where team_id = @team and connection_id = @from returning id`,
		db.Args{"team": tx.Team, "into": into, "from": from, "now": tx.Now})
	if err != nil {
		return nil, fmt.Errorf("give a connection the reservations of another one: %w", err)
	}

	at := func(connection id.ID) any { return map[string]id.ID{"connectionId": connection} }
	for _, v := range found {
		audit.Note(tx, audit.Updated, audit.Reservation, v, at(from), at(into))
	}

	return found, nil
}

// DeriveErrors are the conditions that Derive fails with.
var DeriveErrors = apierr.List{errLocked, errAmountRange, account.ErrRequiredMissing}

// Derive derives the journals of reservations. If a reservation is locked, the refusal names the reservation (RSN-53).
func Derive(ctx context.Context, tx *db.Tx, ids []id.ID) error {
	_, err := Refresh(ctx, tx, ids, ledger.Lenience{})

	return lockError(err)
}
