package paper

import "stayledger/platform/pdf"

const (
	cellGap   = 12.0 // between columns that have room
	cellPad   = 3.5  // above and below the text of a row
	indent    = 11.0 // of a level
	headSize  = 7.5
	headLimit = 5 // lines of a column's head
	ruleThin  = 0.5
	ruleThick = 0.9
)

// tableColumn is a column, as wide as its cells need. Text may be broken into lines, figures may not.
type tableColumn struct {
	head  string
	right bool
	text  bool
	width float64
}

// tableCell has a main text and a muted one below it.
type tableCell struct {
	text, below string
	negative    bool
	zero        bool
}

// tableRow is a row of a table, not yet wrapped.
type tableRow struct {
	style RowStyle
	level int
	note  bool // the text below the first cell may run on below the others, which are one line high
	cells []tableCell
}

// table is a table with the widths and the text size that it is drawn with.
type table struct {
	title     string
	continued string
	columns   []tableColumn
	rows      []tableRow
	total     *tableRow
	size      float64      // of the text, in points
	gap       float64      // between columns, in points
	heading   *pdf.Element // the element of the title; nil without a title
	tagged    bool         // the head is in the structure of the document, so further heads are decoration
	measures  []measures
}

// styledLine is a line of a wrapped cell.
type styledLine struct {
	text  string
	style style
}

// wrappedRow is a wrapped row, ready to be drawn.
type wrappedRow struct {
	*tableRow

	total  bool
	lines  [][]styledLine // by cell
	height float64
	tr     *pdf.Element
	cells  []*pdf.Element
}

// drawRows draws the table at the current position. Heads are repeated on every page. A row is split only if it is
// higher than a page. A group stays with the row after it, sums stay with the row before them.
func (t *table) drawRows(s *sheet) {
	if t.title != "" {
		t.heading = s.doc.Open(s.sect, pdf.Heading2)
	}

	element := s.doc.Open(s.sect, pdf.Table)
	heading := t.headHeight(s)

	// A low table is not broken: it starts on a new page if it does not fit here.
	emptyPage := s.bottom - bodyTop - heading
	if high := heading + t.lowHeight(s); s.y+high > s.bottom && high <= emptyPage*lowTable {
		s.newPage()
	}

	for at := 0; at < t.count(); {
		// Collect the rows that must stay together.
		var together []*wrappedRow

		need := 0.0

		for more := true; more; more = at < t.count() && t.staysWithPrevious(at) {
			row := t.wrapRow(s, at)
			together = append(together, row)
			need += row.height
			at++
		}

		for i, row := range together {
			// The first head comes with its first rows. Later rows that do not fit start a page, under a repeated
			// head.
			switch {
			case !t.tagged:
				s.ensureRoom(heading + min(need, emptyPage))
				t.drawHead(s, element)
			case i == 0 && s.ensureRoom(min(need, emptyPage)), i > 0 && s.ensureRoom(min(row.height, emptyPage)):
				t.drawHead(s, nil)
			}

			t.drawRow(s, element, row)
		}
	}

	s.doc.End(element)

	if t.heading != nil {
		s.doc.End(t.heading)
	}
}

// lowTable is the greatest part of a page that a table may take to be kept on one page.
const lowTable = 0.3

// lowHeight returns the height of the rows of a table that may be low. For one with many rows it returns more than
// a page has.
func (t *table) lowHeight(s *sheet) float64 {
	const most = 10
	if t.count() > most {
		return s.height
	}

	sum := 0.0
	for at := range t.count() {
		sum += t.wrapRow(s, at).height
	}

	return sum
}

// count returns the number of rows with the total.
func (t *table) count() int {
	if t.total != nil {
		return len(t.rows) + 1
	}

	return len(t.rows)
}

// staysWithPrevious reports whether a row stays with the one before it.
func (t *table) staysWithPrevious(at int) bool {
	return at == len(t.rows) || at > 0 && t.rows[at].style == SubtotalRow || at > 0 && t.rows[at-1].style == GroupRow
}

