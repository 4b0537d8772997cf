package render_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/render"
)

func ExampleCSV() {
	var file strings.Builder
	w := render.NewCSV(&file, []render.Column{
		{Name: "date", Kind: render.Date},
		{Name: "description", Kind: render.Text},
		{Name: "amount", Kind: render.Amount},
		{Name: "currency", Kind: render.Currency},
	})
	_ = w.Row("2026-05-06", "=HYPERLINK(\"x\")", money.Cents(-28450), "usd")
	_ = w.Flush()
	fmt.Print(strings.ReplaceAll(file.String(), "\r\n", "\n"))
	// Output:
	// date,description,amount,currency
	// 2026-05-06,"'=HYPERLINK(""x"")",-284.50,USD
}

func write(t *testing.T, columns []render.Column, rows ...[]any) string {
	t.Helper()
	var b bytes.Buffer
	w := render.NewCSV(&b, columns)
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
		kind  render.Kind
		value any
		want  string
	}{
		{render.Amount, money.Cents(123450), "1234.50"},
		{render.Amount, cents, "-0.05"},
		{render.Amount, &cents, "-0.05"},
		{render.Amount, (*money.Cents)(nil), ""},
		{render.Amount, int64(100), "1.00"},
		{render.Amount, 7, "0.07"},
		{render.Amount, nil, ""},
		{render.Date, d, "2026-05-31"},
		{render.Date, &d, "2026-05-31"},
		{render.Date, (*day.Day)(nil), ""},
		{render.Date, "2026-05-31", "2026-05-31"},
		{render.Integer, -3, "-3"},
		{render.Integer, int64(1) << 60, "1152921504606846976"},
		{render.Currency, "eur", "EUR"},
		{render.Currency, money.Currency("usd"), "USD"},
		{render.ID, one, one.String()},
		{render.ID, &one, one.String()},
		{render.ID, (*id.ID)(nil), ""},
		{render.Bool, true, "true"},
		{render.Bool, &yes, "true"},
		{render.Text, "plain", "plain"},
		{render.Text, &text, "'=x"},
		{render.Text, (*string)(nil), ""},
		{render.Text, status("published"), "published"},
		{render.Text, &named{"-x"}, "'-x"},
		{render.Text, (*named)(nil), ""},
		{render.Text, money.Cents(-100), "-1.00"},
		{render.Text, -4, "-4"},
		{render.Text, "a,b", `"a,b"`},
		{render.Text, "a;b", `"a;b"`},
		{render.Text, `say "hi"`, `"say ""hi"""`},
		{render.Text, "two\nlines", "\"two\nlines\""},
		{render.Text, " padded ", `" padded "`},
		{render.Text, "a\x00b\xffc", "a\uFFFDb\uFFFDc"},
	} {
		got := write(t, []render.Column{{Name: "n", Kind: render.Integer}, {Name: "v", Kind: c.kind}}, []any{1, c.value})
		if want := "n,v\r\n1," + c.want + "\r\n"; got != want {
			t.Errorf("%s %T %v: %q, want %q", c.kind, c.value, c.value, got, want)
		}
	}
}

func TestFormulasAreNeutralised(t *testing.T) {
	t.Parallel()
	column := []render.Column{{Name: "text", Kind: render.Text}}
	for _, s := range []string{
		"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\tx", "\rx", "\nx", "  =1", "\u00a0=1", "\u3000=1", "\ufeff=1", "\u200b=1", "\x01=1", "\v=1",
		"＝1+1", "＋1", "－1", "＠x", "﹦1", "﹢1", "﹣1", "﹫x", "−1", " \u2003＝1", "=\xff",
	} {
		records, err := csv.NewReader(strings.NewReader(write(t, column, []any{s}))).ReadAll()
		if err != nil || len(records) != 2 || !strings.HasPrefix(records[1][0], "'") {
			t.Errorf("%q is written as %q, %v", s, records, err)
		}
	}
	for _, s := range []string{"", "a=1", "1-2", "O'Brien", "(=1)", "Ελένη", "9 - 5", "mail@example.org", "\"=1"} {
		records, err := csv.NewReader(strings.NewReader(write(t, []render.Column{{Name: "a", Kind: render.ID}, column[0]}, []any{"x", s}))).ReadAll()
		if err != nil || records[1][1] != s {
			t.Errorf("%q is written as %q, %v", s, records, err)
		}
	}
}

func TestHeaderComesFirstAndAlone(t *testing.T) {
	t.Parallel()
	columns := []render.Column{{Name: "a,b", Kind: render.Text}, {Name: "c", Kind: render.Text}}
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
		kind  render.Kind
		value any
	}{
		{render.Amount, "=1"},
		{render.Amount, 1.5},
		{render.Amount, true},
		{render.Date, day.Day{}},
		{render.Date, "31.05.2026"},
		{render.Date, "=today()"},
		{render.Date, money.Cents(1)},
		{render.Integer, "1"},
		{render.Integer, money.Cents(1)},
		{render.Currency, "=us"},
		{render.Currency, "dollars"},
		{render.Currency, 1},
		{render.Bool, "true"},
		{render.Text, 1.5},
		{render.Text, []string{"a"}},
		{"other", "x"},
	} {
		w := render.NewCSV(&bytes.Buffer{}, []render.Column{{Name: "v", Kind: c.kind}})
		err := w.Row(c.value)
		if !errors.Is(err, render.ErrCell) || strings.Contains(err.Error(), "dollars") {
			t.Errorf("%s %v: %v", c.kind, c.value, err)
		}
		if w.Row(nil) == nil || w.Flush() == nil {
			t.Errorf("%s %v: the error does not stay", c.kind, c.value)
		}
	}
	w := render.NewCSV(&bytes.Buffer{}, []render.Column{{Name: "v", Kind: render.Text}})
	if err := w.Row("a", "b"); !errors.Is(err, render.ErrCell) {
		t.Errorf("too many values: %v", err)
	}
}

var errFull = errors.New("disk is full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestWriteErrorsAreReported(t *testing.T) {
	t.Parallel()
	w := render.NewCSV(fullDisk{}, []render.Column{{Name: "v", Kind: render.Text}})
	if err := w.Row("a"); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); !errors.Is(err, errFull) {
		t.Errorf("flush: %v", err)
	}
}

func FuzzCSVText(f *testing.F) {
	for _, s := range []string{"", "a", "=1", "\"", "\r\n", "a\x00", "\xff", " ;=1", "＝"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := write(t, []render.Column{{Name: "k", Kind: render.Integer}, {Name: "v", Kind: render.Text}}, []any{1, s})
		if !utf8.ValidString(out) || strings.Contains(out, "\x00") {
			t.Fatalf("%q is written as %q", s, out)
		}
		records, err := csv.NewReader(strings.NewReader(out)).ReadAll()
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
