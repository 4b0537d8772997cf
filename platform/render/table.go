package render

const (
	cellGap   = 12.0 // between columns
	cellPad   = 4.0  // above and below the text of a row
	headSize  = 7.5
	headLimit = 5 // lines of a column's head
	ruleThin  = 0.5
	ruleThick = 0.9
)

// tableColumn has a fixed width, save the one of width 0, which takes what is left.
type tableColumn struct {
	head  string
	width float64
	right bool
}

// tableCell has a main text and a muted one below it.
type tableCell struct {
	text, below string
}

type table struct {
	title     string
	continued string
	columns   []tableColumn
	rows      [][]tableCell
	total     []tableCell // nil for none
	size      float64     // of the text, in points
}

// styledLine is a line of a cell once it is wrapped.
type styledLine struct {
	text  string
	style style
}

// draw sets the table at the current position. Heads are repeated on every page; a row is split only when it is higher
// than a page; the total never stands alone on a page.
func (t *table) draw(s *sheet) {
	t.spread(s.right - s.left)
	totalHeight := 0.0
	if t.total != nil {
		totalHeight = height(t.wrapRow(s, t.total, true)) + ruleThick
	}
	emptyPage := s.bottom - bodyTop - t.headHeight(s)
	for i, row := range t.rows {
		lines := t.wrapRow(s, row, false)
		need := height(lines)
		if i == len(t.rows)-1 {
			need += totalHeight
		}
		need = min(need, emptyPage) // what is higher than a page is split, and may begin on any empty one
		switch {
		case i == 0:
			s.room(t.headHeight(s) + need)
			t.drawHead(s, t.title)
		case s.room(need):
			t.drawHead(s, t.title+" ("+t.continued+")")
		}
		t.drawRow(s, lines)
		s.rule(s.left, s.right, s.y, ruleThin, hair)
	}
	if t.total != nil {
		if s.room(totalHeight) {
			t.drawHead(s, t.title+" ("+t.continued+")")
		}
		s.rule(s.left, s.right, s.y, ruleThick, ink)
		t.drawRow(s, t.wrapRow(s, t.total, true))
	}
}

// spread gives the open column what the fixed ones leave.
func (t *table) spread(width float64) {
	open := -1
	for i, column := range t.columns {
		if column.width == 0 {
			open = i
		}
		width -= column.width
	}
	if open >= 0 {
		t.columns[open].width = width - cellGap*float64(len(t.columns)-1)
	}
}

func (t *table) wrapRow(s *sheet, row []tableCell, total bool) [][]styledLine {
	main := style{size: t.size, colour: ink, bold: total}
	below := style{size: t.size - 1.2, colour: muted}
	wrapped := make([][]styledLine, len(row))
	for i, cell := range row {
		for _, line := range s.wrap(cell.text, main, t.columns[i].width) {
			wrapped[i] = append(wrapped[i], styledLine{line, main})
		}
		if cell.below == "" {
			continue
		}
		for _, line := range s.wrap(cell.below, below, t.columns[i].width) {
			wrapped[i] = append(wrapped[i], styledLine{line, below})
		}
	}
	return wrapped
}

func height(row [][]styledLine) float64 {
	highest := 0.0
	for _, cell := range row {
		sum := 0.0
		for _, line := range cell {
			sum += line.style.lead()
		}
		highest = max(highest, sum)
	}
	return highest + 2*cellPad
}

// drawRow draws a row whose height is known to fit, or else fills page after page with it, at least a line each.
func (t *table) drawRow(s *sheet, row [][]styledLine) {
	for split := false; ; split = true {
		room := s.bottom - s.y - 2*cellPad
		lowest := 0.0
		rest := false
		x := s.left
		for i, cell := range row {
			y := 0.0
			for len(cell) > 0 && (y+cell[0].style.lead() <= room+0.01 || split && y == 0) {
				t.drawLine(s, t.columns[i], x, s.y+cellPad+y, cell[0])
				y += cell[0].style.lead()
				cell = cell[1:]
			}
			row[i] = cell
			rest = rest || len(cell) > 0
			lowest = max(lowest, y)
			x += t.columns[i].width + cellGap
		}
		s.y += lowest + 2*cellPad
		if !rest {
			return
		}
		s.newPage()
		t.drawHead(s, t.title+" ("+t.continued+")")
	}
}

func (t *table) drawLine(s *sheet, column tableColumn, x, top float64, line styledLine) {
	if column.right {
		s.textRight(x+column.width, top, line.text, line.style)
		return
	}
	s.text(x, top, line.text, line.style)
}

var headStyle = style{size: headSize, colour: muted}

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

var titleStyle = style{bold: true, size: 11.5, colour: accent}

func (t *table) headHeight(s *sheet) float64 {
	_, high := t.headLines(s)
	return titleStyle.lead() + 6 + high + cellPad
}

// drawHead sets the heads on a common last line above the rule.
func (t *table) drawHead(s *sheet, title string) {
	s.text(s.left, s.y, s.fit(title, titleStyle, s.right-s.left), titleStyle)
	s.y += titleStyle.lead() + 6
	lines, high := t.headLines(s)
	x := s.left
	for i, column := range t.columns {
		y := s.y + high - float64(len(lines[i]))*headStyle.lead()
		for _, line := range lines[i] {
			t.drawLine(s, column, x, y, styledLine{line, headStyle})
			y += headStyle.lead()
		}
		x += column.width + cellGap
	}
	s.y += high + cellPad
	s.rule(s.left, s.right, s.y, ruleThick, ink)
}
