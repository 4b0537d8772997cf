package money

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/bojanz/currency"
)

// Currency is an ISO 4217 code in lower case, such as usd; the form the service stores and answers with.
type Currency string

// ErrCurrency is returned for a text that is not the code of a currency in circulation.
var ErrCurrency = errors.New("money: not an active ISO 4217 currency code")

// notHeld are codes of ISO 4217 that no bank account can hold: funds and units of account.
const notHeld = "BOV CHE CHW CLF COU MXV USN UYI UYW XAD"

// currencies are the codes in circulation, in lower case, with the places of their decimals.
var currencies = loadCurrencies()

// loadCurrencies reads the table of the library, which follows ISO 4217 in codes and places. The figures of
// golang.org/x/text do not: they are those of CLDR for display, 0 places for the Colombian peso, and they lack the
// newest codes (ADR 13).
func loadCurrencies() map[Currency]int {
	places := make(map[Currency]int)

	for _, code := range currency.GetCurrencyCodes() {
		if digits, known := currency.GetDigits(code); known && !strings.Contains(notHeld, code) {
			places[Currency(strings.ToLower(code))] = int(digits)
		}
	}

	return places
}

// ParseCurrency lower-cases a code and checks that it is active. Codes of metals, funds and units of account, and of
// currencies that were withdrawn, are refused with ErrCurrency: no bank account can hold them.
func ParseCurrency(s string) (Currency, error) {
	if len(s) != 3 {
		return "", ErrCurrency
	}

	currency := Currency(strings.ToLower(s))
	if _, known := currencies[currency]; !known {
		return "", ErrCurrency
	}

	return currency, nil
}

// Currencies lists the codes that ParseCurrency takes, in order.
func Currencies() []Currency { return slices.Sorted(maps.Keys(currencies)) }

// Code returns the code in upper case, as people and bank files write it.
func (c Currency) Code() string {
	return strings.ToUpper(string(c))
}

// MinorDigits returns how many decimal digits the smallest unit has: 2 for most, 0 for the yen, 3 for the Kuwaiti
// dinar. An unknown currency has 2.
func (c Currency) MinorDigits() int {
	if digits, known := currencies[c]; known {
		return digits
	}

	return 2
}
