package trust

import (
	"context"

	"stayledger/domain/record/export"
	"stayledger/platform/csv"
	"stayledger/platform/db"
)

// taxSelection is the selector of the CSV: the filters of GET /reports/sales-tax-liability, and the columns.
type taxSelection struct {
	TaxFilter
	Columns []taxColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all."`
}

// taxColumn is a column of the sales-tax liability.
type taxColumn string

// Enum returns the names of the columns in their own order.
func (taxColumn) Enum() []string { return export.ColumnNames(taxCells) }

// taxCells are the columns. A stay with entries in two listings has a row for each.
var taxCells = []export.SQLColumn{
	export.FromSQL("startDate", csv.Date, "@start::date"),
	export.FromSQL("endDate", csv.Date, "@end::date"),
	export.FromSQL("listingId", csv.ID, "b.listing_id"),
	export.FromSQL("listing", csv.Text, "b.listing_name"),
	export.FromSQL("channel", csv.Text, "b.booking_platform"),
	export.FromSQL("reservationId", csv.ID, "b.reservation_id"),
	export.FromSQL("confirmationCode", csv.ID, "b.confirmation_code"),
	export.FromSQL("guestName", csv.Text, "b.guest_name"),
	export.FromSQL("checkIn", csv.Date, "b.check_in"),
	export.FromSQL("checkOut", csv.Date, "b.check_out"),
	export.FromSQL("nights", csv.Integer, "b.check_out - b.check_in"),
	export.FromSQL("bookedAt", csv.Date, "b.booked_at"),
	export.FromSQL("taxableIncome", csv.Amount, "b.income"),
	export.FromSQL("collectableTaxes", csv.Amount, "b.taxes"),
	export.FromSQL("currency", csv.Currency, "b.currency"),
}

// salesTaxCSV declares EXP-P32, the export of the sales-tax liability.
func salesTaxCSV() export.Declaration[taxSelection] {
	return export.Declaration[taxSelection]{
		Path:    "/reports/sales-tax-liability/csv",
		ID:      "SalesTaxLiabilityCSV",
		Tag:     "Reports",
		Summary: "Export the sales-tax liability as CSV",
		Doc: "One row per reservation, by listing and channel: the taxable income and the taxes " +
			"that the guest was charged. Fails with the issue `notFound` for an unknown id among `taxableLineIds`.",
		Format: export.CSV,
		Scopes: []string{"reports:export"},
		Name:   "sales-tax-liability",
		Check: func(ctx context.Context, tx *db.Tx, s *taxSelection) error {
			// Building the query checks everything, including the lines that are named.
			_, err := TaxQuery(ctx, tx, &s.TaxFilter)
			return err
		},
		Count: func(ctx context.Context, tx *db.Tx, s *taxSelection) (export.Size, error) {
			q, err := TaxQuery(ctx, tx, &s.TaxFilter)
			if err != nil {
				return export.Size{}, err
			}

			return export.CountRows(ctx, tx, q)
		},
		Render: func(ctx context.Context, tx *db.Tx, s *taxSelection, out *export.Sink) error {
			q, err := TaxQuery(ctx, tx, &s.TaxFilter)
			if err != nil {
				return err
			}

			return export.RowList{Columns: export.SelectColumns(taxCells, s.Columns), Query: q}.Write(ctx, tx, out)
		},
	}
}
