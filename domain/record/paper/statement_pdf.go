package paper

import (
	"slices"
	"strconv"
	"strings"

	"stayledger/platform/money"
	"stayledger/platform/pdf"
)

const (
	// The cardOwners are how many owners can be next to the summary with address and share. If there are more, or they
	// need more room, they become a table, and only their names are next to the summary, on at most nameLines lines.
	cardOwners = 4
	// The nameLines are the most lines of names next to the summary.
	nameLines = 12
)

// statementPage is an owner statement being drawn.
type statementPage struct {
	paperwork

	doc StatementDoc // legible
}

// draw draws the statement on pages of its own in the document.
func (p *statementPage) draw(tables []*table) error {
	p.running = joinTexts(" · ", p.team.Name, p.doc.Listing.Name, p.period())
	p.foot = joinTexts(" · ", p.team.Name, p.doc.Title, p.doc.Statement.ID, p.draft)
	p.sect = p.paperwork.doc.Open(nil, pdf.Sect)
	p.newPage()

	if err := p.drawLetterhead(); err != nil {
		return err
	}

	// First the head of the statement: the property, and the facts about the statement.
	p.drawHeading(p.doc.Title, p.doc.Listing.Name, p.doc.Listing.Address)
	p.drawBand([]fact{
		{p.labels.Period, p.period(), 0.40},
		{p.labels.Statement, p.doc.Statement.ID, 0.24},
		{p.labels.Status, p.doc.Statement.Status, 0.20},
		{p.labels.Currency, strings.ToUpper(p.doc.Currency), 0.16},
	})

	// Then the owners and the summary. Owners that do not fit there have the first table.
	cards, high := p.cards()
	p.ensureRoom(high)

	if !cards {
		tables = slices.Insert(tables, 0, p.ownerTable())
	}

	p.recipientsAndSummary(cards)

	// Last, the tables, the notes and the footers.
	for _, t := range tables {
		p.drawSection(t)
	}

	p.drawNotes(strings.Split(p.doc.Notes, "\n"))
	p.paperwork.doc.End(p.sect)
	p.drawFooters()

	return nil
}

// tables returns the tables of the statement in their order, without that of the owners.
func (p *statementPage) tables() []*table {
	var out []*table
	for i := range p.doc.Tables {
		out = append(out, p.reportTable(&p.doc.Tables[i]))
	}

	return append(out,
		p.reservationTable(),
		p.lineTable(p.labels.OtherRevenue, p.doc.Other),
		p.lineTable(p.labels.Expenses, p.doc.Expenses),
		p.lineTable(p.labels.Payouts, p.doc.Payouts),
	)
}

// period returns the first and the last day, or the one that is given.
func (p *statementPage) period() string {
	start, end := dateText(p.doc.Statement.PeriodStart, p.tag), dateText(p.doc.Statement.PeriodEnd, p.tag)
	if start == "" || end == "" {
		return start + end
	}

	return start + " – " + end
}

// recipientsWidth returns the width that the summary leaves for the owners.
func (p *statementPage) recipientsWidth() float64 { return p.right - p.left - summaryWidth - 32 }

// recipientsAndSummary draws the owners on the left, where they have room, and the summary on the right, which may
// go on to the next page.
func (p *statementPage) recipientsAndSummary(cards bool) {
	page := p.pages

	lowest := p.recipients(p.recipientsWidth(), cards)
	if len(p.doc.Summary) > 0 {
		p.drawSummary(p.right-summaryWidth, p.right, p.doc.Summary)
	}

	// Go on below the longer of the two, if both are on this page.
	if p.pages == page {
		p.y = max(p.y, lowest)
	}
}

// ownerText is a text about an owner and the distance above it.
type ownerText struct {
	gap   float64
	text  string
	style style
}

// ownerCard returns the texts about an owner next to the summary.
func (p *statementPage) ownerCard(o *StatementOwner) []ownerText {
	card := []ownerText{{0, o.Name, style{bold: true, size: 10, colour: ink}}}
	for _, address := range o.Address {
		card = append(card, ownerText{0, address, style{size: 8.5, colour: muted}})
	}

	if o.SplitPercent != "" {
		share := joinTexts(" · ", percentText(o.SplitPercent, p.tag), p.total(o.ShareCents))
		card = append(card, ownerText{2, share, style{size: 8.5, colour: ink}})
	}

	return card
}

const cardGap = 9.0 // between owners

// cards returns whether all owners fit next to the summary, and the height of the owners or else of their names.
func (p *statementPage) cards() (fit bool, high float64) {
	if len(p.doc.Owners) == 0 {
		return true, 0
	}

	// Add up the heights as if the owners had cards, as many as can have one.
	title := titleStyle.lead() + 6
	high = title

	for i := range p.doc.Owners[:min(cardOwners, len(p.doc.Owners))] {
		for _, t := range p.ownerCard(&p.doc.Owners[i]) {
			high += t.gap + float64(len(p.wrap(t.text, t.style, p.recipientsWidth())))*t.style.lead()
		}

		high += cardGap
	}

	// The cards must fit on this page, since they are not broken.
	if len(p.doc.Owners) <= cardOwners && p.y+high <= p.bottom {
		return true, high
	}

	return false, title + float64(len(p.nameLines(p.recipientsWidth())))*namesStyle.lead()
}

