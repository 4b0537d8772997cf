package reservation

import (
	"cmp"
	"context"
	"maps"
	"strings"

	"stayledger/domain/property/listing"
	"stayledger/domain/record/operation"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// Filter selects reservations: the query parameters of the list and the body of its export alike.
type Filter struct {
	IDs                 page.IDs `query:"ids" json:"ids,omitempty" doc:"Only these; an id with a leading ! is left out."`
	ShortRefs           []string `query:"shortRefs" json:"shortRefs,omitempty"`
	UniqueRefs          []string `query:"uniqueRefs" json:"uniqueRefs,omitempty"`
	Type                Type     `query:"type" json:"type,omitempty"`
	Status              Status   `query:"status" json:"status,omitempty"`
	GeneralLedgerStatus string   `query:"generalLedgerStatus" json:"generalLedgerStatus,omitempty" enum:"active,inactive"`
	ListingIDs          page.IDs `query:"listingIds" json:"listingIds,omitempty"`
	ListingID           page.IDs `query:"listingId" json:"listingId,omitempty" deprecated:"true" doc:"Former name of listingIds."`
	page.Dates
	Date           day.Span                `query:"date" json:"date,omitzero" doc:"The same as dateRange."`
	DateField      string                  `query:"dateField" json:"dateField,omitempty" enum:"checkIn,checkOut,bookedAt,payment,intersection" default:"checkIn" doc:"What the range of dates filters by: payment is the date of a deposit, intersection any night of the stay."`
	Search         string                  `query:"search" json:"search,omitempty" maxLength:"200" doc:"Part of the guest's or booker's name, the confirmation code, the uniqueRef or the shortRef."`
	BookingChannel []string                `query:"bookingChannel" json:"bookingChannel,omitempty" doc:"Booking platforms, case aside."`
	BusinessModel  []listing.BusinessModel `query:"businessModel" json:"businessModel,omitempty" doc:"Of the ownership period that covers the check-in."`
	LineType       []string                `query:"lineType" json:"lineType,omitempty" doc:"Reservations with a line of one of the types."`
	AppID          []string                `query:"appId" json:"appId,omitempty" doc:"null selects those of no app."`
	ConnectionIDs  page.Refs               `query:"connectionIds" json:"connectionIds,omitempty" doc:"null selects those of no connection."`
	ConnectionID   page.Refs               `query:"connectionId" json:"connectionId,omitempty" deprecated:"true" doc:"Former name of connectionIds."`
	PaidStatus     string                  `query:"paidStatus" json:"paidStatus,omitempty" enum:"unpaid,underpaid,overpaid,paid,!unpaid,!underpaid,!overpaid,!paid" doc:"A leading ! selects all others."`
	Amount         money.Ranges            `query:"amount" json:"amount,omitempty" doc:"Financial total in cents, or 100...200 with both ends; several are separated by commas."`
}

// narrowByDate narrows a list to a range of days. With dateField intersection a reservation only has to touch the
// range: its last night counts and its check-out does not.
func narrowByDate(q *page.Query, f *Filter) {
	span := cmp.Or(f.DateRange, f.Date)
	if span.IsZero() {
		return
	}

	// The range is half open: from counts, to does not.
	days := span.Range(f.IsDateRangeEndInclusive)
	args := db.Args{"from": days.From, "to": days.To}

	switch f.DateField {
	case "checkOut":
		q.And("r.check_out >= @from and r.check_out < @to", args)
	case "bookedAt":
		q.And("r.booked_at >= @from and r.booked_at < @to", args)
	case "intersection":
		q.And("r.check_in < @to and r.check_out > @from", args)
	case "payment":
		q.And(`exists (select from transaction_line l join transaction t on t.team_id = l.team_id and t.id = l.transaction_id
			where l.team_id = @team and l.reservation_id = r.id and t.status = 'active' and t.type = 'deposit' and t.date >= @from and t.date < @to)`, args)
	default:
		q.And("r.check_in >= @from and r.check_in < @to", args)
	}
}

// narrowByFields narrows a list by the fields of reservations, their listings and their lines.
func narrowByFields(q *page.Query, f *Filter) {
	q.IDs("r.id = any(?)", f.IDs)
	q.Narrow("r.short_ref = any(?)", f.ShortRefs)
	q.Narrow("r.unique_ref = any(?)", f.UniqueRefs)
	q.Narrow("r.type = ?", f.Type)
	q.Narrow("r.status = ?", f.Status)
	narrowByLedgerStatus(q, LedgerStatus(f.GeneralLedgerStatus))
	q.IDs("r.listing_id = any(?)", f.ListingIDs)
	q.IDs("r.listing_id = any(?)", f.ListingID)
	q.Texts("r.app_id", f.AppID)
	q.Refs("r.connection_id", f.ConnectionIDs)
	q.Refs("r.connection_id", f.ConnectionID)
	q.Narrow(`r.booking_platform collate "case_insensitive" = any(?)`, f.BookingChannel)

	// The business model is that of the ownership period which covers the check-in.
	q.Narrow(`exists (select from listing k cross join lateral (`+listing.OwnerSourceSQL("k", "r.check_in")+`) h
		join listing_ownership_period p on p.team_id = @team and p.listing_id = h.id and daterange(p.start_at, p.end_at) @> r.check_in
		where k.team_id = @team and k.id = r.listing_id and p.business_model = any(?))`, f.BusinessModel)
	q.Narrow(`exists (select from reservation_line l
		where l.team_id = @team and l.reservation_id = r.id and l.type = any(?))`, f.LineType)
}

// listQuery returns the list of reservations r with their listings l that a valid filter selects, in rows of
// Reservation. It joins money only when the filter asks about money.
func listQuery(tx *db.Tx, f *Filter) page.Query {
	q := moneyQuery(tx, f)
	if f.Amount == nil && f.PaidStatus == "" {
		q.From, q.Joined = tables, "l"
	}

	return q
}

// moneyQuery returns the same list with the sums that guests owe and have paid: f has expected and received,
// payment the status, stated the sums of the lines that count by their kind, adjusted the sum of the financial
// adjustments. The last two are null where there are none.
func moneyQuery(tx *db.Tx, f *Filter) page.Query {
	q := page.Query{
		Columns: columns,
		From:    tables + moneyTables,
		Rows:    "reservation r",
		Joined:  "l f payment",
		Default: "-checkIn",
		ID:      "r.id",
		Sorts:   sorts,
	}
	q.And("r.team_id = @team", db.Args{"team": tx.Team})
	q.CountedAs("reservation")
	narrowByFields(&q, f)
	narrowByDate(&q, f)
	q.Amounts("f.expected", f.Amount)

	// A leading ! turns the condition around.
	if status, others := strings.CutPrefix(f.PaidStatus, "!"); status != "" {
		q.And("(payment.status = @paid_status) <> @others", db.Args{"paid_status": status, "others": others})
	}

	q.Search(f.Search, "r.guest_name", "r.booker_name", "r.confirmation_code", "r.unique_ref", "r.short_ref")

	return q
}

var sorts = page.Sorts{
	{Name: "checkIn", Expr: "r.check_in"},
	{Name: "checkOut", Expr: "r.check_out"},
	{Name: "bookedAt", Expr: "r.booked_at", Nullable: true},
	{Name: "guestName", Expr: "r.guest_name", Text: true, Nullable: true},
	{Name: "createdAt", Expr: "r.created_at"},
}

// Sort is an order of reservations.
type Sort string

// Enum lists the orders.
func (Sort) Enum() []string { return sorts.Enum() }

type listInput struct {
	page.Params
	Sort Sort `query:"sort" default:"-checkIn"`
	Filter
	IncludeLines bool `query:"includeLines" default:"false" doc:"With lines and adjustments; a page of more than 20000 is refused with tooManyLines at limit and context.suggestedLimit."`
	operation.Include
}

// listReservations returns a page of reservations, on request with their lines and operations.
func listReservations(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Reservation], error) {
	q := listQuery(tx, &in.Filter)
	q.Columns, q.From, q.Joined = rowColumns, q.From+depositTables+aroundTables, q.Joined+" paid first closing"
	maps.Copy(q.Args, rowArgs(tx))

	// Lines and adjustments together are bounded, so a page with them has to count them.
	if in.IncludeLines {
		q.Lines = `(select count(*) from reservation_line l where l.team_id = r.team_id and l.reservation_id = r.id)
			+ (select count(*) from reservation_adjustment a where a.team_id = r.team_id and a.reservation_id = r.id)`
	}

	rows, err := page.List[row](ctx, tx, q, in.Params, in.Sort)
	if err != nil {
		return nil, err
	}

	lines, err := loadLines(ctx, tx, collectRowIDs(rows.Data))
	if err != nil {
		return nil, err
	}

	found := &page.Page[Reservation]{Pagination: rows.Pagination}

	found.Data, err = fillRows(ctx, tx, rows.Data, lines, in.IncludeLines)
	if err != nil || !in.Operations() {
		return found, err
	}

	return found, operation.Embed(ctx, tx, operation.Reservation, found.Data,
		func(r *Reservation) (id.ID, **operation.Summary) { return r.ID, &r.Operations })
}

// collectRowIDs returns the ids of rows.
func collectRowIDs(rows []row) []id.ID {
	ids := make([]id.ID, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}

	return ids
}
