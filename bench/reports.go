package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// reportRounds is how often each report is asked of each team, in turns, so that a busy moment of the machine meets
// all teams.
const reportRounds = 40

// reportPaths returns the reports that are measured, for dates at month ends and for any other day.
func reportPaths() map[string][2]string {
	return map[string][2]string{
		"trial_balance": {
			"/reports/trial-balance?startDate=2025-01-01&endDate=2025-12-31",
			"/reports/trial-balance?startDate=2025-01-14&endDate=2025-12-17",
		},
		"profit_and_loss": {
			"/reports/profit-and-loss?startDate=2025-01-01&endDate=2025-12-31&view=month",
			"/reports/profit-and-loss?startDate=2025-01-14&endDate=2025-12-17&view=month",
		},
		"balance_sheet": {"/reports/balance-sheet?date=2025-12-31", "/reports/balance-sheet?date=2025-12-17"},
	}
}

// reports compares how long the same reports take for teams with a hundred thousand, a million and ten million
// entries.
func reports(ctx context.Context, b *bed) ([]Metric, error) {
	all, err := b.loadLedgers(ctx)
	if err != nil {
		return nil, err
	}

	teams, sizes := all[1:], b.ledgerSizes()[1:]

	clients := make([]*client, len(teams))
	for i := range clients { // connect now: the server closes connections that are silent for long
		if clients[i], err = dial(ctx, b.ours, teams[i].secret); err != nil {
			return nil, err
		}
		defer clients[i].close()
	}

	var metrics []Metric

	for _, name := range []string{"trial_balance", "profit_and_loss", "balance_sheet"} {
		// Dates within a month cost more: their part of the month is read by day.
		paths := reportPaths()[name]

		monthEnds, err := medianInTurns(ctx, clients, paths[0])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}

		anyDays, err := medianInTurns(ctx, clients, paths[1])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}

		last := len(sizes) - 1
		detail := map[string]any{
			"entries":    sizes,
			"monthEndMs": monthEnds,
			"anyDayMs":   anyDays,
			"requests":   reportRounds,
			"listings":   portfolio,
		}
		metrics = append(
			metrics,
			atMost("report_"+name+"_growth", monthEnds[last]/monthEnds[0], 1.5, detail),
			atMost("report_"+name+"_ms", monthEnds[last], 5, detail),
			atMost("report_"+name+"_anyday_ms", anyDays[last], 60, detail),
		)
	}

	return metrics, nil
}

// ledgerSizes returns how many entries the compared ledgers have.
func (b *bed) ledgerSizes() []int {
	return []int{b.entries / 1000, b.entries / 100, b.entries / 10, b.entries}
}

// loadLedgers returns teams with ledgers of these sizes. It fills them once.
func (b *bed) loadLedgers(ctx context.Context) ([]tenant, error) {
	if b.books != nil {
		return b.books, nil
	}

	teams := make([]tenant, len(b.ledgerSizes()))
	for i := range teams {
		var err error
		if teams[i], err = b.newBooks(ctx); err != nil {
			return nil, err
		}
	}

	b.books = teams

	return teams, b.seedEntries(ctx, teams, b.ledgerSizes())
}

// medianInTurns returns the median latency of a request for each client, asked in turns.
func medianInTurns(ctx context.Context, clients []*client, path string) ([]float64, error) {
	waits := make([][]float64, len(clients))
	for round := range reportRounds + 3 {
		for i, c := range clients {
			l, err := latencies(ctx, c, c.request(http.MethodGet, path, ""), 1, 0)
			if err != nil {
				return nil, err
			}

			if round >= 3 { // the first ones plan and fill the caches
				waits[i] = append(waits[i], l...)
			}
		}
	}

	out := make([]float64, len(clients))
	for i := range waits {
		out[i] = median(waits[i])
	}

	return out, nil
}

// insertEntries is SQL that writes $2 entries of the team $1, in postings of two, over the three years from 2023 in
// the order of their dates: stays, management and cleaning fees, deposits with a merchant's fee, bills.
const insertEntries = `
	insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, txn_at, account_id, cent_total, currency, party, listing_id,
		ownership_period_id, trigger_type, created_at)
	select $1, gen_random_uuid(), s.source, 'bench:' || s.source, e.ref, 'trust', s.at, a.id, e.sign * s.cents, 'usd', e.party, s.listing,
		p.id, 'reservation', now()
	from (
		select n, gen_random_uuid() as source, date '2023-01-01' + (n::bigint * 1096 / ($2::bigint / 2 + 1))::int as at, 100 + n % 90000 as cents,
			md5($1::uuid::text || (1 + n % %d))::uuid as listing, n % 5 as kind
		from generate_series(1, $2::bigint / 2) n
	) s
	join (values (0, 'd', 1, '2000', null), (0, 'c', -1, '4000', 'owners'), (1, 'd', 1, '5100', 'owners'), (1, 'c', -1, '4100', 'manager'),
		(2, 'd', 1, '1000', null), (2, 'c', -1, '2000', null), (3, 'd', 1, '5200', 'owners'), (3, 'c', -1, '2200', null),
		(4, 'd', 1, '5110', 'owners'), (4, 'c', -1, '4110', 'manager')) as e (kind, ref, sign, code, party) on e.kind = s.kind
	join account a on a.team_id = $1 and a.code = e.code
	join listing_ownership_period p on p.team_id = $1 and p.listing_id = s.listing`

