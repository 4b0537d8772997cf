package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

const (
	// The statements of publishedMonth are published here. The earlierMonths before it have statements that are
	// published already, with their entries.
	publishedMonth = "2026-10"
	earlierMonths  = 3
)

// entriesOfMonth is how many owners' entries a period has in a month: two stays with rent, cleaning and two fees
// each, and a bill.
const entriesOfMonth = 9

// ownersSeed is two teams that differ in the number of their ownership periods, with the statements of all months but the
// last one, and one as large as the second for bare code.
func ownersSeed(few, many int) *seed {
	return &seed{name: "owners", sizes: []int{few, many}, on: operationsSeed(fewOperations), fill: func(ctx context.Context, b *bed) error {
		var teams []tenant

		// The service makes the teams, so it needs the indexes.
		for name, periods := range map[string]int{fewName: few, manyName: many, bareName: many} {
			t, err := b.newManager(ctx, periods)
			if err != nil {
				return err
			}

			t.rows = periods
			if err := b.keepTeam(ctx, name, t); err != nil {
				return err
			}

			teams = append(teams, t)
		}

		err := b.withoutIndexes(ctx, []string{"ledger_entry", "statement"}, func() error {
			return inPairs(teams, func(t tenant) error { return b.asAdministrator(ctx, ownersSQL(), t) })
		})
		if err != nil {
			return err
		}

		return inPairs(teams, func(t tenant) error { return b.asAdministrator(ctx, settleStays, t) })
	}}
}

// ownersSQL returns the statements that fill a team of newManager with entries of some months, and the statements of all
// these months but the last.
func ownersSQL() []string {
	// The entries of earlier months already belong to a statement.
	entries := fmt.Sprintf(`insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, txn_at, account_id, cent_total, currency, party,
			listing_id, ownership_period_id, trigger_type, created_at, statement_id)
		select $1, gen_random_uuid(), s.source, 'bench:' || s.source, e.ref, 'trust', s.at, a.id, e.cents, 'usd', e.party, p.listing_id, p.id, 'reservation', now(),
			case when e.party = 'owners' and month > 0 then md5(p.id::text || month)::uuid end
		from listing_ownership_period p
		cross join lateral (select md5(p.id::text || month || ':' || n)::uuid as source, n, month,
				(date '%s-01' - make_interval(months => month) + make_interval(days => 3 + 9 * n))::date as at
			from generate_series(0, %d) month cross join generate_series(0, 2) n) s
		join (values (0, 'ar', 115000, '2000', null), (0, 'rent', -100000, '4000', 'owners'), (0, 'clean', -15000, '4010', 'owners'),
			(0, 'fee', 20000, '5100', 'owners'), (0, 'feem', -20000, '4100', 'manager'), (0, 'cl', 15000, '5110', 'owners'), (0, 'clm', -15000, '4110', 'manager'),
			(2, 'bill', 5000, '5200', 'owners'), (2, 'ap', -5000, '2200', null)) as e (kind, ref, cents, code, party) on e.kind = s.n - s.n %% 2
		join account a on a.team_id = $1 and a.code = e.code
		where p.team_id = $1`, publishedMonth, earlierMonths)

	// Then the first month, the entries, the statements of earlier months, and the kept sums.
	return append([]string{
		fmt.Sprintf(`update team set statement_start_at = (date '%s-01' - make_interval(months => %d))::date where id = $1`, publishedMonth, earlierMonths),
		entries,
		strings.NewReplacer("$months", fmt.Sprintf("generate_series(1, %d)", earlierMonths), "$last", publishedMonth, "$earlier", strconv.Itoa(earlierMonths)).Replace(`
			insert into statement (team_id, id, short_ref, ownership_period_id, listing_id, status, currency, start_at, end_at, balance_start, net_revenue,
				expenses, payouts, balance_end, reserve, published_at, created_at, updated_at)
			select team_id, md5(id::text || month)::uuid, concat('s', month, id), id, listing_id, 'published', 'usd', at, at + interval '1 month - 1 day',
				($earlier - month) * 155000, 155000, 0, 0, ($earlier + 1 - month) * 155000, 0, now(), current_timestamp, transaction_timestamp()
			from (select p.*, month, (date '$last-01' - make_interval(months => month))::date as at from listing_ownership_period p cross join $months month
				where p.team_id = $1) x`),
	}, insertSums...)
}
