package paper_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stayledger/domain/record/paper"
	"stayledger/platform/pdf/pdftest"
)

func ExampleOwnerStatement() {
	var pdf bytes.Buffer

	err := paper.OwnerStatement(&pdf, paper.StatementDoc{
		Title: "Owner statement", Locale: "en-US", Currency: "USD", Created: time.Date(2026, 6, 2, 0, 0, 0, 0, time.UTC),
		Listing: paper.StatementListing{Name: "Lighthouse Cottage"},
		Summary: []paper.SummaryLine{{Label: "Available", Cents: 419_550, Emphasis: true}},
	})
	fmt.Println(err, pdf.String()[:5])
	// Output: <nil> %PDF-
}

// shown is a piece of text on a page; x and y are in points from the lower left corner.
type shown struct {
	x, y float64
	text string
}

// pages reads the text of a statement, page by page.
func pages(t *testing.T, doc paper.StatementDoc) [][]shown {
	t.Helper()
	return read(t, func(w io.Writer) error { return paper.OwnerStatement(w, doc) })
}

func read(t *testing.T, write func(io.Writer) error) [][]shown {
	t.Helper()

	var all [][]shown

	for _, page := range drawnPages(t, write) {
		var texts []shown
		for _, text := range page.Texts {
			texts = append(texts, shown{text.X, text.Y, text.Text})
		}

		all = append(all, texts)
	}

	return all
}

// drawnPages reads what a document draws, once its tags were found to be sound.
func drawnPages(t testing.TB, write func(io.Writer) error) []pdftest.Page {
	t.Helper()

	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}

	file, err := pdftest.Read(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}

	if _, err := file.Structure(); err != nil {
		t.Error(err)
	}

	all, err := file.Pages()
	if err != nil {
		t.Fatal(err)
	}

	return all
}

func count(page []shown, text string) int {
	n := 0

	for _, s := range page {
		if s.text == text {
			n++
		}
	}

	return n
}

func TestStatementShowsEveryPart(t *testing.T) {
	t.Parallel()

	all := slices.Concat(pages(t, sampleStatement())...)
	for _, want := range []string{
		"Harbour & Pine Stays", "Owner statement", "Lighthouse Cottage", "May 1, 2026 – May 31, 2026", "OS-2026-05-0117", "Published", "USD",
		"Margaret Ellison", "60% · $2,517.30", "40% · $1,678.20", "Net income", "5,445.50", "Available", "$4,195.50",
		"José Ramírez-Ibáñez", "3921047718 · Booking.com", "Apr 29, 2026", "−110.50", "Subtotal", "7,351.74", "6,238.74", "−1,470.35",
		"Spring garden work", "−360.00", "−793.24", "−1,250.00", "Notes",
	} {
		if count(all, want) == 0 {
			t.Errorf("%q is not shown", want)
		}
	}
}

func TestFiguresOfAColumnEndTogether(t *testing.T) {
	t.Parallel()

	ends := map[string]float64{}
	for _, s := range pages(t, sampleStatement())[0] {
		ends[s.text] = s.x + paper.RegularWidth(s.text, 8.5)
	}

	for _, figure := range []string{"920.00", "1,693.50", "2,353.39"} {
		if math.Abs(ends[figure]-ends["1,271.85"]) > 0.02 {
			t.Errorf("%s ends at %.2f, not %.2f", figure, ends[figure], ends["1,271.85"])
		}
	}

	if right := 612.0 - 54; math.Abs(ends["920.00"]-right) > 0.15 {
		t.Errorf("the last column ends at %.2f, the margin is at %.2f", ends["920.00"], right)
	}
}

