package pdf

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/go-text/typesetting/bidi"
	"github.com/go-text/typesetting/di"
	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
	"github.com/go-text/typesetting/shaping"
	"golang.org/x/image/math/fixed"
	"golang.org/x/text/unicode/norm"
)

// shapedScripts has the characters of scripts that join, stack or reorder letters, or are written from right to left:
// Hebrew, Arabic, Syriac, Thaana, N'Ko, the scripts of India and South-East Asia, Tibetan and Mongolian, and
// combining marks.
var shapedScripts = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x0300, Hi: 0x036F, Stride: 1}, // combining marks
		{Lo: 0x0590, Hi: 0x109F, Stride: 1}, // Hebrew to Myanmar
		{Lo: 0x1700, Hi: 0x1CFF, Stride: 1}, // Tagalog, Khmer, Mongolian, Balinese and their neighbours
		{Lo: 0x1DC0, Hi: 0x1DFF, Stride: 1}, // combining marks
		{Lo: 0x20D0, Hi: 0x20FF, Stride: 1}, // combining marks
		{Lo: 0xA800, Hi: 0xABFF, Stride: 1}, // Syloti Nagri to Meetei Mayek
		{Lo: 0xFB1D, Hi: 0xFDFF, Stride: 1}, // forms of Hebrew and Arabic
		{Lo: 0xFE20, Hi: 0xFE2F, Stride: 1}, // combining marks
		{Lo: 0xFE70, Hi: 0xFEFE, Stride: 1}, // forms of Arabic
	},
	R32: []unicode.Range32{
		{Lo: 0x10800, Hi: 0x11FFF, Stride: 1}, // Cypriot to Kawi
		{Lo: 0x1E800, Hi: 0x1EFFF, Stride: 1}, // Mende Kikakui, Adlam, Arabic mathematics
	},
}

// IsShaped reports whether the look or the place of a character depends on its neighbours.
func IsShaped(r rune) bool { return unicode.Is(shapedScripts, r) }

// needsShaping reports whether a line has a character that is shaped. Most lines have none, which their bytes show.
func needsShaping(line string) bool {
	for i := range len(line) {
		if line[i] < 0xCC { // the first byte of the first shaped character
			continue
		}

		for _, r := range line[i:] {
			if IsShaped(r) {
				return true
			}
		}

		return false
	}

	return false
}

// placedGlyph is a glyph of a shaped line. Lengths are in thousandths of the font size.
type placedGlyph struct {
	font    int
	id      uint16
	advance int // from here to the next glyph
	x, y    int // from here to where the glyph is drawn, to the right and up
}

// parseShapes reads the tables of a font that lines are shaped with. It fails with ErrFont.
func parseShapes(ttf []byte) (parsed *font.Font, err error) {
	// The library panics over some damaged files.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrFont, r)
		}
	}()

	loader, err := opentype.NewLoader(bytes.NewReader(ttf))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFont, err)
	}

	if parsed, err = font.NewFont(loader); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFont, err)
	}

	return parsed, nil
}

// shapedLine is a line of glyphs from left to right. It is exact when who copies the text of its glyphs gets the line:
// readers turn letters from right to left round by themselves, but do not know of vowel signs that stand before their
// consonants.
type shapedLine struct {
	glyphs  []placedGlyph
	isExact bool
}

// shaper shapes one line at a time and keeps its buffers for the next.
type shaper struct {
	paragraph bidi.Paragraph
	segmenter shaping.Segmenter
	harfbuzz  shaping.HarfbuzzShaper
	faces     map[*Font]*font.Face

	// The line being shaped.
	fonts *Fonts
	bold  bool
	last  *Font // of the last character
}

var shapers = sync.Pool{New: func() any { return &shaper{faces: map[*Font]*font.Face{}} }}

// shape returns the glyphs of a line, without those that no font has.
//
// Text is ordered by the Unicode bidirectional algorithm. A line with a letter that is written from left to right goes
// that way, as documents do, another one from right to left.
func (f *Fonts) shape(line string, bold bool) shapedLine {
	s, _ := shapers.Get().(*shaper)
	defer shapers.Put(s)

	// A shaper has large tables and is used again.
	s.fonts, s.bold, s.last = f, bold, nil
	text := []rune(line)

	var glyphs []placedGlyph

	for _, run := range s.visualRuns(text) {
		input := shaping.Input{
			Text:      text,
			RunStart:  run.Start,
			RunEnd:    run.End,
			Direction: di.DirectionLTR,
			Size:      fixed.I(1000),
		}
		if !run.IsLeftToRight() {
			input.Direction = di.DirectionRTL
		}

		// Parts of one script and font are in the order of reading, their glyphs in that of drawing.
		parts := s.segmenter.Split(input, s)
		if !run.IsLeftToRight() {
			parts = slices.Clone(parts)
			slices.Reverse(parts)
		}

		for _, part := range parts {
			glyphs = s.appendGlyphs(glyphs, part)
		}
	}

	return shapedLine{glyphs: glyphs, isExact: f.isExact(line, glyphs)}
}

