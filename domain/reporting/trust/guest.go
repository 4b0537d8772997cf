package trust

import (
	"context"
	"slices"

	"stayledger/domain/reporting/report"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// GuestBalances holds the amounts that guests have paid ahead and that they owe on a day, by the state of their
// stay.
type GuestBalances struct {
	Currency   money.Currency    `json:"currency"`
	Date       day.Day           `json:"date"`
	Total      money.Cents       `json:"total" doc:"Positive: money held for guests; negative: guests owe it."`
	Charges    money.Cents       `json:"charges"`
	Payments   money.Cents       `json:"payments"`
	Drilldown  *report.Drilldown `json:"drilldown" doc:"The entries behind the total; charges and payments are those without and with a transaction."`
	Data       []GuestGroup      `json:"data" doc:"The groups with listed reservations; totals are those of all pages, settled stays included."`
	Aging      []GuestAge        `json:"aging" doc:"What departed guests owe, by days since departure."`
	Pagination page.Pagination   `json:"pagination" doc:"Counts reservations."`
}

// GuestFigures are the amounts that every level of the report has.
type GuestFigures struct {
	Total      money.Cents       `json:"total" doc:"Payments less charges: positive is held for the guest, negative is owed."`
	Charges    money.Cents       `json:"charges"`
	Payments   money.Cents       `json:"payments"`
	Drilldown  *report.Drilldown `json:"drilldown"`
	Drilldowns GuestDrilldowns   `json:"drilldowns"`
}

// GuestDrilldowns lead to the entries behind charges and payments.
type GuestDrilldowns struct {
	Charges  *report.Drilldown `json:"charges"`
	Payments *report.Drilldown `json:"payments"`
}

// GuestGroup are the guests of one status.
type GuestGroup struct {
	Status report.Occupancy `json:"status"`
	GuestFigures
	Listings []GuestListing `json:"listings"`
}

// GuestListing is the part of one listing in a group; money without a listing has none.
type GuestListing struct {
	ID   *id.ID  `json:"id"`
	Name *string `json:"name"`
	GuestFigures
	Reservations []GuestReservation `json:"reservations"`

	of id.ID
}

// GuestReservation is a stay with an open balance, or in the group unassigned a posting that no reservation explains.
type GuestReservation struct {
	ID                     *id.ID   `json:"id"`
	GuestName              *string  `json:"guestName"`
	ConfirmationCode       *string  `json:"confirmationCode"`
	BookingPlatform        *string  `json:"bookingPlatform"`
	CheckIn                *day.Day `json:"checkIn"`
	CheckOut               *day.Day `json:"checkOut"`
	BookedAt               *day.Day `json:"bookedAt"`
	CancelledAt            *day.Day `json:"cancelledAt"`
	Nights                 *int     `json:"nights"`
	TransactionReferenceID *string  `json:"transactionReferenceId" doc:"Of unassigned money: the short reference of the transaction."`
	TransactionDate        *day.Day `json:"transactionDate"`
	TransactionDescription *string  `json:"transactionDescription"`
	GuestFigures
}

// GuestAge is the debt of guests who departed some time ago.
type GuestAge struct {
	Bucket    string            `json:"bucket" enum:"0-30,31-60,61-90,90+" doc:"Days since departure."`
	Count     int               `json:"count" doc:"Stays."`
	CentTotal money.Cents       `json:"centTotal" doc:"Positive."`
	Drilldown *report.Drilldown `json:"drilldown" doc:"Null when more than 1000 stays are behind it."`
}

// GuestFilter selects guest balances: query parameters, and the body of their export.
type GuestFilter struct {
	Date            *day.Day  `query:"date" json:"date,omitempty" doc:"End of this day; default: today."`
	OccupancyStatus string    `query:"occupancyStatus" json:"occupancyStatus,omitempty" enum:"departed,inHouse,upcoming,cancelled,unassigned,all" doc:"Default: all."`
	ListingIDs      page.Refs `query:"listingIds" json:"listingIds,omitempty" doc:"null, or unmapped, means entries without a listing."`
	Channels        []string  `query:"channels" json:"channels,omitempty" maxLength:"100" doc:"Booking platforms; null means stays that name none. Leaves out unassigned money."`
	Search          string    `query:"search" json:"search,omitempty" maxLength:"200" doc:"Part of the guest's name or the confirmation code; narrows the reservations listed, not the totals."`
	IncludeSettled  bool      `query:"includeSettled" json:"includeSettled,omitempty" doc:"List stays with nothing open too."`
	Currency        string    `query:"currency" json:"currency,omitempty" pattern:"^[A-Za-z]{3}$" doc:"Default: the team's."`
}

type guestInput struct {
	page.Params
	GuestFilter
}

// guestBalances returns a page of guest balances.
func guestBalances(ctx context.Context, tx *db.Tx, in *guestInput) (*GuestBalances, error) {
	return loadGuestBalances(ctx, tx, &in.GuestFilter, in.Params)
}

// loadGuestBalances returns the page of guest balances that a valid filter selects.
func loadGuestBalances(ctx context.Context, tx *db.Tx, f *GuestFilter, params page.Params) (*GuestBalances, error) {
	p, err := openPosition(ctx, tx, &Filter{Date: f.Date, Currency: f.Currency}, false)
	if err != nil {
		return nil, err
	}

	// All cells are read, because the totals are those of all pages.
	cells, err := loadGuestCells(ctx, tx, f.selection(p.chart, p.date, p.currency))
	if err != nil {
		return nil, err
	}

	// Then cut the page, and load the details of its rows only.
	g := guestReport{chart: p.chart, behind: f.drilldownFilter(p.date, p.currency), only: f.chooseGroup()}
	shown := g.selectListed(cells)
	total := int64(len(shown))
	first := min(params.Rows(), total)
	shown = shown[first:min(first+params.Limit, total)]

	details, err := loadGuestDetails(ctx, tx, shown)
	if err != nil {
		return nil, err
	}

	// Last, arrange the rows and add up the totals.
	out := g.render(cells, shown, details)
	out.Currency, out.Date, out.Pagination = p.currency, p.date, params.Of(total)
	out.Aging = g.renderAging(cells, p.date)

	return out, nil
}

// selection returns the selection of guest balances for the database.
func (f *GuestFilter) selection(chart *chart, date day.Day, currency money.Currency) *guestSelection {
	return &guestSelection{
		accounts:   chart.claimAccounts(ClaimGuests),
		date:       date,
		currency:   currency,
		listingIDs: f.ListingIDs,
		channels:   f.Channels,
		search:     f.Search,
		settled:    f.IncludeSettled,
	}
}

// chooseGroup returns the group that is asked for, empty for all.
func (f *GuestFilter) chooseGroup() report.Occupancy {
	if f.OccupancyStatus == "all" {
		return ""
	}

	return report.Occupancy(f.OccupancyStatus)
}

// drilldownFilter returns the selection of the entries of all guest balances in the filter.
func (f *GuestFilter) drilldownFilter(date day.Day, currency money.Currency) report.Selection {
	return report.Selection{
		EndDate:    &report.End{Day: date},
		Currency:   string(currency),
		Channels:   f.Channels,
		ListingIDs: f.ListingIDs,
	}
}

// guestReport arranges cells.
type guestReport struct {
	chart  *chart
	behind report.Selection
	// only is the group asked for; empty for all.
	only report.Occupancy
}

// isWanted reports whether the cell is in a group that is asked for.
func (g *guestReport) isWanted(c *guestCell) bool { return g.only == "" || c.Status == g.only }

// selectListed returns the cells that have a row of their own.
func (g *guestReport) selectListed(cells []guestCell) []*guestCell {
	var out []*guestCell

	for i := range cells {
		if c := &cells[i]; g.isWanted(c) && c.Open && c.Matches {
			out = append(out, c)
		}
	}

	return out
}

// figures returns charges and payments with their drill-downs.
func (g *guestReport) figures(charges, payments money.Cents, behind report.Selection) GuestFigures {
	figures := GuestFigures{Charges: charges, Payments: payments, Total: payments - charges}

	all, ok := g.chart.selection(ClaimGuests, behind)
	if !ok {
		return figures
	}

	// Entries with a transaction are payments, those without one are charges.
	charged, paid := all, all
	charged.TransactionIDs, paid.NotTransactionIDs = page.RefsTo(id.Zero), page.RefsTo(id.Zero)
	total, charge, payment := report.DrilldownTo(all), report.DrilldownTo(charged), report.DrilldownTo(paid)
	figures.Drilldown, figures.Drilldowns = &total, GuestDrilldowns{&charge, &payment}

	return figures
}

// groupKey names a group, or a listing in it.
type groupKey struct {
	status  report.Occupancy
	listing id.ID
	whole   bool
}

// render arranges the shown cells by group and listing. The totals are those of all cells.
func (g *guestReport) render(cells []guestCell, shown []*guestCell, details map[detailKey]*guestDetail) *GuestBalances {
	sums := map[groupKey]*guestCell{}
	add := func(k groupKey, c *guestCell) {
		if sums[k] == nil {
			sums[k] = &guestCell{}
		}

		sums[k].Charges += c.Charges
		sums[k].Payments += c.Payments
	}

	// First add up all cells by group and by listing, on every page.
	var all guestCell

	for i := range cells {
		if c := &cells[i]; g.isWanted(c) {
			add(groupKey{status: c.Status, whole: true}, c)
			add(groupKey{status: c.Status, listing: c.ListingID}, c)
			all.Charges += c.Charges
			all.Payments += c.Payments
		}
	}

	// The figures of the whole report.
	everything := g.behind
	everything.OccupancyStatus = g.only
	figures := g.figures(all.Charges, all.Payments, everything)
	out := &GuestBalances{
		Data:      []GuestGroup{},
		Total:     figures.Total,
		Charges:   figures.Charges,
		Payments:  figures.Payments,
		Drilldown: figures.Drilldown,
	}

	// Then the rows of the page. They come by group and listing, so a new one begins when it differs from the last.
	for _, c := range shown {
		behind := g.behind

		behind.OccupancyStatus = c.Status
		if n := len(out.Data); n == 0 || out.Data[n-1].Status != c.Status {
			sum := sums[groupKey{status: c.Status, whole: true}]
			out.Data = append(out.Data, GuestGroup{
				Status:       c.Status,
				GuestFigures: g.figures(sum.Charges, sum.Payments, behind),
				Listings:     []GuestListing{},
			})
		}

		group := &out.Data[len(out.Data)-1]

		behind.ListingIDs = page.RefsTo(c.ListingID)
		if n := len(group.Listings); n == 0 || group.Listings[n-1].of != c.ListingID {
			sum := sums[groupKey{status: c.Status, listing: c.ListingID}]

			l := GuestListing{
				GuestFigures: g.figures(sum.Charges, sum.Payments, behind),
				Reservations: []GuestReservation{},
				of:           c.ListingID,
			}

			// Money without a listing has neither id nor name.
			if !c.ListingID.IsZero() {
				l.ID, l.Name = &c.ListingID, &c.ListingName
			}

			group.Listings = append(group.Listings, l)
		}

		at := &group.Listings[len(group.Listings)-1]
		at.Reservations = append(at.Reservations, g.renderRow(c, details[c.detailKey()], behind))
	}

	return out
}

// renderRow returns the row of a listed cell.
func (g *guestReport) renderRow(c *guestCell, d *guestDetail, behind report.Selection) GuestReservation {
	// A row is named by its reservation or posting, so status and channel are not needed any more.
	behind.ReservationIDs = page.RefsTo(c.ReservationID)
	behind.TxnCode = c.TxnCode
	behind.OccupancyStatus = ""
	behind.Channels = nil

	r := GuestReservation{GuestFigures: g.figures(c.Charges, c.Payments, behind)}
	if d == nil {
		return r
	}

	r.GuestName, r.ConfirmationCode, r.BookingPlatform = d.GuestName, d.ConfirmationCode, d.BookingPlatform
	r.CheckIn, r.CheckOut, r.BookedAt, r.CancelledAt = d.CheckIn, d.CheckOut, d.BookedAt, d.CancelledAt

	r.TransactionReferenceID, r.TransactionDate = d.TransactionRef, d.TransactionDate
	r.TransactionDescription = d.Description

	// Only a stay has nights; a posting without a reservation has no id.
	if d.CheckIn != nil && d.CheckOut != nil {
		nights := d.CheckIn.DaysUntil(*d.CheckOut)
		r.ID, r.Nights = &c.ReservationID, &nights
	}

	return r
}

// renderAging returns the debts of departed guests by the days since they left.
func (g *guestReport) renderAging(cells []guestCell, date day.Day) []GuestAge {
	ages := []GuestAge{{Bucket: "0-30"}, {Bucket: "31-60"}, {Bucket: "61-90"}, {Bucket: "90+"}}
	owing := make([][]stayBalance, len(ages))

	// Only departed guests who owe money count, and only if their group is asked for.
	for _, s := range sumByStay(cells) {
		if g.only != "" && g.only != s.status || s.status != report.Departed || s.total >= 0 {
			continue
		}

		at := 0

		switch days := s.checkOut.DaysUntil(date); {
		case days > 90:
			at = 3
		case days > 60:
			at = 2
		case days > 30:
			at = 1
		}

		owing[at] = append(owing[at], s)
	}

	// Debts are negative balances; the report shows them as positive.
	for i := range ages {
		figure := g.chart.sumStays(owing[i], g.behind)
		ages[i].Count, ages[i].CentTotal, ages[i].Drilldown = len(owing[i]), -figure.CentTotal, figure.Drilldown
	}

	return ages
}

// stayBalance is the open amount of a stay, whatever listings its entries are in.
type stayBalance struct {
	reservationID id.ID
	listingID     id.ID
	status        report.Occupancy
	checkOut      *day.Day
	total         money.Cents
}

// sumByStay adds up cells by reservation, in the order in which the reservations occur. Stays with a balance of
// 0 are left out.
func sumByStay(cells []guestCell) []stayBalance {
	at := map[id.ID]int{}

	var all []stayBalance

	for i := range cells {
		c := &cells[i]
		if c.ReservationID.IsZero() {
			continue
		}

		// The first cell of a stay gives its listing.
		n, ok := at[c.ReservationID]
		if !ok {
			n = len(all)
			at[c.ReservationID] = n
			all = append(all, stayBalance{
				reservationID: c.ReservationID,
				listingID:     c.ListingID,
				status:        c.Status,
				checkOut:      c.CheckOut,
			})
		}

		all[n].total += c.total()
	}

	return slices.DeleteFunc(all, func(s stayBalance) bool { return s.total == 0 })
}

// sumStays returns the sum of stays with a drill-down that names them. There is none without stays, and for more than
// a filter can name.
func (c *chart) sumStays(stays []stayBalance, behind report.Selection) Figure {
	var sum money.Cents

	named := make([]id.ID, len(stays))
	for i := range stays {
		sum += stays[i].total
		named[i] = stays[i].reservationID
	}

	if len(stays) == 0 || len(stays) > maxReferences {
		return Figure{CentTotal: sum}
	}

	behind.OccupancyStatus, behind.Channels, behind.ReservationIDs = "", nil, page.RefsTo(named...)

	return c.figure(ClaimGuests, sum, behind)
}
