package trust

import (
	"context"
	"fmt"
	"strconv"

	"stayledger/domain/record/export"
	"stayledger/domain/record/paper"
	"stayledger/domain/reporting/report"
	"stayledger/platform/db"
	"stayledger/platform/money"
)

// trustListingDocument is the selector of the PDF of the trust reconciliation by listing: its filters, and the
// language.
type trustListingDocument struct {
	ListingTrustFilter
	report.DocumentLocale
}

// trustByListingPDF declares EXP-P26, the document of a trust reconciliation by listing.
func trustByListingPDF() export.Declaration[trustListingDocument] {
	return export.Declaration[trustListingDocument]{
		Path: "/reports/trust-reconciliation/by-listing/pdf", ID: "TrustReconciliationByListingPDF", Tag: "Reports",
		Summary: "Export a trust reconciliation by listing as PDF",
		Doc: "A table of the money that the trust holds for each listing and the parties it is owed to, with " +
			"warnings below. Kinds that no listing has are left out.",
		Format: export.PDF, Scopes: []string{"reports:export"}, Name: "trust-reconciliation-by-listing",
		Check: report.CheckCurrencyIn(func(s *trustListingDocument) string { return s.Currency }),
		Count: func(ctx context.Context, tx *db.Tx, _ *trustListingDocument) (export.Size, error) {
			rows, err := countListings(ctx, tx)
			return report.EstimatePages(rows), err
		},
		Render: renderTrustByListing,
	}
}

// listingClaims are the columns of the document.
var listingClaims = []struct {
	head  string
	cents func(r *ListingTrust) money.Cents
}{
	{"Guests", func(r *ListingTrust) money.Cents { return r.GuestBalances.CentTotal }},
	{"Deferred", func(r *ListingTrust) money.Cents { return r.DeferredRevenue.CentTotal }},
	{"Taxes", func(r *ListingTrust) money.Cents { return r.Taxes.CentTotal }},
	{"Payable", func(r *ListingTrust) money.Cents { return r.AccountsPayable.CentTotal }},
	{"Deposits", func(r *ListingTrust) money.Cents { return r.SecurityDeposits.CentTotal }},
	{"Operating", func(r *ListingTrust) money.Cents { return r.DueToFromTrust.CentTotal }},
	{"Owners", func(r *ListingTrust) money.Cents { return r.OwnerBalances.CentTotal }},
	{"Manager", func(r *ListingTrust) money.Cents { return r.ManagerBalance.CentTotal }},
	{"Elsewhere", func(r *ListingTrust) money.Cents { return r.FundsHeldElsewhere.CentTotal }},
	{"Nobody's", func(r *ListingTrust) money.Cents { return r.TrustSurplus.CentTotal + r.Other.CentTotal }},
	{"Total", func(r *ListingTrust) money.Cents { return r.CentTotal }},
}

// listingLine is the part of a row that the document shows. The report's own row takes many times its memory.
type listingLine struct {
	name     string
	cents    []money.Cents
	warnings []paper.ReportRow
}

// renderTrustByListing writes a table of the listings, with warnings below them.
func renderTrustByListing(ctx context.Context, tx *db.Tx, s *trustListingDocument, out *export.Sink) error {
	t, err := openByListing(ctx, tx, &s.ListingTrustFilter)
	if err != nil {
		return err
	}

	doc, err := report.DocumentHead(ctx, tx, t.Head.Currency, t.Head.Date)
	if err != nil {
		return err
	}

	// First the head. Its summary is of all listings, whichever are asked for.
	doc.Title, doc.Locale = "Trust reconciliation by listing", s.Locale
	doc.Facts = []paper.Fact{
		{Label: "At the end of", Value: t.Head.Date.String()},
		{Label: "Currency", Value: doc.Currency},
		{Label: "Listings", Value: strconv.Itoa(t.Len())},
	}
	doc.Summary = []paper.SummaryLine{
		{Label: "Books", Cents: t.Head.Book.CentTotal},
		{Label: "Held for all listings", Cents: t.Head.CentTotal},
		{Label: "Difference", Cents: t.Head.Difference, Emphasis: true},
	}

	// Then the rows. Keep only what the table shows of each.
	lines := make([]listingLine, 0, t.Len())
	for i := range t.Len() {
		row := t.row(i)
		lines = append(lines, newListingLine(&row))
	}

	doc.Tables = []paper.ReportTable{listingsTable(lines)}
	if s.ListingIDs != nil {
		doc.Notes = []string{"Some listings were asked for; the figures at the top are those of all."}
	}

	return report.WriteDocument(out, &doc)
}

// newListingLine returns the line of a row of the report, with its warnings.
func newListingLine(r *ListingTrust) listingLine {
	l := listingLine{name: "No listing", cents: make([]money.Cents, len(listingClaims))}
	if r.Name != nil {
		l.name = *r.Name
	}

	for i := range listingClaims {
		l.cents[i] = listingClaims[i].cents(r)
	}

	for i := range r.Warnings {
		w := &r.Warnings[i]

		text := w.Message
		if w.Count > 1 {
			text = fmt.Sprintf("%s (%d times)", text, w.Count)
		}

		// A warning has only its text and its amount here. The table moves the amount to its last column.
		cells := make([]any, 1, len(listingClaims)+1)
		cells[0] = text
		l.warnings = append(l.warnings, paper.ReportRow{
			Style: paper.WarningRow,
			Level: 1,
			Cells: append(cells, w.Total),
		})
	}

	return l
}

// listingsTable returns a table of the columns that are not empty, and the total. The amount of a warning is in the
// last column.
func listingsTable(lines []listingLine) paper.ReportTable {
	t := paper.ReportTable{Title: "Listings", Columns: []paper.ReportColumn{paper.TextColumn("Listing")}}

	// First find the columns with any amount. The last one, the total, is always shown.
	sums, shown := make([]money.Cents, len(listingClaims)), []int{}
	for i := range listingClaims {
		used := i == len(listingClaims)-1
		for n := range lines {
			sums[i] += lines[n].cents[i]
			used = used || lines[n].cents[i] != 0
		}

		if used {
			shown = append(shown, i)
			t.Columns = append(t.Columns, paper.AmountColumns(listingClaims[i].head)...)
		}
	}

	// Rows and the total have the same cells: those of the columns found.
	cellsOf := func(name string, cents []money.Cents) []any {
		cells := []any{name}
		for _, i := range shown {
			cells = append(cells, cents[i])
		}

		return cells
	}
	for i := range lines {
		t.Rows = append(t.Rows, paper.ReportRow{Cells: cellsOf(lines[i].name, lines[i].cents)})
		for _, w := range lines[i].warnings {
			// Fill up the cells between the text and the amount.
			amount := w.Cells[1]

			w.Cells = append(make([]any, 0, len(shown)+1), w.Cells[0])
			for range len(shown) - 1 {
				w.Cells = append(w.Cells, nil)
			}

			w.Cells = append(w.Cells, amount)
			t.Rows = append(t.Rows, w)
		}
	}

	t.Total = &paper.ReportRow{Cells: cellsOf("Total", sums)}

	return t
}
