package statement

import (
	"context"
	"fmt"

	"stayledger/domain/activity/reservation"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// loadDuplicates loads, by statement, the stays with entries of its days that two systems brought and that are in the
// books twice. Statements without any are absent.
func loadDuplicates(ctx context.Context, tx *db.Tx, rows []row) (map[id.ID][]id.ID, error) {
	type hit struct {
		Place int64
		Stays []id.ID
	}

	// Imported statements show what another product has posted.
	var (
		ids, periods []id.ID
		currencies   []string
		starts, ends []day.Day
	)

	for i := range rows {
		if r := &rows[i]; !r.Imported {
			ids, periods = append(ids, r.id()), append(periods, r.OwnershipPeriodID)
			currencies = append(currencies, r.Currency)
			starts, ends = append(starts, r.StartAt), append(ends, r.EndAt)
		}
	}

	if len(ids) == 0 {
		return nil, nil
	}

	hits, err := db.Select[hit](ctx, tx, `
		with `+reservation.DuplicateSources+`
		select k.place, array_agg(distinct r.id order by r.id) as stays
		from unnest(@periods::uuid[], @currencies::text[], @starts::date[], @ends::date[]) with ordinality k (period, currency, start_at, end_at, place)
		cross join lateral (
			select distinct e.reservation_id from ledger_entry e
			where e.team_id = @team and e.ownership_period_id = k.period and e.currency = k.currency and e.txn_at between k.start_at and k.end_at
				and e.status = 'active' and e.source_id = e.reservation_id) e
		join reservation r on r.team_id = @team and r.id = e.reservation_id
		join reservation o on `+reservation.DuplicateSQL+`
		group by k.place`,
		db.Args{"team": tx.Team, "periods": periods, "currencies": currencies, "starts": starts, "ends": ends})
	if err != nil {
		return nil, fmt.Errorf("find stays of statements that two systems brought: %w", err)
	}

	out := make(map[id.ID][]id.ID, len(hits))
	for _, h := range hits {
		out[ids[h.Place-1]] = h.Stays
	}

	return out, nil
}
