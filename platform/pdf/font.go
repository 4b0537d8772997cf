package pdf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"unicode"

	"github.com/go-text/typesetting/font"
	"golang.org/x/text/unicode/norm"
)

// ErrFont is wrapped by ParseFont for a file that is no TrueType font with outlines of its own.
var ErrFont = errors.New("pdf: not a usable TrueType font")

// Font is a parsed TrueType font. It is safe for use by many documents at once.
type Font struct {
	name     string
	tables   map[string]table
	perEm    int
	glyphs   int
	longLoca bool
	// advances are in thousandths of the font size, by glyph, rounded as documents state them, so that measured and
	// drawn widths are equal.
	advances []uint16
	// pages find the glyph of a character by its upper and lower bits.
	pages  map[rune]*[256]uint16
	basic  [256]*[256]uint16 // of the basic plane
	kerns  map[uint32]int16  // by left and right glyph, in thousandths
	kerned glyphSet          // the left glyphs of kerns
	runes  map[uint16]rune   // the character of a glyph
	shapes *font.Font        // the same font, as lines are shaped with it
	// blocks are sets of glyphs that are embedded together, so that documents of a language have the same subset.
	blocks []glyphSet

	mu    sync.Mutex
	cache map[string]*subset
	order []string // of the cache, the least recently used first
}

// table reads big-endian numbers, zero beyond its end: a damaged font draws badly, but breaks nothing.
type table []byte

func (t table) u16(at int) int {
	if at < 0 || at+2 > len(t) {
		return 0
	}

	return int(binary.BigEndian.Uint16(t[at:]))
}

func (t table) i16(at int) int { return int(int16(t.u16(at))) } //nolint:gosec // two's complement

func (t table) u32(at int) int { return t.u16(at)<<16 | t.u16(at+2) }

// from is the rest of a table from a place on.
func (t table) from(at int) table {
	if at < 0 || at > len(t) {
		return nil
	}

	return t[at:]
}

// ParseFont reads a TrueType font. The name is the PostScript name that documents give it; ttf is kept and must not
// be changed. It fails with ErrFont.
func ParseFont(name string, ttf []byte) (*Font, error) {
	f := &Font{
		name:   name,
		tables: map[string]table{},
		pages:  map[rune]*[256]uint16{},
		runes:  map[uint16]rune{},
		cache:  map[string]*subset{},
	}

	// Find the tables, ignoring those that reach beyond the file.
	file := table(ttf)
	for i := range file.u16(4) {
		record := file.from(12 + 16*i)
		if len(record) < 16 {
			break
		}

		if offset, length := record.u32(8), record.u32(12); offset <= len(file) && length <= len(file)-offset {
			f.tables[string(record[:4])] = file[offset : offset+length]
		}
	}

	// A font without these cannot be drawn or embedded.
	for _, needed := range []string{"head", "hhea", "hmtx", "maxp", "cmap", "loca", "glyf"} {
		if f.tables[needed] == nil {
			return nil, fmt.Errorf("%w: no table %s", ErrFont, needed)
		}
	}

	if len(f.tables["head"]) < 54 || len(f.tables["hhea"]) < 36 || len(f.tables["maxp"]) < 6 {
		return nil, fmt.Errorf("%w: tables are cut off", ErrFont)
	}

	f.perEm, f.glyphs = f.tables["head"].u16(18), f.tables["maxp"].u16(4)
	f.longLoca = f.tables["head"].u16(50) != 0

	metrics := f.tables["hhea"].u16(34)
	if f.perEm == 0 || f.glyphs == 0 || metrics == 0 {
		return nil, fmt.Errorf("%w: no glyphs", ErrFont)
	}

	// Widths first; then the characters, the kerning and the shaping rules.
	f.advances = make([]uint16, f.glyphs)
	for g := range f.glyphs {
		f.advances[g] = uint16(f.scale(f.tables["hmtx"].u16(4 * min( //nolint:gosec // at most 65535 thousandths by any sane font
			g,
			metrics-1,
		))))
	}

	f.readCmap()

	if len(f.runes) == 0 {
		return nil, fmt.Errorf("%w: no characters", ErrFont)
	}

	f.readKerns()
	f.findBlocks()

	shapes, err := parseShapes(ttf)
	if err != nil {
		return nil, err
	}

	f.shapes = shapes

	return f, nil
}

// scale converts font units to thousandths of the font size.
func (f *Font) scale(units int) int {
	if units < 0 {
		return -f.scale(-units)
	}

	return (units*1000 + f.perEm/2) / f.perEm
}

// readCmap reads the character map of Unicode: format 12 if the font has one, else format 4.
func (f *Font) readCmap() {
	cmap := f.tables["cmap"]

	var narrow, wide table

	for i := range cmap.u16(2) {
		sub := cmap.from(cmap.u32(8 + 8*i))
		switch platform := cmap.u16(4 + 8*i); {
		case platform != 0 && platform != 3:
		case sub.u16(0) == 4:
			narrow = sub
		case sub.u16(0) == 12:
			wide = sub
		}
	}

	// The wide map comes last, because it has everything that the narrow one has.
	if narrow != nil {
		f.readSegments(narrow)
	}

	for i := range min(wide.u32(12), len(wide)/12) {
		group := wide.from(16 + 12*i)

		first, last, glyph := group.u32(0), group.u32(4), group.u32(8)
		for c := first; c <= last && c <= unicode.MaxRune; c++ {
			f.addGlyph(rune(c), glyph+c-first) //nolint:gosec // at most the last character
		}
	}
}

