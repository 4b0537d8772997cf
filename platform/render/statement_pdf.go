package render

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"codeberg.org/go-pdf/fpdf"

	"stayledger/platform/money"
)

const (
	bodySize   = 8.5
	sectionGap = 24.0
	// The cardOwners are how many owners stand beside the summary with address and share; more become a table, and only
	// their names stand there, on at most nameLines lines.
	cardOwners = 4
	nameLines  = 12
)

// ErrTooWide is what OwnerStatement wraps for a reservation table with more columns than paper holds.
var ErrTooWide = errors.New("render: too many reservation columns")

const maxColumns = 16

// statementPage is an owner statement being drawn.
type statementPage struct {
	sheet

	legible *legible
	doc     StatementDoc // legible
	labels  StatementLabels
	tag     string
}

// OwnerStatement writes the statement as a PDF: letterhead, what and for whom, summary, reservations, other
// revenue, expenses, payouts, notes. The paper is US Letter or A4 after the locale's region, upright unless the reservation table needs
// the width. It fails when the logo cannot be read (ErrLogo), when the reservation table has over 16 columns
// (ErrTooWide), when the document has no creation date, or when w fails.
func OwnerStatement(w io.Writer, doc StatementDoc) error {
	return ownerStatement(w, doc, true)
}

func ownerStatement(w io.Writer, doc StatementDoc, compress bool) error {
	return ownerStatements(w, func(yield func(StatementDoc, error) bool) { yield(doc, nil) }, compress)
}

// draw sets the statement on pages of its own in the document.
func (p *statementPage) draw(to *statementFile) error {
	reservations := p.layOut()
	if to.pdf == nil {
		to.begin(p)
	}
	to.enter(p)
	p.newPage()
	if err := p.letterhead(); err != nil {
		return err
	}
	p.heading()
	p.recipientsAndSummary()
	p.ownerTable()
	p.section(reservations)
	p.section(p.lineTable(p.labels.OtherRevenue, p.doc.Other))
	p.section(p.lineTable(p.labels.Expenses, p.doc.Expenses))
	p.section(p.lineTable(p.labels.Payouts, p.doc.Payouts))
	p.notes()
	p.footers()
	return nil
}

// layOut chooses the paper, turned to landscape when the reservation table does not fit upright in any text size.
func (p *statementPage) layOut() *table {
	p.orientation, p.paper = fpdf.OrientationPortrait, paper(p.tag)
	width, height := 595.28, 841.89
	if p.paper == fpdf.PageSizeLetter {
		width, height = 612, 792
	}
	reservations, fits := p.reservationTable(width - 2*sideMargin)
	if !fits {
		p.orientation = fpdf.OrientationLandscape
		width, height = height, width
		reservations, _ = p.reservationTable(width - 2*sideMargin)
	}
	p.left, p.right, p.bottom = sideMargin, width-sideMargin, height-bottomMargin
	p.running = joined(" · ", p.doc.Team.Name, p.doc.Listing.Name, p.period())
	return reservations
}

func (p *statementPage) period() string {
	start, end := dateText(p.doc.Statement.PeriodStart, p.tag), dateText(p.doc.Statement.PeriodEnd, p.tag)
	if start == "" || end == "" {
		return start + end
	}
	return start + " – " + end
}

func (p *statementPage) amount(cents money.Cents) string {
	return amountText(cents, p.doc.Currency, p.tag)
}

// total is legible by itself: the sign of a currency may be in neither font.
func (p *statementPage) total(cents money.Cents) string {
	return p.legible.text(totalText(cents, p.doc.Currency, p.tag))
}

// section draws a table with its distance from what is above; a table without rows is left out.
func (p *statementPage) section(t *table) {
	if len(t.rows) == 0 {
		return
	}
	t.continued = p.labels.Continued
	p.y += sectionGap
	t.draw(&p.sheet)
}

