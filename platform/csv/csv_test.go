package csv_test

import (
	"bytes"
	stdcsv "encoding/csv"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"stayledger/platform/csv"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

func ExampleWriter() {
	var file strings.Builder

	w := csv.NewWriter(&file, []csv.Column{
		{Name: "date", Kind: csv.Date},
		{Name: "description", Kind: csv.Text},
		{Name: "amount", Kind: csv.Amount},
		{Name: "currency", Kind: csv.Currency},
	})
	_ = w.Row("2026-05-06", "=HYPERLINK(\"x\")", money.Cents(-28450), "usd")
	_ = w.Flush()

	fmt.Print(strings.ReplaceAll(file.String(), "\r\n", "\n"))
	// Output:
	// date,description,amount,currency
	// 2026-05-06,"'=HYPERLINK(""x"")",-284.50,USD
}

func write(t *testing.T, columns []csv.Column, rows ...[]any) string {
	t.Helper()

	var b bytes.Buffer

	w := csv.NewWriter(&b, columns)
	for _, row := range rows {
		if err := w.Row(row...); err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}

	return b.String()
}

func day1(t *testing.T) day.Day {
	t.Helper()

	d, err := day.Parse("2026-05-31")
	if err != nil {
		t.Fatal(err)
	}

	return d
}

type status string

type named struct{ name string }

func (n *named) String() string { return n.name }

func TestCells(t *testing.T) {
	t.Parallel()
	d, cents, text, yes := day1(t), money.Cents(-5), "=x", true

	one := id.New(time.Date(2026, 5, 31, 0, 0, 0, 0, time.UTC))
	for _, c := range []struct {
		kind  csv.Kind
		value any
		want  string
	}{
		{csv.Amount, money.Cents(123450), "1234.50"},
		{csv.Amount, cents, "-0.05"},
		{csv.Amount, &cents, "-0.05"},
		{csv.Amount, (*money.Cents)(nil), ""},
		{csv.Amount, int64(100), "1.00"},
		{csv.Amount, 7, "0.07"},
		{csv.Amount, nil, ""},
		{csv.Date, d, "2026-05-31"},
		{csv.Date, &d, "2026-05-31"},
		{csv.Date, (*day.Day)(nil), ""},
		{csv.Date, "2026-05-31", "2026-05-31"},
		{csv.Integer, -3, "-3"},
		{csv.Integer, int64(1) << 60, "1152921504606846976"},
		{csv.Currency, "eur", "EUR"},
		{csv.Currency, money.Currency("usd"), "USD"},
		{csv.ID, one, one.String()},
		{csv.ID, &one, one.String()},
		{csv.ID, (*id.ID)(nil), ""},
		{csv.Bool, true, "true"},
		{csv.Bool, &yes, "true"},
		{csv.Text, "plain", "plain"},
		{csv.Text, &text, "'=x"},
		{csv.Text, (*string)(nil), ""},
		{csv.Text, status("published"), "published"},
		{csv.Text, &named{"-x"}, "'-x"},
		{csv.Text, (*named)(nil), ""},
		{csv.Text, -4, "-4"},
		{csv.Text, "a,b", `"a,b"`},
		{csv.Text, "a;b", `"a;b"`},
		{csv.Text, `say "hi"`, `"say ""hi"""`},
		{csv.Text, "two\nlines", "\"two\nlines\""},
		{csv.Text, " padded ", `" padded "`},
		{csv.Text, "a\x00b\xffc", "a\uFFFDb\uFFFDc"},
	} {
		columns := []csv.Column{
			{Name: "n", Kind: csv.Integer},
			{Name: "v", Kind: c.kind},
			{Name: "currency", Kind: csv.Currency, Hidden: true},
		}
		if c.kind == csv.Currency {
			columns[2].Kind = csv.Text
		}

		got := write(t, columns, []any{1, c.value, "usd"})
		if want := "n,v\r\n1," + c.want + "\r\n"; got != want {
			t.Errorf("%s %T %v: %q, want %q", c.kind, c.value, c.value, got, want)
		}
	}
}

// The decision of 2026-11-25 on places of amounts: those of the row's currency, wherever its column is and whether it
// is written or not.
func TestAmountsHaveThePlacesOfTheirCurrency(t *testing.T) {
	t.Parallel()

	rows := []struct {
		currency any
		want     string
	}{
		{"usd", "1123.22"},
		{"jpy", "112322"},
		{"KWD", "112.322"},
		{money.Currency("isk"), "112322"},
		{"tnd", "112.322"},
		{"eur", "1123.22"},
		{nil, "1123.22"},
	}

	for _, hidden := range []bool{false, true} {
		columns := []csv.Column{
			{Name: "amount", Kind: csv.Amount},
			{Name: "currency", Kind: csv.Currency, Hidden: hidden},
			{Name: "n", Kind: csv.Integer},
		}

		var computed, raw bytes.Buffer

		a, b := csv.NewWriter(&computed, columns), csv.NewWriter(&raw, columns)

		lines := []string{"amount,currency,n"}
		if hidden {
			lines = []string{"amount,n"}
		}

		for _, row := range rows {
			code := []byte(nil)
			if row.currency != nil {
				code = fmt.Append(nil, row.currency)
			}

			one := []byte{0, 0, 0, 0, 0, 0, 0, 1}
			if err := errors.Join(a.Row(money.Cents(112322), row.currency, 1),
				b.Raw([]uint32{20, 25, 20}, [][]byte{{0, 0, 0, 0, 0, 1, 0xb6, 0xc2}, code, one})); err != nil {
				t.Fatal(err)
			}

			if hidden {
				lines = append(lines, row.want+",1")
			} else {
				lines = append(lines, row.want+","+strings.ToUpper(string(code))+",1")
			}
		}

		want := strings.Join(lines, "\r\n") + "\r\n"
		if err := errors.Join(a.Flush(), b.Flush()); err != nil || computed.String() != want || raw.String() != want {
			t.Errorf("hidden %t: computed %q, raw %q, want %q, %v", hidden, computed.String(), raw.String(), want, err)
		}
	}
}

func TestAmountsNeedACurrency(t *testing.T) {
	t.Parallel()

	w := csv.NewWriter(&bytes.Buffer{}, []csv.Column{{Name: "amount", Kind: csv.Amount}})
	if err := w.Row(money.Cents(1)); !errors.Is(err, csv.ErrCell) {
		t.Errorf("an amount without a currency is written, %v", err)
	}
}

func TestFormulasAreNeutralised(t *testing.T) {
	t.Parallel()

	column := []csv.Column{{Name: "text", Kind: csv.Text}}
	for _, s := range []string{
		"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\tx", "\rx", "\nx", "  =1", "\u00a0=1", "\u3000=1", "\ufeff=1", "\u200b=1", "\x01=1", "\v=1",
		"＝1+1", "＋1", "－1", "＠x", "﹦1", "﹢1", "﹣1", "﹫x", "−1", " \u2003＝1", "=\xff",
	} {
		records, err := stdcsv.NewReader(strings.NewReader(write(t, column, []any{s}))).ReadAll()
		if err != nil || len(records) != 2 || !strings.HasPrefix(records[1][0], "'") {
			t.Errorf("%q is written as %q, %v", s, records, err)
		}
	}

	for _, s := range []string{"", "a=1", "1-2", "O'Brien", "(=1)", "Ελένη", "9 - 5", "mail@example.org", "\"=1"} {
		records, err := stdcsv.NewReader(strings.NewReader(write(t, []csv.Column{{Name: "a", Kind: csv.ID}, column[0]}, []any{"x", s}))).ReadAll()
		if err != nil || records[1][1] != s {
			t.Errorf("%q is written as %q, %v", s, records, err)
		}
	}
}

func TestHeaderComesFirstAndAlone(t *testing.T) {
	t.Parallel()

	columns := []csv.Column{{Name: "a,b", Kind: csv.Text}, {Name: "c", Kind: csv.Text}}
	if got := write(t, columns); got != "\"a,b\",c\r\n" {
		t.Errorf("without rows %q", got)
	}

	if got := write(t, columns[1:], []any{nil}, []any{""}); got != "c\r\n\"\"\r\n\"\"\r\n" {
		t.Errorf("single empty cells %q", got)
	}
}

func TestValuesThatDoNotFit(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		kind  csv.Kind
		value any
	}{
		{csv.Amount, "=1"},
		{csv.Amount, 1.5},
		{csv.Amount, true},
		{csv.Date, day.Day{}},
		{csv.Date, "31.05.2026"},
		{csv.Date, "=today()"},
		{csv.Date, money.Cents(1)},
		{csv.Integer, "1"},
		{csv.Integer, money.Cents(1)},
		{csv.Currency, "=us"},
		{csv.Currency, "dollars"},
		{csv.Currency, 1},
		{csv.Bool, "true"},
		{csv.Text, 1.5},
		{csv.Text, money.Cents(1)},
		{csv.Text, []string{"a"}},
		{"other", "x"},
	} {
		w := csv.NewWriter(&bytes.Buffer{}, []csv.Column{
			{Name: "v", Kind: c.kind}, {Name: "currency", Kind: csv.Currency},
		})

		err := w.Row(c.value, "usd")
		if !errors.Is(err, csv.ErrCell) || strings.Contains(err.Error(), "dollars") {
			t.Errorf("%s %v: %v", c.kind, c.value, err)
		}

		if w.Row(nil, nil) == nil || w.Flush() == nil {
			t.Errorf("%s %v: the error does not stay", c.kind, c.value)
		}
	}

	w := csv.NewWriter(&bytes.Buffer{}, []csv.Column{{Name: "v", Kind: csv.Text}})
	if err := w.Row("a", "b"); !errors.Is(err, csv.ErrCell) {
		t.Errorf("too many values: %v", err)
	}
}

