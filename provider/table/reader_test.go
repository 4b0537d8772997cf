package table_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"stayledger/provider/table"
)

// pattern is a file of any size that repeats a text.
type pattern struct {
	start, text string
	size        int64
}

func (p pattern) ReadAt(b []byte, offset int64) (int, error) {
	n := 0
	for ; n < len(b) && offset+int64(n) < p.size; n++ {
		at := offset + int64(n)
		if at < int64(len(p.start)) {
			b[n] = p.start[at]
		} else {
			b[n] = p.text[(at-int64(len(p.start)))%int64(len(p.text))]
		}
	}

	if n < len(b) {
		return n, io.EOF
	}

	return n, nil
}

// readAll reads a file to its end and returns how many rows it has and its fault.
func readAll(from io.ReaderAt, size int64, o table.Options) (int, error) {
	reader, err := table.Open(from, size, o)
	if err != nil {
		return 0, err
	}
	defer reader.Close()

	for rows := 0; ; rows++ {
		if _, err := reader.Next(); errors.Is(err, io.EOF) {
			return rows, nil
		} else if err != nil {
			return rows, err
		}
	}
}

// wantError fails the test unless a fault has the place and the cause.
func wantError(t *testing.T, err error, want table.Error) {
	t.Helper()

	var got *table.Error
	if !errors.As(err, &got) || got.Line != want.Line || got.Column != want.Column || !errors.Is(got.Err, want.Err) {
		t.Errorf("got %v, want %v", err, &want)
	}
}

func TestHugeRecordFailsFast(t *testing.T) { //nolint:paralleltest // It measures memory.
	const size = 1 << 30

	for _, test := range []struct {
		name string
		file pattern
	}{
		{"one line", pattern{start: "Date,Amount\n", text: "x", size: size}},
		{"one line of cells", pattern{start: "Date,Amount\n", text: "x,", size: size}},
		{"a quote over all lines", pattern{start: "Date,Amount\n\"", text: "x\n", size: size}},
	} {
		var before, after runtime.MemStats

		runtime.ReadMemStats(&before)

		_, err := readAll(test.file, size, table.Options{})

		runtime.ReadMemStats(&after)
		wantError(t, err, table.Error{Line: 2, Err: table.ErrTooLarge})

		if used := after.TotalAlloc - before.TotalAlloc; used > 128<<20 {
			t.Errorf("%s: %d MiB were allocated", test.name, used>>20)
		}
	}
}

func TestRecordLimit(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name   string
		length int
		fits   bool
	}{
		{"a record of the limit", table.MaxRecord - 1, true},
		{"one byte more", table.MaxRecord, false},
	} {
		file := "a,b\n" + strings.Repeat("x", test.length) + "\nc,d\n"

		rows, err := readAll(strings.NewReader(file), int64(len(file)), table.Options{})
		if test.fits && (rows != 3 || err != nil) {
			t.Errorf("%s: %d rows, %v", test.name, rows, err)
		}

		if !test.fits {
			wantError(t, err, table.Error{Line: 2, Err: table.ErrTooLarge})
		}
	}
}

func TestRowLimit(t *testing.T) {
	t.Parallel()

	full := pattern{text: "a,b\n", size: 4 * table.MaxRows}
	if rows, err := readAll(full, full.size, table.Options{}); rows != table.MaxRows || err != nil {
		t.Errorf("%d rows, %v", rows, err)
	}

	full.size += 4
	_, err := readAll(full, full.size, table.Options{})
	wantError(t, err, table.Error{Line: table.MaxRows + 1, Err: table.ErrTooLarge})
}

func TestDelimiterThatCannotBe(t *testing.T) {
	t.Parallel()

	for _, delimiter := range []rune{'"', '\n', '\r', utf8.RuneError, -1} {
		_, err := table.Open(strings.NewReader("a,b"), 3, table.Options{Delimiter: delimiter})
		wantError(t, err, table.Error{Err: table.ErrDelimiter})
	}
}

func TestFaultStays(t *testing.T) {
	t.Parallel()

	const file = "a,b\nc,d\"\ne,f\n"

	reader, err := table.Open(strings.NewReader(file), int64(len(file)), table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()

	if _, err := reader.Next(); err != nil {
		t.Error(err)
	}

	for range 2 {
		_, err := reader.Next()
		wantError(t, err, table.Error{Line: 2, Column: 2, Err: table.ErrMalformed})
	}
}

// Text that a decoder gives in pieces of any size keeps its line ends: the CR and the LF of one end can come apart.
func TestLineEndsAtBufferEdges(t *testing.T) {
	t.Parallel()

	for padding := range 8 {
		first := strings.Repeat("x", 64<<10-padding)
		file := first + ",1\r\nsecond,2\rthird,3\r\n"

		reader, err := table.Open(strings.NewReader(file), int64(len(file)), table.Options{Delimiter: ','})
		if err != nil {
			t.Fatal(err)
		}

		for line, want := range []string{first, "second", "third"} {
			row, err := reader.Next()
			if err != nil || row.Line != line+1 || row.Cells[0] != want || len(row.Cells) != 2 {
				t.Fatalf("padding %d, line %d: %v", padding, line+1, err)
			}
		}

		if _, err := reader.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("padding %d: %v", padding, err)
		}

		reader.Close()
	}
}

