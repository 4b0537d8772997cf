package report_test

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/books/ledger"
	"stayledger/domain/reporting/report"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/test/fixture"
	"stayledger/test/posted"
)

// Whatever is posted and removed, and whenever some of it is folded, the kept sums of all months and those of each month
// are the sums of the entries, and so are the balances by listing of any day.
func TestSumsOfAllMonthsAreThoseOfTheEntries(t *testing.T) {
	t.Parallel()
	b := posted.New(t)
	villa, mill := fixture.Listing(b.Team, "Villa"), fixture.Listing(b.Team, "Mill")
	today := day.Of(b.DB.Now())

	count := func(sql string) (n int64) {
		b.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
			n, err = db.Get[int64](ctx, tx, sql, db.Args{"team": tx.Team})
			return err
		})

		return n
	}
	differences := func() int64 {
		return count(`select count(*) from (
			select from (
				select ledger, currency, account_id, party, listing_id, debit, credit from ledger_listing where team_id = @team
				union all
				select ledger, currency, account_id, coalesce(party, ''), coalesce(listing_id, '00000000-0000-0000-0000-000000000000'),
					-greatest(cent_total, 0), -greatest(-cent_total, 0)
				from ledger_entry where team_id = @team and status = 'active' and ledger <> 'historical') s
			group by ledger, currency, account_id, party, listing_id having sum(debit) <> 0 or sum(credit) <> 0) d`)
	}
	unfolded := func() int64 {
		return count(`select count(*) from (
			select from (
				select ledger, currency, account_id, party, listing_id, debit, credit from ledger_listing_kept where team_id = @team
				union all
				select ledger, currency, account_id, party, listing_id, -debit, -credit from ledger_balance_kept where team_id = @team) s
			group by ledger, currency, account_id, party, listing_id having sum(debit) <> 0 or sum(credit) <> 0) d`)
	}

	rapid.Check(t, func(r *rapid.T) {
		for range rapid.IntRange(1, 6).Draw(r, "steps") {
			switch rapid.SampledFrom([]string{"post", "post", "remove", "fold", "forget"}).Draw(r, "step") {
			case "post":
				b.Exec(`insert into ledger_entry (team_id, id, source_id, txn_code, ref, ledger, txn_at, account_id, cent_total, currency, party, listing_id, trigger_type, created_at)
					select @team, gen_random_uuid(), s.id, 'code', side.sign::text, 'trust', @day::date, side.account, side.sign * @cents, 'usd',
						nullif(@party, ''), side.listing, 'manual', now()
					from (select gen_random_uuid() as id) s, (values (@bank::uuid, 1, null::uuid), (@rent::uuid, -1, @listing::uuid)) side (account, sign, listing)`,
					db.Args{
						"day": today.AddDays(rapid.IntRange(-700, 100).Draw(r, "day")), "cents": rapid.IntRange(1, 1000).Draw(r, "cents"),
						"party": rapid.SampledFrom([]string{"", "owners", "manager"}).Draw(r, "party"), "bank": b.Accounts["1000"], "rent": b.Accounts["4000"],
						"listing": rapid.SampledFrom([]any{villa, mill, nil}).Draw(r, "listing"),
					})
			case "remove":
				b.Exec(`delete from ledger_entry where team_id = @team and source_id in (
					select source_id from ledger_entry where team_id = @team order by id limit @some)`, db.Args{"some": rapid.IntRange(1, 3).Draw(r, "some")})
			case "fold":
				b.Exec(`select ledger_fold(@team, @most)`, db.Args{"most": rapid.IntRange(1, 5).Draw(r, "most")})
			case "forget":
				b.Exec(`delete from ledger_balance_kept where team_id = @team and debit = 0 and credit = 0 and entries = 0`, nil)
			}
		}

		// A day of the last year is read from all months, an earlier one from those before it.
		f := report.BalanceFilter{Currency: "usd", Ledgers: []ledger.Ledger{ledger.Trust}, To: today.AddDays(rapid.IntRange(-800, 120).Draw(r, "to"))}
		g := report.Grouping{Party: true, Listing: true}

		b.Tx(func(ctx context.Context, tx *db.Tx) error {
			got, err := report.Balances(ctx, tx, f, g)
			if err != nil {
				return err
			}

			want, err := plainly(ctx, tx, f, g)
			if !slices.Equal(got, want) {
				r.Errorf("by %s the sums are %+v, want %+v", f.To, got, want)
			}

			return err
		})

		if n := differences(); n != 0 {
			r.Fatalf("%d sums differ from those of the entries", n)
		}

		if n := unfolded(); n != 0 {
			r.Fatalf("%d kept sums differ from those of the months", n)
		}
	})
}
