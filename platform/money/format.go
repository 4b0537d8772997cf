package money

import "strings"

const (
	noBreakSpace       = "\u00a0"
	narrowNoBreakSpace = "\u202f"
)

// layout is how a locale writes an amount.
type layout struct {
	group, point string
	// prefix puts the currency before the digits.
	prefix bool
	// spaced keeps a prefixed symbol apart from the digits. A code is always apart, and so is a suffix.
	spaced bool
}

var layouts = map[string]layout{
	"en":    {group: ",", point: ".", prefix: true},
	"de":    {group: ".", point: ","},
	"fr":    {group: narrowNoBreakSpace, point: ","},
	"es":    {group: ".", point: ","},
	"it":    {group: ".", point: ","},
	"pt":    {group: ".", point: ",", prefix: true, spaced: true},
	"pt-pt": {group: noBreakSpace, point: ","},
	"nl":    {group: ".", point: ",", prefix: true, spaced: true},
}

// symbols has only the signs a reader of any of the locales takes for one currency. The others are shown by code.
var symbols = map[Currency]string{
	"usd": "$", "eur": "€", "gbp": "£", "jpy": "¥", "cad": "CA$", "aud": "A$", "nzd": "NZ$", "mxn": "MX$", "brl": "R$",
	"inr": "₹", "ils": "₪", "krw": "₩", "php": "₱", "vnd": "₫",
}

// Format writes the amount for people, with the decimals its currency has: -$1,234.50 in en, -1.234,50 € in de. The sign comes
// first in every locale. Locale is a language tag such as en, de-AT or fr_CA; only its language counts, except for pt-PT, and one
// without a layout of its own is written as en. Currency is a code in any case; an empty one leaves the number alone.
func (c Cents) Format(currency, locale string) string {
	layout := layoutOf(locale)
	code := Currency(strings.ToLower(currency))
	number := c.decimal(code.MinorDigits(), layout.group, layout.point)
	if code == "" {
		return number
	}
	symbol, known := symbols[code]
	if !known {
		symbol = code.Code()
	}
	if !layout.prefix {
		return number + noBreakSpace + symbol
	}
	if layout.spaced || !known {
		symbol += noBreakSpace
	}
	if positive, negative := strings.CutPrefix(number, "-"); negative {
		return "-" + symbol + positive
	}
	return symbol + number
}

func layoutOf(locale string) layout {
	tag := strings.ToLower(strings.ReplaceAll(locale, "_", "-"))
	if exact, found := layouts[tag]; found {
		return exact
	}
	language, _, _ := strings.Cut(tag, "-")
	if byLanguage, found := layouts[language]; found {
		return byLanguage
	}
	return layouts["en"]
}
