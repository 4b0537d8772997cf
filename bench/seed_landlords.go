package main

import (
	"context"
	"fmt"
	"time"
)

const (
	// The months of a team with statements; half of them are saved.
	statementMonths = 24
	savedMonths     = 12
	// Every listing has two stays, an expense and two journals in a month.
	monthlyBookings = 2
	landlordsName   = "landlords"
)

// landlordsSeed is a team with the statements of two years, the older half of which the service has saved, and nine
// other teams.
func landlordsSeed(listings int) *seed {
	return &seed{name: "landlords", sizes: []int{listings}, on: operationsSeed(fewOperations), fill: func(ctx context.Context, b *bed) error {
		f, err := b.newFiller(ctx)
		if err != nil {
			return err
		}

		t, err := f.addLandlords(ctx, listings)
		if err != nil {
			return err
		}

		if err := f.addNeighbors(ctx, 36*monthlyBookings*listings); err != nil {
			return err
		}

		if err := f.fill(ctx); err != nil {
			return err
		}

		if err := b.keepTeam(ctx, landlordsName, t); err != nil {
			return err
		}

		c, err := dial(ctx, b.ours, t.secret)
		if err != nil {
			return err
		}
		defer c.close()

		// Months are saved oldest first, since balances go from month to month.
		for n := range savedMonths {
			if _, err := c.operate("/statements/batch", fmt.Sprintf(`{"month": %q, "status": "published"}`, b.monthAgo(statementMonths-1-n))); err != nil {
				return fmt.Errorf("save a month: %w", err)
			}
		}

		return nil
	}}
}

// monthAgo returns the month n months before the current one, as the API writes it.
func (b *bed) monthAgo(n int) string {
	now := b.db.Now()
	return time.Date(now.Year(), now.Month()-time.Month(n), 1, 0, 0, 0, 0, time.UTC).Format("2006-01")
}

// addLandlords adds a team with two owners for five listings, two for every fourth listing, and bookings of three years.
func (f *filler) addLandlords(ctx context.Context, listings int) (t tenant, err error) {
	if t, err = f.newManager(ctx, listings); err != nil {
		return t, err
	}

	t.rows = listings

	// Statements begin two years ago, while the bookings go back three.
	first := f.monthAgo(statementMonths-1) + "-01"
	owners := listings * 2 / 5
	of := func(shift int) string { return aContact.idSQL(fmt.Sprintf("(p.n + %d) %% %d", shift, owners)) }
	bookings, err := f.bookingsSQL(ctx, t, 36*monthlyBookings*listings, listings)
	f.work = append(f.work, filling{t, append([]string{
		`update team set statement_start_at = '` + first + `' where id = $1`,
		fmt.Sprintf(`insert into contact (team_id, id, short_ref, type, name, email, created_at, updated_at)
			select $1, %s, 'o' || n, 'owner', 'Owner ' || n, 'owner' || n || '@example.com', now(), now() from generate_series(0, %d) n`, aContact.idSQL("n"), owners-1),
		`update listing_ownership_member m set contact_id = ` + of(0) + `, split = case p.n % 4 when 0 then 60000 else 100000 end
			from bench_place p where p.team_id = $1 and m.team_id = $1 and p.period_id = m.period_id`,
		`insert into listing_ownership_member (team_id, period_id, position, contact_id, split)
			select $1, p.period_id, 1, ` + of(1) + `, 40000 from bench_place p where p.team_id = $1 and p.n % 4 = 0`,
	}, bookings...)})

	return t, err
}