// isExact reports whether the text of glyphs is that of the line.
func (f *Fonts) isExact(line string, glyphs []placedGlyph) bool {
	var text strings.Builder

	for _, g := range glyphs {
		letters := f.at(g.font).glyphText(g.id)
		if letters == "" {
			return false
		}

		text.WriteString(letters)
	}

	return strings.ContainsFunc(line, isRightToLeft) || norm.NFC.String(text.String()) == norm.NFC.String(line)
}

// visualRuns returns the runs of one direction from left to right.
func (s *shaper) visualRuns(text []rune) []bidi.Run {
	direction := bidi.RightToLeft
	if slices.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) && !isRightToLeft(r) }) {
		direction = bidi.LeftToRight
	}

	segmented := s.paragraph.Segment(text, direction)

	var runs []bidi.Run

	for i := range segmented.NumRuns() {
		run := segmented.Run(i)
		if direction == bidi.LeftToRight && run.IsLeftToRight() {
			runs = appendNumbers(runs, run, text)
			continue
		}

		runs = append(runs, run)
	}

	// Rule L2 of the algorithm: from the highest level down to the first, turn round what is at least that high.
	for level := bidi.Level(2); level > 0; level-- {
		for i := 0; i < len(runs); i++ {
			start := i
			for i < len(runs) && runs[i].Level >= level {
				i++
			}

			slices.Reverse(runs[start:i])
		}
	}

	return runs
}

// appendNumbers appends a run of a line from left to right, divided into text of level 0 and numbers of level 2,
// which the library gives as one. A number in Arabic digits, or after a letter from right to left, has level 2,
// because it is among such letters.
func appendNumbers(runs []bidi.Run, run bidi.Run, text []rune) []bidi.Run {
	at := run.Start
	for _, number := range numbers(text, run.Start, run.End) {
		start, end := number[0], number[1]
		if !isArabicDigit(text[start]) && !followsRightToLeft(text[:start]) {
			continue
		}

		if at < start {
			runs = append(runs, bidi.Run{Start: at, End: start})
		}

		runs = append(runs, bidi.Run{Start: start, End: end, Level: 2})
		at = end
	}

	if at < run.End {
		runs = append(runs, bidi.Run{Start: at, End: run.End})
	}

	return runs
}

// numbers returns where the numbers of text[start:end] begin and end, with the signs of currencies and percentages
// next to them.
func numbers(text []rune, start, end int) [][2]int {
	var found [][2]int

	sign := func(i int) bool {
		return i >= start && i < end &&
			(unicode.Is(unicode.Sc, text[i]) || text[i] == '%' || text[i] == '‰' || text[i] == '#' || text[i] == '°')
	}

	digit := func(i int) bool { return i < end && unicode.IsDigit(text[i]) }
	for i := start; i < end; i++ {
		if !digit(i) {
			continue
		}

		// Include the signs in front.
		first := i
		for sign(first - 1) {
			first--
		}

		// A single separator between digits is within the number.
		for digit(i) || digit(i+1) && (text[i] == '.' || text[i] == ',' || text[i] == ':' || text[i] == '/') {
			i++
		}

		for sign(i) {
			i++
		}

		found = append(found, [2]int{first, i})
	}

	return found
}

// followsRightToLeft reports whether the last letter of a text is of a script that is written from right to left.
func followsRightToLeft(text []rune) bool {
	for _, r := range slices.Backward(text) {
		if unicode.IsLetter(r) {
			return isRightToLeft(r)
		}
	}

	return false
}

// isArabicDigit reports whether a character is a digit of Arabic, other than those of Persian and Urdu.
func isArabicDigit(r rune) bool { return r >= 0x660 && r <= 0x669 }

// isRightToLeft reports whether a letter is of a script that is written from right to left.
func isRightToLeft(r rune) bool {
	return r >= 0x590 && r <= 0x8FF || r >= 0xFB1D && r <= 0xFDFF || r >= 0xFE70 && r <= 0xFEFE ||
		r >= 0x10800 && r <= 0x10FFF || r >= 0x1E800 && r <= 0x1EFFF
}

// appendGlyphs appends the glyphs of a part of one direction, script and font.
func (s *shaper) appendGlyphs(glyphs []placedGlyph, part shaping.Input) []placedGlyph {
	index := 0
	for s.fonts.at(index).shapes != part.Face.Font {
		index++
	}

	face := s.fonts.at(index)

	space := font.GID(face.glyph(' '))
	for _, g := range s.harfbuzz.ShapeNoExtents(part).Glyphs {
		// Joiners come out as spaces without a width.
		if g.GlyphID == 0 || int(g.GlyphID) >= face.glyphs || g.GlyphID == space && g.Advance == 0 {
			continue
		}

		glyphs = append(glyphs, placedGlyph{
			font: index, id: uint16(g.GlyphID), //nolint:gosec // below the number of glyphs
			advance: g.Advance.Round(), x: g.XOffset.Round(), y: g.YOffset.Round(),
		})
	}

	return glyphs
}

// ResolveFace returns the font of a character. A mark is in the font of the letter before it when that has it.
func (s *shaper) ResolveFace(r rune) *font.Face {
	if s.last == nil || !unicode.Is(unicode.M, r) || !s.last.Has(r) {
		index, _ := s.fonts.find(r, s.bold)
		s.last = s.fonts.at(index)
	}

	face := s.faces[s.last]
	if face == nil {
		face = font.NewFace(s.last.shapes)
		s.faces[s.last] = face
	}

	return face
}