// insertSums are statements that fill the kept sums of the entries and bank records of the team $1, as triggers and
// folds do.
var insertSums = []string{
	`insert into ledger_balance_kept (team_id, ledger, currency, account_id, party, listing_id, month, debit, credit, entries)
		select team_id, ledger, currency, account_id, coalesce(party, ''), coalesce(listing_id, '00000000-0000-0000-0000-000000000000'), date_trunc('month', txn_at),
			coalesce(sum(cent_total) filter (where cent_total > 0), 0), coalesce(-sum(cent_total) filter (where cent_total < 0), 0), count(*)
		from ledger_entry where team_id = $1 group by 1, 2, 3, 4, 5, 6, 7`,
	`insert into ledger_month_kept (team_id, ledger, currency, account_id, party, month, debit, credit, entries)
		select team_id, ledger, currency, account_id, party, month, sum(debit), sum(credit), sum(entries)
		from ledger_balance_kept where team_id = $1 group by 1, 2, 3, 4, 5, 6`,
	`insert into ledger_day_kept (team_id, ledger, currency, day, account_id, party, debit, credit, entries)
		select team_id, ledger, currency, txn_at, account_id, coalesce(party, ''),
			coalesce(sum(cent_total) filter (where cent_total > 0), 0), coalesce(-sum(cent_total) filter (where cent_total < 0), 0), count(*)
		from ledger_entry where team_id = $1 group by 1, 2, 3, 4, 5, 6`,
	`insert into ledger_owner_kept (team_id, ownership_period_id, currency, month, account_id, expense, cents, entries)
		select team_id, ownership_period_id, currency, date_trunc('month', txn_at), account_id, trigger_type = 'expense', sum(cent_total), count(*)
		from ledger_entry where team_id = $1 and party = 'owners' and ownership_period_id is not null group by 1, 2, 3, 4, 5, 6`,
	`insert into bank_day_kept (team_id, account_id, day, cents, records)
		select team_id, account_id, date, sum(amount), count(*) from bank_record
		where team_id = $1 and account_id is not null and status = 'active' and type = 'transaction' group by 1, 2, 3`,
	`select bank_clear(array_agg(team_id), array_agg(account_id), array_agg(source_id), false) from (
		select distinct e.team_id, e.account_id, e.source_id from ledger_entry e join account a on a.team_id = e.team_id and a.id = e.account_id and a.type = 'bank'
		where e.team_id = $1) e having count(*) > 0`,
}

// seedEntries fills the ledgers of teams, as the administrator and without indexes until the end, because filling
// is not measured.
func (b *bed) seedEntries(ctx context.Context, teams []tenant, sizes []int) error {
	indexes, err := b.loadIndexes(ctx, "ledger_entry")
	if err != nil {
		return err
	}

	var drop, build []string
	for _, i := range indexes {
		drop, build = append(drop, i.drop), append(build, i.create)
	}

	if err := b.asAdministrator(ctx, drop, tenant{}); err != nil {
		return err
	}

	for i, t := range teams {
		// Numbers are written into the text: the statements after it take only the team.
		insert := strings.ReplaceAll(
			strings.ReplaceAll(insertEntries, "%d", strconv.Itoa(portfolio)),
			"$2",
			strconv.Itoa(sizes[i]),
		)
		if err := b.asAdministrator(ctx, append([]string{insert}, insertSums...), t); err != nil {
			return err
		}
	}

	// Last, the indexes, and statistics and clean pages, so that nothing disturbs the measurement.
	return b.asAdministrator(ctx, append(build, "vacuum analyze", "checkpoint"), tenant{})
}

// tableIndex has the statements that drop an index or a key of a table and create it again.
type tableIndex struct{ drop, create string }

// loadIndexes returns the indexes and keys of tables, without those that foreign keys of other tables need.
func (b *bed) loadIndexes(ctx context.Context, tables ...string) ([]tableIndex, error) {
	// A key is a constraint, and is dropped and created as one.
	rows, err := b.bare.Query(ctx, `
		select case when c.oid is null then 'drop index ' || i.indexrelid::regclass else 'alter table ' || i.indrelid::regclass || ' drop constraint ' || c.conname end,
			case when c.oid is null then pg_get_indexdef(i.indexrelid)
				else 'alter table ' || i.indrelid::regclass || ' add constraint ' || c.conname || ' ' || pg_get_constraintdef(c.oid) end
		from pg_index i left join pg_constraint c on c.conindid = i.indexrelid and c.conrelid = i.indrelid and c.contype <> 'f'
		where i.indrelid = any($1::regclass[]) and not exists (select from pg_constraint f where f.conindid = i.indexrelid and f.contype = 'f')`, tables)
	if err != nil {
		return nil, fmt.Errorf("read the indexes: %w", err)
	}

	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (i tableIndex, err error) {
		err = row.Scan(&i.drop, &i.create)
		return i, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the indexes: %w", err)
	}

	return out, nil
}
