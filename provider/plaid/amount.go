package plaid

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"stayledger/platform/money"
)

var errAmount = errors.New("not an amount")

// maxExponent bounds the digits that an amount can have to be spelled out: no bank says 1e400.
const maxExponent = 40

// amount reads the text of a JSON number as an integer of a currency's smallest unit, without a float in between. What
// lies beyond that unit is rounded half away from zero, and rounded tells that something was there: 12.340 is exact,
// 12.345 dollars are not. It fails for everything that is no number and for amounts beyond money.MaxCents.
func amount(raw json.RawMessage, currency money.Currency) (cents money.Cents, rounded bool, err error) {
	whole, fraction, negative, err := spell(string(raw))
	if err != nil {
		return 0, false, err
	}

	places := currency.MinorDigits()

	rest := ""
	if len(fraction) > places {
		fraction, rest = fraction[:places], fraction[places:]
	}

	digits := strings.TrimLeft(whole+fraction+strings.Repeat("0", places-len(fraction)), "0")

	n := int64(0)
	if digits != "" {
		if n, err = strconv.ParseInt(digits, 10, 64); err != nil {
			return 0, false, errAmount
		}
	}

	if rest != "" && rest[0] >= '5' && n <= money.MaxCents {
		n++
	}

	if negative {
		n = -n
	}

	if !money.Cents(n).Valid() {
		return 0, false, errAmount
	}

	return money.Cents(n), strings.Trim(rest, "0") != "", nil
}

// spell writes a JSON number without its exponent: the digits before and behind the point.
func spell(number string) (whole, fraction string, negative bool, err error) { //nolint:revive // The parts of one number.
	if !json.Valid([]byte(number)) {
		return "", "", false, errAmount
	}

	digits, negative := strings.CutPrefix(number, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' {
		return "", "", false, errAmount // JSON of another kind
	}

	exponent := 0
	if at := strings.IndexAny(digits, "eE"); at >= 0 {
		if exponent, err = strconv.Atoi(digits[at+1:]); err != nil || exponent > maxExponent || exponent < -maxExponent {
			return "", "", false, errAmount
		}

		digits = digits[:at]
	}

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
