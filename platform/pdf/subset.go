package pdf

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// glyphSet has a bit for each glyph of a font.
type glyphSet []uint64

func (s glyphSet) add(g uint16) { s[g>>6] |= 1 << (g & 63) }

func (s glyphSet) has(g int) bool { return s[g>>6]&(1<<(g&63)) != 0 }

// all returns the glyphs of the set in order.
func (s glyphSet) all() []int {
	var out []int

	for i, word := range s {
		for bit := 0; word != 0; bit, word = bit+1, word>>1 {
			if word&1 != 0 {
				out = append(out, i<<6|bit)
			}
		}
	}

	return out
}

func (f *Font) newSet() glyphSet { return make(glyphSet, (f.glyphs+63)/64) }

// The manyGlyphs are those of fonts of thousands of ideographs, of which no block is wanted whole.
const manyGlyphs = 10000

// findBlocks makes the sets of glyphs that are embedded together: the signs that nearly every document has, and the
// alphabets.
func (f *Font) findBlocks() {
	if f.glyphs >= manyGlyphs {
		return
	}

	for _, ranges := range [][][2]rune{
		{
			{' ', '~'},
			{0xA0, 0xA0},
			{0xB7, 0xB7},
			{0x2013, 0x2014},
			{0x2018, 0x2019},
			{0x201C, 0x201D},
			{0x2026, 0x2026},
			{0x20AC, 0x20AC},
			{0x2212, 0x2212},
		},
		{{0xA1, 0xB6}, {0xB8, 0xFF}},
		{{0x100, 0x17F}},
		{{0x386, 0x3CE}},
		{{0x400, 0x45F}, {0x490, 0x491}},
	} {
		block := f.newSet()

		for _, r := range ranges {
			for c := r[0]; c <= r[1]; c++ {
				if g := f.glyph(c); g != 0 {
					block.add(g)
				}
			}
		}

		f.blocks = append(f.blocks, block)
	}
}

// subset is a font cut down to some glyphs, as a document embeds it.
type subset struct {
	tag     string // the six letters before its name
	file    []byte // compressed
	length  int    // of the file before it was compressed
	widths  string // the array W
	unicode []byte // the character map for text that is copied out of the document, compressed
}

// The cacheSize bounds how many subsets of a font are kept: some twenty kilobytes each, more for ideographs.
const cacheSize = 48

// subset returns the font with at least the glyphs in use. Equal glyphs give equal bytes.
func (f *Font) subset(used glyphSet) *subset {
	wanted := slices.Clone(used)

	for _, block := range f.blocks {
		for i, word := range block {
			if used[i]&word != 0 {
				for j := range block {
					wanted[j] |= block[j]
				}

				break
			}
		}
	}

	// Documents with the same blocks share a subset.
	name := make([]byte, 0, 8*len(wanted))
	for _, word := range wanted {
		name = binary.LittleEndian.AppendUint64(name, word)
	}

	key := string(name)

	f.mu.Lock()

	cached := f.cache[key]
	if cached != nil {
		f.touchSubset(key)
	}
	f.mu.Unlock()

	if cached != nil {
		return cached
	}

	// Cut without the lock: it takes milliseconds, and two results are equal.
	made := f.makeSubset(wanted)
	f.mu.Lock()
	defer f.mu.Unlock()

	if f.cache[key] == nil && len(f.order) >= cacheSize {
		delete(f.cache, f.order[0])
		f.order = f.order[1:]
	}

	f.cache[key] = made
	f.touchSubset(key)

	return made
}

func (f *Font) touchSubset(key string) {
	if i := slices.Index(f.order, key); i >= 0 {
		f.order = slices.Delete(f.order, i, i+1)
	}

	f.order = append(f.order, key)
}

// makeSubset makes a subset.
func (f *Font) makeSubset(wanted glyphSet) *subset {
	glyphs := wanted.all()
	widths := f.widths(glyphs)
	unicodes := f.unicodes(glyphs)
	ttf := f.writeSubset(wanted)
	sum := sha256.Sum256(ttf)

	tag := make([]byte, 6)
	for i := range tag {
		tag[i] = 'A' + sum[i]%26
	}

	return &subset{tag: string(tag), file: deflate(ttf), length: len(ttf), widths: widths, unicode: deflate(unicodes)}
}

