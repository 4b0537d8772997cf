package render

import (
	"io"
	"iter"
)

// PlainOwnerStatement is OwnerStatement with its page contents uncompressed, so that a test can read them.
func PlainOwnerStatement(w io.Writer, doc StatementDoc) error {
	return ownerStatement(w, doc, false)
}

// RegularWidth measures text in the regular font, in points.
func RegularWidth(text string, size float64) float64 {
	fonts, err := loadFonts()
	if err != nil {
		panic(err)
	}
	return fonts.regular.width(text, size)
}

// PlainOwnerStatements is OwnerStatements with its page contents uncompressed.
func PlainOwnerStatements(w io.Writer, docs iter.Seq2[StatementDoc, error]) error {
	return ownerStatements(w, docs, false)
}
