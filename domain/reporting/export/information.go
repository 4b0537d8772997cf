package export

import (
	"context"

	"stayledger/domain/property/contact"
	"stayledger/domain/reporting/report"
	"stayledger/platform/csv"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/seal"
)

// informationRow is a row of the export: a figure with the whole tax identifier, which a return needs.
type informationRow struct {
	*report.InformationReturn
	year       int64
	identifier string
}

// address returns the recipient's address, or an empty one if there is none.
func (f *informationRow) address() contact.Address {
	if f.Address == nil {
		return contact.Address{}
	}

	return *f.Address
}

// informationColumns are the columns that filing services expect, with the postal address in parts.
var informationColumns = []goColumn[informationRow]{
	{csv.Column{Name: "year", Kind: csv.Integer}, func(f *informationRow) any { return int(f.year) }},
	{csv.Column{Name: "form", Kind: csv.Text}, func(f *informationRow) any { return f.Form }},
	{csv.Column{Name: "box", Kind: csv.Text}, func(f *informationRow) any { return f.Box }},
	{csv.Column{Name: "contactId", Kind: csv.ID}, func(f *informationRow) any { return f.ContactID }},
	{csv.Column{Name: "name", Kind: csv.Text}, func(f *informationRow) any { return f.Name }},
	{csv.Column{Name: "companyType", Kind: csv.Text}, func(f *informationRow) any { return f.CompanyType }},
	{csv.Column{Name: "taxIdentifier", Kind: csv.ID}, func(f *informationRow) any { return f.identifier }},
	{csv.Column{Name: "addressLine1", Kind: csv.Text}, func(f *informationRow) any { return f.address().Line1 }},
	{csv.Column{Name: "addressLine2", Kind: csv.Text}, func(f *informationRow) any { return f.address().Line2 }},
	{csv.Column{Name: "city", Kind: csv.Text}, func(f *informationRow) any { return f.address().City }},
	{csv.Column{Name: "state", Kind: csv.Text}, func(f *informationRow) any { return f.address().StateCode }},
	{csv.Column{Name: "postalCode", Kind: csv.ID}, func(f *informationRow) any { return f.address().PostalCode }},
	{csv.Column{Name: "countryCode", Kind: csv.Text}, func(f *informationRow) any { return f.address().CountryCode }},
	{csv.Column{Name: "amount", Kind: csv.Amount}, func(f *informationRow) any { return f.Amount }},
	{csv.Column{Name: "currency", Kind: csv.Currency}, func(*informationRow) any { return "usd" }},
	{csv.Column{Name: "reportable", Kind: csv.Bool}, func(f *informationRow) any { return f.Reportable }},
	{csv.Column{Name: "exempt", Kind: csv.Text}, func(f *informationRow) any { return f.Exempt }},
}

// informationReturnsCSV declares the file for a filing service. No other export contains whole tax identifiers, so
// it asks for the right to change contacts, which no reporting key has.
func informationReturnsCSV(box *seal.Box) Declaration[report.InformationFilter] {
	return Declaration[report.InformationFilter]{
		Path:    "/reports/information-returns/csv",
		ID:      "InformationReturnsCSV",
		Tag:     "Reports",
		Summary: "Export the figures for US information returns as CSV",
		Doc:     "One row per form and recipient, with the whole tax identifier.",
		Format:  CSV,
		Scopes:  []string{"reports:export", "contacts:write"},
		Name:    "information-returns",
		Count: func(ctx context.Context, tx *db.Tx, f *report.InformationFilter) (Size, error) {
			all, _, err := report.ReadInformationReturns(ctx, tx, *f)
			return Size{Rows: int64(len(all))}, err
		},
		Render: func(ctx context.Context, tx *db.Tx, f *report.InformationFilter, out *Sink) error {
			return renderInformationReturns(ctx, tx, box, f, out)
		},
	}
}

// renderInformationReturns writes a row per form and recipient, with the decrypted tax identifiers.
func renderInformationReturns(
	ctx context.Context,
	tx *db.Tx,
	box *seal.Box,
	f *report.InformationFilter,
	out *Sink,
) error {
	found, _, err := report.ReadInformationReturns(ctx, tx, *f)
	if err != nil {
		return err
	}

	// The figures do not contain the identifiers: load and open those of all recipients at once.
	people := make([]id.ID, len(found))
	for i := range found {
		people[i] = found[i].ContactID
	}

	identifiers, err := contact.TaxIdentifiers(ctx, tx, box, people)
	if err != nil {
		return err
	}

	// Then join each figure with the identifier of its recipient.
	rows := make([]informationRow, len(found))
	for i := range found {
		rows[i] = informationRow{&found[i], f.Year, identifiers[found[i].ContactID]}
	}

	return writeTable(out, informationColumns, yieldRows(rows))
}
