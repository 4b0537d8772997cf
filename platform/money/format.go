package money

import (
	"strings"
	"unicode"

	"github.com/bojanz/currency"
	xcurrency "golang.org/x/text/currency"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Format writes the amount for people as CLDR does for the locale, with the decimals its currency has: -$1,234.50 in
// en, -1.234,50 € in de, CHF-1'234.50 in de-CH, ₹12,34,567.00 in en-IN.
//
// Locale is a language tag such as en, de-AT or fr_CA. An unknown region counts as the language alone, an unknown
// language as en. So does a locale that has digits of its own: the dates and numbers around an amount have Latin
// digits, and of such a locale only the patterns for its own digits are known.
//
// Currency is a code in any case. An unknown one has 2 decimals and is shown as its code; an empty one leaves the
// number alone.
func (c Cents) Format(code, locale string) string {
	text := c.formatIn(Currency(strings.ToLower(code)), language.Make(locale))
	if strings.ContainsFunc(text, isForeignDigit) {
		return c.formatIn(Currency(strings.ToLower(code)), language.English)
	}

	return text
}

// formatIn returns the amount as a reader of the language writes it.
func (c Cents) formatIn(code Currency, tag language.Tag) string {
	formatter := currency.NewFormatter(libraryLocale(tag))
	shown := code.Code()

	// The library formats known currencies only, so an unknown one borrows the places of the dollar.
	if _, known := currencies[code]; !known {
		formatter.SymbolMap["USD"] = shown
		shown = "USD"
	} else if isShownAsCode(shown, tag) {
		formatter.SymbolMap[shown] = shown
	}

	if code == "" {
		formatter.CurrencyDisplay = currency.DisplayNone
	}

	amount, err := currency.NewAmountFromInt64(int64(c), shown)
	if err != nil {
		return c.Decimal(code) // not reached: the code is known
	}

	// Without its currency a pattern may leave the space before it.
	return strings.TrimRight(formatter.Format(amount), "\u00a0\u200f")
}

// isShownAsCode reports whether CLDR has the code itself as the sign of a currency in the locale. The library leaves
// such signs out and takes the English one, so that a dollar in Mexico would be shown as $, which is the peso there.
// The currency of the region has its own sign in any case.
func isShownAsCode(code string, tag language.Tag) bool {
	region, _ := tag.Region()
	if own, _ := currency.ForCountryCode(region.String()); own == code {
		return false
	}

	unit, err := xcurrency.ParseISO(code)

	return err == nil && message.NewPrinter(tag).Sprint(xcurrency.Symbol(unit)) == code
}

// libraryLocale returns language, script and region of a tag as the library takes them. It ignores extensions, such
// as that for a calendar.
func libraryLocale(tag language.Tag) currency.Locale {
	base, script, region := tag.Raw()

	locale := currency.Locale{Language: base.String()}
	if s := script.String(); s != "Zzzz" {
		locale.Script = s
	}

	if r := region.String(); r != "ZZ" {
		locale.Territory = r
	}

	return locale
}

func isForeignDigit(r rune) bool { return r > unicode.MaxASCII && unicode.IsDigit(r) }
