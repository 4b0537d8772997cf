package document

import (
	"slices"
	"strings"
)

const (
	bodySize       = 8.5
	amplestPadding = 22.0  // what a column gains at most from room the open column need not
	ampleText      = 170.0 // what the open column is left before others gain
	wholeHead      = 120.0 // no word of a head is broken that is narrower than this
	wholeWord      = 90.0  // nor one of a text
	leastText      = 96.0  // of the open column, unless it needs less
	widestText     = 260.0 // that is not broken
)

// measures are the widths of a column at a size of one point.
type measures struct {
	whole float64 // of its widest cell
	word  float64 // of its longest word
}

// measure finds what the columns need. It is asked once, since widths grow with the size of the text.
func (t *table) measure(s *sheet) {
	t.measures = make([]measures, len(t.columns))

	rows := t.rows
	if t.total != nil {
		rows = append(slices.Clip(rows), *t.total)
	}

	for r := range rows {
		row := &rows[r]
		st := style{size: 1, bold: row.style == GroupRow || row.style == SubtotalRow || r == len(t.rows)}

		spans := (&laidRow{tableRow: row, total: r == len(t.rows)}).heads()
		for i, cell := range row.cells {
			if i >= len(t.columns) || spans {
				break
			}

			m := &t.measures[i]

			shift := 0.0
			if i == 0 {
				shift = indent / bodySize * float64(row.level)
			}

			whole := s.measure(cell.text, st)

			m.whole = max(m.whole, whole+shift)
			if cell.below != "" && !row.note {
				m.whole = max(m.whole, 0.88*s.measure(cell.below, style{size: 1})+shift)
			}

			if !t.columns[i].text || whole+shift <= m.word {
				continue
			}

			for word := range strings.FieldsSeq(cell.text) {
				m.word = max(m.word, s.measure(word, st)+shift)
			}
		}
	}
}

// fit finds the largest text size at which figures stay on one line and words are whole, and tells whether there is
// one.
func (t *table) fit(s *sheet, width float64) bool {
	t.gap = cellGap
	if len(t.columns) == 0 || t.count() == 0 {
		t.size = bodySize
		return true
	}

	if t.measures == nil {
		t.measure(s)
	}

	for _, size := range []float64{bodySize, 8, 7.5, 7, 6.5} {
		if t.size = size; t.spread(s, width, wholeHead) {
			return true
		}
	}

	return false
}

// squeeze sets columns for which there is no room. Words in heads break first, then the text becomes smaller and stands
// closer, and figures break only when there is no other way; nothing is lost even then.
func (t *table) squeeze(s *sheet, width float64) {
	for _, gap := range []float64{cellGap, cellGap / 2} {
		for _, size := range []float64{6.5, 6, 5.5, 5} {
			for _, unbroken := range []float64{44, 36, 28} {
				if t.size, t.gap = size, gap; t.spread(s, width, unbroken) {
					return
				}
			}
		}
	}

	count := float64(len(t.columns) - 1)

	t.columns[0].width = max(width/(count+1)-t.gap, min(leastText, width/4))
	for i := 1; i < len(t.columns); i++ {
		t.columns[i].width = max((width-t.columns[0].width)/count-t.gap, 4)
	}
}

// spread sets the widths and tells whether everything has room. Words of heads are kept whole up to unbroken points.
func (t *table) spread(s *sheet, width, unbroken float64) bool {
	width -= t.gap * float64(len(t.columns)-1)

	const slack = 0.1 // rounding must not break a line that fits exactly

	open := t.open()
	least := make([]float64, len(t.columns))
	sumLeast, sumWhole := 0.0, 0.0

	for i := range t.columns {
		c, m := &t.columns[i], t.measures[i]

		head := 0.0
		for word := range strings.FieldsSeq(c.head) {
			head = max(head, min(s.measure(word, headStyle), unbroken))
		}

		c.width = max(m.whole*t.size, head) + slack

		least[i] = c.width
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

	if sumLeast > width {
		return false
	}

	if sumWhole > width {
		// Texts are broken, each in the same part of what it can spare.
		part := (width - sumLeast) / (sumWhole - sumLeast)
		for i := range t.columns {
			t.columns[i].width = least[i] + (t.columns[i].width-least[i])*part
		}

		return true
	}

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

// open is the column that takes the room the others leave: the first of texts, else the first.
func (t *table) open() int {
	return max(0, slices.IndexFunc(t.columns, func(c tableColumn) bool { return c.text }))
}