// widths returns the advances of glyphs as the document writes them, neighbours together.
func (f *Font) widths(glyphs []int) string {
	out := []byte{'['}

	for i, g := range glyphs {
		switch {
		case i == 0 || g != glyphs[i-1]+1:
			if i > 0 {
				out = append(out, ']')
			}

			out = strconv.AppendInt(out, int64(g), 10)
			out = append(out, '[')
		default:
			out = append(out, ' ')
		}

		out = strconv.AppendInt(out, int64(f.advances[g]), 10)
	}

	if len(glyphs) > 0 {
		out = append(out, ']')
	}

	return string(append(out, ']'))
}

// glyphText returns the text of a glyph, or "" if the font does not say. A form of a joined letter returns the letter.
// A ligature returns itself, because readers that reverse a passage would reverse its letters too.
func (f *Font) glyphText(glyph uint16) string {
	r, has := f.runes[glyph]
	if !has {
		return ""
	}

	if letter := norm.NFKC.String(string(r)); IsShaped(r) && utf8.RuneCountInString(letter) == 1 {
		return letter
	}

	return string(r)
}

// unicodes returns the character map from glyphs to text.
func (f *Font) unicodes(glyphs []int) []byte {
	var b bytes.Buffer
	b.WriteString("/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CIDSystemInfo <</Registry " +
		"(Adobe) /Ordering (UCS) /Supplement 0>> def\n/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n1 " +
		"begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n")

	// A list has at most a hundred entries.
	for chunk := range slices.Chunk(glyphs, 100) {
		fmt.Fprintf(&b, "%d beginbfchar\n", len(chunk))

		for _, g := range chunk {
			text := cmp.Or(f.glyphText(uint16(g)), "\uFFFD") //nolint:gosec // a glyph of the font
			fmt.Fprintf(&b, "<%04X> <", g)

			for _, unit := range utf16.Encode([]rune(text)) {
				fmt.Fprintf(&b, "%04X", unit)
			}

			b.WriteString(">\n")
		}

		b.WriteString("endbfchar\n")
	}

	b.WriteString("endcmap\nCMapName currentdict /CMap defineresource pop\n" + strings.Repeat("end\n", 2))

	return b.Bytes()
}

// outline returns the data of a glyph, or nil if it has none.
func (f *Font) outline(g int) table {
	loca, glyf := f.tables["loca"], f.tables["glyf"]

	start, end := 2*loca.u16(2*g), 2*loca.u16(2*g+2)
	if f.longLoca {
		start, end = loca.u32(4*g), loca.u32(4*g+4)
	}

	if start >= end || end > len(glyf) {
		return nil
	}

	return glyf[start:end]
}

// The flags of a part of a composite glyph.
const (
	partWords, partScale, partMore, partXYScale, partMatrix, partInstructions = 1, 8, 32, 64, 128, 256
)

// eachPart calls found with the place of every part of a composite glyph, and returns where the parts end.
func eachPart(outline table, found func(at int)) int {
	at := 10
	for flags := partMore; flags&partMore != 0 && at+4 <= len(outline); {
		flags = outline.u16(at)
		found(at)

		at += 6
		if flags&partWords != 0 {
			at += 2
		}

		switch {
		case flags&partScale != 0:
			at += 2
		case flags&partXYScale != 0:
			at += 4
		case flags&partMatrix != 0:
			at += 8
		}
	}

	return min(at, len(outline))
}

