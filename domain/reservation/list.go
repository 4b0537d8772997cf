package reservation

import (
	"context"
	"strings"

	"stayledger/domain/listing"
	"stayledger/domain/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// Filter selects reservations: the query parameters of the list and the body of its export alike.
type Filter struct {
	IDs                     []string                `query:"ids" json:"ids,omitempty" pattern:"^!?[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$" doc:"Only these; an id with a leading ! is left out."`
	ShortRefs               []string                `query:"shortRefs" json:"shortRefs,omitempty"`
	UniqueRefs              []string                `query:"uniqueRefs" json:"uniqueRefs,omitempty"`
	Type                    Type                    `query:"type" json:"type,omitempty"`
	Status                  Status                  `query:"status" json:"status,omitempty"`
	GeneralLedgerStatus     string                  `query:"generalLedgerStatus" json:"generalLedgerStatus,omitempty" enum:"active,inactive"`
	ListingID               []id.ID                 `query:"listingId" json:"listingId,omitempty"`
	Date                    string                  `query:"date" format:"date-range" json:"date,omitempty" doc:"YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DD...YYYY-MM-DD."`
	DateField               string                  `query:"dateField" json:"dateField,omitempty" enum:"checkIn,checkOut,bookedAt,payment,intersection" default:"checkIn" doc:"What date filters by: payment is the date of a deposit, intersection any night of the stay."`
	IsDateRangeEndInclusive *bool                   `query:"isDateRangeEndInclusive" json:"isDateRangeEndInclusive,omitempty" default:"true" doc:"Whether the last day of date counts."`
	Search                  string                  `query:"search" json:"search,omitempty" maxLength:"200" doc:"Part of the guest's or booker's name, the confirmation code, the uniqueRef or the shortRef."`
	BookingChannel          []string                `query:"bookingChannel" json:"bookingChannel,omitempty" doc:"Booking platforms, case aside."`
	BusinessModel           []listing.BusinessModel `query:"businessModel" json:"businessModel,omitempty" doc:"Of the ownership period that covers the check-in."`
	LineType                []string                `query:"lineType" json:"lineType,omitempty" doc:"Reservations with a line of one of the types."`
	AppID                   []string                `query:"appId" json:"appId,omitempty" doc:"null selects those of no app."`
	ConnectionID            []string                `query:"connectionId" json:"connectionId,omitempty" enum:"null" doc:"null selects those of no connection."`
	PaidStatus              string                  `query:"paidStatus" json:"paidStatus,omitempty" enum:"unpaid,underpaid,overpaid,paid,!unpaid,!underpaid,!overpaid,!paid" doc:"A leading ! selects all others."`
	Amount                  string                  `query:"amount" json:"amount,omitempty" pattern:"^-?[0-9]{1,16}(\\.\\.\\.-?[0-9]{1,16})?$" doc:"Financial total in cents, or 100...200 with both ends."`
}

// Resolve refuses date ranges and amounts that are none.
func (f *Filter) Resolve() []apierr.Issue {
	var issues []apierr.Issue
	if _, err := f.dates(); f.Date != "" && err != nil {
		issues = append(issues, apierr.Issue{Message: "Value is not a date range", Code: "dateRange", Path: []any{"date"}, Schema: "query"})
	}
	if _, _, ok := money.ParseRanges(f.Amount); f.Amount != "" && !ok {
		issues = append(issues, apierr.Issue{Message: "Value is not an amount or a range of amounts", Code: "malformed", Path: []any{"amount"}, Schema: "query"})
	}
	return issues
}

func (f *Filter) dates() (day.Range, error) {
	return day.ParseRange(f.Date, f.IsDateRangeEndInclusive == nil || *f.IsDateRangeEndInclusive)
}

// byDate narrows a list to a range of days; in a range that a reservation only has to touch, its last night counts and its check-out does not.
func byDate(q *page.Query, f *Filter) {
	dates, err := f.dates()
	if f.Date == "" || err != nil { // Resolve refuses what is no range
		return
	}
	args := db.Args{"from": dates.From, "to": dates.To}
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

// byWhat narrows a list by what reservations are.
func byWhat(q *page.Query, f *Filter) {
	if f.ShortRefs != nil {
		q.And("r.short_ref = any(@short_refs)", db.Args{"short_refs": f.ShortRefs})
	}
	if f.UniqueRefs != nil {
		q.And("r.unique_ref = any(@unique_refs)", db.Args{"unique_refs": f.UniqueRefs})
	}
	if f.Type != "" {
		q.And("r.type = @type", db.Args{"type": string(f.Type)})
	}
	if f.Status != "" {
		q.And("r.status = @status", db.Args{"status": string(f.Status)})
	}
	if f.GeneralLedgerStatus != "" {
		q.And("r.general_ledger_status = @gl_status", db.Args{"gl_status": f.GeneralLedgerStatus})
	}
	if f.ListingID != nil {
		q.And("r.listing_id = any(@listings)", db.Args{"listings": f.ListingID})
	}
	orNull(q, "r.app_id", "apps", f.AppID)
	if f.BookingChannel != nil {
		q.And(`r.booking_platform collate "case_insensitive" = any(@channels)`, db.Args{"channels": f.BookingChannel})
	}
	if f.BusinessModel != nil {
		models := make([]string, len(f.BusinessModel))
		for i, m := range f.BusinessModel {
			models[i] = string(m)
		}
		q.And(`exists (select from listing_ownership_period p where p.team_id = @team and p.listing_id = r.listing_id and p.business_model = any(@models)
			and (p.start_at is null or p.start_at <= r.check_in) and (p.end_at is null or p.end_at > r.check_in))`, db.Args{"models": models})
	}
	if f.LineType != nil {
		q.And(`exists (select from reservation_line l where l.team_id = @team and l.reservation_id = r.id and l.type = any(@line_types))`,
			db.Args{"line_types": f.LineType})
	}
}

// byMoney narrows a list by what guests owe and have paid, by the same rules as settle and paymentStatus.
func byMoney(q *page.Query, f *Filter) {
	if lows, highs, ok := money.ParseRanges(f.Amount); ok {
		q.And("f.expected between @low and @high", db.Args{"low": lows[0], "high": highs[0]})
	}
	if f.PaidStatus != "" {
		status, others := strings.CutPrefix(f.PaidStatus, "!")
		q.And("(payment.status = @paid_status) <> @others", db.Args{"paid_status": status, "others": others})
	}
}

// ListQuery is the list of reservations r with their listings l that a valid filter selects, in rows of Reservation without what complete
// fills in.
func ListQuery(tx *db.Tx, f *Filter) page.Query {
	q := MoneyQuery(tx, f)
	if f.Amount == "" && f.PaidStatus == "" {
		q.From = tables
	}
	return q
}

// MoneyQuery is the same list with what guests owe and have paid: f has expected and received, payment the status, stated the sums of the
// lines that count by their kind, adjusted the sum of the financial adjustments; the last two are null where there are none.
func MoneyQuery(tx *db.Tx, f *Filter) page.Query {
	q := page.Query{
		Columns: columns, From: tables + moneyTables, Default: "-checkIn", ID: "r.id",
		Sorts: page.Sorts{
			"checkIn": {Expr: "r.check_in"}, "checkOut": {Expr: "r.check_out"}, "bookedAt": {Expr: "r.booked_at", Nullable: true},
			"guestName": {Expr: "r.guest_name", Text: true, Nullable: true}, "createdAt": {Expr: "r.created_at"},
		},
	}
	q.And("r.team_id = @team", db.Args{"team": tx.Team})
	q.Pick(f.IDs)
	byWhat(&q, f)
	byMoney(&q, f)
	byDate(&q, f)
	if f.Search != "" {
		q.And(`(r.guest_name ilike @search or r.booker_name ilike @search or r.confirmation_code ilike @search or r.unique_ref ilike @search
			or r.short_ref ilike @search)`, db.Args{"search": page.Like(f.Search)})
	}
	return q
}

type listInput struct {
	page.Params
	Sort string `query:"sort" enum:"checkIn,-checkIn,checkOut,-checkOut,bookedAt,-bookedAt,guestName,-guestName,createdAt,-createdAt" default:"-checkIn"`
	Filter
	IncludeLines bool `query:"includeLines" default:"false" doc:"With lines and adjustments; a page of more than 20000 is refused with tooManyLines at limit and context.suggestedLimit."`
	operation.Include
}

func listReservations(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Reservation], error) {
	q := ListQuery(tx, &in.Filter)
	if in.IncludeLines {
		const lines = `(select count(*) from reservation_line l where l.team_id = r.team_id and l.reservation_id = r.id)
			+ (select count(*) from reservation_adjustment a where a.team_id = r.team_id and a.reservation_id = r.id)`
		if err := page.Bound(ctx, tx, q, in.Params, in.Sort, lines); err != nil {
			return nil, err
		}
	}
	found, err := page.List[Reservation](ctx, tx, q, in.Params, in.Sort)
	if err != nil {
		return nil, err
	}
	if err := complete(ctx, tx, found.Data, in.IncludeLines); err != nil || !in.Operations() {
		return found, err
	}
	return found, operation.Embed(ctx, tx, operation.Reservation, found.Data,
		func(r *Reservation) (id.ID, **operation.Summary) { return r.ID, &r.Operations })
}
