package export

import (
	"context"

	"stayledger/domain/reporting/report"
	"stayledger/platform/db"
	"stayledger/platform/render"
)

// guestSelection are the filters of GET /reports/guest-balances, and the columns.
type guestSelection struct {
	report.GuestFilter
	Columns []guestColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// guestColumn is a column of guest balances.
type guestColumn string

// Enum lists the columns in their own order.
func (guestColumn) Enum() []string { return namesOf(guestCells) }

// guestCells are the columns: those of the stay, those of the transaction where money names no reservation, and the amounts.
var guestCells = []sqlColumn{
	{render.Column{Name: "date", Kind: render.Date}, "g.as_of"},
	{render.Column{Name: "status", Kind: render.Text}, "g.status"},
	{render.Column{Name: "listingId", Kind: render.ID}, "g.listing_id"},
	{render.Column{Name: "listing", Kind: render.Text}, "g.listing_name"},
	{render.Column{Name: "reservationId", Kind: render.ID}, "g.reservation_id"},
	{render.Column{Name: "confirmationCode", Kind: render.ID}, "g.confirmation_code"},
	{render.Column{Name: "guestName", Kind: render.Text}, "g.guest_name"},
	{render.Column{Name: "bookingPlatform", Kind: render.Text}, "g.booking_platform"},
	{render.Column{Name: "checkIn", Kind: render.Date}, "g.check_in"},
	{render.Column{Name: "checkOut", Kind: render.Date}, "g.check_out"},
	{render.Column{Name: "nights", Kind: render.Integer}, "g.check_out - g.check_in"},
	{render.Column{Name: "daysSinceDeparture", Kind: render.Integer}, "case when g.status = 'departed' then g.as_of - g.check_out end"},
	{render.Column{Name: "bookedAt", Kind: render.Date}, "g.booked_at"},
	{render.Column{Name: "cancelledAt", Kind: render.Date}, "g.cancelled_at"},
	{render.Column{Name: "transactionReferenceId", Kind: render.ID}, "g.transaction_ref"},
	{render.Column{Name: "transactionDate", Kind: render.Date}, "g.transaction_date"},
	{render.Column{Name: "transactionDescription", Kind: render.Text}, "g.description"},
	{render.Column{Name: "charges", Kind: render.Amount}, "g.charges"},
	{render.Column{Name: "payments", Kind: render.Amount}, "g.payments"},
	{render.Column{Name: "total", Kind: render.Amount}, "g.payments - g.charges"},
	{render.Column{Name: "currency", Kind: render.Currency}, "g.currency"},
}

// guestBalancesCSV is EXP-P13.
func guestBalancesCSV() Declaration[guestSelection] {
	return Declaration[guestSelection]{
		Path: "/reports/guest-balances/csv", ID: "GuestBalancesCSV", Tag: "Reports", Summary: "Export guest balances as CSV",
		Doc: "One row per reservation with an open balance and per posting of guest money without a reservation, over all pages. The total is payments " +
			"less charges: positive is held for the guest, negative is owed.",
		Format: CSV, Scopes: []string{"reports:export"}, Name: "guest-balances",
		Check: checkCurrency(func(s *guestSelection) string { return s.Currency }),
		Count: func(ctx context.Context, tx *db.Tx, s *guestSelection) (Size, error) {
			q, err := report.GuestQuery(ctx, tx, &s.GuestFilter)
			if err != nil {
				return Size{}, err
			}
			return countRows(ctx, tx, q)
		},
		Render: func(ctx context.Context, tx *db.Tx, s *guestSelection, out *Sink) error {
			q, err := report.GuestQuery(ctx, tx, &s.GuestFilter)
			if err != nil {
				return err
			}
			return rowList{columns: chosen(guestCells, s.Columns), query: q}.write(ctx, tx, out)
		},
	}
}
