package table

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What is wrong with the text of a number.
var (
	// ErrNotNumber means that the text is no number in this reading.
	ErrNotNumber = errors.New("table: not a number")
	// ErrPlaces means digits after the smallest unit of the currency that are not zero.
	ErrPlaces = errors.New("table: too many decimal places")
	// ErrRange means more than an int64 holds.
	ErrRange = errors.New("table: number out of range")
)

// Decimal is the mark before the decimals of a number.
type Decimal rune

// The ways in which numbers are written.
const (
	decimalPoint Decimal = '.'
	decimalComma Decimal = ','
)

// Numbers decides over a whole column how its numbers are written. The zero value is ready.
type Numbers struct {
	needsPoint bool // A number reads with a decimal point only, such as 1,234.50.
	needsComma bool // A number reads with a decimal comma only, such as 1.234,50.
	readsBoth  bool // A number is another one in each reading, such as 1.234.
}

// Add notes one cell of the column. A blank cell and a text that is no number change nothing.
func (n *Numbers) Add(text string) {
	if !hasMark(text) {
		return // Whole numbers without thousands marks are the same in every reading.
	}

	amount, ok := splitAmount(text)
	if !ok || !hasMark(amount.digits) {
		return
	}

	// Only a number that reads in one way decides.
	isPoint, isComma := decimalPoint.reads(amount.digits), decimalComma.reads(amount.digits)
	switch {
	case isPoint && isComma:
		n.readsBoth = true
	case isPoint:
		n.needsPoint = true
	case isComma:
		n.needsComma = true
	}
}

func hasMark(text string) bool {
	return strings.IndexByte(text, '.') >= 0 || strings.IndexByte(text, ',') >= 0
}

// Decide returns the reading of the column. It returns false if the column reads both ways, or if some numbers read
// with a point only and others with a comma only. A column of whole numbers has a decimal point.
func (n *Numbers) Decide() (Decimal, bool) {
	switch {
	case n.needsPoint && n.needsComma:
		return decimalPoint, false
	case n.needsPoint:
		return decimalPoint, true
	case n.needsComma:
		return decimalComma, true
	default:
		return decimalPoint, !n.readsBoth
	}
}

// Parse returns a number in the smallest unit of a currency with so many places, exactly. It takes one sign before or
// after the digits, parentheses, currency signs and codes, DR and CR, the German S and H, and thousands marks. It fails
// with ErrNotNumber, ErrPlaces or ErrRange.
func (d Decimal) Parse(text string, places int) (int64, error) {
	amount, ok := splitAmount(text)
	if !ok {
		return 0, ErrNotNumber
	}

	value, err := d.readDigits(amount.digits, places)
	if err != nil {
		return 0, err
	}

	if amount.isNegative {
		value = -value
	}

	return value, nil
}

// reads reports whether digits with their marks are a number in this reading, of any size.
func (d Decimal) reads(digits string) bool {
	_, err := d.readDigits(digits, maxPlaces)
	return !errors.Is(err, ErrNotNumber)
}

// maxPlaces is how many decimal places an int64 can hold.
const maxPlaces = 18

// readDigits reads digits with their thousands marks and decimal mark.
func (d Decimal) readDigits(digits string, places int) (int64, error) {
	// A second decimal mark is found in the fraction, where it is no digit.
	whole, fraction := digits, ""
	if at := strings.IndexRune(digits, rune(d)); at >= 0 {
		whole, fraction = digits[:at], digits[at+1:]
	}

	value, err := d.readWhole(whole)
	if errors.Is(err, ErrNotNumber) {
		return 0, err
	}

	// All digits are looked at before anything else is wrong with the number: no number counts more.
	isExact := true

	for i := range len(fraction) {
		c := fraction[i]

		switch {
		case !isDigit(c):
			return 0, ErrNotNumber
		case i >= places:
			isExact = isExact && c == '0'
		default:
			value = shift(value, c)
		}
	}

	// What is left out is zero: 1.5 is 150 cents.
	for range places - len(fraction) {
		value = shift(value, '0')
	}

	switch {
	case err != nil || value == tooLarge:
		return 0, ErrRange
	case !isExact:
		return 0, ErrPlaces
	default:
		return value, nil
	}
}

// tooLarge marks a value that left the range. It stays as it is when digits follow.
const tooLarge = -1

// shift returns a value with one more digit.
func shift(value int64, digit byte) int64 {
	next := int64(digit - '0')
	if value == tooLarge || value > (math.MaxInt64-next)/10 {
		return tooLarge
	}

	return value*10 + next
}

// readWhole reads the digits before the decimal mark, which are in groups if there are thousands marks. It returns
// tooLarge for more than an int64 holds.
func (d Decimal) readWhole(whole string) (int64, error) {
	var (
		value int64
		mark  rune // The thousands mark; a number has only one kind.
		group int  // Digits since the last mark.
	)

	for i := 0; i < len(whole); {
		if isDigit(whole[i]) {
			value = shift(value, whole[i])
			group++
			i++

			continue
		}

		r, size := utf8.DecodeRuneInString(whole[i:])

		// The first group has one to three digits and no zero in front. Later ones have three, or two as in India.
		isGroup := mark == 0 && 1 <= group && group <= 3 && whole[0] != '0' ||
			mark == r && (group == 3 || group == 2 && r == ',')
		if !isGroup || !d.isThousands(r) {
			return 0, ErrNotNumber
		}

		mark, group = r, 0
		i += size
	}

	// The last group is never shorter.
	if mark != 0 && group != 3 {
		return 0, ErrNotNumber
	}

	return value, nil
}

// isThousands reports whether a character can divide thousands in this reading.
func (d Decimal) isThousands(r rune) bool {
	switch r {
	case '.', ',':
		return r != rune(d)
	case '\'', '’', ' ', '\u00a0', '\u2009', '\u202f':
		return true
	default:
		return false
	}
}

// Digits that a number of a workbook has beyond its noise: an IEEE double holds 15 decimal digits.
const (
	plainDigits = 15
	plainPlaces = 10
)

// ParsePlain returns a number cell of a workbook in the smallest unit of a currency with so many places. Noise of
// binary fractions such as 0.30000000000000004 is rounded to 10 places first. It fails as Parse does.
func ParsePlain(text string, places int) (int64, error) {
	// ParseFloat takes words and hexadecimal digits too.
	if strings.Trim(text, "0123456789.+-eE") != "" {
		return 0, ErrNotNumber
	}

	number, err := strconv.ParseFloat(text, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, ErrRange
	}

	if err != nil {
		return 0, ErrNotNumber
	}

	// First to the digits that a double holds, then to the places.
	digits, err := strconv.ParseFloat(strconv.FormatFloat(number, 'e', plainDigits-1, 64), 64)
	if err != nil {
		return 0, ErrRange
	}

	shortest := strconv.FormatFloat(digits, 'f', -1, 64)
	if _, fraction, _ := strings.Cut(shortest, "."); len(fraction) > plainPlaces {
		shortest = strconv.FormatFloat(digits, 'f', plainPlaces, 64)
	}

	return decimalPoint.Parse(shortest, places)
}
