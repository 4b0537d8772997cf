package transaction

import (
	"context"
	"fmt"

	"stayledger/domain/record/audit"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/ptr"
)

// waiting is the SQL condition on lines l of active transactions that name a reservation which is not linked yet, or
// that are linked to one which has left the books.
var waiting = `(l.match_confirmation_code is not null or l.match_stripe_guest_ref is not null) and (l.reservation_id is null
	or exists (select from reservation s where s.team_id = l.team_id and s.id = l.reservation_id and not (` + inBooksSQL("s") + `)))`

// found is the SQL condition on the reservations r that a line l names. A canceled stay can still be paid, an
// inactive one cannot. A reservation in another currency cannot be paid either; callers add that condition.
const found = `r.team_id = l.team_id and r.status <> 'inactive' and (r.code_key = l.match_code_key
	or l.match_stripe_guest_ref is not null and r.metadata ->> 'stripeGuestRef' = l.match_stripe_guest_ref)
	and (l.listing_id is null or l.listing_id = r.listing_id)`

// theFit is the SQL of the reservation r that a group of fitting ones is: the only one that is in the books, or else
// the only one. It is null if a person has to say which one was paid.
var theFit = `case when count(*) filter (where ` + inBooksSQL("r") + `) = 1 then min(r.id::text) filter (where ` + inBooksSQL("r") + `)
	when count(*) = 1 then min(r.id::text) end::uuid`

// inBooksSQL returns the SQL condition that a reservation is in the books, those before the first day included, which
// the opening balances hold. One that is kept out of them is the stay of another system.
func inBooksSQL(r string) string {
	return r + `.general_ledger_status = 'active' and not exists (
		select from reservation_unposted u where u.team_id = ` + r + `.team_id and u.reservation_id = ` + r + `.id and u.whole and u.reason = 'outsideAccountingWindow')`
}

// linkLines links lines of stored transactions to the reservations that they wait for and returns those reservations.
// A line whose reservation has left the books goes to the one in the books that it names as well. A line that fits
// two reservations in the books stays as it is: a person has to say which one was paid.
func linkLines(ctx context.Context, tx *db.Tx, transactions []id.ID) ([]id.ID, error) {
	// A line links if one reservation fits. It gets the listing of the reservation unless it has one, and
	// follows the reservation if that gave the listing.
	type row struct {
		TransactionID, LineID                     id.ID
		OldListingID, ListingID, OldReservationID *id.ID
		ReservationID                             id.ID
	}

	linked, err := db.Select[row](ctx, tx, `
		with fits as (
			select l.id, `+theFit+` as reservation_id from transaction_line l join reservation r on `+found+`
			where l.team_id = @team and l.transaction_id = any(@ids) and `+waiting+`
				and r.currency = (select t.currency from transaction t where t.team_id = @team and t.id = l.transaction_id) group by l.id having `+theFit+` is not null),
		held as ( /* before the lines share them: see holdStays */
			select id, listing_id from reservation where team_id = @team and id in (select reservation_id from fits) order by id for update)
		update transaction_line l set reservation_id = r.id, listing_id = coalesce(l.listing_id, r.listing_id), follows_reservation = l.follows_reservation or l.listing_id is null
		from fits join held r on r.id = fits.reservation_id, transaction_line o
		where l.team_id = @team and l.id = fits.id and o.team_id = l.team_id and o.id = l.id and l.reservation_id is distinct from r.id
		returning l.transaction_id, l.id as line_id, o.listing_id as old_listing_id, l.listing_id, o.reservation_id as old_reservation_id, l.reservation_id`, db.Args{"team": tx.Team, "ids": transactions})
	if err != nil {
		return nil, fmt.Errorf("link lines to reservations: %w", err)
	}

	// Then write an audit event for each line.
	stays := make([]id.ID, len(linked))
	for i := range linked {
		l := &linked[i]
		stays[i] = l.ReservationID

		// A line that waited had no reservation, so its event shows none.
		before := map[string]*id.ID{"listingId": l.OldListingID}
		if l.OldReservationID != nil {
			before["reservationId"] = l.OldReservationID
		}

		noteLine(
			tx, audit.Matched,
			&moved{
				TransactionID: l.TransactionID, LineID: l.LineID, OldListingID: l.OldListingID,
				ListingID: l.ListingID, ReservationID: &l.ReservationID,
			},
			before,
			map[string]*id.ID{"listingId": l.ListingID, "reservationId": &l.ReservationID},
		)
	}

	return stays, nil
}

