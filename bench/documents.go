package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"time"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"codeberg.org/go-pdf/fpdf"

	"stayledger/domain/record/paper"
	"stayledger/platform/money"
)

const (
	documentRounds = 7
	// The time that each side of a pair draws.
	documentTime = 400 * time.Millisecond
	// A month that ownersSeed has published.
	zipMonth = "2026-09"
)

// documents compares how fast one core draws the statement of one page with the same texts set by a PDF library
// that parses the fonts for each document. It also measures the memory for a ZIP of many statements.
func documents(ctx context.Context, b *bed) ([]Metric, error) {
	doc := onePage()

	var ratios, ours, bases []float64

	// Both sides take turns, so that a busy moment of the machine meets both.
	for range documentRounds {
		own, err := drawRate(func() error { return paper.OwnerStatement(io.Discard, doc) })
		if err != nil {
			return nil, err
		}

		base, err := drawRate(func() error { return setPlainly(io.Discard, doc) })
		if err != nil {
			return nil, err
		}

		ours, bases, ratios = append(ours, own), append(bases, base), append(ratios, own/base)
	}

	// Then two archives of different sizes: memory must not grow with the number of statements.
	few, _, err := b.zip(ctx, fewName)
	if err != nil {
		return nil, err
	}

	many, took, err := b.zip(ctx, manyName)
	if err != nil {
		return nil, err
	}

	fewInZIP, manyInZIP := b.teams[fewName].rows, b.teams[manyName].rows
	memory := map[string]any{
		"statements":          manyInZIP,
		"peakMiB":             many,
		"few":                 fewInZIP,
		"peakMiBOfFew":        few,
		"statementsPerSecond": float64(manyInZIP) / took.Seconds(),
	}

	return []Metric{
		atLeast("statement_pdf_ratio", median(ratios), 3, map[string]any{
			"perSecondAndCore":     median(ours),
			"parsingFontsEachTime": median(bases),
		}),
		atMost("statement_zip_peak_mib", many, memoryGoal, memory),
		atMost("statement_zip_peak_growth_mib", many-few, growthGoal, memory),
	}, nil
}

// drawRate returns how often a second one core does something.
func drawRate(f func() error) (float64, error) {
	// One core only: the garbage collector must not get a second one.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))

	if err := f(); err != nil { // the first fills the caches
		return 0, err
	}

	n, begin := 0, time.Now()
	for ; time.Since(begin) < documentTime; n++ {
		if err := f(); err != nil {
			return 0, err
		}
	}

	return float64(n) / time.Since(begin).Seconds(), nil
}

// zip exports the published statements of a month as an operation.
func (b *bed) zip(ctx context.Context, name string) (peakMiB float64, took time.Duration, err error) {
	c, err := dial(ctx, b.ours, b.teams[name].secret)
	if err != nil {
		return 0, 0, err
	}
	defer c.close()

	peak := watchMemory()
	took, err = c.operate("/statements/pdf/batch", `{"month": "`+zipMonth+`"}`)

	return peak(), took, err
}

