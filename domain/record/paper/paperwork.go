package paper

import (
	"strconv"
	"strings"

	"stayledger/platform/money"
	"stayledger/platform/pdf"
)

const sectionGap = 22.0

// The parts above the tables are not broken over pages. Very long texts are cut off there, so that these parts fit on
// the first page or on one of their own.
const (
	letterheadLines = 12 // of the sender
	titleLines      = 6
	belowLines      = 5 // below the title
	factLines       = 6
)

// paperwork has the parts of all documents: a sender, a title, facts, key figures, tables, notes and footers.
type paperwork struct {
	sheet

	legible  textCleaner
	team     StatementTeam
	labels   StatementLabels
	tag      string // of the locale
	currency string
	foot     string // the text of the footer, next to the page number
}

// amount returns an amount for a column.
func (p *paperwork) amount(cents money.Cents) string {
	return amountText(cents, p.currency, p.tag)
}

// total returns an amount with its currency, in characters that the fonts have: the sign of a currency may be in
// none.
func (p *paperwork) total(cents money.Cents) string {
	return p.legible.text(totalText(cents, p.currency, p.tag))
}

// amountCell returns a cell with an amount.
func (p *paperwork) amountCell(cents money.Cents) tableCell {
	return tableCell{text: p.amount(cents), negative: cents < 0, zero: cents == 0}
}

// drawLetterhead draws the sender: logo or name on one side, contact details on the other. It fails if the logo cannot
// be read.
func (p *paperwork) drawLetterhead() error {
	big := style{bold: true, size: 14, colour: accent}
	name := style{bold: true, size: 8.5, colour: ink}
	small := style{size: 8, colour: muted}

	const detailsWidth = 220.0

	logoRight := p.team.LogoRight && len(p.team.Logo) > 0
	top, logoEnd, y := p.y, p.y, p.y
	left := letterheadLines

	// Details are set line by line, on the side away from the logo, until the lines of the sender are used up.
	set := func(text string, st style) {
		if text == "" || left == 0 {
			return
		}

		e := p.doc.Open(p.sect, pdf.P)
		lines := p.wrapAtMost(text, st, detailsWidth, min(left, 4))

		left -= len(lines)
		for _, line := range lines {
			if logoRight {
				p.drawText(e, p.left, y, line, st)
			} else {
				p.textRight(e, p.right, y, line, st)
			}

			y += st.lead()
		}

		p.doc.End(e)
	}

	// With a logo the name is the first detail. Without one it takes the place of the logo, smaller if it is long.
	if len(p.team.Logo) > 0 {
		high, err := p.drawLogo(top, logoRight)
		if err != nil {
			return err
		}

		logoEnd += high

		set(p.team.Name, name)
	} else {
		wide := p.right - p.left - detailsWidth - 20
		if len(p.wrap(p.team.Name, big, wide)) > 3 {
			big.size = 10
		}

		logoEnd = p.drawParagraph(block{
			pdf.P,
			p.left,
			wide,
			big,
		}, top, strings.Join(p.wrapAtMost(p.team.Name, big, wide, 6), "\n"))
	}

	// Then the address and how to reach the sender.
	for _, detail := range append(append([]string(nil), p.team.Address...), p.team.Phone, p.team.Email) {
		set(detail, small)
	}

	// Go on below the lower of both sides. An empty sender takes no room.
	p.y = max(logoEnd, y)
	if p.y > top {
		p.y += 24
	}

	return nil
}

// drawLogo draws the logo into its box at the top and returns its height.
func (p *paperwork) drawLogo(top float64, atRight bool) (float64, error) {
	logo, err := loadLogo(p.team.Logo)
	if err != nil {
		return 0, err
	}

	// The whole logo must fit, in its own proportions.
	scale := min(logoWidth/float64(logo.Width), logoHeight/float64(logo.Height))
	wide, high := float64(logo.Width)*scale, float64(logo.Height)*scale

	x := p.left
	if atRight {
		x = p.right - wide
	}

	figure := p.doc.Open(p.sect, pdf.Figure)
	figure.Alt = joinTexts(" ", p.team.Name, "logo")
	p.doc.Image(figure, logo, pdf.Box{X: x, Y: top, Width: wide, Height: high})
	p.doc.End(figure)

	return high, nil
}

// drawHeading draws the title with a small text above it and another below it. Without a title, the text above takes
// its place.
func (p *paperwork) drawHeading(above, title, below string) {
	kicker := style{bold: true, size: 9, colour: accent}
	big := style{bold: true, size: 20, colour: ink}

	if p.draft != "" {
		p.drawBadge(p.draft, p.y-3)
	}

	if title == "" {
		above, title = "", above
	}

	if above != "" {
		p.y = p.drawParagraph(block{pdf.P, p.left, p.right - p.left - 180, kicker}, p.y, above) + 3
	}

	// The badge of a draft is at the right of the first line: leave room for it.
	wide := p.right - p.left
	if above == "" && p.draft != "" {
		wide -= 180
	}

	if title != "" {
		// A long title is set smaller, and cut off after some lines.
		if len(p.wrap(title, big, wide)) > 3 {
			big.size = 13
		}

		e := p.doc.Open(p.sect, pdf.Heading1)
		for _, line := range p.wrapAtMost(title, big, wide, titleLines) {
			p.drawText(e, p.left, p.y, line, big)
			p.y += big.size * 1.25
		}

		p.doc.End(e)
	}

	small := style{size: 9, colour: muted}
	p.y = p.drawParagraph(block{
		pdf.P,
		p.left,
		p.right - p.left,
		small,
	}, p.y+1, strings.Join(p.wrapAtMost(below, small, p.right-p.left, belowLines), "\n"))
}