func TestLongStatement(t *testing.T) {
	t.Parallel()

	doc := longStatement(200)

	all := pages(t, doc)
	if len(all) < 6 || len(all) > 12 {
		t.Errorf("%d pages", len(all))
	}

	for n, page := range all {
		place := fmt.Sprintf("Page %d of %d", n+1, len(all))
		if count(page, place) != 1 {
			t.Errorf("page %d does not say %q", n+1, place)
		}

		for _, s := range page {
			if s.text == place && math.Abs(s.x+paper.RegularWidth(place, 8)-(612-54)) > 0.02 {
				t.Errorf("%q ends at %.2f", place, s.x+paper.RegularWidth(place, 8))
			}

			if s.y < 55 && s.y != page[len(page)-1].y {
				t.Errorf("page %d: %q runs into the footer", n+1, s.text)
			}
		}

		guests := 0

		for _, s := range page {
			if strings.HasPrefix(s.text, "Guest ") {
				guests++
			}
		}

		if heads := count(page, "Guest"); guests > 0 && heads != 1 {
			t.Errorf("page %d has %d heads", n+1, heads)
		}
	}

	flat := slices.Concat(all...)
	for i := range 200 {
		if guest := fmt.Sprintf("Guest %03d", i+1); count(flat, guest) != 1 {
			t.Errorf("%s is shown %d times", guest, count(flat, guest))
		}
	}

	if count(flat, "200,000.00") != 2 || count(flat, "Reservations (continued)") == 0 {
		t.Error("the subtotal or the continued heading is missing")
	}
}

func TestSubtotalNeverStandsAlone(t *testing.T) {
	t.Parallel()

	for n := 1; n < 60; n++ {
		for _, page := range pages(t, longStatement(n)) {
			if count(page, "Subtotal") == 1 && count(page, fmt.Sprintf("Guest %03d", n)) != 1 {
				t.Errorf("%d reservations: the subtotal is parted from the last of them", n)
			}
		}
	}
}

func TestSameStatementSameBytes(t *testing.T) {
	t.Parallel()

	doc := sampleStatement()
	doc.Team.Logo = logo(t)
	doc.Owners[0].Name = "Ελένη Константинова"

	var first bytes.Buffer
	if err := paper.OwnerStatement(&first, doc); err != nil {
		t.Fatal(err)
	}

	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			var again bytes.Buffer
			if err := paper.OwnerStatement(&again, doc); err != nil {
				t.Error(err)
			}

			if !bytes.Equal(first.Bytes(), again.Bytes()) {
				t.Error("a second rendering differs")
			}
		})
	}

	group.Wait()

	file, err := pdftest.Read(first.Bytes())
	if err != nil {
		t.Fatal(err)
	}

	if at := file.Dict(file.Trailer["Info"])["CreationDate"]; at != "D:20260602093000Z" {
		t.Errorf("created %v", at)
	}
}

func TestScriptsAndHostileText(t *testing.T) {
	t.Parallel()

	for given, want := range map[string]string{
		"Ελένη Παπαδοπούλου":  "Ελένη Παπαδοπούλου",
		"Александра Щукина":   "Александра Щукина",
		"Łukasz Żółć":         "Łukasz Żółć",
		"Jose\u0301":          "José",
		`\(a)\\ ) (`:          `\(a)\\ ) (`,
		"a\x00b\xffc\r\nd\te": "a b□c d e",
		"zero\u200bwidth":     "zerowidth",
		"a\u200cb \u202ec":    "ab c",
		"شركة النخيل (دبي)":   "(يبد) ليخنلا ةكرش", // from left to right, as it is drawn
		"𝒜nna":                "Anna",
		"🦞 Wang 🦞":            "□ Wang □",
		"\U00010000\uFFFF":    "□□",
		"Ċ \u010d\u0a28":      "Ċ č□",
	} {
		doc := sampleStatement()

		doc.Reservations.Rows[0].GuestName = given
		if all := slices.Concat(pages(t, doc)...); count(all, want) != 1 {
			t.Errorf("%q is not shown as %q", given, want)
		}
	}
}

// A joiner after a letter that joins says how it looks; anywhere else it is invisible and left out.
func TestJoinersOfLetters(t *testing.T) {
	t.Parallel()

	for given, want := range map[string]string{
		"می\u200cخواهم":  "می\u200cخواهم",
		"ه\u200d":        "ه\u200d",
		"a\u200cb\u200d": "ab",
	} {
		if got := paper.Legible(given); got != want {
			t.Errorf("%+q is drawn as %+q, want %+q", given, got, want)
		}
	}
}

