package trust

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"stayledger/domain/books/account"
	"stayledger/domain/reporting/report"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// TaxLiability holds the taxed income from stays, and the tax that guests were charged, recognised in a period.
type TaxLiability struct {
	Currency  money.Currency `json:"currency"`
	StartDate day.Day        `json:"startDate"`
	EndDate   day.Day        `json:"endDate" doc:"Last day, included."`
	TaxFigures
	Data       []TaxListing    `json:"data" doc:"The listings and channels with listed reservations; totals are those of all pages."`
	Pagination page.Pagination `json:"pagination" doc:"Counts reservations."`
}

// TaxFigures are the totals of a level of the report.
type TaxFigures struct {
	TaxableIncomeTotal    money.Cents   `json:"taxableIncomeTotal"`
	CollectableTaxesTotal money.Cents   `json:"collectableTaxesTotal"`
	Drilldowns            TaxDrilldowns `json:"drilldowns"`
}

// TaxDrilldowns lead to the entries behind both amounts.
type TaxDrilldowns struct {
	TaxableIncome    *report.Drilldown `json:"taxableIncome" doc:"The entries behind the taxable income."`
	CollectableTaxes *report.Drilldown `json:"collectableTaxes" doc:"Null while the team has no account for lodging taxes."`
}

// TaxListing is a listing's part.
type TaxListing struct {
	ID   *id.ID  `json:"id"`
	Name *string `json:"name"`
	TaxFigures
	Channels []TaxChannel `json:"channels"`
}

// TaxChannel is the part of a listing's stays that one channel brought.
type TaxChannel struct {
	Name *string `json:"name" doc:"Booking platform; null for stays that name none."`
	TaxFigures
	Reservations []TaxReservation `json:"reservations"`
}

// TaxReservation is a stay's part.
type TaxReservation struct {
	ID               id.ID         `json:"id"`
	GuestName        *string       `json:"guestName"`
	ConfirmationCode *string       `json:"confirmationCode"`
	CheckIn          day.Day       `json:"checkIn"`
	CheckOut         day.Day       `json:"checkOut"`
	BookedAt         *day.Day      `json:"bookedAt"`
	Nights           int           `json:"nights"`
	TaxableIncome    money.Cents   `json:"taxableIncome"`
	CollectableTaxes money.Cents   `json:"collectableTaxes"`
	Drilldowns       TaxDrilldowns `json:"drilldowns"`
}

// TaxFilter selects a sales-tax liability report: query parameters, and the body of its export.
type TaxFilter struct {
	report.Period
	TaxableLineIDs []id.ID   `query:"taxableLineIds" json:"taxableLineIds" required:"true" minItems:"1" doc:"Accounts with income that is taxed; the mapping of a line type means its account."`
	Channels       []string  `query:"channels" json:"channels,omitempty" maxLength:"100" doc:"Booking platforms; null means stays that name none."`
	ListingIDs     page.Refs `query:"listingIds" json:"listingIds,omitempty" doc:"null, or unmapped, means entries without a listing."`
	Currency       string    `query:"currency" json:"currency,omitempty" pattern:"^[A-Za-z]{3}$" doc:"Default: the team's."`
}

// Resolve refuses a period that ends before it starts.
func (f TaxFilter) Resolve() []apierr.Issue { return f.Check() }

// notCollected returns the types of transactions that pay tax on and do not charge it.
func notCollected() []string { return []string{"expense", "transfer", "payout"} }

// taxRow is a stay's part in a listing, in the order of the report.
type taxRow struct {
	ListingID       id.ID
	BookingPlatform *string
	ID              id.ID
	Income          money.Cents
	Taxes           money.Cents
}

type taxInput struct {
	page.Params
	TaxFilter
}

// taxLiability returns a page of the report.
func taxLiability(ctx context.Context, tx *db.Tx, in *taxInput) (*TaxLiability, error) {
	return loadTaxLiability(ctx, tx, &in.TaxFilter, in.Params)
}