// wrapRow wraps the cells of a row and computes its height.
func (t *table) wrapRow(s *sheet, at int) *wrappedRow {
	row := &wrappedRow{total: at == len(t.rows), tableRow: t.total}
	if !row.total {
		row.tableRow = &t.rows[at]
	}

	main := style{size: t.size, colour: ink, bold: row.total || row.style == GroupRow || row.style == SubtotalRow}
	below := style{size: t.size - 1, colour: muted}

	row.lines = make([][]styledLine, len(row.tableRow.cells))
	for i, cell := range row.tableRow.cells {
		// The first cell is indented. A heading takes the whole width.
		width := t.columns[i].width
		if i == 0 {
			width -= indent * float64(row.level)
			if row.isHeading() {
				width = s.right - s.left - indent*float64(row.level)
			}
		}

		colour := main

		switch {
		case cell.negative:
			colour.colour = owed
		case cell.zero:
			colour.colour = muted
		}

		sum := 0.0

		// A text below needs a line above it, even an empty one.
		if cell.text != "" || cell.below != "" {
			for _, line := range s.wrap(cell.text, colour, width) {
				row.lines[i] = append(row.lines[i], styledLine{line, colour})
				sum += colour.lead()
			}
		}

		if cell.below != "" {
			// The other cells have one line, so the note may run below them.
			if i == 0 && row.note {
				width = s.right - s.left - indent*float64(row.level)
			}

			for _, line := range s.wrap(cell.below, below, width) {
				row.lines[i] = append(row.lines[i], styledLine{line, below})
				sum += below.lead()
			}
		}

		row.height = max(row.height, sum)
	}

	// A row without any text is one line high.
	row.height = max(row.height, main.lead()) + 2*cellPad

	return row
}

// isHeading reports whether a row has only its first cell, which then takes the whole width.
func (r *wrappedRow) isHeading() bool {
	if r.total || r.style != GroupRow {
		return false
	}

	for _, cell := range r.tableRow.cells[1:] {
		if cell.text != "" {
			return false
		}
	}

	return true
}

// drawGround draws the ground of a row, or of the part of it that is on this page.
func (t *table) drawGround(s *sheet, row *wrappedRow, height float64) {
	switch {
	case row.total:
		s.drawRule(s.left, s.right, s.y, ruleThick, ink)
	case row.style == WarningRow:
		s.doc.Rect(s.left-6, s.y, s.right-s.left+12, height, warning)
		s.doc.Rect(s.left-6, s.y, 2.2, height, warned)
	case row.style == GroupRow:
		s.doc.Rect(s.left-6, s.y, s.right-s.left+12, height, shade)
	case row.style == SubtotalRow:
		s.drawRule(s.left, s.right, s.y, ruleThick, hair)
	}
}

// drawRow draws a row. One that does not fit on a page goes on over the next pages, with at least a line on each.
func (t *table) drawRow(s *sheet, element *pdf.Element, row *wrappedRow) {
	row.tr = s.doc.Open(element, pdf.TR)

	// First open the elements, since a row that is split is still one row of the table.
	row.cells = make([]*pdf.Element, len(t.columns))
	for i := range t.columns {
		switch {
		case i == 0 && (row.isHeading() || row.total || row.style == SubtotalRow):
			row.cells[i] = s.doc.Open(row.tr, pdf.TH)

			row.cells[i].Scope = pdf.RowScope
			if row.isHeading() {
				row.cells[i].Span = len(t.columns)
			}
		case i == 0 || !row.isHeading():
			row.cells[i] = s.doc.Open(row.tr, pdf.TD)
		}
	}

	// Then draw the lines that fit, and go on with the rest on the next page.
	for split := false; ; split = true {
		room := s.bottom - s.y - 2*cellPad
		t.drawGround(s, row, min(row.height, s.bottom-s.y))
		lowest, rest := t.drawLines(s, row, room, split)
		s.y += lowest + 2*cellPad

		if !rest {
			break
		}

		s.newPage()
		t.drawHead(s, nil)
	}

	// Last, close the elements and draw the rule below.
	for _, cell := range row.cells {
		if cell != nil {
			s.doc.End(cell)
		}
	}

	s.doc.End(row.tr)

	if row.style != WarningRow && row.style != GroupRow {
		s.drawRule(s.left, s.right, s.y, ruleThin, hair)
	}
}

