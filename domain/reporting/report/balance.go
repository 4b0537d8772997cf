package report

import (
	"context"
	"fmt"
	"strings"

	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// Cell is the sum of the entries of an account, split as the Grouping asks. Debit and Credit are summed separately;
// neither is negative.
type Cell struct {
	AccountID id.ID
	// Ledger, Party, ListingID and Month are zero unless the grouping has them. If it has them, a zero Party or
	// ListingID means entries without one.
	Ledger    ledger.Ledger
	Party     ledger.Party
	ListingID id.ID
	// Month is its first day.
	Month  day.Day
	Debit  money.Cents
	Credit money.Cents
}

// Net returns the cell's balance, debit positive.
func (c *Cell) Net() money.Cents { return c.Debit - c.Credit }

// Grouping says what balances are split by besides the account.
type Grouping struct{ Ledger, Party, Listing, Month bool }

// WithoutParty selects the entries of no party; the empty party selects the entries of all.
const WithoutParty ledger.Party = "null"

// BalanceFilter selects the entries that balances add up: active ones of the live ledgers.
type BalanceFilter struct {
	// Ledgers are trust, operating or both. Nil means both.
	Ledgers  []ledger.Ledger
	Currency money.Currency
	// From is the first day, nil since ever; To is the last day, included.
	From *day.Day
	To   day.Day
	// ListingIDs and AccountIDs narrow the entries unless nil; the zero id among the listings selects entries without
	// one.
	ListingIDs page.Refs
	AccountIDs []id.ID
	// Party is owners, manager or WithoutParty, which means none; empty selects all.
	Party ledger.Party
}

// Balances returns the sums of a period by account and grouping, in that order. It reads whole months from the
// month balances. Of a broken month it reads the side with fewer days: from the day balances or, if listings
// matter, from at most half a month of entries.
func Balances(ctx context.Context, tx *db.Tx, f BalanceFilter, g Grouping) ([]Cell, error) {
	_, during, err := f.loadCells(ctx, tx, g, false)
	return during, err
}

// BalancesAround returns the balances of a period and the sums of everything before it.
func BalancesAround(ctx context.Context, tx *db.Tx, f BalanceFilter, g Grouping) (before, during []Cell, err error) {
	return f.loadCells(ctx, tx, g, true)
}

// edge is the part of a broken month that is read by day: days that a sum over whole months lacks, or has too many.
type edge struct {
	days   day.Range
	excess bool
}

// edgeAt rounds a cut, meaning the days before it, to whole months. It returns the first month after them, and the
// edge that corrects them to the days before the cut.
func edgeAt(cut day.Day) (month day.Day, e edge) {
	first := cut.FirstOfMonth()
	if cut == first {
		return first, edge{days: day.Range{From: cut, To: cut}}
	}

	// Take the side of the month with fewer days: add the days before the cut, or subtract those after it.
	next := cut.LastOfMonth().AddDays(1)
	if first.DaysUntil(cut) <= cut.DaysUntil(next) {
		return first, edge{days: day.Range{From: first, To: cut}}
	}

	return next, edge{days: day.Range{From: cut, To: next}, excess: true}
}

// reading is the plan to read a period: the whole months from their balances, less the edge at the start, plus the
// edge at the end. If that has fewer days, it is the edge at the end alone.
type reading struct {
	months day.Range // without From: since ever
	start  edge
	end    edge
	direct bool
}

// planReading returns the plan to read a period. A nil from means since ever.
func planReading(from *day.Day, to day.Day) reading {
	var r reading

	after := to.AddDays(1)

	// The end is a cut after the last day.
	r.months.To, r.end = edgeAt(after)
	if from == nil {
		return r
	}

	r.months.From, r.start = edgeAt(*from)

	// If both edges together have no fewer days than the period, read its days directly.
	if whole := (day.Range{From: *from, To: after}); whole.Days() <= r.start.days.Days()+r.end.days.Days() {
		r.end, r.direct = edge{days: whole}, true
	}

	return r
}

// The parts that a reading is composed of.
const (
	partBefore = "before"
	partStart  = "start"
	partMonths = "months"
	partEnd    = "end"
)

// partRow is a sum of one part of a reading.
type partRow struct {
	Part      string
	AccountID id.ID
	Ledger    ledger.Ledger
	Party     ledger.Party
	ListingID id.ID
	Month     *day.Day
	Debit     money.Cents
	Credit    money.Cents
}

// loadCells returns the sums of the period, and if before is set also the sums of everything before it.
func (f *BalanceFilter) loadCells(
	ctx context.Context,
	tx *db.Tx,
	g Grouping,
	before bool,
) (earlier, during []Cell, err error) {
	r := planReading(f.From, f.To)

	q := balanceQuery{
		filter:   f,
		grouping: g,
		args:     db.Args{"team": tx.Team, "currency": f.Currency, "ledgers": f.ledgers()},
		late:     tx.Today().AddYears(-1),
	}

	// The sums before the period need the months before it and the edge at its start. The sums of the period
	// subtract the same edge, unless it is read directly.
	if before && f.From != nil {
		q.months(partBefore, day.Range{To: r.months.From})
	}

	if before || !r.direct {
		q.days(partStart, r.start)
	}

	if !r.direct {
		q.months(partMonths, r.months)
	}

	q.days(partEnd, r.end)

	// An empty period without edges has nothing to read.
	if len(q.parts) == 0 {
		return nil, nil, nil
	}

	// All parts come in one statement, marked with their names, and are put together here.
	rows, err := db.Select[partRow](ctx, tx, q.sql(), q.args)
	if err != nil {
		return nil, nil, fmt.Errorf("read balances: %w", err)
	}

	earlier, during = combineParts(rows, r.direct)

	return earlier, during, nil
}

// ledgers returns the names of the selected ledgers.
func (f *BalanceFilter) ledgers() []string {
	if f.Ledgers == nil {
		return []string{string(ledger.Trust), string(ledger.Operating)}
	}

	names := make([]string, len(f.Ledgers))
	for i, l := range f.Ledgers {
		names[i] = string(l)
	}

	return names
}

// cells collects sums by key, in the order in which the keys first appear.
type cells struct {
	at  map[Cell]int
	all []Cell
}

// add adds a row, times sign, to the sum of its key.
func (c *cells) add(r *partRow, sign money.Cents) {
	key := Cell{AccountID: r.AccountID, Ledger: r.Ledger, Party: r.Party, ListingID: r.ListingID}
	if r.Month != nil {
		key.Month = *r.Month
	}

	i, ok := c.at[key]
	if !ok {
		i = len(c.all)
		c.at[key] = i
		c.all = append(c.all, key)
	}

	c.all[i].Debit += sign * r.Debit
	c.all[i].Credit += sign * r.Credit
}

// sums returns the cells with an amount.
func (c *cells) sums() []Cell {
	out := c.all[:0]
	for _, cell := range c.all {
		if cell.Debit != 0 || cell.Credit != 0 {
			out = append(out, cell)
		}
	}

	return out
}

// combineParts puts the parts of a reading together: the sums before the period and those of the period.
func combineParts(rows []partRow, direct bool) (earlier, during []Cell) {
	before, within := cells{at: map[Cell]int{}}, cells{at: map[Cell]int{}}

	for i := range rows {
		switch r := &rows[i]; r.Part {
		case partBefore:
			before.add(r, 1)

		// The edge at the start belongs to the time before. The whole months contain it, so it is subtracted from
		// the period.
		case partStart:
			before.add(r, 1)

			if !direct {
				within.add(r, -1)
			}
		default:
			within.add(r, 1)
		}
	}

	return before.sums(), within.sums()
}

// balanceQuery builds the single statement of a reading.
type balanceQuery struct {
	filter   *BalanceFilter
	grouping Grouping
	args     db.Args
	parts    []string
	// late is the day from which on there are fewer months after a day than before it, in most teams.
	late day.Day
}

// source is the table that a part of a reading comes from, with the expressions for its columns.
type source struct {
	table, party, listing, month, debit, credit string
	where                                       string
}

// noListing is how the balances store entries without a listing.
const noListing = `'00000000-0000-0000-0000-000000000000'::uuid`

// months adds a part that reads whole months: for the whole team from the few rows of ledger_month, by listing from
// ledger_balance. By listing, all months up to a late one are the sums of all less those from there on.
func (q *balanceQuery) months(part string, months day.Range) {
	if !months.From.IsZero() && months.Empty() {
		return
	}

	s := source{
		table:  "ledger_month",
		party:  "party",
		month:  "month",
		debit:  "debit",
		credit: "credit",
		where:  "month < @" + part + "_to",
	}
	if q.byListing() {
		s.table, s.listing = "ledger_balance", "listing_id"
	}

	// Each part has its own arguments, since all are in one statement.
	q.args[part+"_to"] = months.To

	if q.byListing() && months.From.IsZero() && !q.grouping.Month && !months.To.Before(q.late) {
		all := s
		all.table, all.where = "ledger_listing", "true"
		q.add(part, &all)

		s.where, s.debit, s.credit = "month >= @"+part+"_to", "-debit", "-credit"
		q.add(part, &s)

		return
	}

	if !months.From.IsZero() {
		s.where += " and month >= @" + part + "_from"
		q.args[part+"_from"] = months.From
	}

	q.add(part, &s)
}

// days adds a part that reads single days, negated if they are an excess: for the whole team from ledger_day, by
// listing from the entries.
func (q *balanceQuery) days(part string, e edge) {
	if e.days.Empty() {
		return
	}

	s := source{
		table:  "ledger_day",
		party:  "party",
		month:  "date_trunc('month', day::timestamp)::date",
		debit:  "debit",
		credit: "credit",
	}

	s.where = "day >= @" + part + "_from and day < @" + part + "_to"

	// There are no day balances by listing, so add up the entries.
	if q.byListing() {
		s = source{
			table:   "ledger_entry",
			party:   "coalesce(party, '')",
			listing: "coalesce(listing_id, " + noListing + ")",
			month:   "date_trunc('month', txn_at::timestamp)::date",
			debit:   "greatest(cent_total, 0)",
			credit:  "greatest(-cent_total, 0)",
			where:   "status = 'active' and txn_at >= @" + part + "_from and txn_at < @" + part + "_to",
		}
	}

	// The whole months contain days after the cut: subtract them.
	if e.excess {
		s.debit, s.credit = "-"+s.debit, "-"+s.credit
	}

	q.args[part+"_from"], q.args[part+"_to"] = e.days.From, e.days.To
	q.add(part, &s)
}

// byListing reports whether the balances must be read by listing.
func (q *balanceQuery) byListing() bool { return q.grouping.Listing || q.filter.ListingIDs != nil }

// add adds the query of a part. All parts have the same columns; those that are not grouped by are constant.
func (q *balanceQuery) add(part string, s *source) {
	column := func(wanted bool, expression, otherwise string) string {
		if wanted {
			return expression
		}

		return otherwise
	}
	where := []string{"team_id = @team", "currency = @currency", "ledger = any(@ledgers)", s.where}

	// Then the filters. Their arguments are the same in every part.
	if q.filter.AccountIDs != nil {
		among := "account_id = any(@accounts::uuid[])"
		if s.table == "ledger_day" {
			// In the index accounts come after the days: looking up each of them there costs more than reading all.
			among = "(" + among + ") is true"
		}

		where = append(where, among)
		q.args["accounts"] = q.filter.AccountIDs
	}

	if q.filter.Party != "" {
		where = append(where, s.party+" = @party")
		q.args["party"] = strings.TrimPrefix(string(q.filter.Party), string(WithoutParty))
	}

	if q.filter.ListingIDs != nil {
		// The zero id among the parameters is null, which the balances keep as the zero uuid.
		among := s.listing + " in (select coalesce(l, " + noListing + ") from unnest(?::uuid[]) l)"
		narrowed := page.Query{Where: where, Args: q.args}
		only, but := q.filter.ListingIDs.Parts()
		narrowed.Narrow(among, only)
		narrowed.Narrow("("+among+") is not true", but)
		where = narrowed.Where
	}

	// Last, the columns that the grouping asks for.
	q.parts = append(q.parts, strings.Join([]string{
		"select '" + part + "' as part",
		"account_id",
		column(q.grouping.Ledger, "ledger", "''") + " as ledger",
		column(q.grouping.Party, s.party, "''") + " as party",
		column(q.grouping.Listing, s.listing, "null::uuid") + " as listing_id",
		column(q.grouping.Month, s.month, "null::date") + " as month",
		s.debit + " as debit",
		s.credit + " as credit",
	}, ", ")+" from "+s.table+" where "+strings.Join(where, " and "))
}

// sql returns the statement that adds up all parts.
func (q *balanceQuery) sql() string {
	return `select part, account_id, ledger, party, listing_id, month, sum(debit)::bigint as debit, sum(credit)::bigint as credit from (` +
		strings.Join(q.parts, " union all ") + `) b group by part, account_id, ledger, party, listing_id, month
		order by account_id, ledger, party, listing_id, month, part`
}
