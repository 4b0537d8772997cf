package historic

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// lockListings locks the ownership periods of listings and returns which of the listings exist. A shared lock keeps
// live statements and the terms of the ownership unchanged. An exclusive one makes other imports and postings wait
// as well.
func lockListings(ctx context.Context, tx *db.Tx, listings []id.ID, shared bool) (map[id.ID]bool, error) {
	mode := "update"
	if shared {
		mode = "share"
	}

	if _, err := tx.Exec(ctx, `
		select from listing_ownership_period where team_id = @team and listing_id = any(@listings::uuid[]) order by id for `+mode,
		db.Args{"team": tx.Team, "listings": listings}); err != nil {
		return nil, fmt.Errorf("lock ownership periods: %w", err)
	}

	// A listing without periods has nothing to lock, so existence is a question of its own.
	found, err := db.Select[id.ID](ctx, tx, `select id from listing where team_id = @team and id = any(@listings::uuid[])`,
		db.Args{"team": tx.Team, "listings": listings})
	if err != nil {
		return nil, fmt.Errorf("read listings: %w", err)
	}

	exists := make(map[id.ID]bool, len(found))
	for _, v := range found {
		exists[v] = true
	}

	return exists, nil
}

// loadLiveAfter loads the latest live statement that is saved after one of the places in its ownership period, nil when
// there is none.
func loadLiveAfter(ctx context.Context, tx *db.Tx, at []*arrival) (*statement.Blocking, error) {
	where := rangeColumns(at)

	// The latest is the one that can be returned to draft first.
	found, err := db.Maybe[statement.Blocking](ctx, tx, `
		select s.id, s.start_at, s.status from unnest(@periods::uuid[], @starts::date[]) k (period, start_at)
		join statement s on s.team_id = @team and s.ownership_period_id = k.period and s.start_at > k.start_at and not s.imported
		order by s.start_at desc, s.id limit 1`, db.Args{"team": tx.Team, "periods": where["periods"], "starts": where["starts"]})
	if err != nil {
		return nil, fmt.Errorf("find later statements: %w", err)
	}

	return found, nil
}

// overlap is a stored statement that shares days with an arrival; At counts the arrivals from 1.
type overlap struct {
	At int
	ID id.ID
}

// rangeColumns returns the places and days of arrivals as columns.
func rangeColumns(all []*arrival) db.Args {
	listings, periods, currencies := make([]id.ID, len(all)), make([]id.ID, len(all)), make([]string, len(all))

	starts, ends, refs := make([]day.Day, len(all)), make([]day.Day, len(all)), make([]string, len(all))
	for i, a := range all {
		listings[i], periods[i], currencies[i] = a.ListingID, a.period.ID, a.Currency
		starts[i], ends[i], refs[i] = a.StartAt, a.EndAt, a.UniqueRef
	}

	return db.Args{
		"listings":   listings,
		"periods":    periods,
		"currencies": currencies,
		"starts":     starts,
		"ends":       ends,
		"refs":       refs,
	}
}

// loadOverlapping loads the statements that share days with arrivals, except those that are replaced.
func loadOverlapping(ctx context.Context, tx *db.Tx, all []*arrival) ([]overlap, error) {
	args := rangeColumns(all)
	delete(args, "listings")
	delete(args, "refs")

	// The place of a replaced statement becomes free.
	replaced := []id.ID{}

	for _, a := range all {
		if a.replaces != nil {
			replaced = append(replaced, a.id)
		}
	}

	args["team"], args["replaced"] = tx.Team, replaced

	found, err := db.Select[overlap](ctx, tx, `
		select k.n::int as at, s.id from unnest(@periods::uuid[], @currencies::text[], @starts::date[], @ends::date[])
			with ordinality k (period, currency, start_at, end_at, n)
		join statement s on s.team_id = @team and s.ownership_period_id = k.period and s.currency = k.currency
			and s.start_at <= k.end_at and s.end_at >= k.start_at
		where s.id not in (select unnest(@replaced::uuid[])) order by k.n, s.start_at`, args)
	if err != nil {
		return nil, fmt.Errorf("find statements over the same days: %w", err)
	}

	return found, nil
}

// saveAll saves statements with their entries.
func saveAll(ctx context.Context, tx *db.Tx, all []*arrival, entries *ledger.Imported) error {
	rows := make([]statement.Imported, len(all))
	for i, a := range all {
		rows[i] = statement.Imported{
			ID:                a.id,
			UniqueRef:         &a.UniqueRef,
			OwnershipPeriodID: a.period.ID,
			ListingID:         a.ListingID,
			Status:            statement.Status(a.Status),
			Currency:          a.Currency,
			StartAt:           a.StartAt,
			EndAt:             a.EndAt,
			BalanceStart:      a.figures.CentBalanceStart,
			NetRevenue:        a.figures.CentNetRevenue,
			Expenses:          a.figures.CentExpenses,
			Payouts:           a.figures.CentTransfer,
			BalanceEnd:        a.figures.CentBalanceEnd,
			Layout:            a.layout,
			Replaces:          a.replaces,
		}

		// The reserve of the period is frozen with the statement.
		if a.period.Reserve != nil {
			rows[i].Reserve = *a.period.Reserve
		}
	}

	return statement.SaveImported(ctx, tx, rows, entries)
}
