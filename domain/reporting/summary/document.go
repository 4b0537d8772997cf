package summary

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"stayledger/domain/record/export"
	"stayledger/domain/record/paper"
	"stayledger/domain/reporting/report"
	"stayledger/domain/settlement/layout"
	"stayledger/platform/db"
	"stayledger/platform/money"
)

// summaryDocument is the selector of the PDF of all owners.
type summaryDocument struct {
	Filter
	report.DocumentLocale
}

// summariesPDF declares EXP-P31, the document of all owners.
func summariesPDF() export.Declaration[summaryDocument] {
	return export.Declaration[summaryDocument]{
		Path:    Path + "/pdf",
		ID:      "OwnerStatementSummariesPDF",
		Tag:     "Reports",
		Summary: "Export the owners' summaries as PDF",
		Doc:     "A table of all owners with their parts of the selected statements." + summaryRefusals,
		Format:  export.PDF,
		Scopes:  []string{"reports:export"},
		Name:    "owner-summaries",
		Check: func(_ context.Context, _ *db.Tx, s *summaryDocument) error {
			return report.CheckCurrency(s.Currency)
		},
		Count: func(ctx context.Context, tx *db.Tx, s *summaryDocument) (export.Size, error) {
			owners, _, err := countOwnerSummaries(ctx, tx, &s.Filter)
			return report.EstimatePages(export.Size{Rows: owners}), err
		},
		Render: renderSummaries,
	}
}

// renderSummaries writes the table of all owners.
func renderSummaries(ctx context.Context, tx *db.Tx, s *summaryDocument, out *export.Sink) error {
	found, err := loadOwnerSummaries(ctx, tx, &s.Filter)
	if err != nil {
		return err
	}

	doc, err := summaryHead(ctx, tx, &s.Period, s.Locale)
	if err != nil {
		return err
	}

	// The currency of the document is the one that the summaries were computed in.
	doc.Title = "Owner summaries"
	doc.Currency = strings.ToUpper(string(found.Currency))
	doc.Summary = summaryLines(&found.Totals)
	doc.Facts = []paper.Fact{{Label: "Owners", Value: strconv.Itoa(len(found.Owners))}}

	doc.Tables = []paper.ReportTable{ownersTable(found)}

	return report.WriteDocument(out, &doc)
}

// ownersTable returns a table with a row per owner. Adjustments have a column only if the total has any.
func ownersTable(found *AllSummaries) paper.ReportTable {
	adjusted := found.Totals.Adjustments != 0

	// Owners and the total have the same cells.
	cells := func(name string, f *Financials) []any {
		return append(append([]any{name}, figureCells(&f.Figures, adjusted)...), f.Reserve, f.CurrentBalance)
	}

	t := paper.ReportTable{
		Title: "Owners", Total: &paper.ReportRow{Cells: cells("Total", &found.Totals)},
		Columns: slices.Concat(
			[]paper.ReportColumn{paper.TextColumn("Owner")},
			figureHeads(adjusted),
			paper.AmountColumns("Reserve", "Current balance"),
		),
	}
	for i := range found.Owners {
		o := &found.Owners[i]

		row := paper.ReportRow{Cells: cells(o.Contact.Name, &o.Financials)}
		if o.Contact.Email != nil {
			row.Below = *o.Contact.Email
		}

		t.Rows = append(t.Rows, row)
	}

	return t
}

// summaryHead returns the parts that all documents of a period have.
func summaryHead(ctx context.Context, tx *db.Tx, p *Period, locale string) (paper.ReportDoc, error) {
	first, last := p.firstDay(), p.lastDay()

	// The currency is known only after the summaries are read.
	doc, err := report.DocumentHead(ctx, tx, "", last.Day)
	doc.Subtitle, doc.Locale = paper.MonthsText(first.Day, last.Day, locale), locale

	return doc, err
}

// figureHeads returns the columns of an owner's figures in a table, with the adjustments if adjusted.
func figureHeads(adjusted bool) []paper.ReportColumn {
	heads := []string{"Balance start", "Net revenue", "Expenses", "Payouts"}
	if adjusted {
		heads = append(heads, "Adjustments")
	}

	return paper.AmountColumns(append(heads, "Balance end")...)
}