// readSegments reads a character map of format 4.
func (f *Font) readSegments(t table) {
	double := t.u16(6) // twice the number of segments
	for at := 14; at < 14+double; at += 2 {
		last, first := t.u16(at), t.u16(at+double+2)
		delta, offsetAt := t.u16(at+2*double+2), at+3*double+2

		for c := first; c <= last && c < 0xFFFF; c++ {
			glyph := c
			if offset := t.u16(offsetAt); offset != 0 {
				if glyph = t.u16(offsetAt + offset + 2*(c-first)); glyph == 0 {
					continue
				}
			}

			f.addGlyph(rune(c), (glyph+delta)&0xFFFF) //nolint:gosec // at most 65535
		}
	}
}

// addGlyph maps a character to a glyph.
func (f *Font) addGlyph(r rune, glyph int) {
	if glyph <= 0 || glyph >= f.glyphs {
		return
	}

	high := r >> 8

	page := f.pages[high]
	if page == nil {
		page = new([256]uint16)

		f.pages[high] = page
		if high < 256 {
			f.basic[high] = page
		}
	}

	// Several characters can share a glyph; the plainer one is what copies out of the document.
	g := uint16(glyph) //nolint:gosec // below the number of glyphs, which is a 16-bit number

	page[r&255] = g
	if other, taken := f.runes[g]; !taken || plainer(r, other) {
		f.runes[g] = r
	}
}

// plainer chooses between characters that look the same, for what a reader copies out of a document.
func plainer(a, b rune) bool {
	rank := func(r rune) int {
		rank := 0
		if norm.NFKC.String(string(r)) != string(r) {
			rank += 2
		}

		if !unicode.IsLetter(r) {
			rank++
		}

		return rank
	}
	x, y := rank(a), rank(b)

	return x < y || x == y && a < b
}

// glyph returns the glyph of a character, or 0 if the font has none.
func (f *Font) glyph(r rune) uint16 {
	if uint32(r) < 0x10000 { //nolint:gosec // a negative rune is large
		if page := f.basic[r>>8]; page != nil {
			return page[r&255]
		}

		return 0
	}

	if page := f.pages[r>>8]; page != nil {
		return page[r&255]
	}

	return 0
}

// Has reports whether the font can draw a character.
func (f *Font) Has(r rune) bool { return f.glyph(r) != 0 }

// readKerns reads the pairs of the old kerning table. Pairs with a digit or a space are left out: figures are
// aligned below each other, and words are measured one by one.
func (f *Font) readKerns() {
	t := f.tables["kern"]
	if t.u16(0) != 0 || t.u16(2) == 0 || t.u16(8)>>8 != 0 {
		return
	}

	f.kerns, f.kerned = map[uint32]int16{}, f.newSet()

	for i := range t.u16(10) {
		pair := t.from(18 + 6*i)
		left, right := uint16(pair.u16(0)), uint16(pair.u16(2)) //nolint:gosec // 16-bit numbers

		a, b := f.runes[left], f.runes[right]
		if value := f.scale(pair.i16(4)); value != 0 && unicode.IsLetter(a) &&
			(unicode.IsLetter(b) || unicode.IsPunct(b)) {
			f.kerns[uint32(left)<<16|uint32(right)] = int16(value) //nolint:gosec // a fraction of the font size
			f.kerned.add(left)
		}
	}
}

func (f *Font) kern(left, right uint16) int {
	if f.kerned == nil || !f.kerned.has(int(left)) {
		return 0
	}

	return int(f.kerns[uint32(left)<<16|uint32(right)])
}

// Fonts has the fonts of a document. The fallbacks, if any, have the characters that the others lack, in one weight.
type Fonts struct {
	Regular, Bold *Font
	Fallbacks     []*Font
}

// The fonts by their place in a document; the fallbacks follow.
const (
	regularFont = iota
	boldFont
	firstFallback
)

// find returns the font of a character and its glyph there.
func (f *Fonts) find(r rune, bold bool) (font int, glyph uint16) {
	font, face := regularFont, f.Regular
	if bold {
		font, face = boldFont, f.Bold
	}

	if glyph = face.glyph(r); glyph != 0 {
		return font, glyph
	}

	for i, other := range f.Fallbacks {
		if g := other.glyph(r); g != 0 {
			return firstFallback + i, g
		}
	}

	return font, 0
}

func (f *Fonts) at(index int) *Font {
	switch index {
	case regularFont:
		return f.Regular
	case boldFont:
		return f.Bold
	}

	return f.Fallbacks[index-firstFallback]
}

// Width returns the width of a line in points for a size in points.
func (f *Fonts) Width(s string, bold bool, size float64) float64 {
	if needsShaping(s) {
		total := 0
		for _, g := range f.shape(s, bold).glyphs {
			total += g.advance
		}

		return float64(total) * size / 1000
	}

	// Add up advances and kerning, as drawing does.
	total, lastFont, lastGlyph := 0, -1, uint16(0)

	for _, r := range s {
		font, glyph := f.find(r, bold)
		face := f.at(font)

		total += int(face.advances[glyph])
		if font == lastFont {
			total += face.kern(lastGlyph, glyph)
		}

		lastFont, lastGlyph = font, glyph
	}

	return float64(total) * size / 1000
}
