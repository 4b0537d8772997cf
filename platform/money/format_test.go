package money_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"stayledger/platform/money"
)

func TestFormat(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		cents            money.Cents
		currency, locale string
		want             string
	}{
		{123450, "usd", "en", "$1,234.50"},
		{-123450, "usd", "en", "-$1,234.50"},
		{123450, "USD", "en_US", "$1,234.50"},
		{99999, "usd", "en", "$999.99"},
		{123456789, "usd", "en", "$1,234,567.89"},
		{math.MinInt64, "usd", "en", "-$92,233,720,368,547,758.08"},

		// Signs, groups and the place of the currency are those of language and region.
		{-123456789, "usd", "en-GB", "-US$1,234,567.89"},
		{-123456789, "gbp", "en-GB", "-£1,234,567.89"},
		{-123456789, "inr", "en-IN", "-₹12,34,567.89"},
		{-123456789, "eur", "de", "-1.234.567,89\u00a0€"},
		{-123456789, "eur", "de-AT", "-€\u00a01.234.567,89"},
		{-123456789, "chf", "de-CH", "CHF-1'234'567.89"},
		{123456789, "chf", "de-CH", "CHF\u00a01'234'567.89"},
		{-123456789, "chf", "de-LI", "-CHF\u00a01'234'567.89"},
		{-123456789, "chf", "it-CH", "CHF-1'234'567.89"},
		{123456789, "chf", "fr_CH", "1\u202f234\u202f567.89\u00a0CHF"},
		{-123456789, "eur", "it", "-1.234.567,89\u00a0€"},
		{-123456789, "eur", "es", "-1.234.567,89\u00a0€"},
		{123450, "eur", "es", "1234,50\u00a0€"},
		{-123456789, "mxn", "es-MX", "-$1,234,567.89"},
		{-123456789, "usd", "es-US", "-$1,234,567.89"},
		{-123456789, "usd", "es-PR", "-$1,234,567.89"},
		{-123456789, "crc", "es-CR", "-₡1\u00a0234\u00a0567,89"},
		{-123456789, "usd", "es-CR", "-USD\u00a01\u00a0234\u00a0567,89"},
		{-123456789, "usd", "es-MX", "-USD\u00a01,234,567.89"}, // $ is the peso there
		{-123456789, "usd", "pl", "-1\u00a0234\u00a0567,89\u00a0USD"},
		{-123456789, "usd", "it", "-1.234.567,89\u00a0USD"},
		{-123456789, "eur", "de-CH", "EUR-1'234'567.89"},
		{123450, "eur", "fr", "1\u202f234,50\u00a0€"},
		{123450, "usd", "fr", "1\u202f234,50\u00a0$US"},
		{123450, "cad", "fr-CA", "1\u00a0234,50\u00a0$"},
		{-123450, "brl", "pt-BR", "-R$\u00a01.234,50"},
		{123456789, "eur", "pt-PT", "1\u00a0234\u00a0567,89\u00a0€"},
		{-123450, "eur", "nl", "€\u00a0-1.234,50"},
		{-123456789, "pln", "pl", "-1\u00a0234\u00a0567,89\u00a0zł"},
		{123450, "pln", "pl", "1234,50\u00a0zł"},
		{-123456789, "sek", "sv", "−1\u00a0234\u00a0567,89\u00a0kr"},
		{-123456789, "dkk", "da", "-1.234.567,89\u00a0kr."},
		{-123456789, "eur", "hr", "−1.234.567,89\u00a0€"},
		{-123456789, "nok", "nb-NO", "−1\u00a0234\u00a0567,89\u00a0kr"},

		// Places are those of the currency in every locale.
		{123450, "jpy", "en", "¥123,450"},
		{0, "jpy", "en", "¥0"},
		{-5, "jpy", "de", "-5\u00a0¥"},
		{1234567, "kwd", "en", "KWD\u00a01,234.567"},
		{5, "kwd", "en", "KWD\u00a00.005"},
		{123450, "cop", "es-CO", "$\u00a01.234,50"},
		{-123450, "chf", "en", "-CHF\u00a01,234.50"},

		// Currencies that are empty or unknown.
		{123450, "", "en", "1,234.50"},
		{-123450, "", "fr", "-1\u202f234,50"},
		{-123450, "", "nl", "-1.234,50"},
		{123450, "", "he", "\u200f1,234.50"},
		{123450, "zzz", "en", "ZZZ\u00a01,234.50"},
		{-123450, "zzz", "de", "-1.234,50\u00a0ZZZ"},
		{12345, "clf", "en", "CLF\u00a0123.45"},

		// Locales that are empty, unknown, extended, or have digits of their own.
		{123450, "usd", "", "$1,234.50"},
		{123450, "usd", "xx", "$1,234.50"},
		{123450, "usd", "not a locale", "$1,234.50"},
		{123450, "eur", "de-XX", "1.234,50\u00a0€"},
		{123450, "usd", "en-US-u-ca-buddhist", "$1,234.50"},
		{123450, "egp", "ar-EG", "EGP\u00a01,234.50"},
		{-123450, "inr", "mr", "-₹1,234.50"},
	} {
		t.Run(fmt.Sprint(int64(test.cents), test.currency, test.locale), func(t *testing.T) {
			t.Parallel()

			if got := test.cents.Format(test.currency, test.locale); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestParseCurrency(t *testing.T) {
	t.Parallel()

	for text, digits := range map[string]int{"usd": 2, "EUR": 2, "Gbp": 2, "JPY": 0, "isk": 0, "kwd": 3, "TND": 3, "xaf": 0, "XCG": 2} {
		currency, err := money.ParseCurrency(text)
		if err != nil || currency.MinorDigits() != digits {
			t.Errorf("%q: got %q with %d digits, %v", text, currency, currency.MinorDigits(), err)
		}
	}
	// Where CLDR shows fewer places than ISO 4217 has, money is kept with those of ISO 4217.
	for code, digits := range map[string]int{
		"krw": 0, "clp": 0, "ugx": 0, "vnd": 0, "xof": 0, "cop": 2, "idr": 2, "mga": 2, "rsd": 2, "huf": 2, "twd": 2,
		"bhd": 3, "iqd": 3, "jod": 3, "lyd": 3, "omr": 3, "sle": 2, "ves": 2, "zwg": 2,
	} {
		currency, err := money.ParseCurrency(code)
		if err != nil || currency.MinorDigits() != digits {
			t.Errorf("%s: got %d digits, %v", code, currency.MinorDigits(), err)
		}
	}

	if n := len(money.Currencies()); n != 155 {
		t.Errorf("%d currencies: look at what the new table of ISO 4217 adds, a fund is no currency", n)
	}

	if currency, err := money.ParseCurrency("USD"); err != nil || currency != "usd" || currency.Code() != "USD" {
		t.Errorf("got %q, %v", currency, err)
	}
	// Unknown, withdrawn, metal, test code, no currency, and texts that only look alike; the Kelvin sign lower-cases to
	// k.
	for _, text := range []string{
		"", "us", "usdd", " usd", "us ", "zzz", "dem", "hrk", "xau", "clf", "usn", "che", "bgn", "xts", "xxx", "€",
		"\u212aes", "\u212a",
	} {
		if currency, err := money.ParseCurrency(text); !errors.Is(err, money.ErrCurrency) {
			t.Errorf("%q: got %q, %v", text, currency, err)
		}
	}
}
