package money_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"stayledger/platform/money"
)

// The decision of 2026-11-25 on places of amounts: a decimal has as many places as its currency.
func TestDecimal(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		cents    money.Cents
		currency money.Currency
		want     string
	}{
		{0, "usd", "0.00"},
		{5, "usd", "0.05"},
		{-5, "usd", "-0.05"},
		{99, "usd", "0.99"},
		{100, "usd", "1.00"},
		{-123450, "usd", "-1234.50"},
		{money.MaxCents, "eur", "90071992547409.91"},
		{math.MinInt64, "eur", "-92233720368547758.08"},
		{math.MaxInt64, "eur", "92233720368547758.07"},
		{0, "jpy", "0"},
		{112322, "jpy", "112322"},
		{-1, "krw", "-1"},
		{math.MinInt64, "jpy", "-9223372036854775808"},
		{0, "kwd", "0.000"},
		{1, "kwd", "0.001"},
		{-10, "kwd", "-0.010"},
		{999, "kwd", "0.999"},
		{1000, "kwd", "1.000"},
		{-1234567, "tnd", "-1234.567"},
		{123450, "", "1234.50"}, // no currency
	} {
		if got := test.cents.Decimal(test.currency); got != test.want {
			t.Errorf("%d %s: got %q, want %q", int64(test.cents), test.currency, got, test.want)
		}
	}
}

//nolint:paralleltest // AllocsPerRun does not run next to others.
func TestAppendDecimalAllocatesNothing(t *testing.T) {
	work := func() { _ = money.Cents(-1234567).AppendDecimal(make([]byte, 0, 32), 3) }
	if n := testing.AllocsPerRun(100, work); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestCentsValid(t *testing.T) {
	t.Parallel()

	for cents, want := range map[money.Cents]bool{
		0:                   true,
		money.MaxCents:      true,
		-money.MaxCents:     true,
		money.MaxCents + 1:  false,
		-money.MaxCents - 1: false,
		math.MinInt64:       false,
		math.MaxInt64:       false,
	} {
		if got := cents.Valid(); got != want {
			t.Errorf("%d cents: got %t, want %t", int64(cents), got, want)
		}
	}
}

func TestCentsAreJSONIntegers(t *testing.T) {
	t.Parallel()

	text, err := json.Marshal(money.Cents(-123450))
	if err != nil || string(text) != "-123450" {
		t.Fatalf("got %s, %v", text, err)
	}

	for _, text := range []string{`1.5`, `"1"`, `1e2`, `9223372036854775808`} {
		var cents money.Cents
		if err := json.Unmarshal([]byte(text), &cents); err == nil {
			t.Errorf("%s: read as %d", text, int64(cents))
		}
	}
}

// No method may make the database driver send a decimal where the column holds cents.
func TestCentsAreStoredAsIntegers(t *testing.T) {
	t.Parallel()

	types := pgtype.NewMap()
	for _, format := range []int16{pgtype.BinaryFormatCode, pgtype.TextFormatCode} {
		stored, err := types.Encode(pgtype.Int8OID, format, money.Cents(-123450), nil)
		if err != nil {
			t.Fatal(err)
		}

		var back money.Cents
		if err := types.Scan(pgtype.Int8OID, format, stored, &back); err != nil || back != -123450 {
			t.Errorf("format %d: got %d, %v", format, int64(back), err)
		}
	}
}