// fact is one of several short texts in a row.
type fact struct {
	label, value string
	share        float64 // of the width
}

// drawBand draws facts next to each other between two rules.
func (p *paperwork) drawBand(facts []fact) {
	label := style{size: headSize, colour: muted}
	value := style{bold: true, size: 9.5, colour: ink}
	p.y += 13
	p.drawRule(p.left, p.right, p.y, ruleThick, ink)
	p.y += 8
	x, lowest := p.left, p.y

	for _, fact := range facts {
		if fact.value == "" {
			continue
		}

		// Each fact has its share of the width. A label is one line, a value a few.
		wide := fact.share * (p.right - p.left)
		e := p.doc.Open(p.sect, pdf.P)
		p.drawText(e, x, p.y, p.fit(fact.label, label, wide-8), label)

		y := p.y + label.lead() + 1
		for _, line := range p.wrapAtMost(fact.value, value, wide-8, factLines) {
			p.drawText(e, x, y, line, value)
			y += value.lead()
		}

		p.doc.End(e)

		lowest = max(lowest, y)
		x += wide
	}

	// The rule below goes under the longest fact.
	p.y = lowest + 8
	p.drawRule(p.left, p.right, p.y, ruleThin, hair)
	p.y += sectionGap
}

const summaryWidth = 250.0

// drawSummary draws label and figure at the two ends of a line. An emphasised last line is the main figure of the
// document.
func (p *paperwork) drawSummary(left, right float64, lines []SummaryLine) {
	p.y = p.drawParagraph(block{pdf.Heading2, left, right - left, titleStyle}, p.y, p.labels.Summary) + 6
	p.drawRule(left, right, p.y, ruleThick, ink)
	element := p.doc.Open(p.sect, pdf.Table)

	for i, line := range lines {
		st := style{size: 9, colour: ink, bold: line.Emphasis}
		final := line.Emphasis && i == len(lines)-1
		pad, inset, figure := 3.4, 0.0, p.amount(line.Cents)

		// The main figure is larger, has its currency, and a ground of its own.
		if final {
			st = style{bold: true, size: 12, colour: accent}
			pad, inset, figure = 8, 10, p.total(line.Cents)
		}

		value := st
		if line.Cents < 0 {
			value.colour = owed
		}

		// The label takes the room that the figure leaves, on as many lines as it needs. A line is not broken over
		// pages.
		label := p.wrap(line.Label, st, right-left-p.measure(figure, st)-2*inset-10)
		high := float64(len(label))*st.lead() + 2*pad
		p.ensureRoom(high + 6)

		if final {
			p.y += 6
			p.doc.Rect(left, p.y, right-left, high, tint)
			p.doc.Rect(left, p.y, 2.5, high, accent)
		}

		// For readers that do not see the page, it is a table: the label is the head of its row.
		tr := p.doc.Open(element, pdf.TR)
		head := p.doc.Open(tr, pdf.TH)

		head.Scope = pdf.RowScope
		for n, text := range label {
			p.drawText(head, left+inset, p.y+pad+float64(n)*st.lead(), text, st)
		}

		p.doc.End(head)
		cell := p.doc.Open(tr, pdf.TD)
		p.textRight(cell, right-inset, p.y+pad, figure, value)
		p.doc.End(cell)
		p.doc.End(tr)

		p.y += high
		if !final {
			p.drawRule(left, right, p.y, ruleThin, hair)
		}
	}

	p.doc.End(element)
}

// drawSection draws a table with its distance from the part above. A table without rows or columns is left out.
func (p *paperwork) drawSection(t *table) {
	if len(t.rows) == 0 && t.total == nil || len(t.columns) == 0 {
		return
	}

	// A table that does not fit in any size is squeezed.
	if width := p.right - p.left; !t.chooseSize(&p.sheet, width) {
		t.squeeze(&p.sheet, width)
	}

	t.continued = p.labels.Continued
	p.y += sectionGap
	t.drawRows(&p.sheet)
}

// drawNotes draws paragraphs under a heading. It draws nothing if all are empty.
func (p *paperwork) drawNotes(paragraphs []string) {
	body := style{size: 9, colour: ink}
	begun := false

	for _, text := range paragraphs {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}

		// The heading stays on one page with the first two lines.
		if !begun {
			p.y += sectionGap
			p.ensureRoom(titleStyle.lead() + 6 + 2*body.lead())
			p.y = p.drawParagraph(block{pdf.Heading2, p.left, p.right - p.left, titleStyle}, p.y, p.labels.Notes) + 6
			begun = true
		}

		e := p.doc.Open(p.sect, pdf.P)

		// Lines over the whole width are hard to read.
		for _, line := range p.wrap(text, body, min(p.right-p.left, 430)) {
			p.ensureRoom(body.lead())
			p.drawText(e, p.left, p.y, line, body)
			p.y += body.lead()
		}

		p.doc.End(e)
		p.y += 4
	}
}

// drawFooters ends the pages of the document with a footer on each. The number of pages is known only then.
func (p *paperwork) drawFooters() {
	p.doc.EndSection(func(n, pages int) {
		small := style{size: 8, colour: muted}
		top := p.height - footerHeight - small.lead()
		p.drawRule(p.left, p.right, top-7, ruleThin, hair)
		place := strings.NewReplacer("{page}", strconv.Itoa(n), "{pages}", strconv.Itoa(pages)).Replace(p.labels.PageOf)
		wide := p.measure(place, small)
		p.drawText(nil, p.left, top, p.fit(p.foot, small, p.right-p.left-wide-24), small)
		p.textRight(nil, p.right, top, place, small)
	})
}

// joinTexts joins the parts that are not empty.
func joinTexts(separator string, parts ...string) string {
	kept := parts[:0:0]
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}

	return strings.Join(kept, separator)
}
