package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

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
	`insert into ledger_listing_kept (team_id, ledger, currency, account_id, party, listing_id, debit, credit)
		select team_id, ledger, currency, account_id, party, listing_id, sum(debit), sum(credit)
		from ledger_balance_kept where team_id = $1 group by 1, 2, 3, 4, 5, 6`,
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
	`insert into ledger_source (team_id, source_id, first_at, owned_from, period_ids, statement_ids)
		select team_id, source_id, min(txn_at), min(txn_at) filter (where party = 'owners'),
			coalesce(array_agg(distinct ownership_period_id) filter (where party = 'owners' and ownership_period_id is not null), '{}'),
			coalesce(array_agg(distinct statement_id) filter (where statement_id is not null), '{}')
		from ledger_entry where team_id = $1 and status = 'active' and ledger <> 'historical' group by 1, 2`,
	`insert into ledger_unsettled (team_id, ownership_period_id, reservation_id)
		select distinct team_id, ownership_period_id, reservation_id from ledger_entry where team_id = $1 and party = 'owners'
			and ownership_period_id is not null and reservation_id is not null and status = 'active' and ledger <> 'historical'`,
	`insert into ledger_guest (team_id, stay_id, txn_code)
		select distinct e.team_id, coalesce(e.reservation_id, e.source_id), case when e.reservation_id is null then e.txn_code else '' end
		from ledger_entry e join account_assignment a on a.team_id = e.team_id and a.account_id = e.account_id
			and a.assignment in ('accountsReceivable', 'deposit_coHostPayout')
		where e.team_id = $1 and e.status = 'active' and e.ledger = 'trust'`,
	`select bank_clear(array_agg(team_id), array_agg(account_id), array_agg(source_id), false) from (
		select distinct e.team_id, e.account_id, e.source_id from ledger_entry e join account a on a.team_id = e.team_id and a.id = e.account_id and a.type = 'bank'
		where e.team_id = $1) e having count(*) > 0`,
}

// settleStays are statements that settle the stays of the team $1 as the periodic task does. They look up the entries of
// each, and so need the indexes.
var settleStays = []string{`select ledger_settle($1, 1000000000)`, `select ledger_guest_settle($1, 1000000000)`}

// ledgersSeed is teams with ledgers that differ in the number of their entries. They are filled without indexes, which are
// built at the end.
func ledgersSeed(entries int) *seed {
	return &seed{name: "ledgers", sizes: []int{entries}, on: operationsSeed(fewOperations), fill: func(ctx context.Context, b *bed) error {
		var teams []tenant

		// The service makes the teams, so it needs the indexes.
		for i, size := range ledgerSizes(entries) {
			t, err := b.newBooks(ctx)
			if err != nil {
				return err
			}

			t.rows = size
			if err := b.keepTeam(ctx, ledgerName(i), t); err != nil {
				return err
			}

			teams = append(teams, t)
		}

		err := b.withoutIndexes(ctx, []string{"ledger_entry"}, func() error {
			for _, t := range teams {
				// Numbers are written into the text: the statements after it take only the team.
				insert := strings.NewReplacer("%d", strconv.Itoa(portfolio), "$2", strconv.Itoa(t.rows)).Replace(insertEntries)
				if err := b.asAdministrator(ctx, append([]string{insert}, insertSums...), t); err != nil {
					return err
				}
			}

			return nil
		})
		if err != nil {
			return err
		}

		return inPairs(teams, func(t tenant) error { return b.asAdministrator(ctx, settleStays, t) })
	}}
}

// ledgerSizes returns how many entries the compared ledgers have.
func ledgerSizes(entries int) []int {
	return []int{entries / 1000, entries / 100, entries / 10, entries}
}

// ledgerName returns the name of the team with the n-th ledger.
func ledgerName(n int) string { return "ledger" + strconv.Itoa(n) }

// ledgers returns the teams with ledgers, the smallest first.
func (b *bed) ledgers() (teams []tenant) {
	for i := range ledgerSizes(0) {
		teams = append(teams, b.teams[ledgerName(i)])
	}

	return teams
}

// withoutIndexes calls fill while tables have no indexes, and builds these again.
func (b *bed) withoutIndexes(ctx context.Context, tables []string, fill func() error) error {
	indexes, err := b.loadIndexes(ctx, tables...)
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

	if err := fill(); err != nil {
		return err
	}

	return inPairs(build, func(sql string) error {
		return b.asAdministrator(ctx, []string{sql}, tenant{})
	})
}

// tableIndex has the statements that drop an index or a key of a table and create it again.
type tableIndex struct{ drop, create string }

// loadIndexes returns the indexes and keys of tables, except indexes needed by foreign keys from other tables.
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