// figureCells returns an owner's figures in the order of figureHeads.
func figureCells(f *Figures, adjusted bool) []any {
	cells := []any{f.BalanceStart, f.NetRevenue, f.Expenses, f.Payouts}
	if adjusted {
		cells = append(cells, f.Adjustments)
	}

	return append(cells, f.BalanceEnd)
}

// summaryLines returns the summary of a document, from the balance at the start to the one at the end.
func summaryLines(f *Financials) []paper.SummaryLine {
	lines := []paper.SummaryLine{
		{Label: "Balance start", Cents: f.BalanceStart},
		{Label: "Net revenue", Cents: f.NetRevenue},
		{Label: "Expenses", Cents: f.Expenses},
		{Label: "Payouts", Cents: f.Payouts},
	}
	if f.Adjustments != 0 {
		lines = append(lines, paper.SummaryLine{Label: "Adjustments", Cents: f.Adjustments})
	}

	return append(lines, paper.SummaryLine{Label: "Balance end", Cents: f.BalanceEnd, Emphasis: true})
}

// ownedLocaleSelection is the body of the selector: the filters of an owner's statements, and the language.
type ownedLocaleSelection struct {
	Period
	report.DocumentLocale
}

// ownedDocument is the selector of the PDF of one owner.
type ownedDocument struct {
	owned
	ownedLocaleSelection
}

// queuedDocument is the input of its POST: the path and the body.
type queuedDocument struct {
	owned
	export.Queued[ownedLocaleSelection]
}

// Selector returns the selector from path and body.
func (in *queuedDocument) Selector() *ownedDocument { return &ownedDocument{in.owned, in.Body} }

// summaryDetailPDF declares EXP-P30, the document of the statements behind an owner's summary.
func summaryDetailPDF() export.Declaration[ownedDocument] {
	return export.Declaration[ownedDocument]{
		Path:    Path + "/details/{contactId}/pdf",
		ID:      "OwnerStatementSummaryPDF",
		Tag:     "Reports",
		Summary: "Export the statements behind an owner's summary as PDF",
		Doc: "The owner's part of each selected statement, and of the columns of their layouts " +
			"added up." + ownedRefusals,
		Format: export.PDF,
		Scopes: []string{"reports:export"},
		Name:   "owner-summary",
		Check: func(ctx context.Context, tx *db.Tx, s *ownedDocument) error {
			return checkOwned(ctx, tx, s.owned, &s.Period)
		},
		Count: func(ctx context.Context, tx *db.Tx, s *ownedDocument) (export.Size, error) {
			n, err := countOwnerStatements(ctx, tx, s.ContactID, &s.Period)
			return report.EstimatePages(export.Size{Rows: n}), err
		},
		Render: renderOwnerSummary,
	}
}

// renderOwnerSummary writes a table of an owner's statements, and one for each of their layouts.
func renderOwnerSummary(ctx context.Context, tx *db.Tx, s *ownedDocument, out *export.Sink) error {
	doc, err := summaryHead(ctx, tx, &s.Period, s.Locale)
	if err != nil {
		return err
	}

	var statements []*OwnerStatement

	// The detail is complete only after the last statement, so keep the statements until then.
	d, err := loadOwnerDetail(ctx, tx, s.ContactID, &s.Period, func(one *OwnerStatement) error {
		statements = append(statements, one)
		return nil
	})
	if err != nil {
		return err
	}

	doc.Title = "Owner summary"
	doc.Currency = strings.ToUpper(string(d.Currency))
	doc.Summary = summaryLines(&d.Financials)

	// Then the tables: the statements, and the columns of each layout added up.
	doc.Facts = ownerFacts(d, s.Locale)
	if len(statements) > 0 {
		doc.Tables = append(doc.Tables, ownerTable(d, statements, s.Locale))
	}

	for i := range d.Layouts {
		doc.Tables = append(doc.Tables, layoutTable(&d.Layouts[i]))
	}

	return report.WriteDocument(out, &doc)
}

