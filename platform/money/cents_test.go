package money_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"stayledger/platform/money"
)

func TestCentsString(t *testing.T) {
	t.Parallel()
	for cents, want := range map[money.Cents]string{
		0:              "0.00",
		5:              "0.05",
		-5:             "-0.05",
		99:             "0.99",
		100:            "1.00",
		-123450:        "-1234.50",
		money.MaxCents: "90071992547409.91",
		math.MinInt64:  "-92233720368547758.08",
		math.MaxInt64:  "92233720368547758.07",
	} {
		if got := cents.String(); got != want {
			t.Errorf("%d cents: got %q, want %q", int64(cents), got, want)
		}
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

// String must not make the database driver send a decimal where the column holds cents.
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
