package paper

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"stayledger/platform/pdf"
)

// Report writes the document as a PDF: letterhead, title, facts next to the summary, tables, notes. The paper is US
// Letter or A4 by the locale's region, upright unless a table needs the width. It fails if the logo cannot be read
// (ErrLogo), if the document has no creation date, or if w fails.
func Report(w io.Writer, doc ReportDoc) error {
	if doc.Created.IsZero() {
		return errors.New("paper: report has no creation date")
	}

	shared, err := pdf.EmbeddedFonts()
	if err != nil {
		return err
	}

	// Fallback fonts are added to a copy, because other documents share the fonts.
	fonts := *shared
	l := textCleaner{&fonts}
	p := &paperwork{
		sheet:    sheet{fonts: &fonts},
		legible:  l,
		team:     l.team(doc.Team),
		labels:   l.labels(doc.Labels),
		tag:      localeTag(doc.Locale),
		currency: l.line(doc.Currency),
	}
	title, subtitle := l.line(doc.Title), l.line(doc.Subtitle)
	p.running = joinTexts(" · ", p.team.Name, title, subtitle)
	p.foot = joinTexts(" · ", p.team.Name, title, subtitle)

	// The widest table decides on the paper, so lay out the tables before the first page.
	tables := make([]*table, len(doc.Tables))
	for i := range doc.Tables {
		tables[i] = p.reportTable(&doc.Tables[i])
	}

	p.choosePaper(tables)
	p.doc = pdf.New(w, pdf.Info{
		Title:   joinTexts(" – ", title, subtitle),
		Author:  p.team.Name,
		Subject: title,
		Lang:    documentLanguage(doc.Labels, p.tag),
		Created: doc.Created,
	}, &fonts)
	p.sect = p.doc.Open(nil, pdf.Sect)
	p.newPage()

	if err := p.drawLetterhead(); err != nil {
		return err
	}

	// Then the parts of the page, from top to bottom.
	p.drawHeading("", title, subtitle)
	p.y += 11
	p.drawRule(p.left, p.right, p.y, ruleThick, ink)
	p.y += sectionGap - 6
	p.overview(&doc)

	for _, t := range tables {
		p.drawSection(t)
	}

	// Last, the notes and the footers.
	notes := make([]string, len(doc.Notes))
	for i, note := range doc.Notes {
		notes[i] = l.text(note)
	}

	p.drawNotes(notes)
	p.doc.End(p.sect)
	p.drawFooters()

	if err := p.doc.Close(); err != nil {
		return fmt.Errorf("paper: report: %w", err)
	}

	return nil
}

// choosePaper sets the paper to landscape if some table does not fit upright in any text size.
func (p *paperwork) choosePaper(tables []*table) {
	p.setPaper(p.tag, false)

	for _, t := range tables {
		if !t.chooseSize(&p.sheet, p.right-p.left) {
			p.setPaper(p.tag, true)
			return
		}
	}
}

// overview draws the facts on the left and the key figures on the right.
func (p *paperwork) overview(doc *ReportDoc) {
	top, page, lowest := p.y, p.pages, p.y

	// The facts leave room for the key figures, if there are any.
	if len(doc.Facts) > 0 {
		width := p.right - p.left
		if len(doc.Summary) > 0 {
			width -= summaryWidth + 32
		}

		lowest = p.facts(doc.Facts, width)
	}

	if len(doc.Summary) > 0 {
		// Both begin at the same height, unless the facts went on to another page.
		if p.pages == page {
			p.y = top
		}

		lines := make([]SummaryLine, len(doc.Summary))
		for i, line := range doc.Summary {
			line.Label = p.legible.line(line.Label)
			lines[i] = line
		}

		left := p.right - summaryWidth
		if len(doc.Facts) == 0 {
			left = p.left
		}

		p.drawSummary(left, left+summaryWidth, lines)
	}

	// Go on below the longer of the two. Without either, undo the distance to the next part.
	if p.pages == page {
		p.y = max(p.y, lowest)
	}

	if len(doc.Facts)+len(doc.Summary) == 0 {
		p.y -= sectionGap
	}
}

// facts draws labels above their values, as many in a line as there is room for, and returns the position below
// them.
func (p *paperwork) facts(facts []Fact, width float64) float64 {
	label := style{size: headSize, colour: muted}
	value := style{bold: true, size: 9.5, colour: ink}
	perLine := max(1, min(int(width/120), 4, len(facts)))

	wide := width/float64(perLine) - 10
	for chunk := range slices.Chunk(facts, perLine) {
		// First wrap the values of a line, to know its height: a line is not broken over pages.
		values := make([][]string, len(chunk))
		most := 0

		for i, fact := range chunk {
			if text := strings.TrimSpace(dateText(p.legible.line(fact.Value), p.tag)); text != "" {
				values[i] = p.wrapAtMost(text, value, wide, factLines)
			}

			most = max(most, len(values[i]))
		}

		high := label.lead() + 1 + float64(most)*value.lead()
		p.ensureRoom(high)

		for i, fact := range chunk {
			if values[i] == nil {
				continue
			}

			// Then draw them in equal columns.
			x := p.left + float64(i)*(wide+10)
			e := p.doc.Open(p.sect, pdf.P)
			p.drawText(e, x, p.y, p.fit(p.legible.line(fact.Label), label, wide), label)

			for n, line := range values[i] {
				p.drawText(e, x, p.y+label.lead()+1+float64(n)*value.lead(), line, value)
			}

			p.doc.End(e)
		}

		if most > 0 {
			p.y += high + 9
		}
	}

	return p.y
}

// team returns the sender in characters that the fonts have.
func (l textCleaner) team(t StatementTeam) StatementTeam {
	t.Name, t.Email, t.Phone, t.Address = l.line(t.Name), l.line(t.Email), l.line(t.Phone), l.lines(t.Address)
	return t
}

// labels returns all labels, with English for those that are empty, in characters that the fonts have.
func (l textCleaner) labels(labels StatementLabels) StatementLabels {
	labels = labels.fillEnglish()
	for _, word := range labels.words() {
		*word.text = l.line(*word.text)
	}

	return labels
}
