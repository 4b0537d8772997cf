package pdf

import "strconv"

// Colour has its parts from 0 to 255.
type Colour struct{ R, G, B uint8 }

// Style is how text looks; Size is in points.
type Style struct {
	Bold   bool
	Size   float64
	Colour Colour
}

// graphics is the state that the content of the current page has set. The zero value means that nothing is set.
type graphics struct {
	font    int // counted from 1
	size    float64
	colour  Colour
	filled  bool // colour is set
	stroked bool // text is drawn with an outline
}

// fill sets the fill colour, unless it is set already.
func (d *Doc) fill(c Colour) {
	if d.state.filled && d.state.colour == c {
		return
	}

	d.state.filled, d.state.colour = true, c
	for _, part := range []uint8{c.R, c.G, c.B} {
		thousandths := (int(part)*1000 + 127) / 255
		if thousandths == 1000 {
			d.content = append(d.content, "1 "...)
			continue
		}

		d.content = append(
			d.content,
			'.',
			byte('0'+thousandths/100), //nolint:gosec // digits
			byte('0'+thousandths/10%10),
			byte('0'+thousandths%10),
			' ',
		)
	}

	d.content = append(d.content, "rg\n"...)
}

// Rect fills a rectangle, which is decoration.
func (d *Doc) Rect(x, y, width, height float64, c Colour) {
	d.enter(nil)
	d.fill(c)

	for _, v := range []float64{x, d.height - y - height, width, height} {
		d.content = append(appendNumber(d.content, v), ' ')
	}

	d.content = append(d.content, "re f\n"...)
}

// Text draws one line with its baseline at y. It belongs to e; without an element it is decoration, such as a
// footer. Characters that no font has are left out. If the glyphs do not have the text of the line, the line
// carries it as ActualText.
func (d *Doc) Text(e *Element, x, y float64, s string, st Style) {
	if s == "" {
		return
	}

	d.enter(e)
	d.fill(st.Colour)

	// Most lines are drawn character by character.
	if !needsShaping(s) {
		d.begin(x, y)
		d.glyphs(s, st)
		d.content = append(d.content, "ET\n"...)

		return
	}

	// Other scripts are shaped first.
	line := d.fonts.shape(s, st.Bold)
	if line.isExact {
		d.begin(x, y)
		d.drawShaped(line.glyphs, st)
		d.content = append(d.content, "ET\n"...)

		return
	}

	d.content = appendText(append(d.content, "/Span<</ActualText"...), s)
	d.content = append(d.content, ">>BDC\n"...)
	d.begin(x, y)
	d.drawShaped(line.glyphs, st)
	d.content = append(d.content, "ET\nEMC\n"...)
}

// begin begins a text object with its baseline at y.
func (d *Doc) begin(x, y float64) {
	d.content = append(d.content, "BT\n"...)
	d.content = append(appendNumber(d.content, x), ' ')
	d.content = append(appendNumber(d.content, d.height-y), " Td\n"...)
}

// glyphs draws text character by character, in pieces of one font.
func (d *Doc) glyphs(s string, st Style) {
	current := -1

	var last uint16

	for _, r := range s {
		font, glyph := d.fonts.find(r, st.Bold)
		if glyph == 0 {
			continue
		}

		// A change of the font ends the piece; within one, pairs are kerned.
		if font != current {
			if current >= 0 {
				d.content = append(d.content, ")]TJ\n"...)
			}

			d.setFont(font, st)
			d.content = append(d.content, "[("...)
			current = font
		} else {
			d.moveRight(d.fonts.at(font).kern(last, glyph))
		}

		d.glyph(font, glyph)
		last = glyph
	}

	if current >= 0 {
		d.content = append(d.content, ")]TJ\n"...)
	}
}

// drawShaped draws the glyphs of a shaped line, in pieces of one font and height.
func (d *Doc) drawShaped(glyphs []placedGlyph, st Style) {
	current, height, gap := -1, 0, 0
	for _, g := range glyphs {
		if g.font != current || g.y != height {
			if current >= 0 {
				d.moveRight(gap)
				d.content = append(d.content, ")]TJ\n"...)
				gap = 0
			}

			if g.y != height {
				d.content = append(appendNumber(d.content, float64(g.y)*st.Size/1000), " Ts\n"...)
			}

			d.setFont(g.font, st)
			d.content = append(d.content, "[("...)
			current, height = g.font, g.y
		}

		// A reader moves on by the advance that the font states; the difference is moved before the next glyph.
		d.moveRight(gap + g.x)
		d.glyph(g.font, g.id)
		gap = g.advance - g.x - int(d.fonts.at(g.font).advances[g.id])
	}

	if current >= 0 {
		d.content = append(d.content, ")]TJ\n"...)
	}

	if height != 0 {
		d.content = append(d.content, "0 Ts\n"...)
	}
}

// moveRight moves what follows in a line to the right, in thousandths of the font size.
func (d *Doc) moveRight(by int) {
	if by != 0 {
		d.content = append(d.content, ')')
		d.content = append(strconv.AppendInt(d.content, int64(-by), 10), '(')
	}
}

// glyph shows a glyph and notes that its font is to have it.
func (d *Doc) glyph(font int, glyph uint16) {
	for font >= len(d.used) {
		d.used = append(d.used, nil)
	}

	if d.used[font] == nil {
		d.used[font] = d.fonts.at(font).newSet()
	}

	d.used[font].add(glyph)
	d.content = appendEscaped(appendEscaped(d.content, byte(glyph>>8)), byte(glyph)) //nolint:gosec // both halves
}

