package render

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"codeberg.org/go-pdf/fpdf"
)

// The families of the embedded font: most documents need nothing but the western cut, which is a fraction of the whole.
const (
	westernFamily = "statement"
	fullFamily    = "statement-full"
)

// statementFile is a PDF that takes one or more owner statements.
type statementFile struct {
	pdf      *fpdf.Fpdf
	fonts    *fonts
	families map[string]bool // already embedded
	compress bool
}

// OwnerStatements writes statements one after the other into one PDF. Each begins on a new page, has the paper that it
// has by itself, and counts its own pages. The document's title, author and language are those of the first. Beside the
// failures of OwnerStatement it fails with the first error that docs yields, and without any statement.
func OwnerStatements(w io.Writer, docs iter.Seq2[StatementDoc, error]) error {
	return ownerStatements(w, docs, true)
}

func ownerStatements(w io.Writer, docs iter.Seq2[StatementDoc, error], compress bool) error {
	fonts, err := loadFonts()
	if err != nil {
		return err
	}
	f := &statementFile{fonts: fonts, families: map[string]bool{}, compress: compress}
	for doc, err := range docs {
		if err == nil {
			err = f.add(doc)
		}
		if err != nil {
			return err
		}
	}
	if f.pdf == nil {
		return errors.New("render: there is no owner statement to write")
	}
	if err := f.pdf.Output(w); err != nil {
		return fmt.Errorf("render: owner statement: %w", err)
	}
	return nil
}

func (f *statementFile) add(doc StatementDoc) error {
	if doc.Created.IsZero() {
		return errors.New("render: owner statement has no creation date")
	}
	if n := len(doc.Reservations.Columns); n > maxColumns {
		return fmt.Errorf("%w: %d of at most %d", ErrTooWide, n, maxColumns)
	}
	legible := &legible{fonts: f.fonts}
	doc = legible.statement(doc)
	page := &statementPage{legible: legible, doc: doc, labels: doc.Labels, tag: localeTag(doc.Locale), sheet: sheet{fonts: f.fonts}}
	return page.draw(f)
}

// begin opens the document as its first statement is laid out.
func (f *statementFile) begin(p *statementPage) {
	pdf := fpdf.New(p.orientation, fpdf.UnitPoint, p.paper, "")
	pdf.SetCompression(f.compress)
	pdf.SetCatalogSort(true)
	pdf.SetCreationDate(p.doc.Created.UTC())
	pdf.SetModificationDate(p.doc.Created.UTC())
	pdf.SetTitle(joined(" – ", p.doc.Title, p.doc.Listing.Name, p.period()), true)
	pdf.SetAuthor(p.doc.Team.Name, true)
	pdf.SetSubject(joined(" ", p.labels.Statement, p.doc.Statement.ID), true)
	pdf.SetCreator("stayledger", true)
	pdf.SetProducer("stayledger", true)
	pdf.SetLang(p.tag)
	pdf.SetDisplayMode("fullwidth", "continuous")
	pdf.SetAutoPageBreak(false, 0)
	pdf.SetCellMargin(0)
	f.pdf = pdf
}

// enter lets a statement draw behind those before it, with the fonts that its text needs.
func (f *statementFile) enter(p *statementPage) {
	p.pdf, p.before, p.family = f.pdf, f.pdf.PageCount(), westernFamily
	if p.legible.wide {
		p.family = fullFamily
	}
	if f.families[p.family] {
		return
	}
	f.families[p.family] = true
	for weight, face := range map[string]*typeface{"": &f.fonts.regular, "B": &f.fonts.bold} {
		ttf := face.western
		if p.legible.wide {
			ttf = face.full
		}
		f.pdf.AddUTF8FontFromBytes(p.family, weight, copyOf(ttf))
	}
}
