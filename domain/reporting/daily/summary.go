package daily

import (
	"context"
	"fmt"

	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/listing"
	"stayledger/domain/reporting/report"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// Period is the length of time of one summary.
type Period string

// The periods.
const (
	ByDay   Period = "day"
	ByMonth Period = "month"
)

// Enum lists the periods.
func (Period) Enum() []string { return []string{string(ByDay), string(ByMonth)} }

// Split names the field that splits the sums of an account.
type Split string

// The splits.
const (
	ByAccount Split = "account"
	ByListing Split = "listing"
	ByParty   Split = "party"
)

// Enum lists the splits.
func (Split) Enum() []string { return []string{string(ByAccount), string(ByListing), string(ByParty)} }

// Ledgers is a ledger with summaries. The empty one means both.
type Ledgers ledger.Ledger

// Enum lists the ledgers.
func (Ledgers) Enum() []string { return []string{string(ledger.Trust), string(ledger.Operating)} }

// Summaries is a page of summaries.
type Summaries struct {
	Data       []Summary       `json:"data"`
	Pagination page.Pagination `json:"pagination"`
}

// Summary has the sums that a day or a month adds to the accounts.
type Summary struct {
	StartDate day.Day `json:"startDate"`
	EndDate   day.Day `json:"endDate" doc:"Last day, included."`
	Period    Period  `json:"period" doc:"As asked for."`
	Taken     *Taken  `json:"taken" doc:"Null if no day of the period was taken."`
	IsChanged bool    `json:"isChanged" doc:"Whether a sum shown here has changed since the whole period was taken."`
	Totals    []Total `json:"totals" doc:"Per ledger and currency, those with entries now."`
	Rows      []Row   `json:"rows"`
}

// Taken says how days of a period were taken.
type Taken struct {
	Period Period      `json:"period" doc:"By which the days were taken."`
	At     day.Instant `json:"at" doc:"When, of several days the last time."`
	Days   int         `json:"days" doc:"How many days of the period were taken."`
}

// Total is the sum of all rows in a ledger and currency.
type Total struct {
	Ledger   ledger.Ledger `json:"ledger" enum:"trust,operating"`
	Currency string        `json:"currency"`
	Amounts
}

// Amounts are the debits and the credits of some entries, in cents.
type Amounts struct {
	Debit  money.Cents `json:"debit"`
	Credit money.Cents `json:"credit"`
}

// isZero reports whether there is neither debit nor credit.
func (a Amounts) isZero() bool { return a == Amounts{} }

// minus returns the difference of two amounts, part by part.
func (a Amounts) minus(b Amounts) Amounts { return Amounts{a.Debit - b.Debit, a.Credit - b.Credit} }

// Row has the sums that a period adds to an account.
type Row struct {
	Ledger    ledger.Ledger `json:"ledger" enum:"trust,operating"`
	Currency  string        `json:"currency"`
	Account   account.Ref   `json:"account"`
	Party     *ledger.Party `json:"party" enum:"owners,manager" doc:"By party only; null for entries of no party."`
	ListingID *id.ID        `json:"listingId" doc:"By listing only; null for entries without a listing."`
	Listing   *listing.Ref  `json:"listing" doc:"By listing only; null when there is none of this id."`
	Amounts
	Entries   int64            `json:"entries" doc:"How many entries there are."`
	Taken     *Amounts         `json:"taken" doc:"The sums when the whole period was taken; null if it was not."`
	Change    *Amounts         `json:"change" doc:"What was added to the sums since then, less what was taken away; null for nothing."`
	Drilldown report.Drilldown `json:"drilldown" doc:"The entries that the row adds up."`
}

// input is the input of GET /general-ledger/daily-summary.
type input struct {
	page.Params
	Days
	By     Split   `query:"by" default:"account" doc:"What the sums of an account are split by; account: by nothing more."`
	Ledger Ledgers `query:"ledger" doc:"Default: both."`
}

// Days are whole days or whole months: query parameters, and part of a body.
type Days struct {
	DateRange               day.Span `query:"dateRange" json:"dateRange" required:"true" doc:"YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DD...YYYY-MM-DD; by month whole months."`
	IsDateRangeEndInclusive *bool    `query:"isDateRangeEndInclusive" json:"isDateRangeEndInclusive,omitempty" default:"true" doc:"Whether the last day of the range counts."`
	Period                  Period   `query:"period" json:"period,omitempty" default:"day" doc:"What one summary is about."`
}

// Resolve refuses a range without days, and months that are not whole.
func (d Days) Resolve() []apierr.Issue {
	days := d.wholeDays()
	if d.DateRange.IsZero() {
		return nil // which is refused already
	}

	if days.Empty() {
		return []apierr.Issue{apierr.IssueDateOrder.InQuery("dateRange")}
	}

	// A month ends where the next one begins.
	first := func(at day.Day) bool { return at == at.FirstOfMonth() }
	if d.Period == ByMonth && (!first(days.From) || !first(days.To)) {
		return []apierr.Issue{apierr.IssueContradiction.InQuery("dateRange")}
	}

	return nil
}

// wholeDays returns the days of the range.
func (d Days) wholeDays() day.Range { return d.DateRange.Range(d.IsDateRangeEndInclusive) }

var errDisabled = apierr.New(
	apierr.CodeBadRequest, apierr.ReasonDailyGlSummaryDisabled, "The team does not use the daily summary",
)

// checkEnabled fails with errDisabled for a team that does not use the daily summary (RSN-17).
func checkEnabled(ctx context.Context, tx *db.Tx) error {
	on, err := db.Get[bool](ctx, tx, `select daily_gl_summary from team where team_id = @team`, db.Args{"team": tx.Team})
	if err != nil {
		return fmt.Errorf("read whether the team uses the daily summary: %w", err)
	}

	if !on {
		return errDisabled
	}

	return nil
}

// readSummaries answers with a page of summaries.
func readSummaries(ctx context.Context, tx *db.Tx, in *input) (*Summaries, error) {
	if err := checkEnabled(ctx, tx); err != nil {
		return nil, err
	}

	if err := ledger.CheckView(ctx, tx, ledger.Ledger(in.Ledger)); err != nil {
		return nil, err
	}

	// The page has the same periods whatever is in the books, so nothing outside of it is read.
	periods := in.periods()
	out := &Summaries{Pagination: in.Of(int64(len(periods)))}
	out.Data = make([]Summary, 0, in.Limit)

	for i := in.Rows(); i < int64(len(periods)) && int64(len(out.Data)) < in.Limit; i++ {
		out.Data = append(out.Data, Summary{
			StartDate: periods[i].From, EndDate: periods[i].To.AddDays(-1), Period: in.Period,
			Totals: []Total{}, Rows: []Row{},
		})
	}

	if len(out.Data) == 0 {
		return out, nil
	}

	// Then load the sums of these periods, and how they were taken.
	var (
		taken []takenRow
		sums  []sumRow
		q     = sumQuery{in, day.Range{From: out.Data[0].StartDate, To: out.Data[len(out.Data)-1].EndDate.AddDays(1)}}
	)
	if err := tx.Together(ctx, db.LoadBy(&taken, loadTaken, q), db.LoadBy(&sums, loadSums, q)); err != nil {
		return nil, fmt.Errorf("read the daily summary: %w", err)
	}

	if err := checkRows(sums, len(out.Data)); err != nil {
		return nil, err
	}

	fillRows(out.Data, in.By, taken, sums)

	return out, nil
}

// periods returns the days or months of the range, in order.
func (d Days) periods() []day.Range {
	days := d.wholeDays()

	if d.Period == ByMonth {
		months := days.Months()

		out := make([]day.Range, len(months))
		for i := range months {
			out[i] = months[i].Range()
		}

		return out
	}

	out := make([]day.Range, 0, days.Days())
	for at := days.From; at.Before(days.To); at = at.AddDays(1) {
		out = append(out, day.Range{From: at, To: at.AddDays(1)})
	}

	return out
}

// checkRows refuses a page of several periods with more than page.MaxLines rows, and suggests how many fit.
func checkRows(sums []sumRow, periods int) error {
	if periods == 1 || len(sums) <= page.MaxLines {
		return nil
	}

	// The rows come by period, and the last one read is cut off.
	fits := 0

	for i := 1; i < len(sums); i++ {
		if sums[i].Start != sums[i-1].Start {
			fits++
		}
	}

	return apierr.BadRequest.At(apierr.IssueTooManyLines.InQuery("limit")).
		With(map[string]any{"suggestedLimit": max(fits, 1)})
}

// fillRows puts the rows into their summaries, which are in order as the rows are. A row with sums of a taking alone is
// shown only where the whole period was taken: there its entries have gone since.
func fillRows(summaries []Summary, by Split, taken []takenRow, sums []sumRow) {
	whole := map[day.Day]bool{}
	at := map[day.Day]*Summary{}

	// First find the summaries, and those that were taken from their first day to their last.
	for i := range summaries {
		at[summaries[i].StartDate] = &summaries[i]
	}

	for i := range taken {
		s := at[taken[i].Start]
		s.Taken = &taken[i].Taken
		whole[s.StartDate] = s.Taken.Days == s.StartDate.DaysUntil(s.EndDate)+1
	}

	// Then add the rows, which come in the order of their summaries.
	for i := range sums {
		s := at[sums[i].Start]
		if !whole[s.StartDate] && sums[i].Entries == 0 {
			continue
		}

		row := sums[i].renderRow(s, by, whole[s.StartDate])
		s.IsChanged = s.IsChanged || row.Change != nil
		s.Rows = append(s.Rows, row)
		s.addToTotals(&row)
	}
}

// addToTotals adds a row to the total of its ledger and currency.
func (s *Summary) addToTotals(r *Row) {
	if r.Entries == 0 {
		return
	}

	last := len(s.Totals) - 1
	if last < 0 || s.Totals[last].Ledger != r.Ledger || s.Totals[last].Currency != r.Currency {
		s.Totals = append(s.Totals, Total{Ledger: r.Ledger, Currency: r.Currency})
		last++
	}

	s.Totals[last].Debit += r.Debit
	s.Totals[last].Credit += r.Credit
}

// renderRow returns the row of a sum. Of a period that was taken as a whole it has the sums of the taking.
func (r *sumRow) renderRow(s *Summary, by Split, whole bool) Row {
	behind := report.Selection{
		StartDate: &report.Start{Day: s.StartDate}, EndDate: &report.End{Day: s.EndDate},
		AccountIDs: page.Only(r.Account.ID), Ledger: r.Ledger, Currency: r.Currency,
	}

	// The party and the listing are shown, and asked for in the drill-down, only where the sums are split by them.
	row := Row{Ledger: r.Ledger, Currency: r.Currency, Account: r.Account, Amounts: r.Amounts, Entries: r.Entries}

	switch by {
	case ByAccount:
	case ByParty:
		if behind.Party = report.WithoutParty; r.Party != ledger.NoParty {
			row.Party, behind.Party = &r.Party, r.Party
		}
	case ByListing:
		if behind.ListingIDs = page.RefsTo(r.ListingID); !r.ListingID.IsZero() {
			row.ListingID, row.Listing = &r.ListingID, r.Listing
		}
	}

	row.Drilldown = report.DrilldownTo(behind)

	// Without a taking of all days there is nothing to compare with.
	if whole {
		row.Taken = &Amounts{r.TakenDebit, r.TakenCredit}
		if change := r.minus(*row.Taken); !change.isZero() {
			row.Change = &change
		}
	}

	return row
}
