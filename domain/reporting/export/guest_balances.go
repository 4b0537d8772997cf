package export

import (
	"context"

	"stayledger/domain/reporting/trust"
	"stayledger/platform/csv"
	"stayledger/platform/db"
)

// guestSelection is the selector of the CSV: the filters of GET /reports/guest-balances, and the columns.
type guestSelection struct {
	trust.GuestFilter
	Columns []guestColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// guestColumn is a column of guest balances.
type guestColumn string

// Enum returns the names of the columns in their own order.
func (guestColumn) Enum() []string { return columnNames(guestCells) }

// guestCells are the columns: first those of the stay, then those of the transaction if the money names no
// reservation, then the amounts.
var guestCells = []sqlColumn{
	{csv.Column{Name: "date", Kind: csv.Date}, "g.as_of"},
	{csv.Column{Name: "status", Kind: csv.Text}, "g.status"},
	{csv.Column{Name: "listingId", Kind: csv.ID}, "g.listing_id"},
	{csv.Column{Name: "listing", Kind: csv.Text}, "g.listing_name"},
	{csv.Column{Name: "reservationId", Kind: csv.ID}, "g.reservation_id"},
	{csv.Column{Name: "confirmationCode", Kind: csv.ID}, "g.confirmation_code"},
	{csv.Column{Name: "guestName", Kind: csv.Text}, "g.guest_name"},
	{csv.Column{Name: "bookingPlatform", Kind: csv.Text}, "g.booking_platform"},
	{csv.Column{Name: "checkIn", Kind: csv.Date}, "g.check_in"},
	{csv.Column{Name: "checkOut", Kind: csv.Date}, "g.check_out"},
	{csv.Column{Name: "nights", Kind: csv.Integer}, "g.check_out - g.check_in"},
	{
		csv.Column{Name: "daysSinceDeparture", Kind: csv.Integer},
		"case when g.status = 'departed' then g.as_of - g.check_out end",
	},
	{csv.Column{Name: "bookedAt", Kind: csv.Date}, "g.booked_at"},
	{csv.Column{Name: "cancelledAt", Kind: csv.Date}, "g.cancelled_at"},
	{csv.Column{Name: "transactionReferenceId", Kind: csv.ID}, "g.transaction_ref"},
	{csv.Column{Name: "transactionDate", Kind: csv.Date}, "g.transaction_date"},
	{csv.Column{Name: "transactionDescription", Kind: csv.Text}, "g.description"},
	{csv.Column{Name: "charges", Kind: csv.Amount}, "g.charges"},
	{csv.Column{Name: "payments", Kind: csv.Amount}, "g.payments"},
	{csv.Column{Name: "total", Kind: csv.Amount}, "g.payments - g.charges"},
	{csv.Column{Name: "currency", Kind: csv.Currency}, "g.currency"},
}

// guestBalancesCSV declares EXP-P13, the export of guest balances.
func guestBalancesCSV() Declaration[guestSelection] {
	return Declaration[guestSelection]{
		Path:    "/reports/guest-balances/csv",
		ID:      "GuestBalancesCSV",
		Tag:     "Reports",
		Summary: "Export guest balances as CSV",
		Doc: "One row per reservation with an open balance and per posting of guest money without a reservation, " +
			"over all pages. The total is payments less charges: positive is held for the guest, negative is owed.",
		Format: CSV,
		Scopes: []string{"reports:export"},
		Name:   "guest-balances",
		Check:  checkCurrency(func(s *guestSelection) string { return s.Currency }),
		Count: func(ctx context.Context, tx *db.Tx, s *guestSelection) (Size, error) {
			// Building the query reads the chart of accounts, so it can fail.
			q, err := trust.GuestQuery(ctx, tx, &s.GuestFilter)
			if err != nil {
				return Size{}, err
			}

			return countRows(ctx, tx, q)
		},
		Render: func(ctx context.Context, tx *db.Tx, s *guestSelection, out *Sink) error {
			q, err := trust.GuestQuery(ctx, tx, &s.GuestFilter)
			if err != nil {
				return err
			}

			return rowList{columns: selectColumns(guestCells, s.Columns), query: q}.write(ctx, tx, out)
		},
	}
}