// loadTaxLiability returns the page of the report that a valid filter selects. It fails with the issue notFound for
// an id that is neither an account nor a mapped line type.
func loadTaxLiability(ctx context.Context, tx *db.Tx, f *TaxFilter, p page.Params) (*TaxLiability, error) {
	r, err := newTaxReport(ctx, tx, f)
	if err != nil {
		return nil, err
	}

	// All rows are read, because the totals are those of all pages.
	rows, err := r.loadRows(ctx, tx, f)
	if err != nil {
		return nil, err
	}

	// The details are loaded for the rows of the page only.
	total := int64(len(rows))
	r.first = min(p.Rows(), total)

	r.last = min(r.first+p.Limit, total)
	if err := r.loadShown(ctx, tx, rows[r.first:r.last]); err != nil {
		return nil, err
	}

	out := r.render(rows)
	out.Currency = money.Currency(r.behind.Currency)
	out.StartDate = f.StartDate.Day
	out.EndDate = f.EndDate.Day
	out.Pagination = p.Of(total)

	return out, nil
}

// newTaxReport loads the accounts that a valid filter is about.
func newTaxReport(ctx context.Context, tx *db.Tx, f *TaxFilter) (*taxReport, error) {
	currency, err := report.Currency(ctx, tx, f.Currency)
	if err != nil {
		return nil, err
	}

	chart, err := loadChart(ctx, tx)
	if err != nil {
		return nil, err
	}

	taxed, err := loadTaxedAccounts(ctx, tx, f.TaxableLineIDs)
	if err != nil {
		return nil, err
	}

	return &taxReport{taxes: chart.lodgingTaxes(), taxed: taxed, behind: report.Selection{
		StartDate:         &f.StartDate,
		EndDate:           &f.EndDate,
		Currency:          string(currency),
		Channels:          f.Channels,
		ListingIDs:        f.ListingIDs,
		NotReservationIDs: page.RefsTo(id.Zero),
	}}, nil
}

// loadTaxedAccounts loads the accounts for ids of accounts and of line mappings. It fails with an issue for each id
// that is neither.
func loadTaxedAccounts(ctx context.Context, tx *db.Tx, ids []id.ID) ([]id.ID, error) {
	type named struct{ ID, AccountID id.ID }

	rows, err := db.Select[named](ctx, tx, `
		select id, id as account_id from account where team_id = @team and id = any(@ids)
		union all
		select id, account_id from reservation_line_mapping where team_id = @team and id = any(@ids) and account_id is not null`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("find taxed accounts: %w", err)
	}

	found := map[id.ID]id.ID{}
	for _, r := range rows {
		found[r.ID] = r.AccountID
	}

	var (
		accounts []id.ID
		issues   []apierr.Issue
	)

	// Two ids may mean the same account, which counts once.
	for i, v := range ids {
		switch a := found[v]; {
		case a.IsZero():
			issues = append(issues, apierr.IssueNotFound.InQuery("taxableLineIds", i))
		case !slices.Contains(accounts, a):
			accounts = append(accounts, a)
		}
	}

	if issues != nil {
		return nil, apierr.BadRequest.At(issues...)
	}

	return accounts, nil
}

// lodgingTaxes returns the accounts of taxes that guests are charged: all tax accounts except the one for the tax
// on the manager's fees and markups, unless tax lines of reservations use it too.
func (c *chart) lodgingTaxes() []id.ID {
	return slices.DeleteFunc(c.claimAccounts(ClaimTaxes), func(v id.ID) bool {
		return c.at[v].hasAssignment(account.ExpenseSalesTax) && !c.at[v].TaxLines
	})
}

// taxReport holds the data that the report is arranged from.
type taxReport struct {
	taxes, taxed []id.ID
	behind       report.Selection
	// first and last are the places of the page among the rows; listings and stays are those that it shows.
	first, last int64
	listings    map[id.ID]string
	stays       map[id.ID]*TaxReservation
}

