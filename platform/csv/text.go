package csv

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// appendText appends a text cell: valid UTF-8, no formula, with quotes if it needs them.
func appendText(line []byte, s string) []byte {
	s = validText(s)

	formula := isFormula(s)

	// The common case is a text without quotes, which is copied at once. An apostrophe in front keeps a spreadsheet
	// from evaluating a formula.
	if !needsQuotes(s) {
		if formula {
			line = append(line, '\'')
		}

		return append(line, s...)
	}

	line = append(line, '"')
	if formula {
		line = append(line, '\'')
	}

	// Double each quotation mark.
	for {
		quote := strings.IndexByte(s, '"')
		if quote < 0 {
			break
		}

		line = append(append(line, s[:quote+1]...), '"')
		s = s[quote+1:]
	}

	return append(append(line, s...), '"')
}

// validText replaces NUL and broken UTF-8, which readers of CSV cut off or refuse, with the replacement character.
func validText(s string) string {
	if strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) {
		return s
	}

	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// needsQuotes goes beyond RFC 4180 with semicolon, tab and outer spaces: a spreadsheet set to another separator would
// split an unquoted cell there, and what follows the separator could be a formula again.
func needsQuotes(s string) bool {
	if s == "" {
		return false
	}

	return strings.ContainsAny(s, ",\"\r\n;\t") || s[0] == ' ' || s[len(s)-1] == ' '
}

// isFormula reports whether a spreadsheet would evaluate the cell: its first character, after anything that
// spreadsheets skip or strip, starts a formula. Full-width and small forms count, because some spreadsheets fold
// them. A leading tab or line break counts by itself, because some importers drop it and look at the rest.
func isFormula(s string) bool {
	for i, r := range s {
		switch r {
		case '=', '+', '-', '@', '＝', '＋', '－', '＠', '﹦', '﹢', '﹣', '﹫', '−':
			return true
		case '\t', '\r', '\n':
			if i == 0 {
				return true
			}

			continue
		}

		// Spaces, control characters and invisible ones are skipped; any other character decides.
		if !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) && !unicode.IsControl(r) {
			return false
		}
	}

	return false
}
