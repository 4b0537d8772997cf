package trust

import (
	"context"

	"stayledger/domain/record/export"
	"stayledger/domain/reporting/report"
	"stayledger/platform/csv"
	"stayledger/platform/db"
)

// guestExport is the selector of the CSV: the filters of GET /reports/guest-balances, and the columns.
type guestExport struct {
	GuestFilter
	Columns []guestColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all."`
}

// guestColumn is a column of guest balances.
type guestColumn string

// Enum returns the names of the columns in their own order.
func (guestColumn) Enum() []string { return export.ColumnNames(guestCells) }

// guestCells are the columns: first those of the stay, then those of the transaction if the money names no
// reservation, then the amounts.
var guestCells = []export.SQLColumn{
	export.FromSQL("date", csv.Date, "g.as_of"),
	export.FromSQL("status", csv.Text, "g.status"),
	export.FromSQL("listingId", csv.ID, "g.listing_id"),
	export.FromSQL("listing", csv.Text, "g.listing_name"),
	export.FromSQL("reservationId", csv.ID, "g.reservation_id"),
	export.FromSQL("confirmationCode", csv.ID, "g.confirmation_code"),
	export.FromSQL("guestName", csv.Text, "g.guest_name"),
	export.FromSQL("bookingPlatform", csv.Text, "g.booking_platform"),
	export.FromSQL("checkIn", csv.Date, "g.check_in"),
	export.FromSQL("checkOut", csv.Date, "g.check_out"),
	export.FromSQL("nights", csv.Integer, "g.check_out - g.check_in"),
	export.FromSQL("daysSinceDeparture", csv.Integer, "case when g.status = 'departed' then g.as_of - g.check_out end"),
	export.FromSQL("bookedAt", csv.Date, "g.booked_at"),
	export.FromSQL("cancelledAt", csv.Date, "g.cancelled_at"),
	export.FromSQL("transactionReferenceId", csv.ID, "g.transaction_ref"),
	export.FromSQL("transactionDate", csv.Date, "g.transaction_date"),
	export.FromSQL("transactionDescription", csv.Text, "g.description"),
	export.FromSQL("charges", csv.Amount, "g.charges"),
	export.FromSQL("payments", csv.Amount, "g.payments"),
	export.FromSQL("total", csv.Amount, "g.payments - g.charges"),
	export.FromSQL("currency", csv.Currency, "g.currency"),
}

// guestBalancesCSV declares EXP-P13, the export of guest balances.
func guestBalancesCSV() export.Declaration[guestExport] {
	return export.Declaration[guestExport]{
		Path:    "/reports/guest-balances/csv",
		ID:      "GuestBalancesCSV",
		Tag:     "Reports",
		Summary: "Export guest balances as CSV",
		Doc: "One row per reservation with an open balance and per posting of guest money without a reservation. " +
			"The total is payments less charges: positive is held for the guest, negative is owed.",
		Format: export.CSV,
		Scopes: []string{"reports:export"},
		Name:   "guest-balances",
		Check:  report.CheckCurrencyIn(func(s *guestExport) string { return s.Currency }),
		Count: func(ctx context.Context, tx *db.Tx, s *guestExport) (export.Size, error) {
			// Building the query reads the chart of accounts, so it can fail.
			q, err := GuestQuery(ctx, tx, &s.GuestFilter)
			if err != nil {
				return export.Size{}, err
			}

			return export.CountRows(ctx, tx, q)
		},
		Render: func(ctx context.Context, tx *db.Tx, s *guestExport, out *export.Sink) error {
			q, err := GuestQuery(ctx, tx, &s.GuestFilter)
			if err != nil {
				return err
			}

			return export.RowList{Columns: export.SelectColumns(guestCells, s.Columns), Query: q}.Write(ctx, tx, out)
		},
	}
}
