package paper

import (
	"slices"
	"strings"
)

const (
	bodySize       = 8.5
	amplestPadding = 22.0  // the most that a column gains from room that the open column does not need
	ampleText      = 170.0 // the width of the open column before others gain
	wholeHead      = 120.0 // words of a head up to this width are not broken
	wholeWord      = 90.0  // words of a text up to this width are not broken
	leastText      = 96.0  // the least width of the open column, unless it needs less
	widestText     = 260.0 // the widest text that is not broken into lines
)

// measures are the widths of a column at a text size of one point.
type measures struct {
	whole float64 // of its widest cell
	word  float64 // of its longest word
}

// measure measures the columns. It runs once per table, since widths are proportional to the size of the text.
func (t *table) measure(s *sheet) {
	t.measures = make([]measures, len(t.columns))

	rows := t.rows
	if t.total != nil {
		rows = append(slices.Clip(rows), *t.total)
	}

	for r := range rows {
		row := &rows[r]

		// Bold text is wider. The last row is the total, which is bold too.
		st := style{size: 1, bold: row.style == GroupRow || row.style == SubtotalRow || r == len(t.rows)}

		spans := (&wrappedRow{tableRow: row, total: r == len(t.rows)}).isHeading()
		for i, cell := range row.cells {
			if i >= len(t.columns) || spans {
				break
			}

			m := &t.measures[i]

			// Only the first cell is indented.
			shift := 0.0
			if i == 0 {
				shift = indent / bodySize * float64(row.level)
			}

			whole := s.measure(cell.text, st)

			m.whole = max(m.whole, whole+shift)

			// The text below is smaller. A note may run on below the other cells, so it needs no width.
			if cell.below != "" && !row.note {
				m.whole = max(m.whole, 0.88*s.measure(cell.below, style{size: 1})+shift)
			}

			// Only texts may be broken, between words. Figures need their whole width.
			if !t.columns[i].text || whole+shift <= m.word {
				continue
			}

			for word := range strings.FieldsSeq(cell.text) {
				m.word = max(m.word, s.measure(word, st)+shift)
			}
		}
	}
}

// chooseSize sets the largest text size at which figures stay on one line and words are whole. It returns false if no
// size does.
func (t *table) chooseSize(s *sheet, width float64) bool {
	t.gap = cellGap

	// An empty table fits in any size.
	if len(t.columns) == 0 || t.count() == 0 {
		t.size = bodySize
		return true
	}

	if t.measures == nil {
		t.measure(s)
	}

	// Try the sizes from the largest down.
	for _, size := range []float64{bodySize, 8, 7.5, 7, 6.5} {
		if t.size = size; t.setWidths(s, width, wholeHead) {
			return true
		}
	}

	return false
}

// squeeze sets the columns of a table that does not fit. Words in heads break first, then the text becomes smaller
// and the columns move closer. Figures break only if there is no other way; nothing is lost even then.
func (t *table) squeeze(s *sheet, width float64) {
	for _, gap := range []float64{cellGap, cellGap / 2} {
		for _, size := range []float64{6.5, 6, 5.5, 5} {
			for _, unbroken := range []float64{44, 36, 28} {
				if t.size, t.gap = size, gap; t.setWidths(s, width, unbroken) {
					return
				}
			}
		}
	}

	// No combination fits: share the width, with more for the first column.
	count := float64(len(t.columns) - 1)

	t.columns[0].width = max(width/(count+1)-t.gap, min(leastText, width/4))
	for i := 1; i < len(t.columns); i++ {
		t.columns[i].width = max((width-t.columns[0].width)/count-t.gap, 4)
	}
}

// setWidths sets the widths of the columns and returns whether everything fits. Words of heads that are up to unbroken
// points wide are kept whole.
func (t *table) setWidths(s *sheet, width, unbroken float64) bool {
	width -= t.gap * float64(len(t.columns)-1)

	const slack = 0.1 // rounding must not break a line that fits exactly

	// First find the width of each column without broken lines, and the least width that it can have.
	open := t.openColumn()
	least := make([]float64, len(t.columns))
	sumLeast, sumWhole := 0.0, 0.0

	for i := range t.columns {
		c, m := &t.columns[i], t.measures[i]

		// A column is at least as wide as the longest word of its head.
		head := 0.0
		for word := range strings.FieldsSeq(c.head) {
			head = max(head, min(s.measure(word, headStyle), unbroken))
		}

		c.width = max(m.whole*t.size, head) + slack

		least[i] = c.width

		// A text may become narrower, but its words stay whole up to a limit.
		if c.text {
			c.width = min(c.width, widestText)

			least[i] = min(c.width, max(head, min(m.word*t.size, wholeWord))+slack)
			if i == open {
				least[i] = min(c.width, max(least[i], leastText))
			}
		}

		sumLeast += least[i]
		sumWhole += c.width
	}

	// Then compare both sums with the room on the page.
	if sumLeast > width {
		return false
	}

	if sumWhole > width {
		// Texts are broken: each gives up the same part of the width that it can spare.
		part := (width - sumLeast) / (sumWhole - sumLeast)
		for i := range t.columns {
			t.columns[i].width = least[i] + (t.columns[i].width-least[i])*part
		}

		return true
	}

	// Everything fits in one line: the open column takes the spare room, and the others get some of it once texts
	// have enough.
	spare := width - sumWhole
	if others := float64(len(t.columns) - 1); others > 0 {
		ample := max(0, ampleText-t.columns[open].width)
		gain := min(max(0, spare-ample)/others, amplestPadding)

		for i := range t.columns {
			if i != open {
				t.columns[i].width += gain
				spare -= gain
			}
		}
	}

	t.columns[open].width += spare

	return true
}

// openColumn returns the column that takes the spare room: the first column of texts, or else the first.
func (t *table) openColumn() int {
	return max(0, slices.IndexFunc(t.columns, func(c tableColumn) bool { return c.text }))
}
