package paper_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/record/paper"
	"stayledger/platform/money"
	"stayledger/platform/pdf/pdftest"
)

func ExampleReport() {
	var pdf bytes.Buffer

	err := paper.Report(&pdf, paper.ReportDoc{
		Title: "Trust reconciliation", Subtitle: "May 2026", Locale: "en-US", Currency: "USD", Created: created,
		Tables: []paper.ReportTable{{
			Title:   "By listing",
			Columns: []paper.ReportColumn{{Head: "Listing", Kind: paper.ReportText}, {Head: "Trust", Kind: paper.ReportAmount}},
			Rows:    []paper.ReportRow{{Cells: []any{"Lighthouse Cottage", money.Cents(125_000)}}},
		}},
	})
	fmt.Println(err, pdf.String()[:5])
	// Output: <nil> %PDF-
}

func reportPages(t *testing.T, doc paper.ReportDoc) [][]shown {
	t.Helper()
	return read(t, func(w io.Writer) error { return paper.Report(w, doc) })
}

func TestReportShowsEveryPart(t *testing.T) {
	t.Parallel()

	doc := sampleReport(2)

	all := slices.Concat(reportPages(t, doc)...)
	for _, want := range []string{
		"Harbour & Pine Stays", "Trust reconciliation", "As of", "May 31, 2026", "48,123.45", "−123.45", "$1,000.00", "By listing", "Owner group 01", "Cottage 2-3",
		"May 1, 2026", "12.5%", "−2,999.97", "Subtotal", "Total", "12,000.00", "Notes", "Outstanding cheques are listed by date.", "Page 1 of 1",
	} {
		if count(all, want) == 0 {
			t.Errorf("%q is not shown", want)
		}
	}

	doc.Locale, doc.Labels = "de-DE", paper.StatementLabels{PageOf: "Seite {page} von {pages}", Notes: "Anmerkungen"}

	all = slices.Concat(reportPages(t, doc)...)
	for _, want := range []string{"31.05.2026", "48.123,45", "1.000,00\u00a0€", "Anmerkungen", "Seite 1 von 1"} {
		if count(all, strings.ReplaceAll(want, "€", "$")) == 0 && count(all, want) == 0 {
			t.Errorf("%q is not shown", want)
		}
	}
}

func TestLongReport(t *testing.T) {
	t.Parallel()

	const groups = 600

	all := reportPages(t, sampleReport(groups))
	for n, page := range all {
		if count(page, fmt.Sprintf("Page %d of %d", n+1, len(all))) != 1 {
			t.Errorf("page %d does not tell its number", n+1)
		}

		if count(page, "Listing") != 1 || count(page, "Entries") != 1 {
			t.Errorf("page %d has no head", n+1)
		}

		if n > 0 && count(page, "By listing (continued)") != 1 {
			t.Errorf("page %d does not say that it goes on", n+1)
		}

		for i, s := range page {
			if strings.HasPrefix(s.text, "Owner group") && !strings.HasPrefix(page[i+1].text, "Cottage") {
				t.Errorf("page %d: %q stands alone before %q", n+1, s.text, page[i+1].text)
			}

			if s.text == "Subtotal" && !slices.ContainsFunc(page[:i], func(s shown) bool { return strings.HasPrefix(s.text, "Cottage") }) {
				t.Errorf("page %d begins with a subtotal", n+1)
			}
		}
	}

	flat := slices.Concat(all...)

	for i := range groups {
		for k := range 3 {
			if name := fmt.Sprintf("Cottage %d-%d", i+1, k+1); count(flat, name) != 1 {
				t.Errorf("%s is shown %d times", name, count(flat, name))
			}
		}
	}

	if last := all[len(all)-1]; count(last, "Total") != 1 || count(last, "3,600,000.00") != 1 || count(last, "Subtotal") == 0 {
		t.Error("the total is missing or stands alone")
	}
}

func TestReportIsOneTable(t *testing.T) {
	t.Parallel()

	var b bytes.Buffer
	if err := paper.Report(&b, sampleReport(30)); err != nil {
		t.Fatal(err)
	}

	file, err := pdftest.Read(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}

	root, err := file.Structure()
	if err != nil {
		t.Fatal(err)
	}

	tables := root.All("Table")
	if len(tables) != 2 { // the key figures, and the rows of all pages
		t.Fatalf("%d tables", len(tables))
	}

	heads := 0

	for _, th := range tables[1].All("TH") {
		if th.Scope == "Column" {
			heads++
		}
	}

	if rows := len(tables[1].All("TR")); rows != 1+30*5+1 || heads != 6 {
		t.Errorf("%d rows, %d heads of columns", rows, heads)
	}

	if h := root.All("H1"); len(h) != 1 || len(root.All("H2")) != 3 {
		t.Errorf("headings %d, %d", len(h), len(root.All("H2")))
	}
}

