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
		{-123450, "eur", "de", "-1.234,50\u00a0€"},
		{123450, "eur", "fr", "1\u202f234,50\u00a0€"},
		{123450, "eur", "es", "1.234,50\u00a0€"},
		{123450, "eur", "it", "1.234,50\u00a0€"},
		{123450, "brl", "pt", "R$\u00a01.234,50"},
		{-123450, "brl", "pt-BR", "-R$\u00a01.234,50"},
		{123450, "eur", "pt-PT", "1\u00a0234,50\u00a0€"},
		{-123450, "eur", "nl", "-€\u00a01.234,50"},
		{123450, "chf", "en", "CHF\u00a01,234.50"},
		{-123450, "chf", "en", "-CHF\u00a01,234.50"},
		{123450, "chf", "de-CH", "1.234,50\u00a0CHF"},
		{123450, "USD", "en_US", "$1,234.50"},
		{123450, "jpy", "en", "¥123,450"},
		{0, "jpy", "en", "¥0"},
		{-5, "jpy", "de", "-5\u00a0¥"},
		{1234567, "kwd", "en", "KWD\u00a01,234.567"},
		{5, "kwd", "en", "KWD\u00a00.005"},
		{123450, "", "en", "1,234.50"},
		{-123450, "", "fr", "-1\u202f234,50"},
		{123450, "zzz", "en", "ZZZ\u00a01,234.50"},
		{123450, "usd", "xx", "$1,234.50"},
		{123450, "usd", "", "$1,234.50"},
		{99999, "usd", "en", "$999.99"},
		{123456789, "usd", "en", "$1,234,567.89"},
		{math.MinInt64, "usd", "en", "-$92,233,720,368,547,758.08"},
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
	// Unknown, withdrawn, metal, test code, no currency, and texts that only look alike; the Kelvin sign lower-cases to k.
	for _, text := range []string{
		"", "us", "usdd", " usd", "us ", "zzz", "dem", "hrk", "xau", "clf", "usn", "che", "bgn", "xts", "xxx", "€",
		"\u212aes", "\u212a",
	} {
		if currency, err := money.ParseCurrency(text); !errors.Is(err, money.ErrCurrency) {
			t.Errorf("%q: got %q, %v", text, currency, err)
		}
	}
}
