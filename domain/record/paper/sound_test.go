package paper_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"stayledger/domain/record/paper"
	"stayledger/platform/money"
)

// passages are texts from right to left as they are read.
var passages = []string{"محمد بن عبد الله الهاشمي", "שרה כהן", "شركة الصيانة المتحدة"}

// samples are documents of all kinds. KEEP_PDF=folder keeps them for a look.
func samples(t *testing.T) map[string]func(io.Writer) error {
	t.Helper()

	one := func(change func(*paper.StatementDoc)) func(io.Writer) error {
		doc := sampleStatement()
		change(&doc)

		return func(w io.Writer) error { return paper.OwnerStatement(w, doc) }
	}
	scripts := func(doc *paper.StatementDoc) {
		doc.Listing.Name = "東京の町家 京都"
		doc.Team.Name = "Σπίτια του Αιγαίου"
		doc.Owners[0].Name, doc.Owners[1].Name = "Ελένη Παπαδοπούλου", "山田 太郎"
		doc.Reservations.Rows[0].GuestName, doc.Reservations.Rows[1].GuestName = "Александра Щукина", "김민준 (Kim Min-jun)"
		doc.Reservations.Rows[2].GuestName, doc.Reservations.Rows[3].GuestName = "王小明", "Łukasz Żółć-Škoda"
		doc.Expenses[0].Description = "水道の修理 · Επισκευή · Ремонт"
	}
	rightToLeft := func(doc *paper.StatementDoc) {
		doc.Listing.Name, doc.Team.Name = "فيلا النخيل 12 – جميرا", "شركة النخيل للسياحة (دبي)"
		doc.Owners[0].Name, doc.Owners[1].Name = "محمد بن عبد الله الهاشمي", "שרה כהן"
		doc.Reservations.Rows[0].GuestName, doc.Reservations.Rows[1].GuestName = "Layla ليلى Haddad", "آپارتمان خانه"
		doc.Expenses[0].Description = "إصلاح المكيف، فاتورة رقم 1,234 بتاريخ ٢٠٢٦/٠٥/٠٤ من شركة الصيانة المتحدة للخدمات الفندقية"
	}

	return map[string]func(io.Writer) error{
		"one-page": one(func(*paper.StatementDoc) {}),
		"draft": one(func(doc *paper.StatementDoc) {
			doc.Statement.Draft, doc.Statement.Status = true, "Draft"
			doc.Tables, doc.Reservations, doc.Expenses = laidOut(), paper.ReservationTable{}, nil
		}),
		"long": func(w io.Writer) error { return paper.OwnerStatement(w, longStatement(200)) },
		"co-owned-logo": one(func(doc *paper.StatementDoc) {
			doc.Team.Logo = logo(t)
			doc.Owners = slices.Repeat(doc.Owners, 3)
		}),
		"logo-right": one(func(doc *paper.StatementDoc) { doc.Team.Logo, doc.Team.LogoRight = logo(t), true }),
		"scripts":    one(scripts),
		"right-left": one(rightToLeft),
		"german": one(func(doc *paper.StatementDoc) {
			doc.Locale, doc.Currency = "de-DE", "EUR"
			doc.Summary[5].Cents = -123_456_789
		}),
		"empty": one(func(doc *paper.StatementDoc) {
			*doc = paper.StatementDoc{Title: "Owner statement", Locale: "en-GB", Currency: "GBP", Created: doc.Created, Team: paper.StatementTeam{Name: "Harbour"}}
		}),
		"many": func(w io.Writer) error {
			greek := sampleStatement()
			scripts(&greek)
			greek.Team.Logo = logo(t)

			return paper.OwnerStatements(w, sequence(longStatement(60), greek, sampleStatement(), greek))
		},
		"report": func(w io.Writer) error { return paper.Report(w, sampleReport(60)) },
		"report-empty": func(w io.Writer) error {
			return paper.Report(w, paper.ReportDoc{Title: "Nothing", Created: created})
		},
	}
}

var created = time.Date(2026, 6, 2, 9, 30, 0, 0, time.UTC)

// laidOut are tables as a layout gives them.
func laidOut() []paper.ReportTable {
	stays := paper.ReportTable{Title: "Net revenue", Columns: []paper.ReportColumn{
		{"Guest", paper.ReportText},
		{"Confirmation", paper.ReportText},
		{"Check-in", paper.ReportDate},
		{"Check-out", paper.ReportDate},
		{"Nights", paper.ReportInteger},
		{"Rent", paper.ReportAmount},
		{"Other revenue", paper.ReportAmount},
		{"Fees", paper.ReportAmount},
		{"Net", paper.ReportAmount},
	}}
	for _, r := range sampleStatement().Reservations.Rows {
		stays.Rows = append(stays.Rows, paper.ReportRow{Cells: []any{
			r.GuestName, r.ConfirmationCode, r.CheckIn, r.CheckOut, r.Nights, r.Amounts[0], r.Amounts[1], r.Amounts[2] + r.Amounts[3], r.Amounts[4],
		}})
	}

	stays.Total = &paper.ReportRow{Cells: []any{"Total", nil, nil, nil, nil, money.Cents(735_174), money.Cents(72_000), money.Cents(-183_300), money.Cents(623_874)}}

	expenses := paper.ReportTable{Title: "Expenses", Columns: []paper.ReportColumn{
		{"Date", paper.ReportDate}, {"Description", paper.ReportText}, {"Account", paper.ReportText}, {"Share", paper.ReportPercent}, {"Amount", paper.ReportAmount},
	}}
	for _, e := range sampleStatement().Expenses {
		expenses.Rows = append(expenses.Rows, paper.ReportRow{Cells: []any{e.Date, e.Description, "Repairs and maintenance", "12.5%", e.Cents}})
	}

	expenses.Total = &paper.ReportRow{Cells: []any{"Total", nil, nil, nil, money.Cents(-79_324)}}

	return []paper.ReportTable{stays, expenses}
}