// writeSubset returns a font file with the wanted glyphs and their parts. Glyphs keep their numbers. Instructions for
// coarse screens are left out: they are half of the size.
func (f *Font) writeSubset(wanted glyphSet) []byte {
	kept := slices.Clone(wanted)
	kept.add(0)
	stack := kept.all()
	count := 0

	// Add the parts of composite glyphs, which can be composite themselves.
	for len(stack) > 0 {
		g := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		count = max(count, g+1)

		outline := f.outline(g)
		if outline.i16(0) >= 0 {
			continue
		}

		eachPart(outline, func(at int) {
			if part := outline.u16(at + 2); part < f.glyphs && !kept.has(part) {
				kept.add(uint16(part)) //nolint:gosec // below the number of glyphs
				stack = append(stack, part)
			}
		})
	}

	// Write the outlines and their places; left-out glyphs are empty.
	loca := make([]byte, 4*(count+1))
	hmtx := make([]byte, 4*count)
	metrics := f.tables["hhea"].u16(34)

	var glyf []byte
	for g := range count {
		binary.BigEndian.PutUint32(loca[4*g:], uint32(len(glyf))) //nolint:gosec // shorter than the font

		if !kept.has(g) {
			continue
		}

		advance, bearing := f.tables["hmtx"].u16(4*min(g, metrics-1)), f.tables["hmtx"].u16(4*g+2)
		if g >= metrics {
			bearing = f.tables["hmtx"].u16(4*metrics + 2*(g-metrics))
		}

		binary.BigEndian.PutUint16(hmtx[4*g:], uint16(advance))   //nolint:gosec // a 16-bit number
		binary.BigEndian.PutUint16(hmtx[4*g+2:], uint16(bearing)) //nolint:gosec // a 16-bit number

		glyf = append(glyf, stripInstructions(f.outline(g))...)
		for len(glyf)%4 != 0 {
			glyf = append(glyf, 0)
		}
	}

	binary.BigEndian.PutUint32(loca[4*count:], uint32(len(glyf))) //nolint:gosec // shorter than the font

	// Last the headers that count glyphs.
	head, hhea, maxp := slices.Clone(f.tables["head"]), slices.Clone(f.tables["hhea"]), slices.Clone(f.tables["maxp"])
	binary.BigEndian.PutUint16(head[50:], 1)
	binary.BigEndian.PutUint16(hhea[34:], uint16(count))
	binary.BigEndian.PutUint16(maxp[4:], uint16(count))

	return assemble([]namedTable{
		{"glyf", glyf},
		{"head", head},
		{"hhea", hhea},
		{"hmtx", hmtx},
		{"loca", loca},
		{"maxp", maxp},
	})
}

// stripInstructions returns an outline without its instructions.
func stripInstructions(outline table) []byte {
	if len(outline) < 12 {
		return outline
	}

	contours := outline.i16(0)

	// A composite glyph only has a flag and the bytes after its parts.
	if contours < 0 {
		out := slices.Clone(outline)
		end := eachPart(outline, func(at int) {
			binary.BigEndian.PutUint16(
				out[at:],
				uint16(outline.u16(at)&^partInstructions), //nolint:gosec // a 16-bit number
			)
		})

		return out[:end]
	}

	// A simple one has them between its contours and its points.
	at := 10 + 2*contours

	length := outline.u16(at)
	if at+2+length > len(outline) {
		return outline
	}

	out := append(slices.Clone(outline[:at]), 0, 0)

	return append(out, outline[at+2+length:]...)
}

type namedTable struct {
	name string
	data []byte
}

// assemble returns a font file of tables, which must be in the order of their names.
func assemble(tables []namedTable) []byte {
	n := len(tables)

	// The header has numbers for a binary search of the tables.
	power, log := 1, 0
	for power*2 <= n {
		power, log = power*2, log+1
	}

	out := binary.BigEndian.AppendUint32(nil, 0x00010000)
	for _, v := range []int{n, 16 * power, log, 16 * (n - power)} {
		out = binary.BigEndian.AppendUint16(out, uint16(v)) //nolint:gosec // a few tables
	}

	// Then a directory with checksum, place and length, and the tables themselves.
	at := 12 + 16*n

	for _, t := range tables {
		out = append(out, t.name...)
		for _, v := range []int{int(checksum(t.data)), at, len(t.data)} {
			out = binary.BigEndian.AppendUint32(out, uint32(v)) //nolint:gosec // shorter than the font
		}

		at += (len(t.data) + 3) &^ 3
	}

	for _, t := range tables {
		out = append(out, t.data...)
		for len(out)%4 != 0 {
			out = append(out, 0)
		}
	}

	return out
}

// checksum returns the checksum of a table.
func checksum(data []byte) (sum uint32) {
	for i := 0; i < len(data); i += 4 {
		var word [4]byte
		copy(word[:], data[i:])
		sum += binary.BigEndian.Uint32(word[:])
	}

	return sum
}