// followPairs gives the lines of stored transactions, which are locked, to the reservation of a pair that is in the
// books, where they name the other one, or have named before a cutover detached them what is in the books again. It
// returns the reservations of both.
func followPairs(ctx context.Context, tx *db.Tx, transactions []id.ID) ([]id.ID, error) {
	type row struct{ FromID, ToID id.ID }

	found, err := db.Select[row](ctx, tx, `
		select distinct g.from_id, g.to_id from transaction_line l join lateral (
			select source_id as from_id, target_id as to_id from reservation_pair
			where team_id = @team and source_id = coalesce(l.reservation_id, l.detached_reservation_id) and is_retired
			union all
			select target_id, source_id from reservation_pair where team_id = @team and target_id = l.reservation_id and not is_retired
			union all
			select source_id, source_id from reservation_pair
			where team_id = @team and l.reservation_id is null and source_id = l.detached_reservation_id and not is_retired
			union all
			select id, id from reservation r where r.team_id = @team and l.reservation_id is null and r.id = l.detached_reservation_id and r.status <> 'inactive'
				and not exists (select from reservation_pair p where p.team_id = @team and p.source_id = r.id)) g on true
		where l.team_id = @team and l.transaction_id = any(@ids)`, db.Args{"team": tx.Team, "ids": transactions})
	if err != nil {
		return nil, fmt.Errorf("find lines of pairs of reservations: %w", err)
	}

	if len(found) == 0 {
		return nil, nil
	}

	var (
		from, both []id.ID
		to         []*id.ID
	)

	for i := range found {
		r := &found[i]
		from, to, both = append(from, r.FromID), append(to, &r.ToID), append(both, r.FromID, r.ToID)
	}

	_, err = relink(ctx, tx, from, to, transactions)

	return both, err
}

// followStays moves the lines of stored transactions to the listing of the reservation that gave them theirs.
func followStays(ctx context.Context, tx *db.Tx, transactions []id.ID) error {
	// Joining the line with itself gives the listing before the update, for the audit event.
	followed, err := db.Select[moved](ctx, tx, `
		update transaction_line l set listing_id = r.listing_id from reservation r, transaction_line o
		where o.team_id = l.team_id and o.id = l.id and l.team_id = @team and l.transaction_id = any(@ids) and l.follows_reservation
			and r.team_id = l.team_id and r.id = l.reservation_id and r.listing_id is distinct from l.listing_id
		returning l.transaction_id, l.id as line_id, o.listing_id as old_listing_id, l.listing_id, l.reservation_id, null::uuid as old_statement`,
		db.Args{"team": tx.Team, "ids": transactions})
	if err != nil {
		return fmt.Errorf("move lines with their reservations: %w", err)
	}

	for i := range followed {
		m := &followed[i]
		noteLine(
			tx, audit.Updated, m,
			map[string]*id.ID{"listingId": m.OldListingID},
			map[string]*id.ID{"listingId": m.ListingID},
		)
	}

	return nil
}

// match finds the reservations that the lines of drafts name and links the lines that have none yet.
func match(ctx context.Context, tx *db.Tx, drafts []*draft) error {
	type place struct{ draft, line int }

	var (
		places        []place
		codes, guests []*string
		listings      []id.ID
		currencies    []string
	)

	// First collect the lines of all drafts that wait for a reservation.
	for i, d := range drafts {
		for k := range d.Lines {
			l := &d.Lines[k]
			if l.ReservationID == nil &&
				(l.MatchReservationConfirmationCode != nil || l.MatchReservationStripeGuestRef != nil) {
				places = append(places, place{i, k})
				codes = append(codes, l.MatchReservationConfirmationCode)
				guests = append(guests, l.MatchReservationStripeGuestRef)
				listings, currencies = append(listings, ptr.Value(l.ListingID)), append(currencies, d.Currency)
			}
		}
	}

	if len(places) == 0 {
		return nil
	}

	type fit struct {
		N             int
		ReservationID id.ID
	}

	// Then find the reservations of all lines with one query. A line that several reservations fit is not linked,
	// unless one of them alone is in the books.
	fits, err := db.Select[fit](ctx, tx, `
		select l.n::int as n, `+theFit+` as reservation_id
		from (select @team::uuid as team_id, *, stayledger_plain(match_confirmation_code) as match_code_key from unnest(@codes::text[], @guests::text[], @listings::uuid[], @currencies::text[]) with ordinality
			as w (match_confirmation_code, match_stripe_guest_ref, listing_id, currency, n)) l
			join reservation r on `+found+` and r.currency = l.currency
		where r.team_id = @team group by l.n having `+theFit+` is not null`,
		db.Args{"team": tx.Team, "codes": codes, "guests": guests, "listings": listings, "currencies": currencies})
	if err != nil {
		return fmt.Errorf("find the reservations that lines name: %w", err)
	}

	for _, f := range fits {
		p := places[f.N-1]
		drafts[p.draft].Lines[p.line].ReservationID = &f.ReservationID
	}

	return nil
}
