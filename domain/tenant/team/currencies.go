package team

import (
	"context"

	"stayledger/platform/db"
	"stayledger/platform/money"
)

// CurrencyView is a currency in which amounts can be kept.
type CurrencyView struct {
	Code   money.Currency `json:"code" doc:"ISO 4217 code in lower case."`
	Places int            `json:"places" doc:"Decimal places of an amount: 2 if 12345 is 123.45, 0 if it is 12345."`
}

// CurrencyList has all currencies, by code.
type CurrencyList struct {
	Data []CurrencyView `json:"data"`
}

// listCurrencies answers with the currencies of ISO 4217 that are in circulation.
func listCurrencies(context.Context, *db.Tx, *struct{}) (*CurrencyList, error) {
	codes := money.Currencies()

	out := &CurrencyList{Data: make([]CurrencyView, len(codes))}
	for i, code := range codes {
		out.Data[i] = CurrencyView{Code: code, Places: code.MinorDigits()}
	}

	return out, nil
}
