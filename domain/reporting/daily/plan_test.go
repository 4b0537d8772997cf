package daily_test

import (
	"context"
	"testing"

	"stayledger/domain/reporting/daily"
	"stayledger/platform/apitest"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/page"
	"stayledger/test/fixture"
)

// A page reads the sums of its own days or months, or their entries where there are no sums, however long the books are
// and whatever the statistics say of them.
func TestAPageReadsItsOwnDays(t *testing.T) {
	t.Parallel()

	d, err := db.Open(t.Context(), db.Config{URL: apitest.Database(t), MaxConnections: 4})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(d.Close)

	w := &world{Team: apitest.New(t, apitest.Config{DB: d, Endpoints: daily.Part().Endpoints})}
	w.accounts = fixture.StandardChart(w.Team)
	w.Exec(`update team set daily_gl_summary = true where id = @team`, nil)

	// Two entries on each of 1500 days make two sums of a day and, in all, a hundred of months.
	const perDay = 2

	w.Exec(`insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, txn_at, account_id, cent_total, currency, listing_id, trigger_type, created_at)
		select @team, gen_random_uuid(), @team, 'code ' || n, side.sign::text, 'trust', '2022-01-01'::date + n, side.account, side.sign * 100, 'usd',
			@listing, 'manual', now()
		from generate_series(0, 1499) n, (values (@bank::uuid, 1), (@rent::uuid, -1)) side (account, sign)`,
		db.Args{"bank": w.accounts["1000"], "rent": w.accounts["4000"], "listing": w.ID})
	w.Exec(`select ledger_fold(@team, 100000)`, nil)
	w.Tx(func(ctx context.Context, tx *db.Tx) error {
		for _, period := range []daily.Period{daily.ByDay, daily.ByMonth} {
			for _, by := range []daily.Split{daily.ByAccount, daily.ByListing, daily.ByParty} {
				in := &daily.Input{Params: page.Params{Limit: 5}, By: by}
				in.Period, in.DateRange = period, day.Span{First: date("2022-01-01"), Last: date("2025-12-31")}

				before, err := sumsRead(ctx, tx)
				if err != nil {
					return err
				}

				out, err := daily.ReadSummaries(ctx, tx, in)
				if err != nil {
					return err
				}

				after, err := sumsRead(ctx, tx)
				if err != nil {
					return err
				}

				// A row is read from its index and from its table.
				if read := after - before; len(out.Data) != 5 || len(out.Data[4].Rows) != perDay || read > 2*5*perDay+10 {
					t.Errorf("a page by %s and %s of %d summaries reads %d rows", period, by, len(out.Data), read)
				}
			}
		}

		return nil
	})
}

// sumsRead returns how many rows of the ledger, of its kept sums and of their indexes the transaction has read.
func sumsRead(ctx context.Context, tx *db.Tx) (int64, error) {
	return db.Get[int64](ctx, tx, `
		with tables as (select unnest(array['ledger_entry', 'ledger_day_kept', 'ledger_month_kept', 'ledger_balance_kept']::regclass[])::oid as id)
		select sum(pg_stat_get_xact_tuples_returned(c.oid) + pg_stat_get_xact_tuples_fetched(c.oid))::bigint
		from pg_class c where c.oid in (select id from tables) or c.oid in (select indexrelid from pg_index where indrelid in (select id from tables))`, nil)
}
