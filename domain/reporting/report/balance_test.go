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
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// Whatever the period, whole months and the days next to them count every day of it once and no other day, and at most
// half a month of days is read at either end.
func TestReadingCountsEveryDayOnce(t *testing.T) {
	t.Parallel()

	origin := day.Month{Year: 2023, Month: 11}.First()

	rapid.Check(t, func(t *rapid.T) {
		start := origin.AddDays(rapid.IntRange(0, 200).Draw(t, "start"))
		end := start.AddDays(rapid.IntRange(0, 200).Draw(t, "days"))

		var from *day.Day
		if rapid.Bool().Draw(t, "bounded") {
			from = &start
		}

		r := report.ReadingOf(from, end)

		times := func(days day.Range, excess bool, d day.Day) int {
			switch {
			case !days.Contains(d):
				return 0
			case excess:
				return -1
			}

			return 1
		}
		for d := origin.AddDays(-40); d.Before(end.AddDays(70)); d = d.AddDays(1) {
			before := 0
			if from != nil && d.Before(r.Months.From) {
				before = 1
			}

			before += times(r.Start, r.StartExcess, d)

			during := times(r.End, r.EndExcess, d)
			if !r.Direct {
				if d.Before(r.Months.To) && (from == nil || !d.Before(r.Months.From)) {
					during++
				}

				during -= times(r.Start, r.StartExcess, d)
			}

			wantBefore, wantDuring := 0, 1
			if from != nil && d.Before(start) {
				wantBefore, wantDuring = 1, 0
			}

			if d.After(end) {
				wantDuring = 0
			}

			if before != wantBefore || during != wantDuring {
				t.Fatalf("%s counts %d before and %d within %v...%s: %+v", d, before, during, from, end, r)
			}
		}

		for _, days := range []day.Range{r.Start, r.End} {
			if days.Days() > 16 && !r.Direct || r.Direct && days.Days() > 31 {
				t.Fatalf("%d days are read of %v...%s: %+v", days.Days(), from, end, r)
			}
		}

		for _, edge := range []day.Day{r.Months.From, r.Months.To} {
			if !edge.IsZero() && edge != edge.FirstOfMonth() {
				t.Fatalf("%s does not start a month", edge)
			}
		}
	})
}

func TestReadingReachesTheEndsOfTheCalendar(t *testing.T) {
	t.Parallel()

	last := day.Month{Year: 9999, Month: 12}
	for _, from := range []day.Day{last.First(), last.First().AddDays(20), date("0001-01-01"), date("0001-01-20")} {
		r := report.ReadingOf(&from, last.Last())
		if !r.End.Empty() && !r.Direct || r.Start.Days() > 16 || r.Months.To != last.Last().AddDays(1) {
			t.Errorf("from %s: got %+v", from, r)
		}
	}
}

// Months from balances and broken months from entries give what all entries give, for any period, filter and grouping.
func TestBalancesEqualTheSumOfEntries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, 400)
	rapid.Check(t, func(t *rapid.T) {
		g := report.Grouping{
			Ledger: rapid.Bool().Draw(t, "by ledger"), Party: rapid.Bool().Draw(t, "by party"), Listing: rapid.Bool().Draw(t, "by listing"),
			Month: rapid.Bool().Draw(t, "by month"),
		}
		f := report.BalanceFilter{
			Currency: "usd", Party: rapid.SampledFrom([]ledger.Party{"", ledger.Owners, ledger.Manager, report.WithoutParty}).Draw(t, "party"),
			Ledgers: rapid.SampledFrom([][]ledger.Ledger{nil, {ledger.Trust}, {ledger.Operating}, {ledger.Trust, ledger.Operating}}).Draw(t, "ledgers"),
		}
		start := worldStart.AddDays(rapid.IntRange(-20, worldDays).Draw(t, "start"))

		f.To = start.AddDays(rapid.IntRange(0, 100).Draw(t, "days"))
		if rapid.Bool().Draw(t, "bounded") {
			f.From = &start
		}

		if rapid.Bool().Draw(t, "some listings") {
			for _, v := range subset(t, append([]id.ID{id.Zero}, w.listings...)) {
				f.ListingIDs = append(f.ListingIDs, page.Ref{ID: v})
			}
		}

		if rapid.Bool().Draw(t, "some accounts") {
			f.AccountIDs = subset(t, []id.ID{w.Accounts["1000"], w.Accounts["4000"], w.Accounts["5100"], w.Accounts["2400"]})
		}

		var (
			before, during, alone  []report.Cell
			wantBefore, wantDuring []report.Cell
		)

		w.Tx(func(ctx context.Context, tx *db.Tx) (err error) {
			if before, during, err = report.BalancesAround(ctx, tx, f, g); err != nil {
				return err
			}

			if alone, err = report.Balances(ctx, tx, f, g); err != nil {
				return err
			}

			if wantDuring, err = plainly(ctx, tx, f, g); err != nil || f.From == nil {
				return err
			}

			earlier := f
			earlier.From, earlier.To = nil, f.From.AddDays(-1)
			wantBefore, err = plainly(ctx, tx, earlier, g)

			return err
		})

		if !slices.Equal(before, wantBefore) || !slices.Equal(during, wantDuring) || !slices.Equal(alone, wantDuring) {
			t.Fatalf("%+v by %+v\nbefore %+v\nwant   %+v\nduring %+v\nalone  %+v\nwant   %+v", f, g, before, wantBefore, during, alone, wantDuring)
		}
	})
}

