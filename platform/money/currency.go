package money

import (
	"errors"
	"strings"
)

// Currency is an ISO 4217 code in lower case, such as usd; the form the service stores and answers with.
type Currency string

// ErrCurrency is returned for a text that is not the code of a currency in circulation.
var ErrCurrency = errors.New("money: not an active ISO 4217 currency code")

// ParseCurrency lower-cases a code and checks that it is active. Codes of metals, funds and units of account, and of currencies
// that were withdrawn, are refused with ErrCurrency: no bank account can hold them.
func ParseCurrency(s string) (Currency, error) {
	if len(s) != 3 {
		return "", ErrCurrency
	}
	currency := Currency(strings.ToLower(s))
	if _, known := minorDigits[currency]; !known {
		return "", ErrCurrency
	}
	return currency, nil
}

// Code is the code in upper case, as people and bank files write it.
func (c Currency) Code() string {
	return strings.ToUpper(string(c))
}

// MinorDigits is how many decimal digits the smallest unit has: 2 for most, 0 for the yen, 3 for the Kuwaiti dinar. An unknown
// currency counts as having 2.
func (c Currency) MinorDigits() int {
	if digits, known := minorDigits[c]; known {
		return digits
	}
	return 2
}

// minorDigits lists the active national and supranational currencies of ISO 4217.
var minorDigits = digitsByCurrency(map[int]string{
	0: `bif clp djf gnf isk jpy kmf krw pyg rwf ugx vnd vuv xaf xof xpf`,
	2: `aed afn all amd aoa ars aud awg azn bam bbd bdt bmd bnd bob brl bsd btn bwp byn bzd cad cdf chf cny cop crc cup cve czk
		dkk dop dzd egp ern etb eur fjd fkp gbp gel ghs gip gmd gtq gyd hkd hnl htg huf idr ils inr irr jmd kes kgs khr kpw kyd
		kzt lak lbp lkr lrd lsl mad mdl mga mkd mmk mnt mop mru mur mvr mwk mxn myr mzn nad ngn nio nok npr nzd pab pen pgk php
		pkr pln qar ron rsd rub sar sbd scr sdg sek sgd shp sle sos srd ssp stn svc syp szl thb tjs tmt top try ttd twd tzs uah
		usd uyu uzs ved ves wst xcd xcg yer zar zmw zwg`,
	3: `bhd iqd jod kwd lyd omr tnd`,
})

func digitsByCurrency(codes map[int]string) map[Currency]int {
	byCurrency := make(map[Currency]int)
	for digits, list := range codes {
		for code := range strings.FieldsSeq(list) {
			byCurrency[Currency(code)] = digits
		}
	}
	return byCurrency
}
