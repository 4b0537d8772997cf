package pms

import (
	"strings"
	"unicode"
)

// MaxText is how many characters a text of a system can have here.
const MaxText = 500

// Text returns a text of a system without control characters, without white space around it, and cut to MaxText
// characters.
func Text(s string) string {
	s = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}

		return r
	}, s))

	count := 0
	for at := range s {
		if count++; count > MaxText {
			return strings.TrimSpace(s[:at])
		}
	}

	return s
}