var errFull = errors.New("disk is full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestWriteErrorsAreReported(t *testing.T) {
	t.Parallel()

	w := csv.NewWriter(fullDisk{}, []csv.Column{{Name: "v", Kind: csv.Text}})
	if err := w.Row("a"); err != nil {
		t.Fatal(err)
	}

	if err := w.Flush(); !errors.Is(err, errFull) {
		t.Errorf("flush: %v", err)
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a", "=1", "\"", "\r\n", "a\x00", "\xff", " ;=1", "＝"} {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, s string) {
		out := write(t, []csv.Column{{Name: "k", Kind: csv.Integer}, {Name: "v", Kind: csv.Text}}, []any{1, s})
		if !utf8.ValidString(out) || strings.Contains(out, "\x00") {
			t.Fatalf("%q is written as %q", s, out)
		}

		records, err := stdcsv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil || len(records) != 2 || len(records[1]) != 2 {
			t.Fatalf("%q is read as %q, %v", s, records, err)
		}
		// The reader folds CRLF inside quotes; everything else comes back as it was, give or take the apostrophe.
		want := strings.ReplaceAll(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD"), "\r\n", "\n")
		if got := records[1][1]; got != want && got != "'"+want {
			t.Fatalf("%q is read as %q", s, got)
		}
	})
}