// loadRows loads the rows of all pages in their order.
func (r *taxReport) loadRows(ctx context.Context, tx *db.Tx, f *TaxFilter) ([]taxRow, error) {
	with, args := r.taxTablesSQL(tx.Team, f)

	rows, err := db.Select[taxRow](ctx, tx, with+`
		select b.listing_id, r.booking_platform, r.id, b.income, b.taxes
		from booked b join reservation r on r.team_id = @team and r.id = b.reservation_id
		left join listing l on l.team_id = @team and l.id = b.listing_id
		where b.income <> 0 or b.taxes <> 0
		order by `+page.TextSQL("l.name")+` nulls last, b.listing_id, `+page.TextSQL("r.booking_platform")+` nulls last, r.booking_platform, r.check_in, r.id`, args)
	if err != nil {
		return nil, fmt.Errorf("read taxes: %w", err)
	}

	return rows, nil
}

// taxTablesSQL returns the WITH clause of the table booked, which has a row per stay and listing.
func (r *taxReport) taxTablesSQL(team id.ID, f *TaxFilter) (with string, args db.Args) {
	args = db.Args{
		"team":          team,
		"currency":      r.behind.Currency,
		"start":         f.StartDate.Day,
		"end":           f.EndDate.Day,
		"taxes":         r.taxes,
		"taxed":         r.taxed,
		"not_collected": notCollected(),
	}
	q := page.Query{Where: []string{"true"}, Args: args}
	q.Refs("e.listing_id", f.ListingIDs)
	q.Narrow("coalesce(r.booking_platform, 'null') = any(?)", f.Channels)

	// Income and taxes are credits. Entries of transactions that pay tax on are no charge.
	return `with booked as (
			select e.reservation_id, e.listing_id,
				coalesce(-sum(e.cent_total) filter (where e.account_id = any(@taxed::uuid[])), 0)::bigint as income,
				coalesce(-sum(e.cent_total) filter (where e.account_id = any(@taxes::uuid[]) and t.id is null), 0)::bigint as taxes
			from ledger_entry e join reservation r on r.team_id = @team and r.id = e.reservation_id
			left join transaction t on t.team_id = @team and t.id = e.transaction_id and t.type = any(@not_collected)
			where e.team_id = @team and e.account_id = any(@taxed::uuid[] || @taxes::uuid[]) and e.txn_at between @start and @end
				and e.currency = @currency and e.ledger <> 'historical' and e.status = 'active' and ` + strings.Join(q.Where, " and ") + `
			group by 1, 2
		)`, args
}

// loadShown loads the listings and stays of the rows on the page.
func (r *taxReport) loadShown(ctx context.Context, tx *db.Tx, shown []taxRow) (err error) {
	stays, listings := make([]id.ID, len(shown)), make([]id.ID, len(shown))
	for i := range shown {
		stays[i], listings[i] = shown[i].ID, shown[i].ListingID
	}

	if r.listings, err = loadListingNames(ctx, tx, id.Distinct(listings)); err != nil {
		return err
	}

	type stay struct {
		ID               id.ID
		GuestName        *string
		ConfirmationCode *string
		CheckIn          day.Day
		CheckOut         day.Day
		BookedAt         *day.Day
	}

	// Rows have only ids until here, since there may be many.
	rows, err := db.Select[stay](ctx, tx, `
		select id, guest_name, confirmation_code, check_in, check_out, booked_at from reservation where team_id = @team and id = any(@ids)`,
		db.Args{"team": tx.Team, "ids": stays})
	if err != nil {
		return fmt.Errorf("read the stays of taxes: %w", err)
	}

	r.stays = make(map[id.ID]*TaxReservation, len(rows))
	for _, s := range rows {
		r.stays[s.ID] = &TaxReservation{
			ID:               s.ID,
			GuestName:        s.GuestName,
			ConfirmationCode: s.ConfirmationCode,
			CheckIn:          s.CheckIn,
			CheckOut:         s.CheckOut,
			BookedAt:         s.BookedAt,
			Nights:           s.CheckIn.DaysUntil(s.CheckOut),
		}
	}

	return nil
}

