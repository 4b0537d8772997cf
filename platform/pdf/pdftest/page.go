package pdftest

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// Text is a piece of text as it was drawn; X and Y are its baseline in points from the lower left corner, Width is the
// space that it takes.
type Text struct {
	X, Y, Width, Size float64
	Bold              bool // by the font
	Artifact          bool
	Text              string
	Drawn             string // when it is drawn otherwise than it is read
	Glyphs            []int
}

// Page is a page with its texts in the order in which they were drawn.
type Page struct {
	Ref           Ref
	Width, Height float64
	Texts         []Text
	Tags          map[int]string // by number of the marked content
	Images        int
}

// font has what is needed to read text.
type font struct {
	runes  map[int]string
	widths map[int]float64
	bold   bool
}

// Pages reads the pages in their order.
func (f *File) Pages() ([]Page, error) {
	var out []Page

	fonts := map[Ref]map[Name]*font{}

	var walk func(node any) error

	walk = func(node any) error {
		d := f.Dict(node)
		if d["Type"] == Name("Pages") {
			before := len(out)

			for _, kid := range f.List(d["Kids"]) {
				if err := walk(kid); err != nil {
					return err
				}
			}

			if count, _ := d["Count"].(float64); int(count) != len(out)-before {
				return fmt.Errorf("%w: a node counts %v pages and has %d", errSyntax, count, len(out)-before)
			}

			return nil
		}

		// Pages share their fonts, which are read once.
		ref, _ := node.(Ref)

		resources, _ := d["Resources"].(Ref)
		if fonts[resources] == nil {
			fonts[resources] = f.fonts(resources)
		}

		page, err := f.page(d, fonts[resources])
		page.Ref = ref
		out = append(out, page)

		return err
	}

	return out, walk(f.Dict(f.Trailer["Root"])["Pages"])
}

// fonts reads the fonts of resources: widths, and the text of each glyph.
func (f *File) fonts(resources Ref) map[Name]*font {
	out := map[Name]*font{}

	for name, v := range f.Dict(f.Dict(resources)["Font"]) {
		d := f.Dict(v)
		descendant := f.Dict(f.List(d["DescendantFonts"])[0])
		one := &font{
			runes:  map[int]string{},
			widths: map[int]float64{},
			bold:   strings.Contains(fmt.Sprint(d["BaseFont"]), "Bold"),
		}

		// Widths are lists that begin at a glyph.
		list := f.List(descendant["W"])
		for i := 0; i+1 < len(list); i += 2 {
			first, _ := list[i].(float64)
			for k, w := range list[i+1].([]any) { //nolint:errcheck,forcetypeassert // a test may panic
				one.widths[int(first)+k], _ = w.(float64)
			}
		}

		// The character map has a line for each glyph.
		unicode, _ := f.Get(d["ToUnicode"]).(Stream)
		for line := range strings.Lines(string(unicode.Data)) {
			var (
				glyph int
				text  string
			)
			if n, _ := fmt.Sscanf(line, "<%04X> <%s", &glyph, &text); n == 2 &&
				!strings.HasPrefix(line, "<0000> <FFFF>") {
				raw, _ := (&lexer{data: []byte("<" + text)}).value()
				one.runes[glyph] = utf16Text(fmt.Sprint(raw))
			}
		}

		out[name] = one
	}

	return out
}

func utf16Text(raw string) string {
	var units []uint16
	for i := 0; i+1 < len(raw); i += 2 {
		units = append(units, uint16(raw[i])<<8|uint16(raw[i+1]))
	}

	return string(utf16.Decode(units))
}

// String reads a text string that is not on a page.
func String(v any) string {
	s, _ := v.(string)
	if rest, wide := strings.CutPrefix(s, "\xFE\xFF"); wide {
		return utf16Text(rest)
	}

	return s
}

