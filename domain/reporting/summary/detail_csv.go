package summary

import (
	"context"
	"slices"

	"stayledger/domain/record/export"
	"stayledger/domain/reporting/report"
	"stayledger/platform/csv"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// owned is the part of a selector that names the owner in the path.
type owned struct {
	ContactID id.ID `path:"contactId" json:"contactId"`
}

// ownedColumnSelection is the body of the selector: the filters of an owner's statements, and the columns.
type ownedColumnSelection struct {
	Period
	Columns []ownedColumn `query:"columns" json:"columns,omitempty" uniqueItems:"true" doc:"In this order; default: all. layoutColumns are those of the layouts."`
}

// ownedRows is the selector of the CSV of one owner.
type ownedRows struct {
	owned
	ownedColumnSelection
}

// queuedRows is the input of its POST: the path and the body.
type queuedRows struct {
	owned
	export.Queued[ownedColumnSelection]
}

// Selector returns the selector from path and body.
func (in *queuedRows) Selector() *ownedRows { return &ownedRows{in.owned, in.Body} }

// ownedColumn is a column of the CSV of one owner.
type ownedColumn string

// Enum returns the names of the columns in their own order, and the placeholder of the layouts' columns.
func (ownedColumn) Enum() []string { return append(export.ColumnNames(ownedColumns), layoutColumns) }

// layoutColumns is the name that a selector uses for all columns of the layouts.
const layoutColumns = "layoutColumns"

// ownedRow is a statement and its owner.
type ownedRow struct {
	contact  *Contact
	currency string
	*OwnerStatement
}

// ownedColumns are the columns that every statement has, in the signs that owners see.
var ownedColumns = []export.GoColumn[ownedRow]{
	export.FromRow("contactId", csv.ID, func(r *ownedRow) any { return r.contact.ContactID }),
	export.FromRow("name", csv.Text, func(r *ownedRow) any { return r.contact.Name }),
	export.FromRow("listingId", csv.ID, func(r *ownedRow) any { return r.Listing.ID }),
	export.FromRow("listing", csv.Text, func(r *ownedRow) any { return r.Listing.Name }),
	export.FromRow("ownershipPeriodId", csv.ID, func(r *ownedRow) any { return r.OwnershipPeriodID }),
	export.FromRow("statementId", csv.ID, func(r *ownedRow) any { return r.ID }),
	export.FromRow("shortRef", csv.ID, func(r *ownedRow) any { return r.ShortRef }),
	export.FromRow("startAt", csv.Date, func(r *ownedRow) any { return r.StartAt }),
	export.FromRow("endAt", csv.Date, func(r *ownedRow) any { return r.EndAt }),
	export.FromRow("status", csv.Text, func(r *ownedRow) any { return r.Status }),
	export.FromRow("split", csv.Text, func(r *ownedRow) any { return money.Rate(r.Split).Percent() }),
	export.FromRow("layoutId", csv.ID, func(r *ownedRow) any { return r.Layout.ID }),
	export.FromRow("layout", csv.Text, func(r *ownedRow) any { return r.Layout.Name }),
	export.FromRow("currency", csv.Currency, func(r *ownedRow) any { return r.currency }),
	export.FromRow("balanceStart", csv.Amount, func(r *ownedRow) any { return r.Financials.BalanceStart }),
	export.FromRow("netRevenue", csv.Amount, func(r *ownedRow) any { return r.Financials.NetRevenue }),
	export.FromRow("expenses", csv.Amount, func(r *ownedRow) any { return r.Financials.Expenses }),
	export.FromRow("netIncome", csv.Amount, func(r *ownedRow) any { return r.Financials.NetIncome }),
	export.FromRow("payouts", csv.Amount, func(r *ownedRow) any { return r.Financials.Payouts }),
	export.FromRow("adjustments", csv.Amount, func(r *ownedRow) any { return r.Financials.Adjustments }),
	export.FromRow("balanceEnd", csv.Amount, func(r *ownedRow) any { return r.Financials.BalanceEnd }),
	export.FromRow("reserve", csv.Amount, func(r *ownedRow) any { return r.Financials.Reserve }),
}

// layoutColumn identifies a column of the layouts: columns of several layouts with the same names are one.
type layoutColumn struct{ kind, section, column string }

// value returns the amount of the column in a statement, or nil if the statement's layout does not have it.
func (c layoutColumn) value(r *ownedRow) any {
	for i := range r.Sections {
		s := &r.Sections[i]
		if s.Kind != c.kind || s.Name != c.section {
			continue
		}

		for n := range s.Columns {
			if s.Columns[n].Name == c.column {
				return s.Columns[n].Amount
			}
		}
	}

	return nil
}

// listLayoutColumns returns the columns of all layouts, each with its section in the name. If a name appears a second
// time, in a section of the other kind, the kind is added.
func listLayoutColumns(layouts []LayoutSummary) []export.GoColumn[ownedRow] {
	var (
		at  []layoutColumn
		out []export.GoColumn[ownedRow]
	)

	for i := range layouts {
		for j := range layouts[i].Sections {
			s := &layouts[i].Sections[j]
			for k := range s.Columns {
				c := layoutColumn{s.Kind, s.Name, s.Columns[k].Name}

				// Another layout has the same column: it is one column of the file.
				if slices.Contains(at, c) {
					continue
				}

				at = append(at, c)

				// The name must be unique in the file.
				name := c.section + ": " + c.column
				if slices.ContainsFunc(out, func(o export.GoColumn[ownedRow]) bool { return o.Name == name }) {
					name += " (" + c.kind + ")"
				}

				out = append(out, export.FromRow(name, csv.Amount, c.value))
			}
		}
	}

	return out
}

// columns returns the columns that the selection names, with the layout columns at their placeholder. Without names it
// returns all columns, with the layout columns at the end.
func (s *ownedColumnSelection) columns(laid []export.GoColumn[ownedRow]) []export.GoColumn[ownedRow] {
	if len(s.Columns) == 0 {
		return append(slices.Clone(ownedColumns), laid...)
	}

	var out []export.GoColumn[ownedRow]

	for _, name := range s.Columns {
		// The placeholder becomes as many columns as the layouts have.
		if name == layoutColumns {
			out = append(out, laid...)
			continue
		}

		isNamed := func(c export.GoColumn[ownedRow]) bool { return c.Name == string(name) }
		if i := slices.IndexFunc(ownedColumns, isNamed); i >= 0 {
			out = append(out, ownedColumns[i])
		}
	}

	return export.AddCurrency(out, ownedColumns)
}

const ownedRefusals = " Fails with 404 for a contact that the team does not have." + summaryRefusals

// checkOwned refuses an unknown contact and an invalid currency.
func checkOwned(ctx context.Context, tx *db.Tx, o owned, p *Period) error {
	if _, err := loadContact(ctx, tx, o.ContactID); err != nil {
		return err
	}

	return report.CheckCurrency(p.Currency)
}

// summaryDetailCSV declares EXP-P29, the export of the statements behind an owner's summary.
func summaryDetailCSV() export.Declaration[ownedRows] {
	return export.Declaration[ownedRows]{
		Path:    Path + "/details/{contactId}/csv",
		ID:      "OwnerStatementSummaryCSV",
		Tag:     "Reports",
		Summary: "Export the statements behind an owner's summary as CSV",
		Doc: "One row per statement: the owner's part of it, and of the columns with an amount of its layout. A " +
			"column that a statement's layout does not have is empty." + ownedRefusals,
		Format: export.CSV,
		Scopes: []string{"reports:export"},
		Name:   "owner-summary",
		Check: func(ctx context.Context, tx *db.Tx, s *ownedRows) error {
			return checkOwned(ctx, tx, s.owned, &s.Period)
		},
		Count: func(ctx context.Context, tx *db.Tx, s *ownedRows) (export.Size, error) {
			n, err := countOwnerStatements(ctx, tx, s.ContactID, &s.Period)
			return export.Size{Rows: n}, err
		},
		Render: renderSummaryDetail,
	}
}

// renderSummaryDetail writes a row per statement. It keeps an owner's statements in memory, because the columns are
// those of all their layouts.
func renderSummaryDetail(ctx context.Context, tx *db.Tx, s *ownedRows, out *export.Sink) error {
	var rows []ownedRow

	d, err := loadOwnerDetail(ctx, tx, s.ContactID, &s.Period, func(one *OwnerStatement) error {
		rows = append(rows, ownedRow{OwnerStatement: one})
		return nil
	})
	if err != nil {
		return err
	}

	// Contact and currency are read last, so add them to the rows now.
	for i := range rows {
		rows[i].contact, rows[i].currency = &d.Contact, string(d.Currency)
	}

	return export.WriteTable(out, s.columns(listLayoutColumns(d.Layouts)), export.YieldRows(rows))
}
