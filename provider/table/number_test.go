package table_test

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"stayledger/provider/table"
)

func TestNumbersDecide(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name, column string
		want         table.Decimal
		decided      bool
	}{
		{"no numbers", "|-|n/a", '.', true},
		{"whole numbers", "1|20|-300", '.', true},
		{"cents with a point", "1.50|2.000", '.', true},
		{"cents with a comma", "1,50|2,000", ',', true},
		{"three places after a point read both ways", "-2.000", '.', false},
		{"three places after a comma read both ways", "1,250|7", '.', false},
		{"both marks", "1,234.500", '.', true},
		{"both marks the other way", "1.234,500", ',', true},
		{"two thousands marks", "1.234.567", ',', true},
		{"two thousands marks the other way", "1,234,567", '.', true},
		{"a zero before three places", "0.125", '.', true},
		{"four digits before three places", "1234,125", ',', true},
		{"an apostrophe for thousands", "1'234.500", '.', true},
		{"a space for thousands", "1 234,500", ',', true},
		{"lakhs and crores", "1,00,000", '.', true},
		{"some of each", "1.50|1,50", '.', false},
		{"currencies around", "€ 1.234|EUR 5,5", ',', true},
		{"words are no numbers", "Jan. 2,5|3.5", '.', true},
		{"a date is no number", "28.11.2026|2.000", '.', false},
	} {
		var n table.Numbers
		for cell := range strings.SplitSeq(test.column, "|") {
			n.Add(cell)
		}

		if got, ok := n.Decide(); got != test.want || ok != test.decided {
			t.Errorf("%s: %c, %v", test.name, got, ok)
		}
	}
}

func TestParseNumber(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		text    string
		decimal table.Decimal
		places  int
		want    int64
		err     error
	}{
		{"1", '.', 2, 100, nil},
		{"1.5", '.', 2, 150, nil},
		{"1,5", ',', 2, 150, nil},
		{".50", '.', 2, 50, nil},
		{"50.", '.', 2, 5000, nil},
		{"-.5", '.', 2, -50, nil},
		{"1,234.56", '.', 2, 123456, nil},
		{"1.234,56", ',', 2, 123456, nil},
		{"1.234", ',', 2, 123400, nil},
		{"1.234", '.', 2, 0, table.ErrPlaces},
		{"1.230", '.', 2, 123, nil},
		{"1.234", '.', 3, 1234, nil},
		{"1234", '.', 0, 1234, nil},
		{"1234.0", '.', 0, 1234, nil},
		{"1234.5", '.', 0, 0, table.ErrPlaces},
		{"1'234'567.89", '.', 2, 123456789, nil},
		{"1’234.50", '.', 2, 123450, nil},
		{"1 234,50", ',', 2, 123450, nil},
		{"1\u00a0234,50", ',', 2, 123450, nil},
		{"1\u202f234,50", ',', 2, 123450, nil},
		{"1\u2009234,50", ',', 2, 123450, nil},
		{"12,34,567.00", '.', 2, 123456700, nil},
		{"+5", '.', 2, 500, nil},
		{"5-", '.', 2, -500, nil},
		{"- 5", '.', 2, -500, nil},
		{"−5", '.', 2, -500, nil},
		{"5,00−", ',', 2, -500, nil},
		{"(5.00)", '.', 2, -500, nil},
		{"($5.00)", '.', 2, -500, nil},
		{"$(5.00)", '.', 2, -500, nil},
		{"-$5.00", '.', 2, -500, nil},
		{"$-5.00", '.', 2, -500, nil},
		{"€ 5,00", ',', 2, 500, nil},
		{"5,00 €", ',', 2, 500, nil},
		{"EUR 5,00", ',', 2, 500, nil},
		{"5,00 EUR", ',', 2, 500, nil},
		{"5,00 eur-", ',', 2, -500, nil},
		{"US$5.00", '.', 2, 500, nil},
		{"R$ 1.234,50", ',', 2, 123450, nil},
		{"CHF 1'000.05", '.', 2, 100005, nil},
		{"kr 5", '.', 2, 500, nil},
		{"kr.5", '.', 2, 500, nil},
		{"5,00 kr", ',', 2, 500, nil},
		{"5,00 zł", ',', 2, 500, nil},
		{"5.00 DR", '.', 2, -500, nil},
		{"5.00Cr", '.', 2, 500, nil},
		{"5,00 S", ',', 2, -500, nil},
		{"5,00 H", ',', 2, 500, nil},
		{"0.00", '.', 2, 0, nil},
		{"-0.00", '.', 2, 0, nil},
		{"92233720368547758.07", '.', 2, math.MaxInt64, nil},
		{"92233720368547758.08", '.', 2, 0, table.ErrRange},
		{"99999999999999999999", '.', 0, 0, table.ErrRange},
		{"9,223,372,036,854,775,808", '.', 2, 0, table.ErrRange},
		{"", '.', 2, 0, table.ErrNotNumber},
		{"-", '.', 2, 0, table.ErrNotNumber},
		{".", '.', 2, 0, table.ErrNotNumber},
		{"n/a", '.', 2, 0, table.ErrNotNumber},
		{"1.2.3", '.', 2, 0, table.ErrNotNumber},
		{"1,23.50", '.', 2, 0, table.ErrNotNumber},
		{"1.234.567", '.', 2, 0, table.ErrNotNumber},
		{"1,234'567", '.', 2, 0, table.ErrNotNumber},
		{"0,123.00", '.', 2, 0, table.ErrNotNumber},
		{"1234,567.00", '.', 2, 0, table.ErrNotNumber},
		{"12 34", '.', 2, 0, table.ErrNotNumber},
		{"1.5 2", '.', 2, 0, table.ErrNotNumber},
		{"-5-", '.', 2, 0, table.ErrNotNumber},
		{"(5", '.', 2, 0, table.ErrNotNumber},
		{"5)", '.', 2, 0, table.ErrNotNumber},
		{"(-5)", '.', 2, 0, table.ErrNotNumber},
		{"-5 DR", '.', 2, 0, table.ErrNotNumber},
		{"$5 EUR", '.', 2, 0, table.ErrNotNumber},
		{"S 5", '.', 2, 0, table.ErrNotNumber},
		{"100.-", '.', 2, 0, table.ErrNotNumber},
		{"100,–", ',', 2, 0, table.ErrNotNumber},
		{"5%", '.', 2, 0, table.ErrNotNumber},
		{"5 pcs", '.', 2, 0, table.ErrNotNumber},
		{"1e3", '.', 2, 0, table.ErrNotNumber},
		{"0x10", '.', 2, 0, table.ErrNotNumber},
		{"٣", '.', 2, 0, table.ErrNotNumber},
	} {
		got, err := test.decimal.Parse(test.text, test.places)
		if got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%q with %c and %d places: %d, %v; want %d, %v", test.text, test.decimal, test.places, got, err,
				test.want, test.err)
		}
	}
}

