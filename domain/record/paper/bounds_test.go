package paper_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"stayledger/domain/record/paper"
	"stayledger/platform/money"
	"stayledger/platform/pdf/pdftest"
)

// Names and addresses may be as long as the service takes them. What is above the tables is not a table, and yet must
// not run off its page.
func TestNothingRunsOffThePage(t *testing.T) {
	t.Parallel()

	word := strings.Repeat("W", 200)
	address := []string{word, word, strings.Repeat("W", 100) + ", " + strings.Repeat("W", 30)}
	owners := slices.Repeat([]paper.StatementOwner{{Name: word, Address: address, SplitPercent: "25%", ShareCents: 1}}, 4)
	facts := slices.Repeat([]paper.Fact{{Label: word, Value: strings.Repeat("W", 1000)}}, 12)

	for name, write := range map[string]func(io.Writer) error{
		"owners": func(w io.Writer) error {
			doc := sampleStatement()
			doc.Owners = owners

			return paper.OwnerStatement(w, doc)
		},
		"everything": func(w io.Writer) error {
			doc := sampleStatement()
			doc.Owners, doc.Listing.Name, doc.Listing.Address = owners, word, strings.Repeat("W", 500)
			doc.Team.Name, doc.Team.Address = word, address
			doc.Statement.Draft = true

			return paper.OwnerStatement(w, doc)
		},
		"title": func(w io.Writer) error {
			doc := sampleStatement()
			doc.Listing.Name = strings.Repeat("W", 5000)

			return paper.OwnerStatement(w, doc)
		},
		"facts": func(w io.Writer) error {
			doc := sampleReport(2)
			doc.Facts, doc.Team.Address = facts, address

			return paper.Report(w, doc)
		},
		"long address": func(w io.Writer) error {
			doc := sampleReport(2)
			doc.Team.Address = slices.Repeat(address, 5)

			return paper.Report(w, doc)
		},
		"landscape": func(w io.Writer) error {
			doc := sampleStatement()
			doc.Owners, doc.Listing.Name, doc.Team.Name, doc.Team.Address = owners, word, word, address
			doc.Reservations.Columns = slices.Repeat([]string{"Verwaltungsgebühr"}, 11)
			doc.Reservations.Rows[0].Amounts = slices.Repeat(doc.Reservations.Subtotal[:1], 11)

			return paper.OwnerStatement(w, doc)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			for n, page := range drawnPages(t, write) {
				for _, text := range page.Texts {
					const footers = 58 // from the lower edge, whence places are counted
					if text.Y > page.Height-30 || text.Y < 20 || !text.Artifact && text.Y < footers || text.X+text.Width > page.Width-20 {
						t.Fatalf("page %d of %g by %g: %.40q is at %g, %g", n+1, page.Width, page.Height, text.Text, text.X, text.Y)
					}
				}
			}
		})
	}
}

func TestMonths(t *testing.T) {
	t.Parallel()

	for locale, want := range map[string][2]string{
		"":      {"November 2025", "Nov 2025"},
		"en-GB": {"November 2025", "Nov 2025"},
		"de_AT": {"November 2025", "11.2025"},
		"fr-CA": {"novembre 2025", "2025-11"},
		"fr":    {"novembre 2025", "11/2025"},
		"es":    {"noviembre de 2025", "11/2025"},
		"it":    {"novembre 2025", "11/2025"},
		"pt-BR": {"novembro de 2025", "11/2025"},
		"nl":    {"november 2025", "11-2025"},
		"ru":    {"11.2025", "11.2025"},
		"ja-JP": {"2025-11", "2025-11"},
	} {
		if long, short := paper.MonthText("2025-11-01", locale), paper.ShortMonthText("2025-11-30", locale); long != want[0] || short != want[1] {
			t.Errorf("%q: %q and %q, want %q", locale, long, short, want)
		}
	}
}

// A point that groups thousands elsewhere would make 33.333% thirty-three thousand.
func TestPercentagesFollowTheLocale(t *testing.T) {
	t.Parallel()

	for locale, want := range map[string]string{
		"en-US": "33.333%", "de-DE": "33,333\u00a0%", "fr-CA": "33,333\u00a0%", "it": "33,333%", "ja-JP": "33.333%",
		"es-MX": "33.333\u00a0%", "es-ES": "33,333\u00a0%", "de-CH": "33.333%",
		"sv-SE": "33,333\u00a0%", "da": "33,333\u00a0%",
		"pl": "33,333%", "fr-CH": "33,333%", "tr": "%33,333", "ar-EG": "33.333%", "xx": "33.333%",
	} {
		doc := sampleStatement()
		doc.Locale, doc.Owners[0].SplitPercent = locale, "33.333%"
		doc.Tables = []paper.ReportTable{{
			Title: "Shares", Columns: []paper.ReportColumn{{"Owner", paper.ReportText}, {"Share", paper.ReportPercent}},
			Rows: []paper.ReportRow{{Cells: []any{"33.333% of all", "33.333%"}}},
		}}
		all := slices.Concat(pages(t, doc)...)

		beside := slices.ContainsFunc(all, func(s shown) bool { return strings.HasPrefix(s.text, want+" · ") })
		if count(all, want) != 1 || count(all, "33.333% of all") != 1 || !beside {
			t.Errorf("%s: %q is not shown", locale, want)
		}
	}
}

// English words read out in a German voice cannot be understood.
func TestTheLanguageIsThatOfTheWords(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		locale string
		labels paper.StatementLabels
		want   string
	}{
		{"de-DE", paper.StatementLabels{}, "en"},
		{"en_GB", paper.StatementLabels{}, "en-GB"},
		{"de-DE", paper.StatementLabels{Guest: "Gast"}, "de-DE"},
	} {
		var statement, report bytes.Buffer

		doc, table := sampleStatement(), sampleReport(1)

		doc.Locale, doc.Labels, table.Locale, table.Labels = c.locale, c.labels, c.locale, c.labels
		if err := errors.Join(paper.OwnerStatement(&statement, doc), paper.Report(&report, table)); err != nil {
			t.Fatal(err)
		}

		for _, written := range []*bytes.Buffer{&statement, &report} {
			file, err := pdftest.Read(written.Bytes())
			if err != nil {
				t.Fatal(err)
			}

			if got := file.Dict(file.Trailer["Root"])["Lang"]; pdftest.String(got) != c.want {
				t.Errorf("%s: read out in %v, want %s", c.locale, got, c.want)
			}
		}
	}
}

// A figure in two lines would be read as another one.
func TestFiguresOfWideTablesAreWhole(t *testing.T) {
	t.Parallel()

	doc := sampleStatement()

	doc.Reservations.Columns = slices.Repeat([]string{"Revenue account"}, 15)
	for i := range doc.Reservations.Rows {
		doc.Reservations.Rows[i].Amounts = slices.Repeat([]money.Cents{-1_234_567}, 15)
	}

	doc.Reservations.Subtotal = nil
	if all := slices.Concat(pages(t, doc)...); count(all, "−12,345.67") != 60 {
		t.Errorf("%d of 60 figures are whole", count(all, "−12,345.67"))
	}
}
