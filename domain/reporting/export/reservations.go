package export

import (
	"context"

	"stayledger/domain/activity/reservation"
	"stayledger/platform/db"
	"stayledger/platform/render"
)

// reservationSelection are the filters of GET /reservations, and the columns.
type reservationSelection struct {
	reservation.Filter
	Sort    reservation.Sort    `query:"sort" json:"sort,omitempty" doc:"Default -checkIn."`
	Columns []reservationColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// reservationColumn is a column of the CSV.
type reservationColumn string

// Enum lists the columns in their own order.
func (reservationColumn) Enum() []string { return namesOf(reservationColumns) }

// reservationColumns are a row per reservation. The amounts from rent to adjustments are those that count and add up to total; other is every
// line type that has no column of its own.
var reservationColumns = []sqlColumn{
	{render.Column{Name: "id", Kind: render.ID}, "r.id"},
	{render.Column{Name: "shortRef", Kind: render.ID}, "r.short_ref"},
	{render.Column{Name: "uniqueRef", Kind: render.ID}, "r.unique_ref"},
	{render.Column{Name: "confirmationCode", Kind: render.ID}, "r.confirmation_code"},
	{render.Column{Name: "pmsReferenceCode", Kind: render.ID}, "r.pms_reference_code"},
	{render.Column{Name: "type", Kind: render.Text}, "r.type"},
	{render.Column{Name: "status", Kind: render.Text}, "r.status"},
	{render.Column{Name: "generalLedgerStatus", Kind: render.Text}, "r.general_ledger_status"},
	{render.Column{Name: "listingId", Kind: render.ID}, "r.listing_id"},
	{render.Column{Name: "listing", Kind: render.Text}, "l.name"},
	{render.Column{Name: "guestName", Kind: render.Text}, "r.guest_name"},
	{render.Column{Name: "bookerName", Kind: render.Text}, "r.booker_name"},
	{render.Column{Name: "guests", Kind: render.Integer}, "r.guests"},
	{render.Column{Name: "bookingPlatform", Kind: render.Text}, "r.booking_platform"},
	{render.Column{Name: "appId", Kind: render.ID}, "r.app_id"},
	{render.Column{Name: "bookedAt", Kind: render.Date}, "r.booked_at"},
	{render.Column{Name: "checkIn", Kind: render.Date}, "r.check_in"},
	{render.Column{Name: "checkOut", Kind: render.Date}, "r.check_out"},
	{render.Column{Name: "nights", Kind: render.Integer}, "r.check_out - r.check_in"},
	{render.Column{Name: "cancelledAt", Kind: render.Date}, "r.cancelled_at"},
	{render.Column{Name: "generalLedgerPostingAt", Kind: render.Date}, "r.general_ledger_posting_at"},
	{render.Column{Name: "rent", Kind: render.Amount}, "coalesce(stated.rent, 0)::bigint"},
	{render.Column{Name: "cleaningFee", Kind: render.Amount}, "coalesce(stated.cleaning_fee, 0)::bigint"},
	{render.Column{Name: "guestFee", Kind: render.Amount}, "coalesce(stated.guest_fee, 0)::bigint"},
	{render.Column{Name: "tax", Kind: render.Amount}, "coalesce(stated.tax, 0)::bigint"},
	{render.Column{Name: "discount", Kind: render.Amount}, "coalesce(stated.discount, 0)::bigint"},
	{render.Column{Name: "other", Kind: render.Amount}, "coalesce(stated.other, 0)::bigint"},
	{render.Column{Name: "adjustments", Kind: render.Amount}, "coalesce(adjusted.amount, 0)::bigint"},
	{render.Column{Name: "total", Kind: render.Amount}, "f.expected::bigint"},
	{render.Column{Name: "paid", Kind: render.Amount}, "f.received::bigint"},
	{render.Column{Name: "balance", Kind: render.Amount}, "(f.expected - f.received)::bigint"},
	{render.Column{Name: "currency", Kind: render.Currency}, "r.currency"},
	{render.Column{Name: "paymentStatus", Kind: render.Text}, "payment.status"},
	{render.Column{Name: "createdAt", Kind: render.Instant}, "r.created_at"},
	{render.Column{Name: "updatedAt", Kind: render.Instant}, "r.updated_at"},
}

// reservationsCSV is EXP-P05.
func reservationsCSV() Declaration[reservationSelection] {
	return Declaration[reservationSelection]{
		Path: "/reservations/csv", ID: "ReservationsCSV", Tag: "Reservations", Summary: "Export reservations as CSV",
		Doc: "One row per reservation. rent, cleaningFee, guestFee, tax, discount, other (lines of any other type) and adjustments are what counts of them " +
			"and add up to total; balance is total less paid.",
		Format: CSV, Scopes: []string{"reservations:export"}, Name: "reservations",
		Count: func(ctx context.Context, tx *db.Tx, s *reservationSelection) (Size, error) {
			return countRows(ctx, tx, reservation.ListQuery(tx, &s.Filter))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *reservationSelection, out *Sink) error {
			return rowList{columns: chosen(reservationColumns, s.Columns), query: reservation.MoneyQuery(tx, &s.Filter), sort: string(s.Sort)}.write(ctx, tx, out)
		},
	}
}