func TestHostileReports(t *testing.T) {
	t.Parallel()

	word := strings.Repeat("W", 10_000)

	for name, change := range map[string]func(*paper.ReportDoc){
		"nothing":        func(doc *paper.ReportDoc) { *doc = paper.ReportDoc{Created: created} },
		"total alone":    func(doc *paper.ReportDoc) { doc.Tables[0].Rows = nil },
		"no columns":     func(doc *paper.ReportDoc) { doc.Tables[0].Columns = nil },
		"too few cells":  func(doc *paper.ReportDoc) { doc.Tables[0].Rows[1].Cells = nil },
		"too many cells": func(doc *paper.ReportDoc) { doc.Tables[0].Rows[1].Cells = slices.Repeat([]any{"x"}, 99) },
		"strange cells":  func(doc *paper.ReportDoc) { doc.Tables[0].Rows[1].Cells = []any{struct{}{}, 1.5, "x", 7, "y"} },
		"deep":           func(doc *paper.ReportDoc) { doc.Tables[0].Rows[1].Level = 1 << 40 },
		"long word":      func(doc *paper.ReportDoc) { doc.Tables[0].Rows[1].Cells[0] = word },
		"long date":      func(doc *paper.ReportDoc) { doc.Tables[0].Rows[1].Cells[1] = word },
		"long group":     func(doc *paper.ReportDoc) { doc.Tables[0].Rows[0].Cells[0] = word },
		"long below":     func(doc *paper.ReportDoc) { doc.Tables[0].Rows[1].Below = word },
		"long head":      func(doc *paper.ReportDoc) { doc.Tables[0].Columns[2].Head = word },
		"long title":     func(doc *paper.ReportDoc) { doc.Title, doc.Tables[0].Title = word[:900], word },
		"long fact":      func(doc *paper.ReportDoc) { doc.Facts[0].Value = word[:900] },
		"control":        func(doc *paper.ReportDoc) { doc.Title = "a\x00\xff\u202eb\u2066\u0301\r\n" },
		"groups alone": func(doc *paper.ReportDoc) {
			for i := range doc.Tables[0].Rows {
				doc.Tables[0].Rows[i].Style = paper.GroupRow
			}
		},
		"subtotals alone": func(doc *paper.ReportDoc) {
			doc.Tables[0].Rows = slices.Repeat(doc.Tables[0].Rows[4:5], 300)
		},
		"forty columns": func(doc *paper.ReportDoc) { doc.Tables[0].Columns = slices.Repeat(doc.Tables[0].Columns, 7) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			doc := sampleReport(3)
			change(&doc)

			if all := reportPages(t, doc); len(all) == 0 || len(all) > 60 {
				t.Errorf("%d pages", len(all))
			}
		})
	}

	if err := paper.Report(io.Discard, paper.ReportDoc{}); err == nil {
		t.Error("a document without a creation date is not deterministic")
	}

	if err := paper.Report(fullDisk{}, sampleReport(3)); !errors.Is(err, errFull) {
		t.Errorf("failing writer: %v", err)
	}
}

func TestHugeAmountsAreWhole(t *testing.T) {
	t.Parallel()

	doc := sampleReport(1)

	doc.Summary[4].Cents, doc.Summary[3].Cents = math.MaxInt64, math.MinInt64
	for i := range doc.Tables[0].Rows {
		if cells := doc.Tables[0].Rows[i].Cells; len(cells) > 4 {
			cells[3], cells[4] = money.Cents(math.MaxInt64), money.Cents(math.MinInt64)
		}
	}

	all := slices.Concat(reportPages(t, doc)...)
	if count(all, "$92,233,720,368,547,758.07") != 1 || count(all, "−92,233,720,368,547,758.08") != 5 || count(all, "92,233,720,368,547,758.07") != 4 {
		t.Errorf("shown %v", all)
	}
}

func TestDraftsSaySoOnEveryPage(t *testing.T) {
	t.Parallel()

	doc := longStatement(60)
	for n, page := range pages(t, doc) {
		if count(page, "Draft") != 0 {
			t.Errorf("page %d of a final statement is a draft", n+1)
		}
	}

	doc.Statement.Draft = true
	for n, page := range pages(t, doc) {
		if count(page, "Draft") != 1 || count(page, "Harbour & Pine Stays · Owner statement · OS-2026-05-0117 · Draft") != 1 {
			t.Errorf("page %d does not say that it is a draft", n+1)
		}
	}
}

func TestLayoutTablesStandFirst(t *testing.T) {
	t.Parallel()

	doc := sampleStatement()
	doc.Tables = laidOut()

	var order []string

	for _, s := range slices.Concat(pages(t, doc)...) {
		if slices.Contains([]string{"Net revenue", "Expenses", "Reservations", "Payouts", "12.5%"}, s.text) {
			order = append(order, s.text)
		}
	}

	want := []string{"Net revenue", "Expenses", "Payouts", "Net revenue", "Expenses", "12.5%", "12.5%", "12.5%", "Reservations"}
	if len(order) < len(want) || !slices.Equal(order[:len(want)], want) {
		t.Errorf("order %q", order)
	}
}
