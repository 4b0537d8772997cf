package paper

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"stayledger/platform/pdf"
)

// Measures of the page in points.
const (
	sideMargin   = 54.0
	topMargin    = 50.0
	bottomMargin = 62.0           // the body ends here; the footer is below
	footerHeight = 34.0           // from the lower edge to the footer's line
	bodyTop      = topMargin + 24 // on pages with a running heading
)

// The palette: ink for figures and names, muted for their explanations, one accent, one colour for money that is owed
// and one for warnings.
var (
	ink     = pdf.Colour{R: 28, G: 35, B: 43}
	muted   = pdf.Colour{R: 92, G: 102, B: 114}
	hair    = pdf.Colour{R: 217, G: 222, B: 227}
	accent  = pdf.Colour{R: 15, G: 92, B: 101}
	tint    = pdf.Colour{R: 236, G: 244, B: 244}
	shade   = pdf.Colour{R: 244, G: 246, B: 248}
	owed    = pdf.Colour{R: 158, G: 42, B: 43}
	warned  = pdf.Colour{R: 146, G: 84, B: 0}
	warning = pdf.Colour{R: 255, G: 245, B: 224}
)

// style is the look of a piece of text. The size is in points.
type style struct {
	bold   bool
	size   float64
	colour pdf.Colour
}

// lead returns the height of one line.
func (s style) lead() float64 { return s.size * 1.4 }

// sheet is the document being drawn: a position on the current page and the functions to draw with. Lengths are in
// points, y grows downwards.
type sheet struct {
	doc           *pdf.Doc
	fonts         *pdf.Fonts
	sect          *pdf.Element // the section that everything on these pages belongs to
	width, height float64      // of the paper
	left, right   float64
	bottom        float64
	y             float64
	pages         int
	running       string // the heading of pages after the first
	draft         string // the word for a draft next to the running heading; empty if the document is final
}

// setPaper sets the size of the paper by the locale, in points.
func (s *sheet) setPaper(tag string, landscape bool) {
	s.width, s.height = 595.28, 841.89
	if usesLetter(tag) {
		s.width, s.height = 612, 792
	}

	if landscape {
		s.width, s.height = s.height, s.width
	}

	s.left, s.right, s.bottom = sideMargin, s.width-sideMargin, s.height-bottomMargin
}

// newPage starts a page. All but the first have a running heading.
func (s *sheet) newPage() {
	s.doc.Page(s.width, s.height)
	s.pages++

	s.y = topMargin
	if s.pages == 1 {
		return
	}

	small := style{size: 8, colour: muted}

	// The badge of a draft is at the right of the running heading, which ends before it.
	right := s.right
	if s.draft != "" {
		right = s.drawBadge(s.draft, s.y-10) - 12
	}

	s.drawText(nil, s.left, s.y-8, s.fit(s.running, small, right-s.left), small)
	s.drawRule(s.left, s.right, s.y+9, ruleThin, hair)
	s.y = bodyTop
}

// drawBadge draws a word on a tinted ground at the right margin and returns its left edge. The word is in the text of
// the document too, so here it is decoration.
func (s *sheet) drawBadge(word string, top float64) (left float64) {
	st := style{bold: true, size: 8, colour: warned}
	word = s.fit(word, st, 160)
	wide := s.measure(word, st)
	left = s.right - wide - 16
	s.doc.Rect(left, top, wide+16, st.lead()+4, warning)
	s.doc.Rect(left, top, 2, st.lead()+4, warned)
	s.drawText(nil, left+9, top+2, word, st)

	return left
}

// ensureRoom starts a new page unless height is left on this one, and returns whether it did.
func (s *sheet) ensureRoom(height float64) bool {
	if s.y+height <= s.bottom+0.01 {
		return false
	}

	s.newPage()

	return true
}

// measure returns the width of a text.
func (s *sheet) measure(text string, st style) float64 {
	return s.fonts.Width(text, st.bold, st.size)
}

