package document

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

// tableColumn is as wide as its cells need. Text may be broken into lines, figures are not.
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

type tableRow struct {
	style RowStyle
	level int
	note  bool // what is below the first cell may run on below the others, which are one line high
	cells []tableCell
}

type table struct {
	title     string
	continued string
	columns   []tableColumn
	rows      []tableRow
	total     *tableRow
	size      float64      // of the text, in points
	gap       float64      // between columns, in points
	heading   *pdf.Element // the title when it is told first; nil when it is repeated
	tagged    bool         // its head was told to those who do not see it
	measures  []measures
}

// styledLine is a line of a cell once it is wrapped.
type styledLine struct {
	text  string
	style style
}

// laidRow is a row on its way to the page.
type laidRow struct {
	*tableRow

	total  bool
	lines  [][]styledLine // by cell
	height float64
	tr     *pdf.Element
	cells  []*pdf.Element
}

// draw sets the table at the current position. Heads are repeated on every page; a row is split only when it is higher
// than a page; a group stays with the row after it, sums with the row before them.
func (t *table) draw(s *sheet) {
	if t.title != "" {
		t.heading = s.doc.Open(s.sect, pdf.Heading2)
	}

	element := s.doc.Open(s.sect, pdf.Table)
	heading := t.headHeight(s)

	emptyPage := s.bottom - bodyTop - heading
	if high := heading + t.lowHeight(s); s.y+high > s.bottom && high <= emptyPage*lowTable {
		s.newPage()
	}

	for at := 0; at < t.count(); {
		var together []*laidRow

		need := 0.0

		for more := true; more; more = at < t.count() && t.glued(at) {
			row := t.lay(s, at)
			together = append(together, row)
			need += row.height
			at++
		}

		for i, row := range together {
			switch {
			case !t.tagged:
				s.room(heading + min(need, emptyPage))
				t.drawHead(s, element)
			case i == 0 && s.room(min(need, emptyPage)), i > 0 && s.room(min(row.height, emptyPage)):
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

// A lowTable takes no more than this part of a page and is not broken.
const lowTable = 0.3

// lowHeight is the height of the rows of a table that may be low, else more than a page has.
func (t *table) lowHeight(s *sheet) float64 {
	const most = 10
	if t.count() > most {
		return s.height
	}

	sum := 0.0
	for at := range t.count() {
		sum += t.lay(s, at).height
	}

	return sum
}

// count is the number of rows with the total.
func (t *table) count() int {
	if t.total != nil {
		return len(t.rows) + 1
	}

	return len(t.rows)
}

// glued tells whether a row stays with the one before it.
func (t *table) glued(at int) bool {
	return at == len(t.rows) || at > 0 && t.rows[at].style == SubtotalRow || at > 0 && t.rows[at-1].style == GroupRow
}

// lay wraps a row.
func (t *table) lay(s *sheet, at int) *laidRow {
	row := &laidRow{total: at == len(t.rows), tableRow: t.total}
	if !row.total {
		row.tableRow = &t.rows[at]
	}

	main := style{size: t.size, colour: ink, bold: row.total || row.style == GroupRow || row.style == SubtotalRow}
	below := style{size: t.size - 1, colour: muted}

	row.lines = make([][]styledLine, len(row.tableRow.cells))
	for i, cell := range row.tableRow.cells {
		width := t.columns[i].width
		if i == 0 {
			width -= indent * float64(row.level)
			if row.heads() {
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

		if cell.text != "" || cell.below != "" {
			for _, line := range s.wrap(cell.text, colour, width) {
				row.lines[i] = append(row.lines[i], styledLine{line, colour})
				sum += colour.lead()
			}
		}

		if cell.below != "" {
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

	row.height = max(row.height, main.lead()) + 2*cellPad

	return row
}

// heads tells whether a row has nothing but its first cell, which then takes the whole width.
func (r *laidRow) heads() bool {
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

// ground draws what lies under a row, or under the part of it that is on this page.
func (t *table) ground(s *sheet, row *laidRow, height float64) {
	switch {
	case row.total:
		s.rule(s.left, s.right, s.y, ruleThick, ink)
	case row.style == WarningRow:
		s.doc.Rect(s.left-6, s.y, s.right-s.left+12, height, warning)
		s.doc.Rect(s.left-6, s.y, 2.2, height, warned)
	case row.style == GroupRow:
		s.doc.Rect(s.left-6, s.y, s.right-s.left+12, height, shade)
	case row.style == SubtotalRow:
		s.rule(s.left, s.right, s.y, ruleThick, hair)
	}
}

// drawRow draws a row whose height is known to fit, or else fills page after page with it, at least a line each.
func (t *table) drawRow(s *sheet, element *pdf.Element, row *laidRow) {
	row.tr = s.doc.Open(element, pdf.TR)

	row.cells = make([]*pdf.Element, len(t.columns))
	for i := range t.columns {
		switch {
		case i == 0 && (row.heads() || row.total || row.style == SubtotalRow):
			row.cells[i] = s.doc.Open(row.tr, pdf.TH)

			row.cells[i].Scope = pdf.RowScope
			if row.heads() {
				row.cells[i].Span = len(t.columns)
			}
		case i == 0 || !row.heads():
			row.cells[i] = s.doc.Open(row.tr, pdf.TD)
		}
	}

	for split := false; ; split = true {
		room := s.bottom - s.y - 2*cellPad
		t.ground(s, row, min(row.height, s.bottom-s.y))
		lowest, rest := t.drawLines(s, row, room, split)
		s.y += lowest + 2*cellPad

		if !rest {
			break
		}

		s.newPage()
		t.drawHead(s, nil)
	}

	for _, cell := range row.cells {
		if cell != nil {
			s.doc.End(cell)
		}
	}

	s.doc.End(row.tr)

	if row.style != WarningRow && row.style != GroupRow {
		s.rule(s.left, s.right, s.y, ruleThin, hair)
	}
}

// drawLines draws the lines of a row that there is room for, and tells whether there are more.
func (t *table) drawLines(s *sheet, row *laidRow, room float64, split bool) (lowest float64, rest bool) {
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

// drawLine draws a line of a cell.
func (c *tableColumn) drawLine(s *sheet, e *pdf.Element, at point, line styledLine) {
	if c.right {
		s.textRight(e, at.x+c.width, at.top, line.text, line.style)
		return
	}

	s.text(e, at.x, at.top, line.text, line.style)
}

type point struct{ x, top float64 }

var (
	headStyle  = style{size: headSize, colour: muted}
	titleStyle = style{bold: true, size: 11.5, colour: accent}
)

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

func (t *table) headHeight(s *sheet) float64 {
	_, high := t.headLines(s)
	if t.title != "" {
		high += titleStyle.lead() + 6
	}

	return high + cellPad
}

// drawHead sets the heads on a common last line above the rule. They are part of the table once; repeated, for the eye,
// they are decoration.
func (t *table) drawHead(s *sheet, element *pdf.Element) {
	if t.title != "" {
		title := t.title
		if t.tagged {
			title += " (" + t.continued + ")"
		}

		in := t.heading
		if t.tagged {
			in = nil
		}

		s.text(in, s.left, s.y, s.fit(title, titleStyle, s.right-s.left), titleStyle)
		s.y += titleStyle.lead() + 6
	}

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

	t.tagged = true
	s.y += high + cellPad
	s.rule(s.left, s.right, s.y, ruleThick, ink)
}
