package render

import (
	"strings"
	"unicode/utf8"

	"codeberg.org/go-pdf/fpdf"
)

// Measures of the page in points.
const (
	sideMargin   = 56.0
	topMargin    = 52.0
	bottomMargin = 62.0           // the body ends here; the footer stands below
	footerHeight = 34.0           // from the lower edge to the footer's baseline
	bodyTop      = topMargin + 26 // on pages with a running heading
)

type colour struct{ r, g, b int }

// The palette: ink for figures and names, muted for what explains them, one accent.
var (
	ink    = colour{28, 35, 43}
	muted  = colour{104, 115, 127}
	hair   = colour{217, 222, 227}
	accent = colour{15, 92, 101}
	tint   = colour{236, 244, 244}
)

// style is how a piece of text looks; size is in points.
type style struct {
	bold   bool
	size   float64
	colour colour
}

// lead is the height of one line.
func (s style) lead() float64 { return s.size * 1.4 }

// sheet is the document being drawn: a position on the current page and the vocabulary to draw with. Lengths are in
// points, y grows downwards.
type sheet struct {
	pdf         *fpdf.Fpdf
	fonts       *fonts
	set         style // what the current page's font is set to
	left, right float64
	bottom      float64
	y           float64
	running     string // the heading of pages after the first
	family      string // of the fonts
	orientation string
	paper       string
	before      int // pages that stand before the first
}

// newPage starts a page; from the second on under a running heading.
func (s *sheet) newPage() {
	s.pdf.AddPageFormat(s.orientation, s.pdf.GetPageSizeStr(s.paper))
	s.set = style{}
	s.y = topMargin
	if s.pdf.PageNo() == s.before+1 {
		return
	}
	small := style{size: 8, colour: muted}
	s.text(s.left, s.y-8, s.fit(s.running, small, s.right-s.left), small)
	s.rule(s.left, s.right, s.y+10, ruleThin, hair)
	s.y = bodyTop
}

// room starts a new page unless height is left on this one, and tells whether it did.
func (s *sheet) room(height float64) bool {
	if s.y+height <= s.bottom {
		return false
	}
	s.newPage()
	return true
}

func (s *sheet) face(st style) *typeface {
	if st.bold {
		return &s.fonts.bold
	}
	return &s.fonts.regular
}

func (s *sheet) width(text string, st style) float64 {
	return s.face(st).width(text, st.size)
}

// text draws one line in a line box whose upper edge is top, centred on its capitals.
func (s *sheet) text(x, top float64, text string, st style) {
	if text == "" {
		return
	}
	if s.set.bold != st.bold || s.set.size != st.size {
		weight := ""
		if st.bold {
			weight = "B"
		}
		s.pdf.SetFont(s.family, weight, st.size)
	}
	if s.set.colour != st.colour {
		s.pdf.SetTextColor(st.colour.r, st.colour.g, st.colour.b)
	}
	s.set = st
	const capitals = 0.729 // height of capitals in the font, of its size
	s.pdf.Text(x, top+(st.lead()+capitals*st.size)/2, text)
}

func (s *sheet) textRight(right, top float64, text string, st style) {
	s.text(right-s.width(text, st), top, text, st)
}

func (s *sheet) rule(from, to, y, thickness float64, c colour) {
	s.pdf.SetFillColor(c.r, c.g, c.b)
	s.pdf.Rect(from, y-thickness/2, to-from, thickness, "F")
}

// wrap breaks text into lines of at most width: at line breaks and spaces, and inside words that are too long.
func (s *sheet) wrap(text string, st style, width float64) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := ""
		for word := range strings.FieldsFuncSeq(paragraph, func(r rune) bool { return r == ' ' }) {
			joined := word
			if line != "" {
				joined = line + " " + word
			}
			if s.width(joined, st) <= width {
				line = joined
				continue
			}
			if line != "" {
				lines = append(lines, line)
			}
			for utf8.RuneCountInString(word) > 1 && s.width(word, st) > width {
				head := s.head(word, st, width)
				lines = append(lines, word[:head])
				word = word[head:]
			}
			line = word
		}
		lines = append(lines, line)
	}
	return lines
}

// head returns how many bytes of word fit into width, at least one character.
func (s *sheet) head(word string, st style, width float64) int {
	used := 0.0
	for i, r := range word {
		used += s.width(string(r), st)
		if used > width && i > 0 {
			return i
		}
	}
	_, first := utf8.DecodeRuneInString(word)
	return max(first, 1)
}

// fit shortens a line with an ellipsis when it is too wide.
func (s *sheet) fit(text string, st style, width float64) string {
	if s.width(text, st) <= width {
		return text
	}
	return strings.TrimRight(text[:s.head(text, st, width-s.width("…", st))], " ") + "…"
}