// ownerFacts returns the lines at the head of the document: the owner, the listings, the reserve and the current
// balance.
func ownerFacts(d *OwnerDetail, locale string) []paper.Fact {
	facts := []paper.Fact{{Label: "Owner", Value: d.Contact.Name}}
	if d.Contact.Email != nil {
		facts = append(facts, paper.Fact{Label: "E-mail", Value: *d.Contact.Email})
	}

	// Facts are texts, so amounts are written in the language of the document.
	cents := func(v money.Cents) string { return paper.AmountText(v, string(d.Currency), locale) }

	return append(
		facts,
		paper.Fact{Label: "Listings", Value: strconv.FormatInt(d.Listings, 10)},
		paper.Fact{Label: "Reserve", Value: cents(d.Financials.Reserve)},
		paper.Fact{Label: "Current balance", Value: cents(d.Financials.CurrentBalance)},
	)
}

// ownerTable returns a table with a row per statement, and one where the balance changed between two statements.
func ownerTable(d *OwnerDetail, statements []*OwnerStatement, locale string) paper.ReportTable {
	// Adjustments have a column if the total or any statement has one: those of statements can cancel out.
	adjusted := d.Financials.Adjustments != 0 ||
		slices.ContainsFunc(statements, func(one *OwnerStatement) bool {
			return one.Financials.Adjustments != 0
		})
	t := paper.ReportTable{
		Title: "Statements",
		Total: &paper.ReportRow{
			Cells: append([]any{"Total", nil, nil}, figureCells(&d.Financials.Figures, adjusted)...),
		},
		Columns: append([]paper.ReportColumn{
			{Head: "Listing", Kind: paper.ReportText},
			{Head: "Month", Kind: paper.ReportText},
			{Head: "Share", Kind: paper.ReportPercent},
		}, figureHeads(adjusted)...),
	}

	// The statements of one ownership come one after the other, so a gap shows between neighbours.
	for i, one := range statements {
		if i > 0 {
			t.Rows = append(t.Rows, gapRows(statements[i-1], one)...)
		}

		t.Rows = append(t.Rows, paper.ReportRow{
			Cells: append([]any{
				one.Listing.Name,
				paper.ShortMonthText(one.StartAt.String(), locale),
				money.Rate(one.Split).Percent(),
			}, figureCells(&one.Financials, adjusted)...),
			Below: one.Status.Title(),
		})
	}

	return t
}

// gapRows returns a row for the change of an ownership's balance from one statement to the next. It returns none if
// the balance did not change, or if the statements are of different ownerships.
func gapRows(before, after *OwnerStatement) []paper.ReportRow {
	change := after.Financials.BalanceStart - before.Financials.BalanceEnd
	if before.OwnershipPeriodID != after.OwnershipPeriodID || change == 0 {
		return nil
	}

	// Only the adjustment has a value in this row; the other figures are empty instead of zero.
	figures := figureCells(&Figures{Adjustments: change}, true)
	for i := range figures {
		if figures[i] != change {
			figures[i] = nil
		}
	}

	return []paper.ReportRow{{
		Cells: append([]any{after.Listing.Name, nil, nil}, figures...),
		Below: "Between these statements",
	}}
}

// layoutTable returns a table with a row per column of a layout, since layouts have more columns than fit on a
// page. Subtotals are rows of their own, next to the columns that they add up.
func layoutTable(l *LayoutSummary) paper.ReportTable {
	t := paper.ReportTable{Title: "By column: " + l.Name, Columns: []paper.ReportColumn{
		{Head: "Column", Kind: paper.ReportText}, {Head: "Amount", Kind: paper.ReportAmount},
	}}

	// Each section is a group of rows under its name.
	for i := range l.Sections {
		s := &l.Sections[i]

		t.Rows = append(t.Rows, paper.ReportRow{Style: paper.GroupRow, Cells: []any{s.Name}})
		for k := range s.Columns {
			row := paper.ReportRow{Level: 1, Cells: []any{s.Columns[k].Name, s.Columns[k].Amount}}
			if s.Columns[k].Type == layout.SubTotal {
				row.Style = paper.SubtotalRow
			}

			t.Rows = append(t.Rows, row)
		}
	}

	return t
}
