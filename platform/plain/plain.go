// Package plain brings texts that people and machines wrote into a form in which they can be compared: capitals,
// widths, ligatures and white space make no difference.
package plain

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/collate"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"
)

// Text returns s in compatibility form, without differences of case, without white space around it and with a
// single space for each stretch inside. Bytes that are no UTF-8 become the replacement character. Applying it twice
// changes nothing.
func Text(s string) string {
	if ascii(s) {
		return asciiText(s)
	}

	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	// Folding can undo the normal form, and the normal form can bring capitals back, so both come twice.
	fold := cases.Fold()
	s = norm.NFKC.String(fold.String(norm.NFKC.String(fold.String(norm.NFD.String(s)))))

	return strings.Join(strings.Fields(s), " ")
}

// asciiText computes Text for ASCII, which nearly all texts of banks are.
func asciiText(s string) string {
	var usual [256]byte // Spares an allocation.

	out := usual[:0]
	spaced := false

	for i := range len(s) {
		c := s[i]
		switch {
		case c == ' ' || '\t' <= c && c <= '\r':
			spaced = len(out) > 0
			continue
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}

		// Write a space only between words.
		if spaced {
			out = append(out, ' ')
			spaced = false
		}

		out = append(out, c)
	}

	return string(out)
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}

	return true
}

// collators order texts as the collation "case_insensitive" of the database does. One serves a single comparison at a
// time.
var collators = sync.Pool{New: func() any { return collate.New(language.Und, collate.IgnoreCase) }}

// Compare orders texts by the root collation of ICU, case aside, as lists do in SQL (page.TextSQL): Ozan before Özil
// before Zebra. Texts that differ in case alone are equal, so another order has to follow.
func Compare(a, b string) int {
	c := collators.Get().(*collate.Collator) //nolint:errcheck,forcetypeassert // The pool has nothing else.
	defer collators.Put(c)

	return c.CompareString(a, b)
}

// Words returns the stretches of letters and digits of a text, folded: "HM-42 Müller" gives hm, 42 and müller.
func Words(s string) []string {
	return strings.FieldsFunc(Text(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}
