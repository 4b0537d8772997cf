package reservation

import (
	"context"
	"fmt"
	"strings"

	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
)

// sameStaySQL is the SQL condition that a and b, rows or values of sources, are the same stay: they have the same
// confirmation code, or where a code is missing, equal nights and an equal guest.
func sameStaySQL(a, b string) string {
	return strings.NewReplacer("a.", a+".", "b.", b+".").Replace(`case
	when stayledger_plain(a.confirmation_code) is not null and stayledger_plain(b.confirmation_code) is not null
		then stayledger_plain(b.confirmation_code) = stayledger_plain(a.confirmation_code)
	else b.check_in = a.check_in and b.check_out = a.check_out and stayledger_plain(b.guest_name) = stayledger_plain(a.guest_name) end`)
}

// lastSaidSQL is a lateral table with what sources said last of a reservation, in the columns that sameStaySQL
// compares: people may have changed its days or its guest here.
func lastSaidSQL(reservation string) string {
	return `lateral (
		select e.taken ->> 'confirmationCode' as confirmation_code, e.taken ->> 'guestName' as guest_name, (e.taken ->> 'checkIn')::date as check_in,
			(e.taken ->> 'checkOut')::date as check_out
		from external_record e where e.team_id = @team and e.entity_id = ` + reservation + `.id and e.kind = 'reservation' and e.taken ? 'checkIn'` + db.Fence + `)`
}

// isOrWasSQL is the SQL condition that reservations a and b are one stay: as b is here, or as its source said it last.
func isOrWasSQL(a, b string) string {
	return "(" + sameStaySQL(a, b) + " or exists (select from " + lastSaidSQL(b) + " said where " +
		sameStaySQL(a, "said") + "))"
}

// editSQL is the SQL condition that an audit event e of a reservation tells of what a person did to it. Where people
// have connected an account again or moved listings, the service has moved it along.
const editSQL = `e.type in ('created', 'updated') and e.source_type in ('user', 'api', 'csv')
	and exists (select from jsonb_array_elements(e.changes) c where c ->> 'key' not in ('connectionId', 'listingId'))`

// untouchedSQL is the SQL condition that people here have done nothing to a reservation r, and that nothing depends
// on it but its own journal.
const untouchedSQL = `not exists (select from transaction_line l where l.team_id = @team and l.reservation_id = r.id)
	and not exists (select from journal_line l where l.team_id = @team and l.reservation_id = r.id)
	and not exists (select from reservation_adjustment a where a.team_id = @team and a.reservation_id = r.id)
	and not exists (select from audit_event e where e.team_id = @team and e.entity_id = r.id and ` + editSQL + `)`

// DuplicateSources is the SQL of the common table expression with the connections that could bring a stay twice: every
// connection, active or not, with reservations in the books.
const DuplicateSources = `sources as materialized (
	select c.id from connection c where c.team_id = @team and not c.is_outside_books
		and exists (select from reservation v where v.team_id = @team and v.connection_id = c.id))`

// hasSeveralSources is the SQL condition that the team has more than one of these connections.
const hasSeveralSources = `(select count(*) > 1 from (select from connection c where c.team_id = @team and not c.is_outside_books
	and exists (select from reservation v where v.team_id = @team and v.connection_id = c.id) limit 2) c)`

// DuplicateSQL is the SQL condition that reservations r and o in the books are the same stay, brought to a listing by
// two systems or by a system and a person: they have the same confirmation code and nights in common, or, where a code
// is missing, equal nights and an equal guest. Teams with a single such system, which are nearly all, compare nothing.
var DuplicateSQL = `(select count(*) from sources) > 1 and (r.connection_id is null or r.connection_id in (select id from sources))
	and (o.connection_id is null or o.connection_id in (select id from sources))
	and o.team_id = r.team_id and o.listing_id = r.listing_id and o.connection_id is distinct from r.connection_id and r.status = 'booked' and o.status = 'booked'
	and r.general_ledger_status = 'active' and o.general_ledger_status = 'active' and o.check_in < r.check_out and o.check_out > r.check_in
	and not exists (select from reservation_unposted u where u.team_id = r.team_id and u.reservation_id = r.id and u.whole)
	and not exists (select from reservation_unposted u where u.team_id = o.team_id and u.reservation_id = o.id and u.whole) and ` + sameStaySQL("r", "o")

// DuplicateFinding returns the finding about reservations that are one stay which several systems brought.
func DuplicateFinding(stays []id.ID) finding.Finding {
	return finding.Finding{
		Code: "duplicateReservation", Severity: finding.Error, Context: map[string]any{"reservationIds": stays},
	}
}

// loadDuplicates loads, by reservation, the other reservations of the same stay. Reservations without a duplicate are
// absent.
func loadDuplicates(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID][]id.ID, error) {
	if len(ids) == 0 {
		return nil, nil
	}

	type row struct {
		ID     id.ID
		Others []id.ID
	}

	rows, err := db.Select[row](ctx, tx, `
		with `+DuplicateSources+`
		select r.id, array_agg(o.id order by o.id) as others from reservation r join reservation o on `+DuplicateSQL+`
		where r.team_id = @team and r.id = any(@ids) group by r.id`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("find stays that two systems brought: %w", err)
	}

	out := make(map[id.ID][]id.ID, len(rows))
	for _, r := range rows {
		out[r.ID] = r.Others
	}

	return out, nil
}