func TestImmoderateStatementsEnd(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("Lorem ipsum dolor ", 2_000)
	word := strings.Repeat("W", 20_000)

	for name, change := range map[string]func(*paper.StatementDoc){
		"nothing":      func(doc *paper.StatementDoc) { *doc = paper.StatementDoc{Created: doc.Created} },
		"long guest":   func(doc *paper.StatementDoc) { doc.Reservations.Rows[0].GuestName = word },
		"long expense": func(doc *paper.StatementDoc) { doc.Expenses[2].Description = long },
		"long notes":   func(doc *paper.StatementDoc) { doc.Notes = long },
		"long head":    func(doc *paper.StatementDoc) { doc.Reservations.Columns[1] = long },
		"wide head":    func(doc *paper.StatementDoc) { doc.Reservations.Columns[1] = word },
		"no amounts":   func(doc *paper.StatementDoc) { doc.Reservations.Rows[1].Amounts = nil },
		"many amounts": func(doc *paper.StatementDoc) { doc.Reservations.Columns = nil },
		"many columns": func(doc *paper.StatementDoc) {
			doc.Reservations.Columns = slices.Repeat([]string{"Accommodation"}, 16)
		},
		"many owners":     func(doc *paper.StatementDoc) { doc.Owners = slices.Repeat(doc.Owners, 150) },
		"many totals":     func(doc *paper.StatementDoc) { doc.Summary = slices.Repeat(doc.Summary, 20) },
		"long summary":    func(doc *paper.StatementDoc) { doc.Summary[0].Label = word[:2_000] },
		"long status":     func(doc *paper.StatementDoc) { doc.Statement.Status = "Published and " + word[:300] },
		"hostile locale":  func(doc *paper.StatementDoc) { doc.Locale = "x) /JS (y" },
		"unknown money":   func(doc *paper.StatementDoc) { doc.Currency = "???" },
		"smallest amount": func(doc *paper.StatementDoc) { doc.Summary[0].Cents = math.MinInt64 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			doc := sampleStatement()
			change(&doc)

			if all := pages(t, doc); len(all) == 0 || len(all) > 60 {
				t.Errorf("%d pages", len(all))
			}
		})
	}
}

func TestWideTablesTurnThePaper(t *testing.T) {
	t.Parallel()

	doc := sampleStatement()
	doc.Locale = "de-DE"
	doc.Reservations.Columns = slices.Repeat([]string{"Verwaltungsgebühr"}, 11)
	doc.Reservations.Rows = doc.Reservations.Rows[:1]
	doc.Reservations.Rows[0].Amounts = slices.Repeat(doc.Reservations.Subtotal[:1], 11)

	doc.Reservations.Subtotal = nil
	if box := paperOf(t, doc); box != "841.89 595.28" {
		t.Errorf("%s is not landscape A4", box)
	}

	if all := slices.Concat(pages(t, doc)...); count(all, "7.351,74") != 11 {
		t.Errorf("%d of 11 figures are whole", count(all, "7.351,74"))
	}
}

func paperOf(t *testing.T, doc paper.StatementDoc) string {
	t.Helper()
	page := drawnPages(t, func(w io.Writer) error { return paper.OwnerStatement(w, doc) })[0]

	return fmt.Sprint(page.Width, " ", page.Height)
}

