package export

import (
	"context"

	"stayledger/domain/property/contact"
	"stayledger/domain/reporting/report"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/render"
	"stayledger/platform/seal"
)

// filed is a row of the export: a figure with the whole tax identifier, which a return needs.
type filed struct {
	*report.InformationReturn
	year       int64
	identifier string
}

func (f *filed) address() contact.Address {
	if f.Address == nil {
		return contact.Address{}
	}
	return *f.Address
}

var informationColumns = []goColumn[filed]{
	{render.Column{Name: "year", Kind: render.Integer}, func(f *filed) any { return int(f.year) }},
	{render.Column{Name: "form", Kind: render.Text}, func(f *filed) any { return f.Form }},
	{render.Column{Name: "box", Kind: render.Text}, func(f *filed) any { return f.Box }},
	{render.Column{Name: "contactId", Kind: render.ID}, func(f *filed) any { return f.ContactID }},
	{render.Column{Name: "name", Kind: render.Text}, func(f *filed) any { return f.Name }},
	{render.Column{Name: "companyType", Kind: render.Text}, func(f *filed) any { return f.CompanyType }},
	{render.Column{Name: "taxIdentifier", Kind: render.ID}, func(f *filed) any { return f.identifier }},
	{render.Column{Name: "addressLine1", Kind: render.Text}, func(f *filed) any { return f.address().Line1 }},
	{render.Column{Name: "addressLine2", Kind: render.Text}, func(f *filed) any { return f.address().Line2 }},
	{render.Column{Name: "city", Kind: render.Text}, func(f *filed) any { return f.address().City }},
	{render.Column{Name: "state", Kind: render.Text}, func(f *filed) any { return f.address().StateCode }},
	{render.Column{Name: "postalCode", Kind: render.ID}, func(f *filed) any { return f.address().PostalCode }},
	{render.Column{Name: "countryCode", Kind: render.Text}, func(f *filed) any { return f.address().CountryCode }},
	{render.Column{Name: "amount", Kind: render.Amount}, func(f *filed) any { return f.Amount }},
	{render.Column{Name: "currency", Kind: render.Currency}, func(*filed) any { return "usd" }},
	{render.Column{Name: "reportable", Kind: render.Bool}, func(f *filed) any { return f.Reportable }},
	{render.Column{Name: "exempt", Kind: render.Text}, func(f *filed) any { return f.Exempt }},
}

// informationReturnsCSV is the file that a filing service takes. It is the only place that gives whole tax identifiers out, so it asks for
// the right to change contacts, which no reporting key has.
func informationReturnsCSV(box *seal.Box) Declaration[report.InformationFilter] {
	return Declaration[report.InformationFilter]{
		Path: "/reports/information-returns/csv", ID: "InformationReturnsCSV", Tag: "Reports", Summary: "Export the figures for US information returns as CSV",
		Doc:    "One row per form and recipient, with the whole tax identifier.",
		Format: CSV, Scopes: []string{"reports:export", "contacts:write"}, Name: "information-returns",
		Count: func(ctx context.Context, tx *db.Tx, f *report.InformationFilter) (Size, error) {
			all, _, err := report.ReadInformationReturns(ctx, tx, *f)
			return Size{Rows: int64(len(all))}, err
		},
		Render: func(ctx context.Context, tx *db.Tx, f *report.InformationFilter, out *Sink) error {
			return renderInformationReturns(ctx, tx, box, f, out)
		},
	}
}

func renderInformationReturns(ctx context.Context, tx *db.Tx, box *seal.Box, f *report.InformationFilter, out *Sink) error {
	found, _, err := report.ReadInformationReturns(ctx, tx, *f)
	if err != nil {
		return err
	}
	people := make([]id.ID, len(found))
	for i := range found {
		people[i] = found[i].ContactID
	}
	identifiers, err := contact.TaxIdentifiers(ctx, tx, box, people)
	if err != nil {
		return err
	}
	rows := make([]filed, len(found))
	for i := range found {
		rows[i] = filed{&found[i], f.Year, identifiers[found[i].ContactID]}
	}
	return writeTable(out, informationColumns, all(rows))
}
