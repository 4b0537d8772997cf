package reservation

import (
	"context"
	"strconv"
	"strings"

	"stayledger/domain/listing"
	"stayledger/domain/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

type listInput struct {
	page.Params
	Sort                    string                  `query:"sort" enum:"checkIn,-checkIn,checkOut,-checkOut,bookedAt,-bookedAt,guestName,-guestName,createdAt,-createdAt" default:"-checkIn"`
	IDs                     []string                `query:"ids" pattern:"^!?[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$" doc:"A leading ! excludes the id."`
	ShortRefs               []string                `query:"shortRefs"`
	UniqueRefs              []string                `query:"uniqueRefs"`
	Type                    Type                    `query:"type"`
	Status                  Status                  `query:"status"`
	GeneralLedgerStatus     string                  `query:"generalLedgerStatus" enum:"active,inactive"`
	ListingID               []id.ID                 `query:"listingId"`
	Date                    string                  `query:"date" doc:"YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DD...YYYY-MM-DD."`
	DateField               string                  `query:"dateField" enum:"checkIn,checkOut,bookedAt,payment,intersection" default:"checkIn" doc:"What date filters by: payment is the date of a deposit, intersection any night of the stay."`
	IsDateRangeEndInclusive bool                    `query:"isDateRangeEndInclusive" default:"true" doc:"Whether the last day of date counts."`
	Search                  string                  `query:"search" maxLength:"200" doc:"Part of the guest's or booker's name, the confirmation code, the uniqueRef or the shortRef."`
	BookingChannel          []string                `query:"bookingChannel" doc:"Booking platforms, case aside."`
	BusinessModel           []listing.BusinessModel `query:"businessModel" doc:"Of the ownership period that covers the check-in."`
	LineType                []string                `query:"lineType" doc:"Reservations with a line of one of the types."`
	AppID                   []string                `query:"appId" doc:"null selects those of no app."`
	ConnectionID            []string                `query:"connectionId" enum:"null" doc:"null selects those of no connection."`
	PaidStatus              string                  `query:"paidStatus" enum:"unpaid,underpaid,overpaid,paid,!unpaid,!underpaid,!overpaid,!paid" doc:"A leading ! selects all others."`
	Amount                  string                  `query:"amount" pattern:"^-?[0-9]{1,16}(\\.\\.\\.-?[0-9]{1,16})?$" doc:"Financial total in cents, or 100...200 with both ends."`
	IncludeLines            bool                    `query:"includeLines" default:"false" doc:"With lines and adjustments."`
	operation.Include

	dates     day.Range
	low, high int64
}

// Resolve reads the date range and the amounts.
func (in *listInput) Resolve() []apierr.Issue {
	var issues []apierr.Issue
	var err error
	if in.Date != "" {
		if in.dates, err = day.ParseRange(in.Date, in.IsDateRangeEndInclusive); err != nil {
			issues = append(issues, apierr.Issue{Message: "Value is not a date range", Code: "dateRange", Path: []any{"date"}, Schema: "query"})
		}
	}
	from, to, isRange := strings.Cut(in.Amount, "...")
	if !isRange {
		to = from
	}
	if in.Amount != "" {
		var lowErr, highErr error
		in.low, lowErr = strconv.ParseInt(from, 10, 64)
		in.high, highErr = strconv.ParseInt(to, 10, 64)
		if lowErr != nil || highErr != nil || in.low > in.high {
			issues = append(issues, apierr.Issue{Message: "Value is not an amount or a range of amounts", Code: "malformed", Path: []any{"amount"}, Schema: "query"})
		}
	}
	return issues
}

// byDate narrows a list to a range of days; in a range that a reservation only has to touch, its last night counts and its check-out does not.
func byDate(q *page.Query, in *listInput) {
	args := db.Args{"from": in.dates.From, "to": in.dates.To}
	switch in.DateField {
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
func byWhat(q *page.Query, in *listInput) {
	if in.ShortRefs != nil {
		q.And("r.short_ref = any(@short_refs)", db.Args{"short_refs": in.ShortRefs})
	}
	if in.UniqueRefs != nil {
		q.And("r.unique_ref = any(@unique_refs)", db.Args{"unique_refs": in.UniqueRefs})
	}
	if in.Type != "" {
		q.And("r.type = @type", db.Args{"type": string(in.Type)})
	}
	if in.Status != "" {
		q.And("r.status = @status", db.Args{"status": string(in.Status)})
	}
	if in.GeneralLedgerStatus != "" {
		q.And("r.general_ledger_status = @gl_status", db.Args{"gl_status": in.GeneralLedgerStatus})
	}
	if in.ListingID != nil {
		q.And("r.listing_id = any(@listings)", db.Args{"listings": in.ListingID})
	}
	orNull(q, "r.app_id", "apps", in.AppID)
	if in.BookingChannel != nil {
		q.And(`r.booking_platform collate "case_insensitive" = any(@channels)`, db.Args{"channels": in.BookingChannel})
	}
	if in.BusinessModel != nil {
		models := make([]string, len(in.BusinessModel))
		for i, m := range in.BusinessModel {
			models[i] = string(m)
		}
		q.And(`exists (select from listing_ownership_period p where p.team_id = @team and p.listing_id = r.listing_id and p.business_model = any(@models)
			and (p.start_at is null or p.start_at <= r.check_in) and (p.end_at is null or p.end_at > r.check_in))`, db.Args{"models": models})
	}
	if in.LineType != nil {
		q.And(`exists (select from reservation_line l where l.team_id = @team and l.reservation_id = r.id and l.type = any(@line_types))`,
			db.Args{"line_types": in.LineType})
	}
}

// byIDs narrows a list to some ids, and to all but those with a leading "!".
func byIDs(q *page.Query, list []string) {
	var only, but []id.ID
	for _, text := range list {
		v, _ := id.Parse(strings.TrimPrefix(text, "!")) // the edge has checked the form
		if strings.HasPrefix(text, "!") {
			but = append(but, v)
		} else {
			only = append(only, v)
		}
	}
	if only != nil {
		q.And("r.id = any(@ids)", db.Args{"ids": only})
	}
	if but != nil {
		q.And("r.id <> all(@excluded)", db.Args{"excluded": but})
	}
}

// byMoney narrows a list by what guests owe and have paid, by the same rules as settle and paymentStatus.
func byMoney(q *page.Query, in *listInput) {
	if in.Amount == "" && in.PaidStatus == "" {
		return
	}
	q.From += moneyTables
	if in.Amount != "" {
		q.And("f.expected between @low and @high", db.Args{"low": in.low, "high": in.high})
	}
	if in.PaidStatus != "" {
		status, others := strings.CutPrefix(in.PaidStatus, "!")
		q.And(`(case when f.received = f.expected then 'paid' when f.received > f.expected then 'overpaid'
			when f.received = 0 then 'unpaid' else 'underpaid' end = @paid_status) <> @others`,
			db.Args{"paid_status": status, "others": others})
	}
}

func listReservations(ctx context.Context, tx *db.Tx, in *listInput) (*page.Page[Reservation], error) {
	q := page.Query{
		Columns: columns, From: tables, Default: "-checkIn", ID: "r.id",
		Sorts: page.Sorts{
			"checkIn": {Expr: "r.check_in"}, "checkOut": {Expr: "r.check_out"}, "bookedAt": {Expr: "r.booked_at", Nullable: true},
			"guestName": {Expr: "r.guest_name", Text: true, Nullable: true}, "createdAt": {Expr: "r.created_at"},
		},
	}
	q.And("r.team_id = @team", db.Args{"team": tx.Team})
	byIDs(&q, in.IDs)
	byWhat(&q, in)
	byMoney(&q, in)
	if in.Date != "" {
		byDate(&q, in)
	}
	if in.Search != "" {
		q.And(`(r.guest_name ilike @search or r.booker_name ilike @search or r.confirmation_code ilike @search or r.unique_ref ilike @search
			or r.short_ref ilike @search)`, db.Args{"search": page.Like(in.Search)})
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