func TestLocales(t *testing.T) {
	t.Parallel()

	for _, c := range []struct{ locale, currency, period, available, total, box string }{
		{"en-US", "USD", "May 1, 2026 – May 31, 2026", "$4,195.50", "6,238.74", "612 792"},
		{"en-GB", "GBP", "1 May 2026 – 31 May 2026", "£4,195.50", "6,238.74", "595.28 841.89"},
		{"de_AT", "EUR", "01.05.2026 – 31.05.2026", "€\u00a04.195,50", "6.238,74", "595.28 841.89"},
		{"fr-CA", "CAD", "2026-05-01 – 2026-05-31", "4\u00a0195,50\u00a0$", "6\u00a0238,74", "612 792"},
		{"es-MX", "MXN", "01/05/2026 – 31/05/2026", "$4,195.50", "6,238.74", "612 792"},
		{"de-CH", "CHF", "01.05.2026 – 31.05.2026", "CHF\u00a04'195.50", "6'238.74", "595.28 841.89"},
		{"pl", "PLN", "01.05.2026 – 31.05.2026", "4195,50\u00a0zł", "6238,74", "595.28 841.89"},
		{"sv-SE", "SEK", "2026-05-01 – 2026-05-31", "4\u00a0195,50\u00a0kr", "6\u00a0238,74", "595.28 841.89"},
		{"fr-FR", "EUR", "01/05/2026 – 31/05/2026", "4\u00a0195,50\u00a0€", "6\u00a0238,74", "595.28 841.89"},
		{"ar-EG", "EGP", "2026-05-01 – 2026-05-31", "EGP\u00a04,195.50", "6,238.74", "595.28 841.89"},
		{"ja", "JPY", "2026-05-01 – 2026-05-31", "￥419,550", "623,874", "595.28 841.89"},
	} {
		doc := sampleStatement()
		doc.Locale, doc.Currency = c.locale, c.currency

		all := slices.Concat(pages(t, doc)...)
		for _, want := range []string{c.period, c.available, c.total} {
			if count(all, want) == 0 {
				t.Errorf("%s: %q is not shown", c.locale, want)
			}
		}

		if box := paperOf(t, doc); box != c.box {
			t.Errorf("%s: paper is %s, not %s", c.locale, box, c.box)
		}
	}
}

func TestLabelsInAnotherLanguage(t *testing.T) {
	t.Parallel()

	doc := sampleStatement()
	doc.Labels = paper.StatementLabels{Guest: "Gast", PageOf: "Seite {page} von {pages}"}

	all := slices.Concat(pages(t, doc)...)
	if count(all, "Gast") == 0 || count(all, "Guest") != 0 || count(all, "Seite 1 von 2") != 1 || count(all, "Check-in") == 0 {
		t.Error("given labels are not used, or the others not English")
	}
}

func TestLogos(t *testing.T) {
	t.Parallel()

	deep := image.NewNRGBA64(image.Rect(0, 0, 30, 10))
	deep.Set(3, 3, color.NRGBA64{R: 0xffff, A: 0x8000})

	var deepPNG, photo, indexed bytes.Buffer
	if err := errors.Join(
		png.Encode(&deepPNG, deep), jpeg.Encode(&photo, deep, nil),
		png.Encode(&indexed, image.NewPaletted(image.Rect(0, 0, 9, 9), color.Palette{color.Black, color.White})),
	); err != nil {
		t.Fatal(err)
	}

	sound := logo(t)
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"png":       {sound, nil},
		"16 bit":    {deepPNG.Bytes(), nil},
		"1 bit":     {indexed.Bytes(), nil},
		"jpeg":      {photo.Bytes(), nil},
		"truncated": {sound[:len(sound)/2], paper.ErrLogo},
		"text":      {[]byte("<svg/>"), paper.ErrLogo},
	} {
		doc := sampleStatement()
		doc.Team.Logo = c.data

		var pdf bytes.Buffer
		if err := paper.OwnerStatement(&pdf, doc); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}

		if c.want == nil && drawnPages(t, func(w io.Writer) error { return paper.OwnerStatement(w, doc) })[0].Images != 1 {
			t.Errorf("%s: no image", name)
		}
	}
}

func TestStatementErrors(t *testing.T) {
	t.Parallel()

	if err := paper.OwnerStatement(&bytes.Buffer{}, paper.StatementDoc{}); err == nil {
		t.Error("a document without a creation date is not deterministic")
	}

	wide := sampleStatement()

	wide.Reservations.Columns = slices.Repeat([]string{"Rent"}, 17)
	if err := paper.OwnerStatement(&bytes.Buffer{}, wide); !errors.Is(err, paper.ErrTooWide) {
		t.Errorf("17 columns: %v", err)
	}

	if err := paper.OwnerStatement(fullDisk{}, sampleStatement()); !errors.Is(err, errFull) {
		t.Errorf("failing writer: %v", err)
	}
}
