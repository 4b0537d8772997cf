package report

import (
	"context"

	"stayledger/domain/property/contact"
	"stayledger/domain/record/export"
	"stayledger/platform/csv"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/seal"
)

// informationRow is a row of the export: a figure with the whole tax identifier, which a return needs.
type informationRow struct {
	*InformationReturn
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
var informationColumns = []export.GoColumn[informationRow]{
	export.FromRow("year", csv.Integer, func(f *informationRow) any { return int(f.year) }),
	export.FromRow("form", csv.Text, func(f *informationRow) any { return f.Form }),
	export.FromRow("box", csv.Text, func(f *informationRow) any { return f.Box }),
	export.FromRow("contactId", csv.ID, func(f *informationRow) any { return f.ContactID }),
	export.FromRow("name", csv.Text, func(f *informationRow) any { return f.Name }),
	export.FromRow("companyType", csv.Text, func(f *informationRow) any { return f.CompanyType }),
	export.FromRow("taxIdentifier", csv.ID, func(f *informationRow) any { return f.identifier }),
	export.FromRow("addressLine1", csv.Text, func(f *informationRow) any { return f.address().Line1 }),
	export.FromRow("addressLine2", csv.Text, func(f *informationRow) any { return f.address().Line2 }),
	export.FromRow("city", csv.Text, func(f *informationRow) any { return f.address().City }),
	export.FromRow("state", csv.Text, func(f *informationRow) any { return f.address().StateCode }),
	export.FromRow("postalCode", csv.ID, func(f *informationRow) any { return f.address().PostalCode }),
	export.FromRow("countryCode", csv.Text, func(f *informationRow) any { return f.address().CountryCode }),
	export.FromRow("amount", csv.Amount, func(f *informationRow) any { return f.Amount }),
	export.FromRow("currency", csv.Currency, func(*informationRow) any { return "usd" }),
	export.FromRow("reportable", csv.Bool, func(f *informationRow) any { return f.Reportable }),
	export.FromRow("exempt", csv.Text, func(f *informationRow) any { return f.Exempt }),
}

// informationReturnsCSV declares the file for a filing service. No other export contains whole tax identifiers, so
// it asks for the right to change contacts, which no reporting key has.
func informationReturnsCSV(box *seal.Box) export.Declaration[InformationFilter] {
	return export.Declaration[InformationFilter]{
		Path:    "/reports/information-returns/csv",
		ID:      "InformationReturnsCSV",
		Tag:     "Reports",
		Summary: "Export the figures for US information returns as CSV",
		Doc:     "One row per form and recipient, with the whole tax identifier.",
		Format:  export.CSV,
		Scopes:  []string{"reports:export", "contacts:write"},
		Name:    "information-returns",
		Count: func(ctx context.Context, tx *db.Tx, f *InformationFilter) (export.Size, error) {
			all, _, err := loadInformationReturns(ctx, tx, *f)
			return export.Size{Rows: int64(len(all))}, err
		},
		Render: func(ctx context.Context, tx *db.Tx, f *InformationFilter, out *export.Sink) error {
			return renderInformationReturns(ctx, tx, box, f, out)
		},
	}
}

// renderInformationReturns writes a row per form and recipient, with the decrypted tax identifiers.
func renderInformationReturns(
	ctx context.Context,
	tx *db.Tx,
	box *seal.Box,
	f *InformationFilter,
	out *export.Sink,
) error {
	found, _, err := loadInformationReturns(ctx, tx, *f)
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

	return export.WriteTable(out, informationColumns, export.YieldRows(rows))
}
