package reservation

import (
	"context"
	"fmt"

	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
)

// DuplicateSources is the SQL of the common table expression with the connections that could bring one stay twice: active
// ones without accounting dates, none of which is outside the books.
const DuplicateSources = `sources as materialized (
	select c.id from connection c where c.team_id = @team and c.status = 'active' and c.accounting_start_at is null and c.accounting_end_at is null
		and not c.is_outside_books)`

// DuplicateSQL is the SQL condition that reservations r and o in the books are one stay that two systems brought to one
// listing: of one confirmation code with nights in common, or, where one of them has no code, of equal nights and an equal
// guest. Teams with one such system, which are nearly all, compare nothing.
const DuplicateSQL = `(select count(*) from sources) > 1 and r.connection_id in (select id from sources) and o.connection_id in (select id from sources)
	and o.team_id = r.team_id and o.listing_id = r.listing_id and o.connection_id <> r.connection_id
	and r.status <> 'inactive' and o.status <> 'inactive' and r.general_ledger_status = 'active' and o.general_ledger_status = 'active'
	and o.check_in < r.check_out and o.check_out > r.check_in and case
		when r.confirmation_code <> '' and o.confirmation_code <> '' then stayledger_plain(o.confirmation_code) = stayledger_plain(r.confirmation_code)
		else o.check_in = r.check_in and o.check_out = r.check_out and stayledger_plain(o.guest_name) = stayledger_plain(r.guest_name) end`

// DuplicateFinding returns the finding about reservations that are one stay which several systems brought.
func DuplicateFinding(stays []id.ID) finding.Finding {
	return finding.Finding{Code: "duplicateReservation", Severity: finding.Error, Context: map[string]any{"reservationIds": stays}}
}

// loadDuplicates loads, by reservation, the other reservations that are the same stay. One without any is absent.
func loadDuplicates(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID][]id.ID, error) {
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
