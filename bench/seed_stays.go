package main

import (
	"context"
	"fmt"
)

// The compared teams of a seed: a team with few rows, a team with many, and another large team for bare code.
const fewName, manyName, bareName = "few", "many", "bare"

// staysSeed is two teams that differ in the number of their stays, which have no journals yet: the service would post
// them one by one.
func staysSeed(few, many int) *seed {
	return &seed{name: "stays", sizes: []int{few, many}, on: operationsSeed(fewOperations), fill: func(ctx context.Context, b *bed) error {
		for name, stays := range map[string]int{fewName: few, manyName: many} {
			t, err := b.newBooks(ctx)
			if err != nil {
				return err
			}

			t.rows = stays
			if err := b.keepTeam(ctx, name, t); err != nil {
				return err
			}

			if err := b.asAdministrator(ctx, staysSQL(stays), t); err != nil {
				return err
			}
		}

		return nil
	}}
}

// staysSQL returns the statements that fill a team of newBooks with stays of three lines.
func staysSQL(stays int) []string {
	return []string{
		fmt.Sprintf(`insert into reservation (team_id, id, short_ref, listing_id, status, guest_name, confirmation_code, check_in, check_out, booked_at,
				booking_platform, currency, created_at, updated_at)
			select $1, gen_random_uuid(), 'r' || n, md5($1::uuid::text || (1 + n %% %d))::uuid, 'booked', 'Guest ' || n, 'HM' || n,
				date '2023-01-01' + n %% 1095, date '2023-01-01' + n %% 1095 + 1 + n %% 9, date '2022-12-01' + n %% 1095, 'airbnb', 'usd', now(), now()
			from generate_series(1, %d) n`, portfolio, stays),
		`insert into reservation_line (team_id, id, reservation_id, position, type, amount)
			select r.team_id, gen_random_uuid(), r.id, l.position, l.type, l.amount from reservation r
			cross join (values (1, 'rent', 98765), (2, 'cleaningFee', 15000), (3, 'tax', 13799)) as l (position, type, amount) where r.team_id = $1`,
	}
}
