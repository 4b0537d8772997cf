package table

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold returns a header or word in the form in which headers are compared: compatible characters as one, case folded,
// without marks, only letters and digits with single spaces. "Zu-/Abgang (EUR)" becomes "zu abgang eur", "Débito"
// becomes "debito".
func Fold(s string) string {
	// NFKD divides letters from their marks, which are left out below.
	if !isASCII(s) {
		s = norm.NFKD.String(cases.Fold().String(norm.NFKC.String(s)))
	}

	var folded strings.Builder

	isGap := false

	for _, r := range s {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if isGap && folded.Len() > 0 {
				folded.WriteByte(' ')
			}

			isGap = false

			folded.WriteRune(unicode.ToLower(r))
		case unicode.IsMark(r):
		default:
			isGap = true
		}
	}

	return folded.String()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] > unicode.MaxASCII {
			return false
		}
	}

	return true
}

// FindHeader returns the index of the header among the first rows of a file: the first row for which matches says so,
// looking at its folded cells. It returns -1 if there is none.
func FindHeader(rows []Row, matches func(folded []string) bool) int {
	for i := range rows {
		folded := make([]string, len(rows[i].Cells))
		for k, cell := range rows[i].Cells {
			folded[k] = Fold(cell)
		}

		if matches(folded) {
			return i
		}
	}

	return -1
}
