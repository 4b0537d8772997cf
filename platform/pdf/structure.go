package pdf

import "strconv"

// Tag says what a part of a document is.
type Tag string

// The tags. The Document itself is the root of them.
const (
	Sect     Tag = "Sect"
	Heading1 Tag = "H1"
	Heading2 Tag = "H2"
	P        Tag = "P"
	Table    Tag = "Table"
	TR       Tag = "TR"
	TH       Tag = "TH"
	TD       Tag = "TD"
	Figure   Tag = "Figure"
)

// Scope says what a table's head is the head of.
type Scope string

// The scopes.
const (
	ColumnScope Scope = "Column"
	RowScope    Scope = "Row"
)

// Element is a part of the document as those read it who do not see it. Its attributes may be set until it is closed.
type Element struct {
	Scope Scope  // of a TH
	Span  int    // columns that a cell spans, when more than one
	Alt   string // what a Figure shows

	box    [4]float64 // of a Figure, in the coordinates of the file
	tag    Tag
	ref    ref
	parent ref
	kids   []kid
	closed bool
}

// kid is another element, or marked content of a page.
type kid struct {
	page ref // 0 for an element
	n    int
}

// Open begins an element within another; nil is the document.
func (d *Doc) Open(parent *Element, tag Tag) *Element {
	if parent == nil {
		parent = d.root
	}

	e := &Element{tag: tag, ref: d.out.reserve(), parent: parent.ref}
	parent.kids = append(parent.kids, kid{n: int(e.ref)})

	return e
}

// End writes an element. Its inner elements must have been closed, and nothing more is drawn in it.
func (d *Doc) End(e *Element) {
	if d.inside == e {
		d.leave()
	}

	e.closed = true
	b := d.scratch[:0]
	b = append(b, "<</S/"...)
	b = append(append(b, e.tag...), "/P "...)

	b = appendRef(b, e.parent)
	if e.Alt != "" {
		b = appendText(append(b, "/Alt"...), e.Alt)
	}

	// Cells and figures have attributes of their own.
	switch {
	case e.tag == TH:
		b = append(append(b, "/A<</O/Table/Scope/"...), e.Scope...)
		b = append(appendSpan(b, e.Span), ">>"...)
	case e.Span > 1:
		b = append(appendSpan(append(b, "/A<</O/Table"...), e.Span), ">>"...)
	case e.tag == Figure:
		b = append(b, "/A<</O/Layout/Placement/Block/BBox["...)
		for _, v := range e.box {
			b = append(appendNumber(b, v), ' ')
		}

		b = append(b, "]>>"...)
	}

	b = append(appendKids(b, e.kids), ">>"...)
	d.out.writeObject(e.ref, b)
	d.scratch = b
	e.kids = nil
}

func appendSpan(b []byte, span int) []byte {
	if span > 1 {
		b = strconv.AppendInt(append(b, "/ColSpan "...), int64(span), 10)
	}

	return b
}

// appendKids appends the content of an element. The page is named once; content on other pages names its own.
func appendKids(b []byte, kids []kid) []byte {
	var page ref
	for _, k := range kids {
		if k.page != 0 {
			page = k.page
			b = appendRef(append(b, "/Pg "...), page)

			break
		}
	}

	if len(kids) == 0 {
		return b
	}

	b = append(b, "/K["...)

	// A kid is an element, a mark of the common page, or a mark of another page.
	for i, k := range kids {
		if i > 0 {
			b = append(b, ' ')
		}

		switch k.page {
		case 0:
			b = appendRef(b, ref(k.n))
		case page:
			b = strconv.AppendInt(b, int64(k.n), 10)
		default:
			b = appendRef(append(b, "<</Type/MCR/Pg "...), k.page)
			b = strconv.AppendInt(append(b, "/MCID "...), int64(k.n), 10)
			b = append(b, ">>"...)
		}
	}

	return append(b, ']')
}

// enter starts marked content that belongs to an element, or to none: then it is decoration.
func (d *Doc) enter(e *Element) {
	if d.marked && d.inside == e {
		return
	}

	d.leave()

	d.marked, d.inside = true, e
	if e == nil {
		d.content = append(d.content, "/Artifact BMC\n"...)
		return
	}

	n := len(d.marks)
	d.marks = append(d.marks, e.ref)
	e.kids = append(e.kids, kid{d.page, n})
	d.content = append(append(append(d.content, '/'), e.tag...), "<</MCID "...)
	d.content = append(strconv.AppendInt(d.content, int64(n), 10), ">>BDC\n"...)
}

func (d *Doc) leave() {
	if d.marked {
		d.content = append(d.content, "EMC\n"...)
	}

	d.marked, d.inside = false, nil
}

// The treeWidth is how many entries a node of a tree in the file has at most.
const treeWidth = 64

// parentTree writes the elements that the marked content of pages belongs to, in leaves of bounded width.
func (d *Doc) parentTree() ref {
	tree := d.out.reserve()

	b := append([]byte(nil), "<</Kids["...)

	for from := 0; from < len(d.parents); from += treeWidth {
		to := min(from+treeWidth, len(d.parents))

		node := append([]byte(nil), "<</Limits["...)
		node = strconv.AppendInt(node, int64(from), 10)
		node = strconv.AppendInt(append(node, ' '), int64(to-1), 10)

		node = append(node, "]/Nums["...)
		for i := from; i < to; i++ {
			node = strconv.AppendInt(node, int64(i), 10)
			node = append(appendRef(append(node, ' '), d.parents[i]), ' ')
		}

		leaf := d.out.reserve()
		d.out.writeObject(leaf, append(node, "]>>"...))
		b = append(appendRef(b, leaf), ' ')
	}

	d.out.writeObject(tree, append(b, "]>>"...))

	return tree
}
