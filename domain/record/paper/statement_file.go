package paper

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"stayledger/platform/pdf"
)

// ErrTooWide is wrapped by OwnerStatement if a reservation table has more columns than fit on paper.
var ErrTooWide = errors.New("paper: too many reservation columns")

const maxColumns = 16

// OwnerStatement writes the statement as a PDF: letterhead, title and recipients, summary, the tables of its
// layout, reservations, other revenue, expenses, payouts, notes. The paper is US Letter or A4 by the locale's
// region, upright unless a table needs the width. It fails if the logo cannot be read (ErrLogo), if the reservation
// table has over 16 columns (ErrTooWide), if the document has no creation date, or if w fails.
func OwnerStatement(w io.Writer, doc StatementDoc) error {
	return OwnerStatements(w, func(yield func(StatementDoc, error) bool) { yield(doc, nil) })
}

// OwnerStatements writes statements one after the other into one PDF, each as it comes, so that memory does not
// grow with their number. Each begins on a new page, has the paper that it would have alone, and counts its own
// pages. The document's title, author and language are those of the first. In addition to the failures of
// OwnerStatement it fails with the first error that docs yields, and if there is no statement; the bytes written
// before a failure are of no use.
func OwnerStatements(w io.Writer, docs iter.Seq2[StatementDoc, error]) error {
	shared, err := pdf.EmbeddedFonts()
	if err != nil {
		return err
	}

	// Fallback fonts are added to a copy, because other documents share the fonts.
	fonts := *shared
	f := &statementFile{w: w, fonts: &fonts}

	for doc, err := range docs {
		if err == nil {
			err = f.add(doc)
		}

		if err != nil {
			return err
		}
	}

	// A PDF needs a page.
	if f.doc == nil {
		return errors.New("paper: there is no owner statement to write")
	}

	if err := f.doc.Close(); err != nil {
		return fmt.Errorf("paper: owner statement: %w", err)
	}

	return nil
}

// statementFile is a PDF with one or more owner statements.
type statementFile struct {
	w     io.Writer
	fonts *pdf.Fonts
	doc   *pdf.Doc // nil before the first
}

// add draws a statement on new pages of the file.
func (f *statementFile) add(doc StatementDoc) error {
	if doc.Created.IsZero() {
		return errors.New("paper: owner statement has no creation date")
	}

	if n := len(doc.Reservations.Columns); n > maxColumns {
		return fmt.Errorf("%w: %d of at most %d", ErrTooWide, n, maxColumns)
	}

	// First rewrite all texts in characters that the fonts have. Remember whether the caller gave labels of its
	// own.
	l, labels := textCleaner{f.fonts}, doc.Labels
	doc = l.statement(doc)

	p := &statementPage{doc: doc, paperwork: paperwork{
		sheet:    sheet{fonts: f.fonts},
		legible:  l,
		team:     doc.Team,
		labels:   doc.Labels,
		tag:      localeTag(doc.Locale),
		currency: doc.Currency,
	}}
	if doc.Statement.Draft {
		p.draft = p.labels.Draft
	}

	// The widest table decides on the paper, so lay out the tables before the first page.
	tables := p.tables()
	p.choosePaper(tables)

	// The first statement gives the file its title, author and language.
	if f.doc == nil {
		f.doc = pdf.New(f.w, pdf.Info{
			Title:   joinTexts(" – ", doc.Title, doc.Listing.Name, p.period()),
			Author:  doc.Team.Name,
			Subject: joinTexts(" ", doc.Labels.Statement, doc.Statement.ID),
			Lang:    documentLanguage(labels, p.tag),
			Created: doc.Created,
		}, f.fonts)
	}

	p.paperwork.doc = f.doc

	return p.draw(tables)
}