func TestFold(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]string{
		"":                          "",
		"  Date ":                   "date",
		"Zu-/Abgang (EUR)":          "zu abgang eur",
		"Débito":                    "debito",
		"De\u0301bito":              "debito",
		"Hauptstraße":               "hauptstrasse",
		"ﬁnal ½ №":                  "final 1 2 no",
		"Ｄａｔｅ":                      "date",
		"(#)":                       "",
		"Check or Slip #":           "check or slip",
		"Libellé\u00a0de\nl’écart":  "libelle de l ecart",
		"Łódź":                      "łodz",
		"Дата операции":             "дата операции",
		"booking-id__2026":          "booking id 2026",
		"\ufeffDate":                "date",
		"İstanbul":                  "istanbul",
		"amount.(incl.)...VAT/TAX%": "amount incl vat tax",
	} {
		if got := table.Fold(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}

		if again := table.Fold(want); again != want {
			t.Errorf("%q folds to %q", want, again)
		}
	}
}

func TestFindHeader(t *testing.T) {
	t.Parallel()

	rows := []table.Row{{Cells: []string{"Report"}}, {Cells: []string{"Débit", "DATE"}}, {Cells: []string{"Date", "Debit"}}}
	matches := func(folded []string) bool { return len(folded) == 2 && folded[0] == "debit" }

	if got := table.FindHeader(rows, matches); got != 1 {
		t.Errorf("header at %d", got)
	}

	if got := table.FindHeader(rows[2:], matches); got != -1 {
		t.Errorf("header at %d where there is none", got)
	}
}

func TestIsTotal(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		cells string
		want  bool
	}{
		{"Total|12.00", true},
		{"TOTALS:|12.00", true},
		{"|Total|12.00", true},
		{"Total (3 transactions)|12.00", true},
		{"Total November 2026|12.00", true},
		{"Grand Total EUR|12.00", true},
		{"Ending balance as of 11/30/2026|12.00", true},
		{"Balance carried forward|12.00", true},
		{"*** End of report ***", true},
		{"Gesamt|12,00", true},
		{"Summe Soll|12,00", true},
		{"Übertrag|12,00", true},
		{"Somme|12,00", true},
		{"Sous-total|12,00", true},
		{"Suma y sigue|12,00", true},
		{"Saldo final|12,00", true},
		{"Totale generale|12,00", true},
		{"Total geral|12,00", true},
		{"Total|20261128", true},

		{"", false},
		{"12.00|Total", false},
		{"2026-11-28|Total|12.00", false},
		{"Total|2026-11-28|12.00", false},
		{"Total|28-Nov-2026|12.00", false},
		{"Total|01/02/2026|12.00", false},
		{"Total Wine|12.00", false},
		{"Total Property Group|12.00", false},
		{"Totally Fresh|12.00", false},
		{"Summers|12.00", false},
		{"Rent|Total|12.00", false},
	} {
		if got := table.IsTotal(&table.Row{Cells: strings.Split(test.cells, "|")}); got != test.want {
			t.Errorf("%s: %v", test.cells, got)
		}
	}
}

// What is read is text in lines that go up, and nothing but the known faults comes out.
func FuzzReader(f *testing.F) {
	for _, text := range []string{
		"Date,Amount\n2026-11-01,5.00\n", "sep=;\r\na;b\r\n", "\ufeff\"a\n\",\"b\"\rc,d", "a|b\n\"", "a\tb\x00c", "\xff\xfea\x00,\x00",
		"PK\x03\x04", "a;b,c\nd;e,f", "a\xff,b",
	} {
		f.Add([]byte(text), "")
		f.Add([]byte(text), "windows-1252")
	}

	f.Fuzz(func(t *testing.T, content []byte, encoding string) {
		walk(t, content, table.Options{Encoding: encoding})
	})
}

// walk reads a file to its end and checks what must hold for each row and fault.
func walk(t *testing.T, content []byte, o table.Options) {
	t.Helper()

	reader, err := table.Open(bytes.NewReader(content), int64(len(content)), o)
	if err != nil {
		checkFault(t, err)
		return
	}
	defer reader.Close()

	for line := 0; ; {
		row, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return
		}

		if err != nil {
			checkFault(t, err)
			return
		}

		if row.Line <= line || len(row.Cells) > table.MaxColumns || row.Plain != nil && len(row.Plain) != len(row.Cells) {
			t.Fatalf("line %d after %d with %d cells", row.Line, line, len(row.Cells))
		}

		line = row.Line
		for _, cell := range row.Cells {
			if !utf8.ValidString(cell) || strings.TrimSpace(cell) != cell {
				t.Fatalf("line %d: %q", line, cell)
			}
		}
	}
}

func checkFault(t *testing.T, err error) {
	t.Helper()

	var fault *table.Error
	if !errors.As(err, &fault) || fault.Line < 0 || fault.Column < 0 {
		t.Fatalf("%T: %v", err, err)
	}
}

func BenchmarkReader(b *testing.B) {
	const rows = 200_000

	file := "Date,Description,Amount,Balance,Type,Reference,Listing,Note\n" + strings.Repeat(
		"2026-11-28,Rent of November,1500.25,20000.75,ACH,REF-000123,Sea View,paid\n", rows)

	b.ReportAllocs()

	for b.Loop() {
		read, err := readAll(strings.NewReader(file), int64(len(file)), table.Options{})
		if err != nil || read != rows+1 {
			b.Fatal(read, err)
		}
	}

	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
