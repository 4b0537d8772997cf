package money

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

var errDecimal = errors.New("money: not an amount")

// maxExponent bounds the digits of an amount that is written without its exponent: no bank says 1e400.
const maxExponent = 40

// ParseDecimal reads a decimal in the form of a JSON number as an integer of a currency's smallest unit, without a float in between.
// Digits beyond that unit are rounded half away from zero, and rounded reports whether one of them was not 0:
// 12.340 is exact, 12.345 dollars are not. It fails for texts that are no number and for amounts beyond
// MaxCents.
func ParseDecimal(text string, currency Currency) (cents Cents, rounded bool, err error) {
	whole, fraction, negative, err := splitNumber(text)
	if err != nil {
		return 0, false, err
	}

	// Cut the fraction after the digits of the currency, or fill it up to them.
	places := currency.MinorDigits()

	rest := ""
	if len(fraction) > places {
		fraction, rest = fraction[:places], fraction[places:]
	}

	digits := strings.TrimLeft(whole+fraction+strings.Repeat("0", places-len(fraction)), "0")

	// What is left is an integer. Zeros in front would only count against the size that ParseInt takes.
	n := int64(0)
	if digits != "" {
		if n, err = strconv.ParseInt(digits, 10, 64); err != nil {
			return 0, false, errDecimal
		}
	}

	// Round by the first digit that was cut off. The sign comes afterwards, so this is away from zero on both
	// sides.
	if rest != "" && rest[0] >= '5' && n <= MaxCents {
		n++
	}

	if negative {
		n = -n
	}

	if !Cents(n).Valid() {
		return 0, false, errDecimal
	}

	return Cents(n), strings.Trim(rest, "0") != "", nil
}

// splitNumber writes a JSON number without its exponent, and returns the digits before and after the point. It fails
// for everything else, and for exponents beyond maxExponent.
//
//nolint:revive // The parts of one number.
func splitNumber(number string) (whole, fraction string, negative bool, err error) {
	if !json.Valid([]byte(number)) {
		return "", "", false, errDecimal
	}

	digits, negative := strings.CutPrefix(number, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' {
		return "", "", false, errDecimal // JSON of another kind
	}

	// Take the exponent off first: the point moves by so many digits.
	exponent := 0
	if at := strings.IndexAny(digits, "eE"); at >= 0 {
		exponent, err = strconv.Atoi(digits[at+1:])
		if err != nil || exponent > maxExponent || exponent < -maxExponent {
			return "", "", false, errDecimal
		}

		digits = digits[:at]
	}

	// A positive exponent moves the point to the right, a negative one to the left, with zeros where digits are
	// missing.
	whole, fraction, _ = strings.Cut(digits, ".")
	for ; exponent > 0; exponent-- {
		if fraction == "" {
			fraction = "0"
		}

		whole, fraction = whole+fraction[:1], fraction[1:]
	}

	for ; exponent < 0; exponent++ {
		if whole == "" {
			whole = "0"
		}

		whole, fraction = whole[:len(whole)-1], whole[len(whole)-1:]+fraction
	}

	return whole, fraction, negative, nil
}
