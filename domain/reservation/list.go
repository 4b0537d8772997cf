package reservation

import (
	"context"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

type listInput struct {
	page.Params
	Sort                    string   `query:"sort" enum:"checkIn,-checkIn,checkOut,-checkOut,bookedAt,-bookedAt,guestName,-guestName,createdAt,-createdAt" default:"-checkIn"`
	IDs                     []id.ID  `query:"ids"`
	Status                  Status   `query:"status"`
	GeneralLedgerStatus     string   `query:"generalLedgerStatus" enum:"active,inactive"`
	ListingID               []id.ID  `query:"listingId"`
	Date                    string   `query:"date" doc:"YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DD...YYYY-MM-DD."`
	DateField               string   `query:"dateField" enum:"checkIn,checkOut,bookedAt" default:"checkIn" doc:"What date filters by."`
	IsDateRangeEndInclusive bool     `query:"isDateRangeEndInclusive" default:"true" doc:"Whether the last day of date counts."`
	Search                  string   `query:"search" maxLength:"200" doc:"Part of the guest's or booker's name, the confirmation code, the uniqueRef or the shortRef."`
	BookingChannel          []string `query:"bookingChannel" doc:"Booking platforms, case aside."`
	IncludeLines            bool     `query:"includeLines" default:"false"`

	dates day.Range
}

// Resolve reads the date range.
func (in *listInput) Resolve() []apierr.Issue {
	if in.Date == "" {
		return nil
	}
	var err error
	if in.dates, err = day.ParseRange(in.Date, in.IsDateRangeEndInclusive); err != nil {
		return []apierr.Issue{{Message: "Value is not a date range", Code: "dateRange", Path: []any{"date"}, Schema: "query"}}
	}
	return nil
}

// dateColumns are the columns that the date filter can be about.
func dateColumns() map[string]string {
	return map[string]string{"checkIn": "r.check_in", "checkOut": "r.check_out", "bookedAt": "r.booked_at"}
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
	if in.IDs != nil {
		q.And("r.id = any(@ids)", db.Args{"ids": in.IDs})
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
	if in.Date != "" {
		column := dateColumns()[in.DateField]
		q.And(column+" >= @from and "+column+" < @to", db.Args{"from": in.dates.From, "to": in.dates.To})
	}
	if in.Search != "" {
		q.And(`(r.guest_name ilike @search or r.booker_name ilike @search or r.confirmation_code ilike @search or r.unique_ref ilike @search
			or r.short_ref ilike @search)`, db.Args{"search": page.Like(in.Search)})
	}
	if in.BookingChannel != nil {
		q.And(`r.booking_platform collate "case_insensitive" = any(@channels)`, db.Args{"channels": in.BookingChannel})
	}
	found, err := page.List[Reservation](ctx, tx, q, in.Params, in.Sort)
	if err != nil {
		return nil, err
	}
	return found, complete(ctx, tx, found.Data, in.IncludeLines)
}