// onePage returns a statement of the usual size.
func onePage() paper.StatementDoc {
	doc := paper.StatementDoc{
		Title:    "Owner statement",
		Locale:   "en-US",
		Currency: "USD",
		Created:  time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC),
		Team: paper.StatementTeam{
			Name:    "Harbour & Pine Stays",
			Address: []string{"214 Commercial Street", "Portland, ME 04101"},
			Email:   "owners@example.com",
			Phone:   "+1 207 555 0143",
		},
		Statement: paper.StatementRef{
			ID:          "7c3k9f2m",
			Status:      "Published",
			PeriodStart: "2026-05-01",
			PeriodEnd:   "2026-05-31",
		},
		Listing: paper.StatementListing{
			Name:    "Lighthouse Cottage",
			Address: "8 Keeper's Lane, Cape Elizabeth, ME 04107",
		},
		Owners: []paper.StatementOwner{{
			Name:         "Margaret Ellison",
			Address:      []string{"71 Spruce Hill Road", "Brunswick, ME 04011"},
			SplitPercent: "100%",
			ShareCents:   419_550,
		}},
		Summary: []paper.SummaryLine{
			{Label: "Balance start", Cents: 125_000},
			{Label: "Net revenue", Cents: 623_874},
			{Label: "Expenses", Cents: -79_324},
			{Label: "Balance end", Cents: 544_550, Emphasis: true},
			{Label: "Available balance", Cents: 419_550, Emphasis: true},
		},
		Reservations: paper.ReservationTable{
			Columns:  []string{"Rent", "Cleaning", "Fees", "Net revenue"},
			Subtotal: []money.Cents{1_200_000, 216_000, -240_000, 1_176_000},
		},
	}

	// Twelve reservations and expenses fill the page.
	for i := range 12 {
		date := "2026-05-" + strconv.Itoa(110 + i)[1:]
		doc.Reservations.Rows = append(doc.Reservations.Rows, paper.ReservationRow{
			GuestName:        "Guest Number " + strconv.Itoa(i),
			ConfirmationCode: "HMQ8XK2T" + strconv.Itoa(i),
			CheckIn:          date,
			CheckOut:         date,
			Nights:           1,
			Channel:          "Airbnb",
			Amounts:          []money.Cents{100_000, 18_000, -20_000, 98_000},
		})
		doc.Expenses = append(doc.Expenses, paper.StatementLine{
			Date:        date,
			Description: "Plumber: kitchen tap replaced, visit " + strconv.Itoa(i),
			Cents:       money.Cents(-28_450 - i),
		})
	}

	return doc
}

// setPlainly writes the texts of a statement without any design.
func setPlainly(w io.Writer, doc paper.StatementDoc) error {
	pdf := fpdf.New(fpdf.OrientationPortrait, fpdf.UnitPoint, fpdf.PageSizeLetter, "")
	pdf.SetCreationDate(doc.Created)

	for style, font := range map[string][]byte{"": liberationsansregular.TTF, "B": liberationsansbold.TTF} {
		pdf.AddUTF8FontFromBytes("body", style, append([]byte(nil), font...)) // the library writes into it
	}

	pdf.SetAutoPageBreak(false, 0)
	pdf.AddPage()

	// A line is a few texts and a rule, which is the least that a page can have.
	y := 40.0
	line := func(style string, texts ...string) {
		pdf.SetFont("body", style, 8.5)

		for i, text := range texts {
			pdf.Text(50+float64(i)*75, y, text)
		}

		pdf.Rect(50, y+3, 500, 0.5, "F")
		y += 14
	}

	// Then the same texts as in our document, from top to bottom.
	line("B", doc.Title, doc.Team.Name, doc.Listing.Name, doc.Listing.Address)
	line("", append(append([]string{
		doc.Team.Email,
		doc.Team.Phone,
		doc.Statement.PeriodStart,
		doc.Statement.PeriodEnd,
	}, doc.Team.Address...), doc.Owners[0].Address...)...)

	for _, s := range doc.Summary {
		line("B", s.Label, s.Cents.Format(doc.Currency, doc.Locale))
	}

	line("B", doc.Reservations.Columns...)

	for _, r := range doc.Reservations.Rows {
		cells := []string{
			r.GuestName + " " + r.ConfirmationCode,
			r.Channel,
			r.CheckIn,
			r.CheckOut,
			strconv.Itoa(r.Nights),
		}
		for _, cents := range r.Amounts {
			cells = append(cells, cents.Format(doc.Currency, doc.Locale))
		}

		line("", cells...)
	}

	for _, e := range doc.Expenses {
		line("", e.Date, e.Description, "", "", e.Cents.Format(doc.Currency, doc.Locale))
	}

	if err := pdf.Output(w); err != nil {
		return fmt.Errorf("set a statement: %w", err)
	}

	return nil
}
