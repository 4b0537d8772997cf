package reservation

import (
	"context"
	"fmt"

	"stayledger/domain/activity/fee"
	"stayledger/domain/books/account"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// accountingDateSQL is Input.accountingDate of the row r by the settings of its team t.
const accountingDateSQL = `coalesce(r.general_ledger_posting_at, case
	when t.default_revenue_recognition in ('` + string(fee.CheckOut) + `', '` + string(fee.ProRata) + `') or r.check_out - r.check_in > t.long_term_stay_nights then r.check_out
	when t.default_revenue_recognition = '` + string(fee.BookedAt) + `' then coalesce(r.booked_at, r.check_in)
	else r.check_in end)`

// Stay is a reservation as far as it is compared with others.
type Stay struct {
	ID               id.ID
	ListingID        id.ID
	ConfirmationCode *string
	GuestName        *string
	CheckIn          day.Day
	CheckOut         day.Day
	// OnOrAfter says that its accounting date is on or after the day that was asked for.
	OnOrAfter bool
}

// ListStays loads the reservations of a connection that are not inactive, by whether their accounting date is before a
// day (CUT-14..CUT-17).
func ListStays(ctx context.Context, tx *db.Tx, connection id.ID, at day.Day) ([]Stay, error) {
	found, err := db.Select[Stay](ctx, tx, `
		select r.id, r.listing_id, r.confirmation_code, r.guest_name, r.check_in, r.check_out, `+accountingDateSQL+` >= @at as on_or_after
		from reservation r join team t on t.id = r.team_id
		where r.team_id = @team and r.connection_id = @connection and r.status <> 'inactive' order by r.id`,
		db.Args{"team": tx.Team, "connection": connection, "at": at})
	if err != nil {
		return nil, fmt.Errorf("read the reservations of a connection: %w", err)
	}

	return found, nil
}

// Retire makes reservations inactive and takes them out of the books. It fails with the first refusal.
func Retire(ctx context.Context, tx *db.Tx, ids []id.ID) error {
	inactive := BatchStatus(Inactive)
	items := make([]BatchItem, len(ids))

	for i := range ids {
		items[i] = BatchItem{ID: &ids[i], Status: &inactive}
	}

	return saveEach(ctx, tx, items)
}

// MoveErrors are the conditions that Move fails with.
var MoveErrors = apierr.List{errLocked, errAmountRange, account.ErrRequiredMissing}

// Move moves all reservations of some listings to others, from[i] to to[i], with their journals and the lines that follow
// them. It fails with the first refusal.
func Move(ctx context.Context, tx *db.Tx, from, to []id.ID) error {
	type place struct{ ID, ListingID id.ID }

	found, err := db.Select[place](ctx, tx, `
		select r.id, g.listing_id from reservation r join unnest(@from::uuid[], @to::uuid[]) g (id, listing_id) on g.id = r.listing_id
		where r.team_id = @team order by r.id`, db.Args{"team": tx.Team, "from": from, "to": to})
	if err != nil {
		return fmt.Errorf("find reservations to move: %w", err)
	}

	items := make([]BatchItem, len(found))
	for i := range found {
		items[i] = BatchItem{ID: &found[i].ID, Fields: Fields{ListingID: &found[i].ListingID}}
	}

	return saveEach(ctx, tx, items)
}

// saveEach saves items of which none may be refused.
func saveEach(ctx context.Context, tx *db.Tx, items []BatchItem) error {
	saved, err := Save(ctx, tx, &Batch{Data: items})
	if err != nil {
		return err
	}

	for i := range saved {
		if saved[i].Refusal != nil {
			return saved[i].Refusal
		}
	}

	return nil
}
