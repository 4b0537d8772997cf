package export

import (
	"context"

	"stayledger/domain/reporting/trust"
	"stayledger/platform/csv"
	"stayledger/platform/db"
)

// taxSelection is the selector of the CSV: the filters of GET /reports/sales-tax-liability, and the columns.
type taxSelection struct {
	trust.TaxFilter
	Columns []taxColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// taxColumn is a column of the sales-tax liability.
type taxColumn string

// Enum returns the names of the columns in their own order.
func (taxColumn) Enum() []string { return columnNames(taxCells) }

// taxCells are the columns. A stay with entries in two listings has a row for each.
var taxCells = []sqlColumn{
	{csv.Column{Name: "startDate", Kind: csv.Date}, "@start::date"},
	{csv.Column{Name: "endDate", Kind: csv.Date}, "@end::date"},
	{csv.Column{Name: "listingId", Kind: csv.ID}, "b.listing_id"},
	{csv.Column{Name: "listing", Kind: csv.Text}, "b.listing_name"},
	{csv.Column{Name: "channel", Kind: csv.Text}, "b.booking_platform"},
	{csv.Column{Name: "reservationId", Kind: csv.ID}, "b.reservation_id"},
	{csv.Column{Name: "confirmationCode", Kind: csv.ID}, "b.confirmation_code"},
	{csv.Column{Name: "guestName", Kind: csv.Text}, "b.guest_name"},
	{csv.Column{Name: "checkIn", Kind: csv.Date}, "b.check_in"},
	{csv.Column{Name: "checkOut", Kind: csv.Date}, "b.check_out"},
	{csv.Column{Name: "nights", Kind: csv.Integer}, "b.check_out - b.check_in"},
	{csv.Column{Name: "bookedAt", Kind: csv.Date}, "b.booked_at"},
	{csv.Column{Name: "taxableIncome", Kind: csv.Amount}, "b.income"},
	{csv.Column{Name: "collectableTaxes", Kind: csv.Amount}, "b.taxes"},
	{csv.Column{Name: "currency", Kind: csv.Currency}, "b.currency"},
}

// salesTaxCSV declares EXP-P32, the export of the sales-tax liability.
func salesTaxCSV() Declaration[taxSelection] {
	return Declaration[taxSelection]{
		Path:    "/reports/sales-tax-liability/csv",
		ID:      "SalesTaxLiabilityCSV",
		Tag:     "Reports",
		Summary: "Export the sales-tax liability as CSV",
		Doc: "One row per reservation, by listing and channel, over all pages: the taxable income and the taxes " +
			"that the guest was charged. Fails with the issue `notFound` for an unknown id among `taxableLineIds`.",
		Format: CSV,
		Scopes: []string{"reports:export"},
		Name:   "sales-tax-liability",
		Check: func(ctx context.Context, tx *db.Tx, s *taxSelection) error {
			// Building the query checks everything, including the lines that are named.
			_, err := trust.TaxQuery(ctx, tx, &s.TaxFilter)
			return err
		},
		Count: func(ctx context.Context, tx *db.Tx, s *taxSelection) (Size, error) {
			q, err := trust.TaxQuery(ctx, tx, &s.TaxFilter)
			if err != nil {
				return Size{}, err
			}

			return countRows(ctx, tx, q)
		},
		Render: func(ctx context.Context, tx *db.Tx, s *taxSelection, out *Sink) error {
			q, err := trust.TaxQuery(ctx, tx, &s.TaxFilter)
			if err != nil {
				return err
			}

			return rowList{columns: selectColumns(taxCells, s.Columns), query: q}.write(ctx, tx, out)
		},
	}
}