// drawLines draws the lines of a row that fit into room, and returns whether there are more. If the row is split,
// it draws at least one line of each cell.
func (t *table) drawLines(s *sheet, row *wrappedRow, room float64, split bool) (lowest float64, rest bool) {
	x := s.left

	for i, lines := range row.lines {
		y := 0.0

		left := x
		if i == 0 && !t.columns[0].right {
			left += indent * float64(row.level)
		}

		for len(lines) > 0 && (y+lines[0].style.lead() <= room+0.01 || split && y == 0) {
			t.columns[i].drawLine(s, row.cells[i], point{left, s.y + cellPad + y}, lines[0])
			y += lines[0].style.lead()
			lines = lines[1:]
		}

		// Keep the rest of the cell for the next page.
		row.lines[i] = lines
		rest = rest || len(lines) > 0
		lowest = max(lowest, y)
		x += t.columns[i].width + t.gap
	}

	if !rest {
		lowest = max(lowest, t.size*1.4)
	}

	return lowest, rest
}

// drawLine draws a line of a cell, at the left or at the right of its column.
func (c *tableColumn) drawLine(s *sheet, e *pdf.Element, at point, line styledLine) {
	if c.right {
		s.textRight(e, at.x+c.width, at.top, line.text, line.style)
		return
	}

	s.drawText(e, at.x, at.top, line.text, line.style)
}

// point is a position on a page.
type point struct{ x, top float64 }

var (
	headStyle  = style{size: headSize, colour: muted}
	titleStyle = style{bold: true, size: 11.5, colour: accent}
)

// headLines returns the wrapped heads of the columns, and their height. A very long head is cut off.
func (t *table) headLines(s *sheet) ([][]string, float64) {
	lines := make([][]string, len(t.columns))
	most := 0

	for i, column := range t.columns {
		lines[i] = s.wrap(column.head, headStyle, column.width)
		if len(lines[i]) > headLimit {
			lines[i] = append(lines[i][:headLimit-1], "…")
		}

		most = max(most, len(lines[i]))
	}

	return lines, float64(most) * headStyle.lead()
}

// headHeight returns the height of the title and the heads.
func (t *table) headHeight(s *sheet) float64 {
	_, high := t.headLines(s)
	if t.title != "" {
		high += titleStyle.lead() + 6
	}

	return high + cellPad
}

// drawHead draws the heads with a common last line above the rule. They are part of the table once. On further
// pages they are only for the eye, and so decoration.
func (t *table) drawHead(s *sheet, element *pdf.Element) {
	// First the title. On further pages it says that the table continues.
	if t.title != "" {
		title := t.title
		if t.tagged {
			title += " (" + t.continued + ")"
		}

		in := t.heading
		if t.tagged {
			in = nil
		}

		s.drawText(in, s.left, s.y, s.fit(title, titleStyle, s.right-s.left), titleStyle)
		s.y += titleStyle.lead() + 6
	}

	// Then the heads, aligned at their last lines.
	lines, high := t.headLines(s)

	var tr, th *pdf.Element
	if element != nil {
		tr = s.doc.Open(element, pdf.TR)
	}

	x := s.left

	for i, column := range t.columns {
		if tr != nil {
			th = s.doc.Open(tr, pdf.TH)
			th.Scope = pdf.ColumnScope
		}

		y := s.y + high - float64(len(lines[i]))*headStyle.lead()
		for _, line := range lines[i] {
			column.drawLine(s, th, point{x, y}, styledLine{line, headStyle})
			y += headStyle.lead()
		}

		if th != nil {
			s.doc.End(th)
		}

		x += column.width + t.gap
	}

	if tr != nil {
		s.doc.End(tr)
	}

	// From now on heads are repetitions.
	t.tagged = true
	s.y += high + cellPad
	s.drawRule(s.left, s.right, s.y, ruleThick, ink)
}