func TestParsePlain(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		text   string
		places int
		want   int64
		err    error
	}{
		{"12", 2, 1200, nil},
		{"-12.5", 2, -1250, nil},
		{"0.30000000000000004", 2, 30, nil},
		{"0.1", 2, 10, nil},
		{"123456789012.35", 2, 12345678901235, nil},
		{"1234567.8900000001", 2, 123456789, nil},
		{"-4.4408920985006262E-16", 2, 0, nil},
		{"1.5E3", 2, 150000, nil},
		{"1E-2", 2, 1, nil},
		{"33.3333333333333", 2, 0, table.ErrPlaces},
		{"1E300", 2, 0, table.ErrRange},
		{"1E999", 2, 0, table.ErrRange},
		{"", 2, 0, table.ErrNotNumber},
		{"1,5", 2, 0, table.ErrNotNumber},
		{"Inf", 2, 0, table.ErrNotNumber},
		{"#N/A", 2, 0, table.ErrNotNumber},
		{"1-2", 2, 0, table.ErrNotNumber},
	} {
		got, err := table.ParsePlain(test.text, test.places)
		if got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%q: %d, %v; want %d, %v", test.text, got, err, test.want, test.err)
		}
	}
}

func TestNumbersAddAllocatesNothing(t *testing.T) { //nolint:paralleltest // Allocations of other tests would count.
	var n table.Numbers

	if allocations := testing.AllocsPerRun(100, func() {
		n.Add("-1.234,50 €")
		n.Add("1500")
		n.Add("12.50")
	}); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

// A number that is written in one way reads back in that way, and the column is decided for it.
func FuzzNumber(f *testing.F) {
	for _, text := range []string{"1.234,56", "(1,234.56)", "-2.000", "1'234.50 CHF", "5,00 S", "kr.5", "100.-", ".5"} {
		f.Add(text, int64(123456))
	}

	f.Fuzz(func(t *testing.T, text string, value int64) {
		var n table.Numbers
		n.Add(text)

		point, pointErr := table.Decimal('.').Parse(text, 3)
		comma, commaErr := table.Decimal(',').Parse(text, 3)

		// A decided column never reads as another number in the mark that was not chosen.
		decimal, ok := n.Decide()
		if ok && pointErr == nil && commaErr == nil && point != comma {
			t.Errorf("%q is %d or %d, but %c was decided", text, point, comma, decimal)
		}

		if ok && decimal == '.' && errors.Is(pointErr, table.ErrNotNumber) && commaErr == nil {
			t.Errorf("%q reads with a comma only", text)
		}

		written := strconv.FormatInt(value, 10)
		if got, err := table.Decimal('.').Parse(written, 0); value > math.MinInt64 && (err != nil || got != value) {
			t.Errorf("%s: %d, %v", written, got, err)
		}
	})
}

func BenchmarkNumbersAdd(b *testing.B) {
	cells := []string{"12", "-1500.25", "1.234,50", "7", "0.99", "-12,00", "EUR 5.00", "1500"}

	var n table.Numbers

	b.ReportAllocs()

	for i := 0; b.Loop(); i++ {
		n.Add(cells[i%len(cells)])
	}
}
