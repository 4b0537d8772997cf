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

// Country returns a two-letter code in capitals, or nothing for another text.
func Country(code string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

	code = strings.ToUpper(code)
	if len(code) != 2 || strings.Trim(code, letters) != "" {
		return ""
	}

	return code
}

// IsDeposit reports whether the name of a charge means a deposit to be returned, such as damageDeposit or "Refundable
// security deposit". Waivers, insurances and nonrefundable deposits do not count.
func IsDeposit(name string) bool {
	name = strings.ToLower(name)
	has := func(part string) bool { return strings.Contains(name, part) }

	isBought := has("waiver") || has("insurance") || has("protection")
	isKept := has("nonrefundable") || has("non-refundable") || has("non refundable")

	return has("deposit") && (has("damage") || has("security") || has("refundable")) && !isBought && !isKept
}
