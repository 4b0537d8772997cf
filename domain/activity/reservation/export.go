package reservation

import (
	"context"
	"slices"

	"stayledger/domain/record/export"
	"stayledger/platform/api"
	"stayledger/platform/csv"
	"stayledger/platform/db"
)

// Callers know these schemas by the names of package export.
var (
	_ = api.PublishAs[exportSelection]("ExportReservationSelection")
	_ = api.PublishAs[exportColumn]("ExportReservationColumn")
)

// exportSelection is the selector of the CSV: the filters of GET /reservations, and the columns.
type exportSelection struct {
	Filter
	Sort    Sort           `query:"sort" json:"sort,omitempty" doc:"Default -checkIn."`
	Columns []exportColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all."`
}

// exportColumn is a column of the CSV.
type exportColumn string

// Enum returns the names of the columns in their own order.
func (exportColumn) Enum() []string { return export.ColumnNames(exportColumns) }

// exportColumns are the columns of the CSV, which has a row per reservation. The amounts from rent to
// adjustments are those that count, and add up to total. The column other has every line type without a column of
// its own.
var exportColumns = slices.Concat(
	export.FromTable(reservationTable, "r", "id", "shortRef", "uniqueRef", "confirmationCode", "pmsReferenceCode",
		"type", "status"),
	[]export.SQLColumn{
		export.FromSQL(
			"generalLedgerStatus", csv.Text, "case when "+keptOut+" then 'inactive' else r.general_ledger_status end",
		),
		export.FromSQL("listingId", csv.ID, "r.listing_id"),
		export.FromSQL("listing", csv.Text, "l.name"),
	},
	export.FromTable(reservationTable, "r", "guestName", "bookerName", "guests", "bookingPlatform", "appId",
		"bookedAt", "checkIn", "checkOut"),
	[]export.SQLColumn{
		export.FromSQL("nights", csv.Integer, "r.check_out - r.check_in"),
	},
	export.FromTable(reservationTable, "r", "cancelledAt", "generalLedgerPostingAt"),
	[]export.SQLColumn{
		export.FromSQL("rent", csv.Amount, "coalesce(stated.rent, 0)::bigint"),
		export.FromSQL("cleaningFee", csv.Amount, "coalesce(stated.cleaning_fee, 0)::bigint"),
		export.FromSQL("guestFee", csv.Amount, "coalesce(stated.guest_fee, 0)::bigint"),
		export.FromSQL("tax", csv.Amount, "coalesce(stated.tax, 0)::bigint"),
		export.FromSQL("discount", csv.Amount, "coalesce(stated.discount, 0)::bigint"),
		export.FromSQL("other", csv.Amount, "coalesce(stated.other, 0)::bigint"),
		export.FromSQL("adjustments", csv.Amount, "coalesce(adjusted.amount, 0)::bigint"),
		export.FromSQL("total", csv.Amount, "f.expected::bigint"),
		export.FromSQL("paid", csv.Amount, "f.received::bigint"),
		export.FromSQL("balance", csv.Amount, "(f.expected - f.received)::bigint"),
	},
	export.FromTable(reservationTable, "r", "expectedPayout", "expectedChannelFee", "expectedProcessingFee",
		"currency"),
	[]export.SQLColumn{
		export.FromSQL("paymentStatus", csv.Text, "payment.status"),
	},
	export.FromTable(reservationTable, "r", "createdAt", "updatedAt"),
)

// reservationsCSV declares EXP-P05, the export of reservations.
func reservationsCSV() export.Declaration[exportSelection] {
	return export.Declaration[exportSelection]{
		Path: "/reservations/csv", ID: "ReservationsCSV", Tag: "Reservations", Summary: "Export reservations as CSV",
		Doc: "One row per reservation. rent, cleaningFee, guestFee, tax, discount, other (lines of any other type) " +
			"and adjustments are the amounts that count and add up to total; balance is total less paid.",
		Format: export.CSV, Scopes: []string{"reservations:export"}, Name: "reservations",
		Count: func(ctx context.Context, tx *db.Tx, s *exportSelection) (export.Size, error) {
			// Counting needs none of the amounts, so it takes the query of the list.
			return export.CountRows(ctx, tx, listQuery(tx, &s.Filter))
		},
		Render: func(ctx context.Context, tx *db.Tx, s *exportSelection, out *export.Sink) error {
			// moneyQuery selects the same reservations and joins their amounts.
			return export.RowList{
				Columns: export.SelectColumns(exportColumns, s.Columns),
				Query:   moneyQuery(tx, &s.Filter),
				Sort:    string(s.Sort),
			}.Write(ctx, tx, out)
		},
	}
}