// setFont sets the font. The fallback has no bold weight: an outline of the colour of the text makes it look so.
func (d *Doc) setFont(font int, st Style) {
	if d.state.font != font+1 || d.state.size != st.Size {
		d.state.font, d.state.size = font+1, st.Size
		d.content = append(strconv.AppendInt(append(d.content, "/F"...), int64(font+1), 10), ' ')
		d.content = append(appendNumber(d.content, st.Size), " Tf\n"...)
	}

	outline := font >= firstFallback && st.Bold
	if outline {
		for _, part := range []uint8{st.Colour.R, st.Colour.G, st.Colour.B} {
			d.content = append(appendNumber(d.content, float64(part)/255), ' ')
		}

		d.content = append(d.content, "RG "...)
		d.content = append(appendNumber(d.content, st.Size*0.035), " w 2 Tr\n"...)
	} else if d.state.stroked {
		d.content = append(d.content, "0 Tr\n"...)
	}

	d.state.stroked = outline
}

// Box is a place on a page; X and Y are its upper left corner.
type Box struct{ X, Y, Width, Height float64 }

// Image draws an image in the element e, which is a Figure.
func (d *Doc) Image(e *Element, image *Image, at Box) {
	n := -1

	for i := range d.images {
		if d.images[i] == image {
			n = i
		}
	}

	if n < 0 {
		n = len(d.images)
		d.images, d.imageRefs = append(d.images, image), append(d.imageRefs, d.writeImage(image))
	}

	// The element states where the figure is, for readers that reflow pages.
	low := d.height - at.Y - at.Height
	e.box = [4]float64{at.X, low, at.X + at.Width, low + at.Height}
	d.enter(e)

	d.content = append(d.content, "q "...)
	for _, v := range []float64{at.Width, 0, 0, at.Height, at.X, low} {
		d.content = append(appendNumber(d.content, v), ' ')
	}

	d.content = append(strconv.AppendInt(append(d.content, "cm /I"...), int64(n+1), 10), " Do Q\n"...)
}

// writeResources writes the fonts that were used, cut down to the glyphs that were, and the list of images.
func (d *Doc) writeResources() {
	b := []byte("<</Font<<")

	for font, used := range d.used {
		if used != nil {
			b = append(strconv.AppendInt(append(b, "/F"...), int64(font+1), 10), ' ')
			b = appendRef(b, d.writeFont(d.fonts.at(font), used))
		}
	}

	b = append(b, ">>/XObject<<"...)
	for i, image := range d.imageRefs {
		b = append(strconv.AppendInt(append(b, "/I"...), int64(i+1), 10), ' ')
		b = appendRef(b, image)
	}

	d.out.writeObject(d.resources, append(b, ">>>>"...))
}

// writeFont embeds a subset of a font and returns its object.
func (d *Doc) writeFont(f *Font, used glyphSet) ref {
	cut := f.subset(used)
	font := d.out.reserve()
	descendant := d.out.reserve()
	descriptor := d.out.reserve()
	file := d.out.reserve()
	unicode := d.out.reserve()
	name := cut.tag + "+" + f.name
	d.out.writeRaw(file, "/Filter/FlateDecode/Length1 "+strconv.Itoa(cut.length), cut.file)
	d.out.writeRaw(unicode, "/Filter/FlateDecode", cut.unicode)

	// A font of two-byte codes, which are glyph numbers.
	b := append([]byte("<</Type/Font/Subtype/Type0/Encoding/Identity-H/BaseFont/"), name...)
	b = appendRef(append(b, "/DescendantFonts["...), descendant)
	b = appendRef(append(b, "]/ToUnicode "...), unicode)
	d.out.writeObject(font, append(b, ">>"...))

	b = append(
		[]byte("<</Type/Font/Subtype/CIDFontType2/CIDToGIDMap/Identity/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>/BaseFont/"),
		name...,
	)
	b = appendRef(append(b, "/FontDescriptor "...), descriptor)
	b = append(append(b, "/W"...), cut.widths...)
	d.out.writeObject(descendant, append(b, ">>"...))

	// Readers need these measures to substitute the font, though it is embedded.
	head, hhea := f.tables["head"], f.tables["hhea"]

	b = append([]byte("<</Type/FontDescriptor/Flags 4/ItalicAngle 0/StemV 80/FontName/"), name...)

	b = append(b, "/FontBBox["...)
	for i := range 4 {
		b = append(strconv.AppendInt(b, int64(f.scale(head.i16(36+2*i))), 10), ' ')
	}

	capitals := f.scale(hhea.i16(4))
	if os2 := f.tables["OS/2"]; os2.u16(0) >= 2 && os2.i16(88) > 0 {
		capitals = f.scale(os2.i16(88))
	}

	for key, v := range [...]int{f.scale(hhea.i16(4)), f.scale(hhea.i16(6)), capitals} {
		b = append(b, [...]string{"]/Ascent ", "/Descent ", "/CapHeight "}[key]...)
		b = strconv.AppendInt(b, int64(v), 10)
	}

	b = appendRef(append(b, "/FontFile2 "...), file)
	d.out.writeObject(descriptor, append(b, ">>"...))

	return font
}
