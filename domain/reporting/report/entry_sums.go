package report

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/page"
)

// EntrySums are the number of entries in a selection, and their totals.
type EntrySums struct {
	Count int64
	EntryTotals
}

// sumEntries adds up the entries of a valid selection: from kept sums if those have everything that the selection
// asks for, otherwise entry by entry.
func sumEntries(ctx context.Context, tx *db.Tx, f Selection) (EntrySums, error) {
	q, kept := f.sumsQuery()
	columns := "coalesce(sum(e.entries), 0)::bigint as count, coalesce(sum(e.debit), 0)::bigint as debit, " +
		"coalesce(sum(e.credit), 0)::bigint as credit"

	// The conditions use no other table, so the joins of the list are left out.
	if !kept {
		q = EntryQuery(f)
		q.From = "ledger_entry e"
		columns = `count(*) as count, coalesce(sum(e.cent_total) filter (where e.cent_total > 0), 0)::bigint as debit,
			coalesce(-sum(e.cent_total) filter (where e.cent_total < 0), 0)::bigint as credit`
	}

	q.Args["team"] = tx.Team

	sums, err := db.Get[EntrySums](ctx, tx,
		"select "+columns+" from "+q.From+" where "+strings.Join(q.Where, " and "),
		q.Args,
	)
	if err != nil {
		return EntrySums{}, fmt.Errorf("add up journal entries: %w", err)
	}

	return sums, nil
}

// sumsQuery returns a query of the kept sums e for a selection. It returns false if the kept sums cannot answer it:
// they can if it asks for active entries by account, party, ledger, currency and date. By listing they can only if
// it begins and ends with a month.
func (f *Selection) sumsQuery() (page.Query, bool) {
	// First clear every field that the kept sums have. If another one is set, they cannot answer.
	rest := *f
	rest.StartDate, rest.EndDate, rest.Dates = nil, nil, page.Dates{}
	rest.AccountIDs = nil
	rest.NotAccountIDs = nil
	rest.CategoryIDs = nil
	rest.NotCategoryIDs = nil
	rest.AccountClassifications = nil
	rest.ListingIDs, rest.NotListingIDs = nil, nil

	rest.Party, rest.Currency, rest.BalanceSheetRows = "", "", nil
	if rest.Status == ledger.Active {
		rest.Status = ""
	}

	if rest.Ledger != ledger.Historical {
		rest.Ledger = ""
	}

	if !reflect.ValueOf(rest).IsZero() {
		return page.Query{}, false
	}

	// Then choose the smallest sums that are fine enough. There are none by listing and day.
	byListing := len(f.ListingIDs)+len(f.NotListingIDs) > 0
	q := page.Query{Where: []string{"e.team_id = @team"}, Args: db.Args{}}

	switch months := f.hasWholeMonths(); {
	case months && byListing:
		q.From = `(select team_id, ledger, currency, account_id, nullif(party, '') as party, nullif(listing_id, '00000000-0000-0000-0000-000000000000') as listing_id,
			month as txn_at, 'active' as status, debit, credit, entries from ledger_balance) e`
	case months:
		q.From = `(select team_id, ledger, currency, account_id, nullif(party, '') as party, month as txn_at, 'active' as status, debit, credit, entries
			from ledger_month) e`
	case byListing:
		return page.Query{}, false
	default:
		q.From = `(select team_id, ledger, currency, account_id, nullif(party, '') as party, day as txn_at, 'active' as status, debit, credit, entries
			from ledger_day) e`
	}

	// Last, the conditions, which are the same as those on entries.
	f.byAccount(&q)
	q.Refs("e.listing_id", f.ListingIDs)
	q.Refs("e.listing_id", f.NotListingIDs.Invert())
	f.byBook(&q)
	f.byDate(&q)

	return q, true
}

// hasWholeMonths reports whether the dates of a selection begin and end with a month, or are open.
func (f *Selection) hasWholeMonths() bool {
	first := func(d day.Day) bool { return d == d.FirstOfMonth() }
	if f.StartDate != nil && !first(f.StartDate.Day) || f.EndDate != nil && !first(f.EndDate.AddDays(1)) {
		return false
	}

	if f.DateRange.IsZero() {
		return true
	}

	// The range of dates is read with its end as the first day after it.
	days := f.DateRange.Range(f.IsDateRangeEndInclusive)

	return first(days.From) && first(days.To)
}