// drawText draws one line in a line box with its upper edge at top, centred on its capitals. Without an element it is
// decoration.
func (s *sheet) drawText(e *pdf.Element, x, top float64, text string, st style) {
	const capitals = 0.729 // height of capitals in the font, of its size
	s.doc.Text(e, x, top+(st.lead()+capitals*st.size)/2, text, pdf.Style{
		Bold:   st.bold,
		Size:   st.size,
		Colour: st.colour,
	})
}

// textRight draws one line that ends at right.
func (s *sheet) textRight(e *pdf.Element, right, top float64, text string, st style) {
	s.drawText(e, right-s.measure(text, st), top, text, st)
}

// drawRule draws a horizontal line.
func (s *sheet) drawRule(from, to, y, thickness float64, c pdf.Colour) {
	s.doc.Rect(from, y-thickness/2, to-from, thickness, c)
}

// block is text of one kind in a column of the page.
type block struct {
	tag   pdf.Tag
	left  float64
	width float64
	style style
}

// drawParagraph draws wrapped text from y on and returns the position below it. It does not start a new page.
func (s *sheet) drawParagraph(b block, y float64, text string) float64 {
	if text == "" {
		return y
	}

	e := s.doc.Open(s.sect, b.tag)
	for _, line := range s.wrap(text, b.style, b.width) {
		s.drawText(e, b.left, y, line, b.style)
		y += b.style.lead()
	}

	s.doc.End(e)

	return y
}

// wrap breaks text into lines of at most width: at line breaks and spaces, and inside words that are too long.
func (s *sheet) wrap(text string, st style, width float64) []string {
	if strings.IndexByte(text, '\n') < 0 && s.measure(text, st) <= width {
		return []string{text}
	}

	var lines []string

	gap := s.measure(" ", st)

	// Fill each line with as many words as fit.
	for paragraph := range strings.SplitSeq(text, "\n") {
		line, used := "", 0.0

		for word := range strings.FieldsFuncSeq(paragraph, func(r rune) bool { return r == ' ' }) {
			wide := s.measure(word, st)
			if line != "" && used+gap+wide <= width {
				line, used = line+" "+word, used+gap+wide
				continue
			}

			if line != "" {
				lines = append(lines, line)
			}

			// A word that is wider than a line is cut into lines of its own.
			for wide > width && utf8.RuneCountInString(word) > 1 {
				head := s.breakAt(word, st, width)
				lines = append(lines, word[:head])
				word = word[head:]
				wide = s.measure(word, st)
			}

			line, used = word, wide
		}

		lines = append(lines, line)
	}

	return lines
}

// wrapAtMost wraps a text into lines, but no more than most. If there are more, the last one ends with an ellipsis.
func (s *sheet) wrapAtMost(text string, st style, width float64, most int) []string {
	lines := s.wrap(text, st, width)
	if len(lines) > most {
		lines = lines[:most]
		lines[most-1] = s.fit(lines[most-1]+" …", st, width)
	}

	return lines
}

// breakAt returns how many bytes of a word fit into width, at least one character. It prefers to break after a hyphen
// or slash near the end.
func (s *sheet) breakAt(word string, st style, width float64) int {
	used, better := 0.0, 0

	for i, r := range word {
		one := s.measure(word[i:i+utf8.RuneLen(r)], st)
		if used+one > width && i > 0 {
			// A break after a sign is better, unless it leaves more than half of the line empty.
			if better > i/2 {
				return better
			}

			return i
		}

		used += one

		if r == '-' || r == '/' || r == '_' || r == '@' {
			better = i + utf8.RuneLen(r)
		}
	}

	_, first := utf8.DecodeRuneInString(word)

	return max(first, 1)
}

// fit returns a line that is not too wide: a longer one is cut off with an ellipsis.
func (s *sheet) fit(text string, st style, width float64) string {
	if s.measure(text, st) <= width {
		return text
	}

	used, dots := 0.0, s.measure("…", st)
	for i, r := range text {
		used += s.measure(text[i:i+utf8.RuneLen(r)], st)
		if used+dots > width {
			return strings.TrimRightFunc(text[:i], unicode.IsSpace) + "…"
		}
	}

	return text
}
