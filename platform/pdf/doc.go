// Package pdf writes PDF files that can be read by eye, by ear and by machine: tagged, with embedded fonts, small, and
// the same bytes for the same input.
//
// A file is written while it is drawn. What is kept of a finished page is where its objects stand, so that a file of
// thousands of pages takes no more memory than one of a few. Footers that tell the number of pages are written when
// that is known.
//
// Lengths are in points from the upper left corner of the page.
package pdf

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strconv"
	"time"
)

// Info says what a document is. Lang is a language tag, such as en-US.
type Info struct {
	Title, Author, Subject, Lang string
	Created                      time.Time // given, so that equal input gives equal bytes
}

// Doc is a document being drawn. It is for one goroutine.
type Doc struct {
	out   *objects
	info  Info
	fonts *Fonts
	used  []glyphSet // by font
	// resources are those of every page: fonts and images.
	resources ref
	images    []*Image
	imageRefs []ref

	root     *Element
	treeRoot ref
	marked   bool     // something is being marked
	inside   *Element // what the content belongs to; nil for decoration
	scratch  []byte

	pages   ref   // the root of the page tree
	nodes   []ref // below it
	inNode  int   // pages of the last node
	kids    []byte
	count   int
	parents []ref // of the pages: which elements their marks belong to

	page          ref // the current one; 0 before the first
	width, height float64
	content       []byte
	marks         []ref // the elements of the page's marked content
	state         graphics
	begun         int   // pages of the section
	footers       []ref // streams of the section's pages before the current one
}

// New begins a document on w. The fonts may be shared with other documents.
func New(w io.Writer, info Info, fonts *Fonts) *Doc {
	d := &Doc{out: newObjects(w), info: info, fonts: fonts}
	d.resources, d.pages, d.treeRoot = d.out.reserve(), d.out.reserve(), d.out.reserve()
	d.root = &Element{tag: "Document", ref: d.out.reserve(), parent: d.treeRoot}

	return d
}

// Page begins a page.
func (d *Doc) Page(width, height float64) {
	if d.page != 0 {
		footer := d.out.reserve()
		d.footers = append(d.footers, footer)
		d.flushPage(footer)
	}

	d.page = d.out.reserve()
	d.width, d.height = width, height
	d.begun++
}

// EndSection ends the pages that count together and draws the footer of each: number n of pages in all. It must be
// called before Close.
func (d *Doc) EndSection(footer func(n, pages int)) {
	if d.page == 0 {
		return
	}

	footer(d.begun, d.begun)
	d.flushPage(0)

	for i, stream := range d.footers {
		footer(i+1, d.begun)
		d.leave()
		d.out.writeStream(stream, "", d.content)
		d.content, d.state = d.content[:0], graphics{}
	}

	d.page, d.begun, d.footers = 0, 0, d.footers[:0]
}

// flushPage writes the current page. The footer, if there is one, is a stream that is written later.
func (d *Doc) flushPage(footer ref) {
	d.leave()
	content := d.out.reserve()
	d.out.writeStream(content, "", d.content)

	// Pages are in nodes of bounded width, so that readers find one quickly.
	d.content, d.state = d.content[:0], graphics{}
	if d.inNode == treeWidth || len(d.nodes) == 0 {
		d.endNode()
		d.nodes = append(d.nodes, d.out.reserve())
	}

	// The page itself: size, resources and content.
	b := d.scratch[:0]
	b = append(b, "<</Type/Page/Parent "...)
	b = appendRef(b, d.nodes[len(d.nodes)-1])
	b = append(b, "/MediaBox[0 0 "...)
	b = append(appendNumber(b, d.width), ' ')
	b = append(appendNumber(b, d.height), "]/Resources "...)
	b = append(appendRef(b, d.resources), "/Contents["...)

	b = appendRef(b, content)
	if footer != 0 {
		b = appendRef(append(b, ' '), footer)
	}

	b = append(b, "]/Tabs/S/StructParents "...)
	b = append(strconv.AppendInt(b, int64(d.count), 10), ">>"...)
	d.out.writeObject(d.page, b)
	d.kids = append(appendRef(d.kids, d.page), ' ')
	d.inNode++
	d.count++

	// Then the elements that the marks of the page belong to.
	parents := d.out.reserve()

	b = append(b[:0], '[')
	for _, e := range d.marks {
		b = append(appendRef(b, e), ' ')
	}

	d.out.writeObject(parents, append(b, ']'))
	d.scratch = b
	d.parents, d.marks = append(d.parents, parents), d.marks[:0]
}

// endNode writes a node of the page tree.
func (d *Doc) endNode() {
	if d.inNode == 0 {
		return
	}

	b := appendRef([]byte("<</Type/Pages/Parent "), d.pages)
	b = append(strconv.AppendInt(append(b, "/Count "...), int64(d.inNode), 10), "/Kids["...)
	b = append(append(b, d.kids...), "]>>"...)
	d.out.writeObject(d.nodes[len(d.nodes)-1], b)
	d.kids, d.inNode = d.kids[:0], 0
}

// errEmpty is the failure of a document without pages, which no reader opens.
var errEmpty = errors.New("pdf: the document has no page")

// Close writes the rest of the document. It fails with the first error of the writer.
func (d *Doc) Close() error {
	if d.count == 0 {
		return errEmpty
	}

	d.endNode()

	// The tree of pages and what they draw with.
	b := []byte("<</Type/Pages/Count ")

	b = append(strconv.AppendInt(b, int64(d.count), 10), "/Kids["...)
	for _, node := range d.nodes {
		b = append(appendRef(b, node), ' ')
	}

	d.out.writeObject(d.pages, append(b, "]>>"...))
	d.writeResources()

	// The structure, and which element each mark belongs to.
	d.End(d.root)
	tree := d.parentTree()
	b = appendRef([]byte("<</Type/StructTreeRoot/K "), d.root.ref)
	b = appendRef(append(b, "/ParentTree "...), tree)
	b = strconv.AppendInt(append(b, "/ParentTreeNextKey "...), int64(d.count), 10)
	d.out.writeObject(d.treeRoot, append(b, ">>"...))

	// The metadata and the catalog, where readers begin.
	metadata := d.out.reserve()
	d.out.writeRaw(metadata, "/Type/Metadata/Subtype/XML", d.info.xmp())
	catalog, info := d.out.reserve(), d.out.reserve()
	b = appendRef([]byte("<</Type/Catalog/Pages "), d.pages)
	b = appendRef(append(b, "/StructTreeRoot "...), d.treeRoot)
	b = appendRef(append(b, "/Metadata "...), metadata)
	b = appendText(append(b, "/Lang"...), d.info.Lang)
	d.out.writeObject(catalog, append(b, "/MarkInfo<</Marked true>>/ViewerPreferences<</DisplayDocTitle "+
		"true>>/PageLayout/OneColumn>>"...))
	d.out.writeObject(info, d.info.dictionary())

	// The identifier is a hash, so that equal documents are equal bytes.
	trailer := appendRef([]byte("/Root "), catalog)
	trailer = appendRef(append(trailer, "/Info "...), info)
	sum := sha256.Sum256(append(d.info.xmp(), strconv.FormatInt(d.out.at, 10)...))
	name := hex.EncodeToString(sum[:16])

	return d.out.finish(string(trailer) + "/ID[<" + name + "><" + name + ">]")
}
