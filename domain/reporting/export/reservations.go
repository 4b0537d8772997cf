package export

import (
	"context"

	"stayledger/domain/activity/reservation"
	"stayledger/platform/csv"
	"stayledger/platform/db"
)

// reservationSelection is the selector of the CSV: the filters of GET /reservations, and the columns.
type reservationSelection struct {
	reservation.Filter
	Sort    reservation.Sort    `query:"sort" json:"sort,omitempty" doc:"Default -checkIn."`
	Columns []reservationColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// reservationColumn is a column of the CSV.
type reservationColumn string

// Enum returns the names of the columns in their own order.
func (reservationColumn) Enum() []string { return columnNames(reservationColumns) }

// reservationColumns are the columns of the CSV, which has a row per reservation. The amounts from rent to
// adjustments are those that count, and add up to total. The column other has every line type without a column of
// its own.
var reservationColumns = []sqlColumn{
	{csv.Column{Name: "id", Kind: csv.ID}, "r.id"},
	{csv.Column{Name: "shortRef", Kind: csv.ID}, "r.short_ref"},
	{csv.Column{Name: "uniqueRef", Kind: csv.ID}, "r.unique_ref"},
	{csv.Column{Name: "confirmationCode", Kind: csv.ID}, "r.confirmation_code"},
	{csv.Column{Name: "pmsReferenceCode", Kind: csv.ID}, "r.pms_reference_code"},
	{csv.Column{Name: "type", Kind: csv.Text}, "r.type"},
	{csv.Column{Name: "status", Kind: csv.Text}, "r.status"},
	{csv.Column{Name: "generalLedgerStatus", Kind: csv.Text}, "r.general_ledger_status"},
	{csv.Column{Name: "listingId", Kind: csv.ID}, "r.listing_id"},
	{csv.Column{Name: "listing", Kind: csv.Text}, "l.name"},
	{csv.Column{Name: "guestName", Kind: csv.Text}, "r.guest_name"},
	{csv.Column{Name: "bookerName", Kind: csv.Text}, "r.booker_name"},
	{csv.Column{Name: "guests", Kind: csv.Integer}, "r.guests"},
	{csv.Column{Name: "bookingPlatform", Kind: csv.Text}, "r.booking_platform"},
	{csv.Column{Name: "appId", Kind: csv.ID}, "r.app_id"},
	{csv.Column{Name: "bookedAt", Kind: csv.Date}, "r.booked_at"},
	{csv.Column{Name: "checkIn", Kind: csv.Date}, "r.check_in"},
	{csv.Column{Name: "checkOut", Kind: csv.Date}, "r.check_out"},
	{csv.Column{Name: "nights", Kind: csv.Integer}, "r.check_out - r.check_in"},
	{csv.Column{Name: "cancelledAt", Kind: csv.Date}, "r.cancelled_at"},
	{csv.Column{Name: "generalLedgerPostingAt", Kind: csv.Date}, "r.general_ledger_posting_at"},
	{csv.Column{Name: "rent", Kind: csv.Amount}, "coalesce(stated.rent, 0)::bigint"},
	{csv.Column{Name: "cleaningFee", Kind: csv.Amount}, "coalesce(stated.cleaning_fee, 0)::bigint"},
	{csv.Column{Name: "guestFee", Kind: csv.Amount}, "coalesce(stated.guest_fee, 0)::bigint"},
	{csv.Column{Name: "tax", Kind: csv.Amount}, "coalesce(stated.tax, 0)::bigint"},
	{csv.Column{Name: "discount", Kind: csv.Amount}, "coalesce(stated.discount, 0)::bigint"},
	{csv.Column{Name: "other", Kind: csv.Amount}, "coalesce(stated.other, 0)::bigint"},
	{csv.Column{Name: "adjustments", Kind: csv.Amount}, "coalesce(adjusted.amount, 0)::bigint"},
	{csv.Column{Name: "total", Kind: csv.Amount}, "f.expected::bigint"},
	{csv.Column{Name: "paid", Kind: csv.Amount}, "f.received::bigint"},
	{csv.Column{Name: "balance", Kind: csv.Amount}, "(f.expected - f.received)::bigint"},
	{csv.Column{Name: "currency", Kind: csv.Currency}, "r.currency"},
	{csv.Column{Name: "paymentStatus", Kind: csv.Text}, "payment.status"},
	{csv.Column{Name: "createdAt", Kind: csv.Instant}, "r.created_at"},
	{csv.Column{Name: "updatedAt", Kind: csv.Instant}, "r.updated_at"},
}

// reservationsCSV declares EXP-P05, the export of reservations.
func reservationsCSV() Declaration[reservationSelection] {
	return Declaration[reservationSelection]{
		Path: "/reservations/csv", ID: "ReservationsCSV", Tag: "Reservations", Summary: "Export reservations as CSV",
		Doc: "One row per reservation. rent, cleaningFee, guestFee, tax, discount, other (lines of any other type) " +
			"and adjustments are the amounts that count and add up to total; balance is total less paid.",
		Format: CSV, Scopes: []string{"reservations:export"}, Name: "reservations",
		Count: func(ctx context.Context, tx *db.Tx, s *reservationSelection) (Size, error) {
			// Counting needs none of the amounts, so it takes the query of the list.
			return countRows(ctx, tx, reservation.ListQuery(tx, &s.Filter))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *reservationSelection, out *Sink) error {
			// MoneyQuery selects the same reservations and joins their amounts.
			return rowList{
				columns: selectColumns(reservationColumns, s.Columns),
				query:   reservation.MoneyQuery(tx, &s.Filter),
				sort:    string(s.Sort),
			}.write(ctx, tx, out)
		},
	}
}
