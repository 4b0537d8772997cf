package table_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stayledger/platform/golden"
	"stayledger/provider/table"
)

// asked are the options of the files that need some.
var asked = map[string]table.Options{
	"windows-1252.csv":          {Encoding: "windows-1252"},
	"iso-8859-2.csv":            {Encoding: "iso-8859-2"},
	"cp850.csv":                 {Encoding: "cp850"},
	"cp852.csv":                 {Encoding: "cp852"},
	"unknown-encoding.csv":      {Encoding: "klingon"},
	"sep-in-text.csv":           {Delimiter: ','},
	"sep-line-overruled.csv":    {Delimiter: ';'},
	"utf16-without-mark.csv":    {Encoding: "utf-16"},
	"mark-overrules-person.csv": {Encoding: "windows-1252"},
}

// TestFiles reads every file of testdata and every workbook, each with one trap, and compares what was found with
// golden.txt.
func TestFiles(t *testing.T) {
	t.Parallel()

	names, err := filepath.Glob("testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}

	var out bytes.Buffer

	for _, name := range names {
		base := filepath.Base(name)
		if base == "golden.txt" {
			continue
		}

		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}

		fmt.Fprintf(&out, "== %s\n", base)
		describe(&out, content, asked[base])
	}

	for _, f := range workbooks(t) {
		fmt.Fprintf(&out, "== %s\n", f.name)
		describe(&out, f.content, f.o)
	}

	golden.File(t, "testdata/golden.txt", out.Bytes())
}

// describe writes form, rows and decisions of a file, or its fault.
func describe(out io.Writer, content []byte, o table.Options) {
	reader, err := table.Open(bytes.NewReader(content), int64(len(content)), o)
	if err != nil {
		fmt.Fprintf(out, "refused: %v\n\n", err)
		return
	}
	defer reader.Close()

	fmt.Fprintf(out, "%+q\n", reader.Form())

	var rows []table.Row

	for {
		row, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}

		if err != nil {
			fmt.Fprintf(out, "fault: %v\n", err)
			break
		}

		rows = append(rows, table.Row{Line: row.Line, Cells: slices.Clone(row.Cells), Plain: slices.Clone(row.Plain)})
	}

	header := table.FindHeader(rows, isHeader)
	for i, row := range rows {
		note := ""

		switch {
		case i == header:
			note = " (header)"
		case i > header && table.IsTotal(&row):
			note = " (total)"
		}

		fmt.Fprintf(out, "%d%s: %s\n", row.Line, note, showCells(row))
	}

	if header >= 0 {
		decide(out, rows[header], slices.DeleteFunc(rows[header+1:], func(r table.Row) bool { return table.IsTotal(&r) }))
	}

	fmt.Fprintln(out)
}

// showCells returns the cells of a row with bars between them. Plain cells have a sign in front.
func showCells(row table.Row) string {
	shown := make([]string, len(row.Cells))
	for i, cell := range row.Cells {
		shown[i] = strings.Trim(fmt.Sprintf("%q", cell), `"`)
		if row.Plain != nil && row.Plain[i] {
			shown[i] = "=" + shown[i]
		}
	}

	if len(shown) > 20 {
		shown = append(shown[:20], fmt.Sprintf("and %d more", len(shown)-20))
	}

	return strings.Join(shown, " | ")
}

var (
	dateHeaders    = []string{"date", "datum", "data", "fecha", "buchung", "posting date"}
	amountHeaders  = []string{"amount", "betrag", "importe", "kwota", "debit"}
	balanceHeaders = []string{"balance", "saldo", "running bal"}
)

func isHeader(folded []string) bool {
	has := func(names []string) bool {
		return slices.ContainsFunc(folded, func(cell string) bool { return slices.Contains(names, cell) })
	}

	return has(dateHeaders) && has(amountHeaders)
}

// decide writes how each column of dates and numbers is written, and what a balance column proves.
func decide(out io.Writer, header table.Row, rows []table.Row) {
	columns := map[string]int{}

	for i, cell := range header.Cells {
		name := table.Fold(cell)
		columns[name] = i

		switch {
		case slices.Contains(dateHeaders, name):
			decideDates(out, name, rows, i)
		case slices.Contains(amountHeaders, name), slices.Contains(balanceHeaders, name), name == "credit":
			decideNumbers(out, name, rows, i)
		}
	}

	for _, name := range balanceHeaders {
		if balance, has := columns[name]; has {
			prove(out, columns, rows, balance)
		}
	}
}

func cell(row table.Row, at int) string {
	if at < 0 || at >= len(row.Cells) {
		return ""
	}

	return row.Cells[at]
}

func isPlain(row table.Row, at int) bool { return at < len(row.Plain) && row.Plain[at] }

func decideDates(out io.Writer, name string, rows []table.Row, at int) {
	var dates table.Dates

	for _, row := range rows {
		if !isPlain(row, at) {
			dates.Add(cell(row, at))
		}
	}

	order, ok := dates.Decide()
	fmt.Fprintf(out, "%s: %s, decided %v\n", name, order, ok)

	for _, row := range rows {
		if text := cell(row, at); ok && text != "" {
			found, err := order.Parse(text)
			fmt.Fprintf(out, "\t%s -> %v %v\n", text, found, err)
		}
	}
}

func decideNumbers(out io.Writer, name string, rows []table.Row, at int) {
	var numbers table.Numbers

	for _, row := range rows {
		if !isPlain(row, at) {
			numbers.Add(cell(row, at))
		}
	}

	decimal, ok := numbers.Decide()
	fmt.Fprintf(out, "%s: %c, decided %v\n", name, decimal, ok)

	for _, row := range rows {
		text := cell(row, at)
		if !ok || text == "" {
			continue
		}

		value, err := decimal.Parse(text, 2)
		if isPlain(row, at) {
			value, err = table.ParsePlain(text, 2)
		}

		fmt.Fprintf(out, "\t%s -> %d %v\n", text, value, err)
	}
}

func prove(out io.Writer, columns map[string]int, rows []table.Row, balance int) {
	at := func(name string) int {
		if i, has := columns[name]; has {
			return i
		}

		return -1
	}
	amount := max(at("amount"), at("betrag"))

	var balances table.Balances
	for _, row := range rows {
		balances.Add(cell(row, amount), cell(row, at("debit")), cell(row, at("credit")), cell(row, balance))
	}

	fmt.Fprintf(out, "proof: %+v\n", balances.Decide(2))
}
