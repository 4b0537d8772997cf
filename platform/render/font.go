package render

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"sync"
	"unicode"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/text/unicode/norm"
)

// missingGlyph stands for a character neither font has.
const missingGlyph = '□'

// typeface is one weight of the embedded font.
type typeface struct {
	full     []byte
	western  []byte       // full cut down to isWestern, since the size of the font is most of the cost of a document
	advances map[rune]int // in thousandths of the font size, for every character the font has
}

type fonts struct {
	regular, bold typeface
}

// loadFonts parses the fonts once per process.
var loadFonts = sync.OnceValues(func() (*fonts, error) {
	regular, err := newTypeface(liberationsansregular.TTF)
	if err != nil {
		return nil, err
	}
	bold, err := newTypeface(liberationsansbold.TTF)
	if err != nil {
		return nil, err
	}
	return &fonts{regular: regular, bold: bold}, nil
})

func newTypeface(ttf []byte) (typeface, error) {
	advances, err := glyphAdvances(ttf)
	if err != nil {
		return typeface{}, err
	}
	var western strings.Builder
	for r := range rune(math.MaxUint16) {
		if _, ok := advances[r]; ok && isWestern(r) {
			western.WriteRune(r)
		}
	}
	return typeface{full: ttf, western: fpdf.UTF8CutFont(copyOf(ttf), western.String()), advances: advances}, nil
}

// copyOf exists because the library writes into the font it is given: documents rendered at once must not share one.
func copyOf(ttf []byte) []byte {
	return append([]byte(nil), ttf...)
}

// isWestern holds for what nearly all statements are written in: Latin of Europe, punctuation, currency signs.
func isWestern(r rune) bool {
	return r >= ' ' && r < 0x180 || r >= 0x2010 && r <= 0x203A || r >= 0x20A0 && r <= 0x20BF || r == '−' || r == missingGlyph
}

// width is in points for a size in points.
func (t *typeface) width(s string, size float64) float64 {
	total := 0
	for _, r := range s {
		total += t.advances[r]
	}
	return float64(total) * size / 1000
}

// legible rewrites text into characters the fonts have, and remembers whether the western cut is enough for them.
type legible struct {
	fonts *fonts
	wide  bool
}

// line makes a single line; control characters and breaks become spaces.
func (l *legible) line(s string) string {
	return strings.Join(strings.Fields(l.text(s)), " ")
}

func (l *legible) lines(all []string) []string {
	kept := make([]string, 0, len(all))
	for _, s := range all {
		if s = l.line(s); s != "" {
			kept = append(kept, s)
		}
	}
	return kept
}

// text keeps line breaks.
func (l *legible) text(s string) string {
	var b strings.Builder
	s = norm.NFC.String(strings.ToValidUTF8(s, "\uFFFD"))
	for _, r := range strings.ReplaceAll(s, "\r\n", "\n") {
		switch {
		case unicode.Is(unicode.Cf, r):
			// Invisible by itself: joiners, direction marks, soft hyphens.
		case r == '\n' || l.has(r):
			l.put(&b, r)
		case unicode.IsControl(r) || unicode.IsSpace(r):
			b.WriteByte(' ')
		case unicode.Is(unicode.Mn, r):
			// Changes the look of the character before it, which has been written.
		default:
			l.substitute(&b, r)
		}
	}
	return b.String()
}

// substitute writes the compatible form of a character, such as the letters of a ligature, or a box.
func (l *legible) substitute(b *strings.Builder, r rune) {
	for _, c := range norm.NFKC.String(string(r)) {
		if !l.has(c) || unicode.IsControl(c) {
			c = missingGlyph
		}
		l.put(b, c)
	}
}

func (l *legible) put(b *strings.Builder, r rune) {
	l.wide = l.wide || r != '\n' && !isWestern(r)
	b.WriteRune(r)
}

func (l *legible) has(r rune) bool {
	_, regular := l.fonts.regular.advances[r]
	_, bold := l.fonts.bold.advances[r]
	return regular && bold && !unicode.IsControl(r)
}

var errFont = errors.New("render: embedded font is damaged")

// glyphAdvances reads the advance of every character of the Basic Multilingual Plane from a TrueType font, rounded as
// the PDF library rounds them, so that what is measured here is what is drawn.
func glyphAdvances(ttf []byte) (map[rune]int, error) {
	tables := map[string][]byte{}
	if len(ttf) < 12 {
		return nil, errFont
	}
	for i := range int(binary.BigEndian.Uint16(ttf[4:])) {
		record := ttf[12+16*i:]
		offset, length := binary.BigEndian.Uint32(record[8:]), binary.BigEndian.Uint32(record[12:])
		tables[string(record[:4])] = ttf[offset : offset+length]
	}
	head, hhea, hmtx, cmap := tables["head"], tables["hhea"], tables["hmtx"], tables["cmap"]
	if head == nil || hhea == nil || hmtx == nil || cmap == nil {
		return nil, errFont
	}
	perEm := float64(binary.BigEndian.Uint16(head[18:]))
	metrics := int(binary.BigEndian.Uint16(hhea[34:]))
	glyphs, err := glyphsOf(cmap)
	if err != nil {
		return nil, err
	}
	advances := make(map[rune]int, len(glyphs))
	for r, glyph := range glyphs {
		advance := binary.BigEndian.Uint16(hmtx[4*min(int(glyph), metrics-1):])
		advances[r] = int(math.Round(1000 / perEm * float64(advance)))
	}
	return advances, nil
}

// glyphsOf reads a character map of format 4, the one every TrueType font carries for the plane.
func glyphsOf(cmap []byte) (map[rune]int32, error) {
	word := func(table []byte, at int32) int32 { return int32(binary.BigEndian.Uint16(table[at:])) }
	for i := range word(cmap, 2) {
		table := cmap[binary.BigEndian.Uint32(cmap[8+8*i:]):]
		if word(table, 0) != 4 {
			continue
		}
		glyphs := map[rune]int32{}
		double := word(table, 6) // twice the number of segments
		for at := int32(14); at < 14+double; at += 2 {
			last, first := word(table, at), word(table, at+double+2)
			delta, offsetAt := word(table, at+2*double+2), at+3*double+2
			for c := first; c <= last && c < math.MaxUint16; c++ {
				glyph := c
				if offset := word(table, offsetAt); offset != 0 {
					if glyph = word(table, offsetAt+offset+2*(c-first)); glyph == 0 {
						continue
					}
				}
				if glyph = (glyph + delta) & math.MaxUint16; glyph != 0 {
					glyphs[c] = glyph
				}
			}
		}
		return glyphs, nil
	}
	return nil, errFont
}
