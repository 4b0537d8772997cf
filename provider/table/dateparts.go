package table

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// datePart is a number or the name of a month in a date, with the character that divides it from the part before.
type datePart struct {
	number  int
	digits  int // How many the number has; 0 for a name.
	divider rune
}

// splitDate takes a date apart, whatever its form. A time may follow it.
func splitDate(text string) (dateParts, bool) {
	text = strings.TrimFunc(text, isSpace)
	if text == "" || len(text) > maxDateLength {
		return dateParts{}, false
	}

	// Day, month and year in some order. Eight digits are all of them.
	var parts [3]datePart

	rest := text

	for i := range parts {
		var ok bool
		if parts[i], rest, ok = nextPart(rest); !ok {
			return dateParts{}, false
		}

		if i == 0 && parts[0].digits == len("YYYYMMDD") {
			return compactDate(parts[0].number), isTime(rest)
		}
	}

	// Anything else after the year makes it no date, such as a fourth number.
	if !isTime(rest) {
		return dateParts{}, false
	}

	return arrange(parts)
}

// maxDateLength is more than any date with its time has.
const maxDateLength = 64

// compactDate takes a number such as 20261128 apart.
func compactDate(number int) dateParts {
	return dateParts{
		year: number / 10000, first: number / 100 % 100, second: number % 100, isFixed: true, isCompact: true,
	}
}

// nextPart cuts the next number or name of a month from a text, with what is before it.
func nextPart(text string) (part datePart, rest string, ok bool) {
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)

		switch {
		case isDigit(text[0]):
			part.number, part.digits = leadingNumber(text)
			rest = trimOrdinal(text[part.digits:])

			return part, rest, part.digits <= 4 || part.digits == len("YYYYMMDD")
		case unicode.IsLetter(r):
			end := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
			if end < 0 {
				end = len(text)
			}

			word := text[:end]
			text = text[end:]

			// The words between the parts divide them as a space does.
			if isBetween(word) {
				continue
			}

			part.number = monthNamed(word)

			return part, strings.TrimPrefix(text, "."), part.number > 0
		case strings.ContainsRune("-/.,'’", r):
			// Two marks in a row are no date.
			if part.divider != 0 && part.divider != ' ' {
				return part, text, false
			}

			part.divider = r
		case isSpace(r):
			if part.divider == 0 {
				part.divider = ' '
			}
		default:
			return part, text, false
		}

		text = text[size:]
	}

	return part, text, false
}

// leadingNumber reads the digits at the start of a text, at most one more than the longest date has.
func leadingNumber(text string) (number, digits int) {
	for digits < len(text) && digits < 9 && isDigit(text[digits]) {
		number = number*10 + int(text[digits]-'0')
		digits++
	}

	return number, digits
}

// trimOrdinal trims the ending of an ordinal number, as in 1st, 1er and 1º.
func trimOrdinal(text string) string {
	for _, ending := range []string{"st", "nd", "rd", "th", "er", "º"} {
		rest, is := strings.CutPrefix(text, ending)
		if next, _ := utf8.DecodeRuneInString(rest); is && !unicode.IsLetter(next) {
			return rest
		}
	}

	return text
}

// isBetween reports whether a word belongs between the parts of a date, as in "28 de noviembre de 2026".
func isBetween(word string) bool {
	return strings.EqualFold(word, "de") || strings.EqualFold(word, "del") || strings.EqualFold(word, "of")
}

// arrange decides which of three parts are day, month and year, as far as their form says so.
func arrange(parts [3]datePart) (dateParts, bool) {
	// A mark before the first part would be a sign.
	a, b, c := parts[0], parts[1], parts[2]
	if a.divider != 0 {
		return dateParts{}, false
	}

	switch {
	// The year comes first or last, never between the others.
	case a.digits == 4:
		isName := b.digits == 0
		ok := c.digits >= 1 && c.digits <= 2 && b.digits <= 2 && (isName || b.divider == c.divider && b.divider != ' ')

		return dateParts{year: a.number, first: b.number, second: c.number, isFixed: true}, ok
	case c.digits != 2 && c.digits != 4:
		return dateParts{}, false
	case b.digits == 0:
		return dateParts{year: c.year(), first: b.number, second: a.number, isFixed: true}, a.isShort()
	case a.digits == 0:
		return dateParts{year: c.year(), first: a.number, second: b.number, isFixed: true}, b.isShort()
	default:
		// Only digits: the order of day and month is that of the column.
		isDivided := strings.ContainsRune("-/.", b.divider) &&
			(c.divider == b.divider || c.divider == '\'' || c.divider == '’')

		return dateParts{year: c.year(), first: a.number, second: b.number}, isDivided && a.isShort() && b.isShort()
	}
}

// isShort reports whether the part is a number that can be a day or a month.
func (p datePart) isShort() bool { return p.digits == 1 || p.digits == 2 }

// year returns the year that a part means: two digits from 70 on are of the last century.
func (p datePart) year() int {
	switch {
	case p.digits != 2:
		return p.number
	case p.number >= 70:
		return 1900 + p.number
	default:
		return 2000 + p.number
	}
}

// isTime reports whether the rest of a text after a date is nothing or a time of day.
func isTime(rest string) bool {
	if rest == "" {
		return true
	}

	r, size := utf8.DecodeRuneInString(rest)
	if r != 'T' && r != ',' && !isSpace(r) {
		return false
	}

	// A zone, a point in the seconds, and AM or PM in two ways of writing belong to it.
	rest = strings.TrimLeftFunc(rest[size:], isSpace)
	isClock := strings.IndexByte(rest, ':') > 0 && isDigit(rest[0])

	return isClock && strings.Trim(strings.ToLower(rest), "0123456789:.,+-z apmutc\u00a0\u202f") == ""
}

// monthNamed returns the number of a month by its name, or 0.
func monthNamed(word string) int {
	return months[Fold(word)]
}

// months are the folded names of months and their short forms in English, German, French, Spanish, Portuguese and
// Italian. A name that two languages share means the same month in both.
var months = loadMonths()

// loadMonths numbers the names of each month.
func loadMonths() map[string]int {
	names := [12]string{
		"january jan januar jaenner janner janvier janv enero ene janeiro gennaio gen",
		"february feb februar fevrier fev fevr febrero fevereiro febbraio febbr",
		"march mar marz maerz mrz mars marzo marco",
		"april apr avril avr abril abr aprile",
		"may mai mayo maio maggio mag magg",
		"june jun juni juin junio junho giugno giu",
		"july jul juli juillet juil julio julho luglio lug",
		"august aug aout aou agosto ago",
		"september sep sept septembre septiembre setembro set settembre sett setiembre",
		"october oct oktober okt octobre octubre outubro out ottobre ott",
		"november nov novembre noviembre novembro",
		"december dec dezember dez decembre diciembre dic dezembro dicembre", //nolint:misspell // French.
	}

	all := map[string]int{}

	for i, month := range names {
		for name := range strings.FieldsSeq(month) {
			all[name] = i + 1
		}
	}

	return all
}
