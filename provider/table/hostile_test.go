package table_test

import (
	"archive/zip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"stayledger/provider/table"
)

// flood is a part of a workbook that repeats a text.
type flood struct{ part, start, text, end string }

// flooded writes a workbook to a file in which one part has a text of 100 MiB, packed in vain, and returns the file.
func flooded(t *testing.T, parts []part, f flood) (*os.File, int64) {
	t.Helper()

	const size = 100 << 20

	file, err := os.Create(filepath.Join(t.TempDir(), "flood.xlsx"))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = file.Close() })

	// Without packing it is no bomb, so that the limits of the parts have to hold.
	out := zip.NewWriter(file)

	for _, p := range parts {
		var content io.Reader = strings.NewReader(p.content)
		if p.name == f.part {
			content = io.NewSectionReader(pattern{start: f.start, text: f.text, size: size}, 0, size)
			content = io.MultiReader(content, strings.NewReader(f.end))
		}

		to, err := out.CreateHeader(&zip.FileHeader{Name: p.name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}

		if _, err := io.Copy(to, content); err != nil {
			t.Fatal(err)
		}
	}

	if err := out.Close(); err != nil {
		t.Fatal(err)
	}

	length, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		t.Fatal(err)
	}

	return file, length
}

// Wherever a workbook has a text without an end, it is refused before it fills the memory.
func TestHostileWorkbooksTakeLittleMemory(t *testing.T) { //nolint:paralleltest // It measures memory.
	const (
		sheet = "xl/worksheets/sheet1.xml"
		texts = "xl/sharedStrings.xml"
		open  = `<worksheet ` + mainSpace + `><sheetData>`
		row   = open + `<row r="1"><c r="A1"><v>1</v></c></row>`
		end   = `</sheetData></worksheet>`
	)

	whole := book("", shared(""), part{"xl/styles.xml", ""})

	// What is allocated counts, and most of it is not in use any more: a few times the limit of an element, or of a
	// table of texts.
	const (
		most      = 32 << 20
		ofSmall   = 220 << 20 // for elements of a few bytes
		ofStrings = 250 << 20
	)

	for _, c := range []struct {
		what, part, start, text, end string
		most                         uint64
	}{
		{"a cell of the first row", sheet, open + `<row r="1"><c r="A1"><v>`, "1", `</v></c></row>` + end, most},
		{"a cell of a later row", sheet, row + `<row r="2"><c r="A2"><v>`, "1", `</v></c></row>` + end, most},
		{"an attribute of a row", sheet, row + `<row r="2" spans="`, "1", `"><c r="A2"><v>1</v></c></row>` + end, most},
		{"blanks between rows", sheet, row, " ", `<row r="2"><c r="A2"><v>1</v></c></row>` + end, most},
		{"a comment between rows", sheet, row + "<!--", "x", `--><row r="2"><c r="A2"><v>1</v></c></row>` + end, most},
		{"elements between rows", sheet, row, "<a/>", `<row r="2"><c r="A2"><v>1</v></c></row>` + end, ofSmall},
		{"nested elements", sheet, row, "<a>", end, most},
		{"a comment before the rows", sheet, "<!--", "x", "-->" + row + end, most},
		{"a comment behind shared texts", texts, `<sst ` + mainSpace + `/><!--`, "x", `-->`, most},
		{"a shared text", texts, `<sst ` + mainSpace + `><si><t>`, "x", `</t></si></sst>`, most},
		{"a comment before shared texts", texts, `<!--`, "x", `--><sst ` + mainSpace + `/>`, most},
		{"many short texts", texts, `<sst ` + mainSpace + `>`, "<si/>", `</sst>`, ofStrings},
		{"styles", "xl/styles.xml", `<styleSheet>`, " ", `</styleSheet>`, most},
		{"the list of sheets", "xl/workbook.xml", `<workbook>`, " ", `</workbook>`, most},
	} {
		// A sheet is only read on to its texts if it has a row.
		parts := replace(whole, sheet, "<sheetData>", strings.TrimPrefix(row, `<worksheet `+mainSpace+`>`))
		file, size := flooded(t, parts, flood{c.part, c.start, c.text, c.end})

		var before, after runtime.MemStats

		runtime.ReadMemStats(&before)

		_, err := readAll(file, size, table.Options{})

		runtime.ReadMemStats(&after)

		if !errors.Is(err, table.ErrTooLarge) {
			t.Errorf("%s: %v", c.what, err)
		}

		if used := after.TotalAlloc - before.TotalAlloc; used > c.most {
			t.Errorf("%s: %d MiB were allocated", c.what, used>>20)
		}
	}
}