// recipients draws the owners and returns the position below them. The position of the page does not change.
func (p *statementPage) recipients(width float64, cards bool) float64 {
	if len(p.doc.Owners) == 0 {
		return p.y
	}

	y := p.drawParagraph(block{pdf.Heading2, p.left, width, titleStyle}, p.y, p.labels.PreparedFor) + 6

	// Without cards there are only the names. The table of owners has the rest.
	if !cards {
		return p.drawParagraph(block{pdf.P, p.left, width, namesStyle}, y, strings.Join(p.nameLines(width), "\n"))
	}

	for i := range p.doc.Owners {
		for _, t := range p.ownerCard(&p.doc.Owners[i]) {
			y = p.drawParagraph(block{pdf.P, p.left, width, t.style}, y+t.gap, t.text)
		}

		y += cardGap
	}

	return y - cardGap
}

var namesStyle = style{size: 9, colour: ink}

// nameLines returns the names of the owners as running text. Names that do not fit here are in the table of owners.
func (p *statementPage) nameLines(width float64) []string {
	all := make([]string, len(p.doc.Owners))
	for i, owner := range p.doc.Owners {
		all[i] = owner.Name
	}

	return p.wrapAtMost(strings.Join(all, ", "), namesStyle, width, nameLines)
}

// ownerTable returns a table of the owners for when they have no room next to the summary.
func (p *statementPage) ownerTable() *table {
	t := &table{title: p.labels.Owners, columns: []tableColumn{
		{head: p.labels.Owner, text: true}, {head: p.labels.Share, right: true}, {head: p.labels.Amount, right: true},
	}}
	for _, owner := range p.doc.Owners {
		row := []tableCell{
			{text: owner.Name, below: strings.Join(owner.Address, ", ")},
			{text: percentText(owner.SplitPercent, p.tag)},
			{},
		}

		// Without a percentage no share is shown.
		if owner.SplitPercent != "" {
			row[2] = p.amountCell(owner.ShareCents)
		}

		t.rows = append(t.rows, tableRow{cells: row})
	}

	return t
}

// reservationTable returns the table of reservations, with a column for each heading of amounts.
func (p *statementPage) reservationTable() *table {
	t := &table{title: p.labels.Reservations, columns: []tableColumn{
		{head: p.labels.Guest, text: true},
		{head: p.labels.CheckIn},
		{head: p.labels.CheckOut},
		{head: p.labels.Nights, right: true},
	}}
	for _, head := range p.doc.Reservations.Columns {
		t.columns = append(t.columns, tableColumn{head: head, right: true})
	}

	for _, r := range p.doc.Reservations.Rows {
		// Code and channel are below the guest, because the amounts need the width.
		row := []tableCell{
			{text: r.GuestName, below: joinTexts(" · ", r.ConfirmationCode, r.Channel)},
			{text: dateText(r.CheckIn, p.tag)},
			{text: dateText(r.CheckOut, p.tag)},
			{text: strconv.Itoa(r.Nights)},
		}
		t.rows = append(t.rows, tableRow{cells: p.addAmounts(row, r.Amounts)})
	}

	// A subtotal without rows would be alone on the page.
	if len(p.doc.Reservations.Subtotal) > 0 && len(t.rows) > 0 {
		t.total = &tableRow{cells: p.addAmounts([]tableCell{
			{text: p.labels.Subtotal},
			{},
			{},
			{},
		}, p.doc.Reservations.Subtotal)}
	}

	return t
}

// addAmounts appends a cell per amount column, however many amounts the row has.
func (p *statementPage) addAmounts(row []tableCell, amounts []money.Cents) []tableCell {
	for i := range p.doc.Reservations.Columns {
		cell := tableCell{}
		if i < len(amounts) {
			cell = p.amountCell(amounts[i])
		}

		row = append(row, cell)
	}

	return row
}

// lineTable returns a table of lines with their total. Without lines it is empty, and is then left out.
func (p *statementPage) lineTable(title string, lines []StatementLine) *table {
	t := &table{title: title, columns: []tableColumn{
		{head: p.labels.Date}, {head: p.labels.Description, text: true}, {head: p.labels.Amount, right: true},
	}}
	if len(lines) == 0 {
		return t
	}

	sum := money.Cents(0)

	for _, line := range lines {
		t.rows = append(t.rows, tableRow{cells: []tableCell{
			{text: dateText(line.Date, p.tag)},
			{text: line.Description},
			p.amountCell(line.Cents),
		}})
		sum += line.Cents
	}

	t.total = &tableRow{cells: []tableCell{{text: p.labels.Total}, {}, p.amountCell(sum)}}

	return t
}
