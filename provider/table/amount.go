package table

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"stayledger/platform/money"
)

// amount is a number taken apart: its digits with their marks, and its sign.
type amount struct {
	digits     string
	isNegative bool
}

// affixes count what comes before and after the digits of a number.
type affixes struct {
	signs      int
	isNegative bool
	opened     int // Parentheses.
	closed     int
	currencies int
}

// splitAmount takes a number apart. It fails if there are no digits, two signs, or words that are no currency.
func splitAmount(text string) (amount, bool) {
	// First find the digits: all that a number can have around them is known.
	first, last := findDigits(text)
	if first == last {
		return amount{}, false
	}

	// Most numbers have nothing around them, or a minus.
	prefix, suffix := text[:first], text[last:]
	if suffix == "" && (prefix == "" || prefix == "-") {
		return amount{digits: text[first:last], isNegative: prefix == "-"}, true
	}

	// Then each side is read on its own, and both together may have one sign and one currency.
	var around affixes
	if !around.read(prefix, false) || !around.read(suffix, true) {
		return amount{}, false
	}

	// "100.-" has no decimals, and its dash is not a minus. It is left to people.
	isOpen := !isDigit(text[last-1]) && strings.ContainsAny(suffix, "-–—−")
	if isOpen || around.signs > 1 || around.currencies > 1 || around.opened != around.closed || around.opened > 1 {
		return amount{}, false
	}

	return amount{digits: text[first:last], isNegative: around.isNegative}, true
}

// findDigits returns where the digits of a number begin and end, with the decimal mark of ".50" and "50.".
func findDigits(text string) (first, last int) {
	// From the first digit to the last one.
	for first < len(text) && !isDigit(text[first]) {
		first++
	}

	last = len(text)
	for last > first && !isDigit(text[last-1]) {
		last--
	}

	if first == last {
		return first, last
	}

	// The point of "kr.50" belongs to the word.
	if first > 0 && isMark(text[first-1]) {
		before, _ := utf8.DecodeLastRuneInString(text[:first-1])
		if !unicode.IsLetter(before) {
			first--
		}
	}

	if last < len(text) && isMark(text[last]) {
		last++
	}

	return first, last
}

func isMark(c byte) bool { return c == '.' || c == ',' }

// read notes what is before or after the digits. It returns false for anything that does not belong to a number.
func (a *affixes) read(part string, isAfter bool) bool {
	for part != "" {
		r, size := utf8.DecodeRuneInString(part)

		switch {
		case isSpace(r):
		case r == '-' || r == '−' || r == '–':
			a.sign(true)
		case r == '+':
			a.sign(false)
		// Parentheses are a sign, so a minus within them is one too many.
		case r == '(' && !isAfter:
			a.opened++
			a.sign(true)
		case r == ')' && isAfter:
			a.closed++
		case unicode.IsLetter(r):
			size = wordLength(part)
			if !a.word(part[:size], isAfter) {
				return false
			}
		case unicode.Is(unicode.Sc, r):
			a.currencies++
		default:
			return false
		}

		part = part[size:]
	}

	return true
}

func (a *affixes) sign(isNegative bool) {
	a.signs++
	a.isNegative = isNegative
}

// wordLength returns how many bytes of a text are letters, with a dollar sign or a point behind them.
func wordLength(part string) int {
	end := strings.IndexFunc(part, func(r rune) bool { return !unicode.IsLetter(r) })
	if end < 0 {
		return len(part)
	}

	// As in US$ and kr.
	if part[end] == '$' || part[end] == '.' {
		end++
	}

	return end
}

// currencyWords are signs of currencies that are written with letters. Codes of ISO 4217 are known anyway.
var currencyWords = map[string]bool{
	"us$": true, "r$": true, "a$": true, "au$": true, "c$": true, "ca$": true, "nz$": true, "hk$": true, "s$": true,
	"mx$": true, "kr": true, "kr.": true, "zł": true, "kč": true, "ft": true, "lei": true, "fr": true, "fr.": true,
	"sfr": true, "sfr.": true, "rs": true, "rs.": true, "rm": true, "eur.": true,
}

// word notes a word as a side of the books or as a currency. The German S and H come after the number only.
func (a *affixes) word(word string, isAfter bool) bool {
	switch {
	case strings.EqualFold(word, "dr"), word == "S" && isAfter:
		a.sign(true)
	case strings.EqualFold(word, "cr"), word == "H" && isAfter:
		a.sign(false)
	default:
		// Letters that are no currency make the text something else, such as a name.
		_, err := money.ParseCurrency(word)
		if err != nil && !currencyWords[strings.ToLower(word)] {
			return false
		}

		a.currencies++
	}

	return true
}