// reader is the state of reading a page.
type reader struct {
	*Page

	fonts    map[Name]*font
	font     *font
	size     float64
	mark     string // empty, Artifact, or a tag
	spans    bool   // within text with an ActualText
	actual   string // that text
	text     *Text
	operands []any
}

// page reads the content of a page.
func (f *File) page(d Dict, fonts map[Name]*font) (Page, error) {
	box := f.List(d["MediaBox"])
	page := Page{Tags: map[int]string{}}
	page.Width, _ = box[2].(float64)
	page.Height, _ = box[3].(float64)
	r := &reader{Page: &page, fonts: fonts}

	for _, part := range f.List(d["Contents"]) {
		content, ok := f.Get(part).(Stream)
		if !ok {
			return page, fmt.Errorf("%w: a page without content", errSyntax)
		}

		l := &lexer{data: content.Data}
		for v, more := l.value(); more; v, more = l.value() {
			operator, is := v.(Operator)
			if !is {
				r.operands = append(r.operands, v)
				continue
			}

			if err := r.do(operator); err != nil {
				return page, err
			}

			r.operands = r.operands[:0]
		}

		if r.mark != "" {
			return page, fmt.Errorf("%w: marked content that does not end", errSyntax)
		}
	}

	return page, nil
}

func (r *reader) number(i int) float64 {
	v, _ := r.operands[i].(float64)
	return v
}

// do runs an operator. It fails for content that is neither tagged nor decoration.
func (r *reader) do(o Operator) error {
	switch o {
	case "BMC", "BDC":
		if r.operands[0] == Name("Span") && r.mark != "" && !r.spans {
			actual, _ := r.operands[1].(Dict)
			r.spans, r.actual = true, String(actual["ActualText"])

			return nil
		}

		if r.mark != "" {
			return fmt.Errorf("%w: %s within %s", errSyntax, r.operands[0], r.mark)
		}

		r.mark = string(r.operands[0].(Name)) //nolint:errcheck,forcetypeassert // a test may panic
		if o == "BDC" {
			n, _ := r.operands[1].(Dict)["MCID"].(float64)
			r.Tags[int(n)] = r.mark
		}
	case "EMC":
		if r.spans {
			r.spans = false
			r.Texts[len(r.Texts)-1].Drawn, r.Texts[len(r.Texts)-1].Text = r.Texts[len(r.Texts)-1].Text, r.actual

			return nil
		}

		r.mark = ""
	case "BT":
		r.text = &Text{Artifact: r.mark == "Artifact"}
	case "Td":
		r.text.X, r.text.Y = r.number(0), r.number(1)
	case "Tf":
		name, _ := r.operands[0].(Name)
		r.font, r.size = r.fonts[name], r.number(1)
	case "TJ":
		list, _ := r.operands[0].([]any)
		r.show(list)
	case "ET":
		r.Texts = append(r.Texts, *r.text)
	case "Do":
		r.Images++
	}

	// Lines and boxes are decoration, everything else is tagged.
	if r.mark != "Artifact" && o == "re" {
		return fmt.Errorf("%w: a rectangle is no decoration but %q", errSyntax, r.mark)
	}

	if r.mark == "" && (o == "re" || o == "TJ" || o == "Do") {
		return fmt.Errorf("%w: %s is neither tagged nor decoration", errSyntax, o)
	}

	return nil
}

// show reads the operands of TJ: glyphs, and moves between them.
func (r *reader) show(list []any) {
	units := 0.0

	for _, v := range list {
		switch v := v.(type) {
		case float64:
			units -= v
		case string:
			for i := 0; i+1 < len(v); i += 2 {
				glyph := int(v[i])<<8 | int(v[i+1])
				r.text.Text += r.font.runes[glyph]
				r.text.Glyphs = append(r.text.Glyphs, glyph)
				units += r.font.widths[glyph]
			}
		}
	}

	r.text.Width += units * r.size / 1000
	r.text.Size, r.text.Bold = r.size, r.font.bold
}