// reservationTable finds the largest text size at which every figure stays on one line, and tells whether there is one.
func (p *statementPage) reservationTable(width float64) (*table, bool) {
	t := &table{title: p.labels.Reservations}
	for _, r := range p.doc.Reservations.Rows {
		row := []tableCell{
			{text: r.GuestName, below: joined(" · ", r.ConfirmationCode, r.Channel)},
			{text: dateText(r.CheckIn, p.tag)},
			{text: dateText(r.CheckOut, p.tag)},
			{text: strconv.Itoa(r.Nights)},
		}
		t.rows = append(t.rows, p.withAmounts(row, r.Amounts))
	}
	if len(p.doc.Reservations.Subtotal) > 0 {
		t.total = p.withAmounts([]tableCell{{text: p.labels.Subtotal}, {}, {}, {}}, p.doc.Reservations.Subtotal)
	}
	if len(t.rows) == 0 {
		return t, true
	}
	for _, size := range []float64{bodySize, 8, 7.5, 7, 6.5} {
		if t.size = size; p.fitReservations(t, width, wholeHead) {
			return t, true
		}
	}
	// Long words in heads may break, but figures only when there is no other way; nothing is lost even then.
	for _, unbroken := range []float64{44, 36, 28} {
		if p.fitReservations(t, width, unbroken) {
			return t, false
		}
	}
	count := float64(len(t.columns) - 1)
	for i := 1; i < len(t.columns); i++ {
		t.columns[i].width = (width-narrowestGuest)/count - cellGap
	}
	return t, false
}

const (
	narrowestGuest = 96.0 // the least width of the column of guests
	amplestGuest   = 170.0
	amplestPadding = 22.0  // what a column gains at most from room the guests need not
	wholeHead      = 120.0 // no word of a head is broken that is narrower than this
)

// fitReservations sets the columns and tells whether they leave room for the guests. Words in the heads of amounts are
// kept whole up to unbroken points.
func (p *statementPage) fitReservations(t *table, width, unbroken float64) bool {
	t.columns = []tableColumn{
		{head: p.labels.Guest}, {head: p.labels.CheckIn}, {head: p.labels.CheckOut}, {head: p.labels.Nights, right: true},
	}
	for _, head := range p.doc.Reservations.Columns {
		t.columns = append(t.columns, tableColumn{head: head, right: true})
	}
	const fixed = 4
	for i := 1; i < len(t.columns); i++ {
		t.columns[i].width = p.natural(t, i, unbroken)
		if i < fixed {
			t.columns[i].width = p.natural(t, i, wholeHead)
		}
		width -= t.columns[i].width + cellGap
	}
	if spare := (width - amplestGuest) / float64(len(t.columns)-1); spare > 0 {
		for i := 1; i < len(t.columns); i++ {
			t.columns[i].width += min(spare, amplestPadding)
		}
	}
	return width >= narrowestGuest
}

// withAmounts appends a cell per amount column, whatever number of amounts the row has.
func (p *statementPage) withAmounts(row []tableCell, amounts []money.Cents) []tableCell {
	for i := range p.doc.Reservations.Columns {
		cell := tableCell{}
		if i < len(amounts) {
			cell.text = p.amount(amounts[i])
		}
		row = append(row, cell)
	}
	return row
}

// natural is the width at which no cell of a column is broken, nor any word of its head that is within unbroken points.
func (p *statementPage) natural(t *table, column int, unbroken float64) float64 {
	main, total := style{size: t.size}, style{size: t.size, bold: true}
	widest := 0.0
	for word := range strings.FieldsSeq(t.columns[column].head) {
		widest = max(widest, min(p.width(word, headStyle), unbroken))
	}
	for _, row := range t.rows {
		widest = max(widest, p.width(row[column].text, main))
	}
	if t.total != nil {
		widest = max(widest, p.width(t.total[column].text, total))
	}
	return widest + 0.1 // rounding must not break a line that fits exactly
}

func (p *statementPage) lineTable(title string, lines []StatementLine) *table {
	t := &table{title: title, size: bodySize, columns: []tableColumn{
		{head: p.labels.Date}, {head: p.labels.Description}, {head: p.labels.Amount, right: true},
	}}
	sum := money.Cents(0)
	for _, line := range lines {
		t.rows = append(t.rows, []tableCell{{text: dateText(line.Date, p.tag)}, {text: line.Description}, {text: p.amount(line.Cents)}})
		sum += line.Cents
	}
	t.total = []tableCell{{text: p.labels.Total}, {}, {text: p.amount(sum)}}
	t.columns[0].width = max(p.natural(t, 0, wholeHead), 64)
	t.columns[2].width = p.natural(t, 2, wholeHead)
	return t
}

// joined joins what is not empty.
func joined(separator string, parts ...string) string {
	kept := parts[:0:0]
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, separator)
}
