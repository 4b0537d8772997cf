package export

import (
	"context"

	"stayledger/domain/reporting/report"
	"stayledger/platform/db"
	"stayledger/platform/render"
)

// taxSelection are the filters of GET /reports/sales-tax-liability, and the columns.
type taxSelection struct {
	report.TaxFilter
	Columns []taxColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"Columns in this order; all when absent."`
}

// taxColumn is a column of the sales-tax liability.
type taxColumn string

// Enum lists the columns in their own order.
func (taxColumn) Enum() []string { return namesOf(taxCells) }

// taxCells are the columns. A stay whose entries are in two listings has a row for each.
var taxCells = []sqlColumn{
	{render.Column{Name: "startDate", Kind: render.Date}, "@start::date"},
	{render.Column{Name: "endDate", Kind: render.Date}, "@end::date"},
	{render.Column{Name: "listingId", Kind: render.ID}, "b.listing_id"},
	{render.Column{Name: "listing", Kind: render.Text}, "b.listing_name"},
	{render.Column{Name: "channel", Kind: render.Text}, "b.booking_platform"},
	{render.Column{Name: "reservationId", Kind: render.ID}, "b.reservation_id"},
	{render.Column{Name: "confirmationCode", Kind: render.ID}, "b.confirmation_code"},
	{render.Column{Name: "guestName", Kind: render.Text}, "b.guest_name"},
	{render.Column{Name: "checkIn", Kind: render.Date}, "b.check_in"},
	{render.Column{Name: "checkOut", Kind: render.Date}, "b.check_out"},
	{render.Column{Name: "nights", Kind: render.Integer}, "b.check_out - b.check_in"},
	{render.Column{Name: "bookedAt", Kind: render.Date}, "b.booked_at"},
	{render.Column{Name: "taxableIncome", Kind: render.Amount}, "b.income"},
	{render.Column{Name: "collectableTaxes", Kind: render.Amount}, "b.taxes"},
	{render.Column{Name: "currency", Kind: render.Currency}, "b.currency"},
}

// salesTaxCSV is EXP-P32.
func salesTaxCSV() Declaration[taxSelection] {
	return Declaration[taxSelection]{
		Path: "/reports/sales-tax-liability/csv", ID: "SalesTaxLiabilityCSV", Tag: "Reports", Summary: "Export the sales-tax liability as CSV",
		Doc: "One row per reservation, by listing and channel, over all pages: the taxable income and the taxes that the guest was charged. Fails with " +
			"the issue `notFound` for an unknown id among `taxableLineIds`.",
		Format: CSV, Scopes: []string{"reports:export"}, Name: "sales-tax-liability",
		Check: func(ctx context.Context, tx *db.Tx, s *taxSelection) error {
			_, err := report.TaxQuery(ctx, tx, &s.TaxFilter)
			return err
		},
		Count: func(ctx context.Context, tx *db.Tx, s *taxSelection) (Size, error) {
			q, err := report.TaxQuery(ctx, tx, &s.TaxFilter)
			if err != nil {
				return Size{}, err
			}
			return countRows(ctx, tx, q)
		},
		Render: func(ctx context.Context, tx *db.Tx, s *taxSelection, out *Sink) error {
			q, err := report.TaxQuery(ctx, tx, &s.TaxFilter)
			if err != nil {
				return err
			}
			return rowList{columns: chosen(taxCells, s.Columns), query: q}.write(ctx, tx, out)
		},
	}
}