// sampleReport has n groups of three rows with subtotals, some with warnings.
func sampleReport(n int) paper.ReportDoc {
	doc := paper.ReportDoc{
		Title: "Trust reconciliation", Subtitle: "Harbour Trust Account, May 2026", Locale: "en-US", Currency: "USD", Created: created,
		Team:  sampleStatement().Team,
		Facts: []paper.Fact{{"As of", "2026-05-31"}, {"Bank account", "Trust account ··4471"}, {"Last reconciled", "2026-04-30"}, {"Currency", "USD"}},
		Summary: []paper.SummaryLine{
			{Label: "Bank balance", Cents: 4_812_345},
			{Label: "Outstanding", Cents: -12_345},
			{Label: "Book balance", Cents: 4_800_000, Emphasis: true},
			{Label: "Owed to owners", Cents: -4_700_000},
			{Label: "Difference", Cents: 100_000, Emphasis: true},
		},
		Notes: []string{"2 listings are out of balance. The books hold less than their owners are owed.", "Outstanding cheques are listed by date."},
	}
	table := paper.ReportTable{Title: "By listing", Columns: []paper.ReportColumn{
		{"Listing", paper.ReportText},
		{"Since", paper.ReportDate},
		{"Entries", paper.ReportInteger},
		{"Trust", paper.ReportAmount},
		{"Owed", paper.ReportAmount},
		{"Share", paper.ReportPercent},
	}}
	total := money.Cents(0)

	for i := range n {
		table.Rows = append(table.Rows, paper.ReportRow{Style: paper.GroupRow, Cells: []any{fmt.Sprintf("Owner group %02d", i+1)}})
		for k := range 3 {
			row := paper.ReportRow{Level: 1, Cells: []any{fmt.Sprintf("Cottage %d-%d", i+1, k+1), "2026-05-01", 12 * (k + 1), money.Cents(100_000 * (k + 1)), money.Cents(-99_999 * (k + 1)), "12.5%"}}
			if (i+k)%7 == 3 {
				row.Style, row.Below = paper.WarningRow, "The trust balance is below what the owners are owed."
			}

			table.Rows = append(table.Rows, row)
		}

		table.Rows = append(table.Rows, paper.ReportRow{Style: paper.SubtotalRow, Cells: []any{"Subtotal", nil, 72, money.Cents(600_000), money.Cents(-599_994)}})
		total += 600_000
	}

	table.Total = &paper.ReportRow{Cells: []any{"Total", nil, 72 * n, &total, (*money.Cents)(nil)}}
	doc.Tables = []paper.ReportTable{table}

	return doc
}

// directionMarks are the marks that pdftotext writes around passages from right to left.
var directionMarks = strings.NewReplacer("\u202A", "", "\u202B", "", "\u202C", "")

// letters puts the letters of a word from right to left in order: it is drawn in one order and read in the other.
func letters(word string) string {
	runes := []rune(norm.NFKC.String(word))
	if slices.ContainsFunc(runes, func(r rune) bool { return unicode.In(r, unicode.Arabic, unicode.Hebrew) }) {
		slices.Sort(runes)
	}

	return string(runes)
}

func TestFilesAreSound(t *testing.T) {
	t.Parallel()

	folder := os.Getenv("KEEP_PDF")
	if folder == "" {
		folder = t.TempDir()
	}

	for name, write := range samples(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var pdf bytes.Buffer
			if err := write(&pdf); err != nil {
				t.Fatal(err)
			}

			file := filepath.Join(folder, name+".pdf")
			if err := os.WriteFile(file, pdf.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}

			out := tool(t, "qpdf", "--check", file)
			if !strings.Contains(out, "No syntax or stream encoding errors") || strings.Contains(out, "WARNING") {
				t.Errorf("qpdf: %s", out)
			}

			var drawn []string

			for _, page := range drawnPages(t, write) {
				for _, text := range page.Texts {
					drawn = append(drawn, strings.Fields(text.Text)...)
				}
			}

			read := strings.Fields(directionMarks.Replace(tool(t, "pdftotext", "-raw", file, "-")))
			for _, words := range [][]string{drawn, read} {
				for i, word := range words {
					words[i] = letters(word)
				}

				slices.Sort(words)
			}

			if !slices.Equal(drawn, read) {
				t.Errorf("drawn %q, read %q", drawn, read)
			}

			if name != "right-left" {
				return
			}

			text := directionMarks.Replace(tool(t, "pdftotext", file, "-"))
			for _, passage := range passages {
				if !strings.Contains(text, passage) {
					t.Errorf("%q is not in %q", passage, text)
				}
			}
		})
	}
}

// tool runs a program that looks at files. It may be missing only where no one relies on the tests.
func tool(t *testing.T, name string, arguments ...string) string {
	t.Helper()

	if _, err := exec.LookPath(name); err != nil && os.Getenv("CI") == "" {
		t.Skip(err)
	}

	out, err := exec.CommandContext(t.Context(), name, arguments...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}

	return string(out)
}