// figures returns the totals of a level with their drill-downs.
func (r *taxReport) figures(income, taxes money.Cents, behind report.Selection) TaxFigures {
	f := TaxFigures{TaxableIncomeTotal: income, CollectableTaxesTotal: taxes}
	earned, charged := behind, behind
	earned.AccountIDs, charged.AccountIDs = page.Only(r.taxed...), page.Only(r.taxes...)
	charged.NotTransactionTypes = notCollected()
	d := report.DrilldownTo(earned)

	f.Drilldowns.TaxableIncome = &d
	if len(r.taxes) > 0 {
		d := report.DrilldownTo(charged)
		f.Drilldowns.CollectableTaxes = &d
	}

	return f
}

// render groups rows, which are sorted by listing and channel, and shows those of the page.
func (r *taxReport) render(rows []taxRow) *TaxLiability {
	out := &TaxLiability{Data: []TaxListing{}}

	var income, taxes money.Cents

	at := int64(0)

	for of := range chunksBy(rows, func(a, b *taxRow) bool { return a.ListingID == b.ListingID }) {
		behind := r.behind
		behind.ListingIDs = page.RefsTo(of[0].ListingID)
		l := TaxListing{
			ID:       of[0].ListingID.OrNil(),
			Name:     lookUpName(r.listings, of[0].ListingID),
			Channels: []TaxChannel{},
		}

		var listingIncome, listingTaxes money.Cents

		// A listing or channel without a row on the page is not shown but counts in the totals.
		for via := range chunksBy(of, func(a, b *taxRow) bool { return channelName(a) == channelName(b) }) {
			c := r.renderChannel(via, at, behind)
			listingIncome += c.TaxableIncomeTotal

			listingTaxes += c.CollectableTaxesTotal
			if len(c.Reservations) > 0 {
				l.Channels = append(l.Channels, c)
			}

			at += int64(len(via))
		}

		income, taxes = income+listingIncome, taxes+listingTaxes
		if len(l.Channels) > 0 {
			l.TaxFigures = r.figures(listingIncome, listingTaxes, behind)
			out.Data = append(out.Data, l)
		}
	}

	out.TaxFigures = r.figures(income, taxes, r.behind)

	return out
}

// renderChannel returns the totals of the rows of a channel, with the stays that are on the page. The first row has the
// place at among all rows.
func (r *taxReport) renderChannel(rows []taxRow, at int64, behind report.Selection) TaxChannel {
	c := TaxChannel{Name: rows[0].BookingPlatform, Reservations: []TaxReservation{}}

	var income, taxes money.Cents

	for i := range rows {
		row := &rows[i]
		income += row.Income
		taxes += row.Taxes

		if place := at + int64(i); place < r.first || place >= r.last {
			continue
		}

		// The stay names itself, so it needs no channel.
		behind := behind
		behind.Channels, behind.NotReservationIDs, behind.ReservationIDs = nil, nil, page.RefsTo(row.ID)
		stay := *r.stays[row.ID]
		stay.TaxableIncome = row.Income
		stay.CollectableTaxes = row.Taxes
		stay.Drilldowns = r.figures(row.Income, row.Taxes, behind).Drilldowns
		c.Reservations = append(c.Reservations, stay)
	}

	name := channelName(&rows[0])
	behind.Channels = []string{name}
	c.TaxFigures = r.figures(income, taxes, behind)

	return c
}

// channelName returns the filter value that selects the stays of a channel; null selects stays without one.
func channelName(r *taxRow) string {
	if r.BookingPlatform == nil {
		return report.NullText
	}

	return *r.BookingPlatform
}

// chunksBy divides a list at each place where neighbours differ.
func chunksBy[T any](list []T, same func(a, b *T) bool) func(yield func([]T) bool) {
	return func(yield func([]T) bool) {
		for from := 0; from < len(list); {
			to := from + 1
			for to < len(list) && same(&list[from], &list[to]) {
				to++
			}

			if !yield(list[from:to]) {
				return
			}

			from = to
		}
	}
}