func subset(t *rapid.T, of []id.ID) []id.ID {
	some := []id.ID{}

	for _, v := range of {
		if rapid.Bool().Draw(t, "member") {
			some = append(some, v)
		}
	}

	return some
}

// plainly adds up entries and nothing else.
func plainly(ctx context.Context, tx *db.Tx, f report.BalanceFilter, g report.Grouping) ([]report.Cell, error) {
	type row struct {
		AccountID     id.ID
		Ledger, Party string
		ListingID     id.ID
		Month         *day.Day
		Debit, Credit int64
	}

	ledgers := []string{"trust", "operating"}
	if len(f.Ledgers) == 1 {
		ledgers = []string{string(f.Ledgers[0])}
	}

	only, _ := f.ListingIDs.Parts()

	listed, none := []id.ID{}, slices.Contains(only, id.Zero)
	for _, l := range only {
		if !l.IsZero() {
			listed = append(listed, l)
		}
	}

	from := date("0001-01-01")
	if f.From != nil {
		from = *f.From
	}

	rows, err := db.Select[row](ctx, tx, `
		select account_id, case when @g_ledger then ledger else '' end as ledger, case when @g_party then coalesce(party, '') else '' end as party,
			case when @g_listing then listing_id end as listing_id, case when @g_month then date_trunc('month', txn_at::timestamp)::date end as month,
			coalesce(sum(cent_total) filter (where cent_total > 0), 0)::bigint as debit, coalesce(-sum(cent_total) filter (where cent_total < 0), 0)::bigint as credit
		from ledger_entry where team_id = @team and status = 'active' and currency = 'usd' and ledger = any(@ledgers) and txn_at >= @from and txn_at <= @to
			and (@party = '' or coalesce(party, 'null') = @party) and (not @some_listings or listing_id = any(@listings::uuid[]) or @none and listing_id is null)
			and (not @some_accounts or account_id = any(@accounts::uuid[]))
		group by 1, 2, 3, 4, 5 order by 1, 2, 3, coalesce(case when @g_listing then listing_id end, '00000000-0000-0000-0000-000000000000'), 5`,
		db.Args{
			"team": tx.Team, "ledgers": ledgers, "from": from, "to": f.To, "party": string(f.Party), "some_listings": f.ListingIDs != nil, "listings": listed,
			"none": none, "some_accounts": f.AccountIDs != nil, "accounts": f.AccountIDs,
			"g_ledger": g.Ledger, "g_party": g.Party, "g_listing": g.Listing, "g_month": g.Month,
		})

	var out []report.Cell

	for i := range rows {
		r := &rows[i]

		c := report.Cell{AccountID: r.AccountID, Ledger: ledger.Ledger(r.Ledger), Party: ledger.Party(r.Party), ListingID: r.ListingID}
		if r.Month != nil {
			c.Month = *r.Month
		}

		c.Debit, c.Credit = money.Cents(r.Debit), money.Cents(r.Credit)
		out = append(out, c)
	}

	return out, err
}
