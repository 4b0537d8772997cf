package reservation

import (
	"context"
	"fmt"

	"stayledger/domain/activity/fee"
	"stayledger/domain/property/listing"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Nights are the listing and the nights of a reservation, by which money that names it finds its owners.
type Nights struct {
	listing.Nights

	ListingID id.ID
}

// LoadNights loads the nights of reservations, by reservation.
func LoadNights(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]Nights, error) {
	type row struct {
		ID, ListingID          id.ID
		CheckIn, CheckOut      day.Day
		BookedAt               *day.Day
		Status                 Status
		CancelledAt            *day.Day
		GeneralLedgerPostingAt *day.Day
		Recognition            fee.Recognition
		LongTermStayNights     *int64
	}

	rows, err := db.Select[row](ctx, tx, `
		select r.id, r.listing_id, r.check_in, r.check_out, r.booked_at, r.status, r.cancelled_at, r.general_ledger_posting_at,
			t.default_revenue_recognition as recognition, t.long_term_stay_nights
		from reservation r join team t on t.id = r.team_id where r.team_id = @team and r.id = any(@ids)`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read the nights of reservations: %w", err)
	}

	out := make(map[id.ID]Nights, len(rows))

	for i := range rows {
		r := &rows[i]
		in := Input{Recognition: r.Recognition, LongTermStayNights: r.LongTermStayNights, Reservation: Reservation{
			CheckIn: r.CheckIn, CheckOut: r.CheckOut, BookedAt: r.BookedAt, Status: r.Status,
			CancelledAt:            r.CancelledAt,
			GeneralLedgerPostingAt: r.GeneralLedgerPostingAt,
		}}
		out[r.ID] = Nights{Nights: in.nights(), ListingID: r.ListingID}
	}

	return out, nil
}

// loadOwnersMoney loads the active transactions with lines of the owners that name reservations, on listings that have
// had several owners: the nights decide which owner has the money.
func loadOwnersMoney(ctx context.Context, tx *db.Tx, ids []id.ID) ([]id.ID, error) {
	if len(ids) == 0 {
		return nil, nil
	}

	found, err := db.Select[id.ID](ctx, tx, `
		select distinct t.id from transaction_line l
		join transaction t on t.team_id = l.team_id and t.id = l.transaction_id and t.status = 'active'
		where l.team_id = @team and l.reservation_id = any(@ids) and l.party = 'owners' and exists (
			select from listing_ownership_period p left join listing m on m.team_id = p.team_id and m.id = l.listing_id
			where p.team_id = @team and p.listing_id in (l.listing_id, m.parent_id) and (p.start_at is not null or p.end_at is not null))
		order by t.id`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("find the owners' money of reservations: %w", err)
	}

	return found, nil
}
