package daily

import (
	"context"
	"strconv"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/listing"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// noListing is how the kept sums store that there is no listing.
const noListing = `'00000000-0000-0000-0000-000000000000'::uuid`

// sumQuery names the days of a page.
type sumQuery struct {
	in   *input
	days day.Range
}

// takenRow says how days of the period that begins on a day were taken.
type takenRow struct {
	Start day.Day
	Taken
}

// startSQL returns the SQL of the first day of the period that a day is in.
func (d Days) startSQL(of string) string {
	if d.Period == ByMonth {
		return "date_trunc('month', " + of + "::timestamp)::date"
	}

	return of
}

// loadTaken loads how days of the periods were taken. All taken days of a month were taken in the same way.
func loadTaken(ctx context.Context, tx *db.Tx, q sumQuery) ([]takenRow, error) {
	return db.Select[takenRow](ctx, tx, `
		select `+q.in.startSQL("day")+` as start, min(period) as period, max(taken_at) as at, count(*) as days
		from gl_summary_day where team_id = @team and day >= @from and day < @to group by 1`,
		db.Args{"team": tx.Team, "from": q.days.From, "to": q.days.To})
}

// sumRow has the sums of an account in a period: those of now, and those of when its days were taken.
type sumRow struct {
	Start     day.Day
	Ledger    ledger.Ledger
	Currency  string
	Account   account.Ref
	Party     ledger.Party
	ListingID id.ID
	Listing   *listing.Ref
	Amounts
	Entries     int64
	TakenDebit  money.Cents
	TakenCredit money.Cents
}

// kept is where the sums of now come from, with the SQL of its columns.
type kept struct{ table, start, party, listing, amounts, where string }

// source returns the smallest kept sums that are fine enough. There are none by listing and day: the entries of the
// page's days are added up.
func (q *sumQuery) source() kept {
	const amounts = "debit, credit, entries"

	byListing := q.in.By == ByListing

	switch {
	case q.in.Period == ByMonth && byListing:
		return kept{"ledger_balance", "month", "party", "listing_id", amounts, ""}
	case q.in.Period == ByMonth:
		return kept{"ledger_month", "month", "party", noListing, amounts, ""}
	case byListing:
		return kept{
			"ledger_entry", "txn_at", "coalesce(party, '')", "coalesce(listing_id, " + noListing + ")",
			"greatest(cent_total, 0), greatest(-cent_total, 0), 1", " and status = 'active'",
		}
	default:
		return kept{"ledger_day", "day", "party", noListing, amounts, ""}
	}
}

// loadSums loads the sums of the periods of a page, in the order of its rows: one row more at most than a page of
// several periods can have.
func loadSums(ctx context.Context, tx *db.Tx, q sumQuery) ([]sumRow, error) {
	// Sums that are not split by a column have the same value in it, so that they are added up.
	now, party, place := q.source(), "''", noListing
	if q.in.By == ByParty {
		party = "party"
	} else {
		now.party = "''"
	}

	if q.in.By == ByListing {
		place = "listing_id"
	}

	// One period is read whole.
	most := ""
	if q.days.To.After(q.in.firstEnd(q.days.From)) {
		most = " limit " + strconv.Itoa(page.MaxLines+1)
	}

	const days = " >= @from and "

	return db.Select[sumRow](ctx, tx, `
		select s.start, s.ledger, s.currency, `+account.RefSQL("s.account_id", "a")+` as account, s.party, s.listing_id, `+listing.RefSQL("l")+` as listing,
			s.debit, s.credit, s.entries, s.taken_debit, s.taken_credit
		from (
			select start, ledger, currency, account_id, party, listing_id, sum(debit)::bigint as debit, sum(credit)::bigint as credit,
				sum(entries)::bigint as entries, sum(taken_debit)::bigint as taken_debit, sum(taken_credit)::bigint as taken_credit
			from (
				select `+now.start+` as start, ledger, currency, account_id, `+now.party+` as party, `+now.listing+` as listing_id, `+now.amounts+`, 0, 0
				from `+now.table+` where team_id = @team and ledger = any(@ledgers) and `+now.start+days+now.start+` < @to`+now.where+`
				union all
				select `+q.in.startSQL("day")+`, ledger, currency, account_id, `+party+`, `+place+`, 0, 0, 0, debit, credit
				from gl_summary_sum where team_id = @team and ledger = any(@ledgers) and day >= @from and day < @to
			) u (start, ledger, currency, account_id, party, listing_id, debit, credit, entries, taken_debit, taken_credit)
			group by 1, 2, 3, 4, 5, 6 having sum(entries) <> 0 or sum(taken_debit) <> 0 or sum(taken_credit) <> 0
		) s left join account a on a.team_id = @team and a.id = s.account_id left join listing l on l.team_id = @team and l.id = s.listing_id
		order by s.start, s.ledger desc, s.currency, a.code, s.account_id, s.party, l.name, s.listing_id`+most,
		db.Args{
			"team": tx.Team, "from": q.days.From, "to": q.days.To, "ledgers": q.in.Ledger.names(),
		})
}

// firstEnd returns the day after the period that begins on a day.
func (d Days) firstEnd(start day.Day) day.Day {
	if d.Period == ByMonth {
		return start.LastOfMonth().AddDays(1)
	}

	return start.AddDays(1)
}

// names returns the names of the selected ledgers.
func (l Ledgers) names() []string {
	if l == "" {
		return l.Enum()
	}

	return []string{string(l)}
}
