package table_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"stayledger/provider/table"
)

const (
	mainSpace   = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"`
	officeTypes = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	rels        = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`
)

// part is one file of a workbook.
type part struct{ name, content string }

// pack makes an archive of parts.
func pack(t testing.TB, parts ...part) []byte {
	t.Helper()

	var out bytes.Buffer

	archive := zip.NewWriter(&out)
	for _, p := range parts {
		to, err := archive.Create(p.name)
		if err != nil {
			t.Fatal(err)
		}

		if _, err := io.WriteString(to, p.content); err != nil {
			t.Fatal(err)
		}
	}

	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}

	return out.Bytes()
}

// book returns the parts of a workbook with one sheet of these rows.
func book(rows string, more ...part) []part {
	return append([]part{
		{"_rels/.rels", rels + `<Relationship Id="a" Type="` + officeTypes + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		{"xl/workbook.xml", `<workbook ` + mainSpace + ` xmlns:r="` + officeTypes +
			`"><sheets><sheet name="Data" sheetId="1" r:id="s"/></sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels", rels +
			`<Relationship Id="s" Type="` + officeTypes + `/worksheet" Target="worksheets/sheet1.xml"/>` +
			`<Relationship Id="t" Type="` + officeTypes + `/sharedStrings" Target="sharedStrings.xml"/>` +
			`<Relationship Id="u" Type="` + officeTypes + `/styles" Target="styles.xml"/></Relationships>`},
		{"xl/worksheets/sheet1.xml", `<worksheet ` + mainSpace + `><sheetData>` + rows + `</sheetData></worksheet>`},
	}, more...)
}

// replace returns parts with some text in one of them replaced.
func replace(parts []part, name, old, with string) []part {
	changed := slices.Clone(parts)
	for i := range changed {
		if changed[i].name == name {
			changed[i].content = strings.ReplaceAll(changed[i].content, old, with)
		}
	}

	return changed
}

// shared returns a table of texts.
func shared(texts string) part {
	return part{"xl/sharedStrings.xml", `<sst ` + mainSpace + `>` + texts + `</sst>`}
}

// styles returns a styles part with a format for each code, from style 1 on.
func styles(codes ...string) part {
	var formats, cells strings.Builder

	for i, code := range codes {
		if _, err := strconv.Atoi(code); err == nil {
			cells.WriteString(`<xf numFmtId="` + code + `"/>`)
			continue
		}

		id := strconv.Itoa(200 + i)
		formats.WriteString(`<numFmt numFmtId="` + id + `" formatCode="` + strings.ReplaceAll(code, `"`, "&quot;") + `"/>`)
		cells.WriteString(`<xf numFmtId="` + id + `"/>`)
	}

	return part{"xl/styles.xml", `<styleSheet ` + mainSpace + `><numFmts>` + formats.String() +
		`</numFmts><cellXfs><xf numFmtId="0"/>` + cells.String() + `</cellXfs></styleSheet>`}
}

// text returns an inline text cell.
func text(at, content string) string {
	return `<c r="` + at + `" t="inlineStr"><is><t>` + content + `</t></is></c>`
}

// file is a workbook with one trap.
type file struct {
	name    string
	content []byte
	o       table.Options
}

// workbooks makes the workbooks of the golden test.
func workbooks(t *testing.T) []file {
	t.Helper()

	header := `<row r="1">` + text("A1", "Date") + text("B1", "Amount") + `</row>`
	three := replace(book(header), "xl/workbook.xml", `<sheets><sheet name="Data" sheetId="1" r:id="s"/>`,
		`<sheets><sheet name="Secret" sheetId="1" state="hidden" r:id="s"/><sheet name="Blank" sheetId="2" r:id="b"/>`+
			`<sheet name="Data" sheetId="3" r:id="d"/><sheet name="Chart" sheetId="4" r:id="c"/>`)
	three = replace(three, "xl/_rels/workbook.xml.rels", `<Relationship Id="t"`,
		`<Relationship Id="b" Type="`+officeTypes+`/worksheet" Target="/xl/worksheets/blank.xml"/>`+
			`<Relationship Id="d" Type="`+officeTypes+`/worksheet" Target="worksheets/data.xml"/>`+
			`<Relationship Id="c" Type="`+officeTypes+`/chartsheet" Target="worksheets/chart.xml"/><Relationship Id="t"`)
	three = append(three,
		part{"xl/worksheets/blank.xml", `<worksheet ` + mainSpace + `><sheetData><row r="1"><c r="A1" s="1"/></row></sheetData></worksheet>`},
		part{"xl/worksheets/chart.xml", `<chartsheet ` + mainSpace + `/>`},
		part{"xl/worksheets/data.xml", `<worksheet ` + mainSpace + `><sheetData><row r="2">` + text("B2", "shown") + `</row></sheetData></worksheet>`})

	number := func(rows string, more ...part) []byte { return pack(t, book(header+rows, more...)...) }

	return []file{
		{name: "cells-of-all-types.xlsx", content: number(`<row r="2"><c r="A2"><v>12.5</v></c><c r="B2" t="s"><v>1</v></c>`+
			text("C2", " inline ")+`<c r="D2" t="str"><f>A1</f><v>computed</v></c><c r="E2" t="b"><v>1</v></c><c r="F2" t="b"><v>0</v></c>`+
			`<c r="G2" t="e"><v>#N/A</v></c><c r="H2" t="n"><v>-3</v></c><c r="I2" t="d"><v>2026-11-28T10:00:00</v></c></row>`,
			shared(`<si><t>zero</t></si><si><r><t>rich </t></r><r><t xml:space="preserve">text </t></r><rPh><t>x</t></rPh></si>`))},
		{name: "number-as-text.xlsx", content: number(`<row r="2">` + text("A2", "2026-11-28") + text("B2", "1.234") +
			`</row><row r="3"><c r="A3"><v>5</v></c><c r="B3"><v>1.234</v></c></row>`)},
		{name: "formulas.xlsx", content: number(`<row r="2"><c r="A2"><f>TODAY()</f><v>46354</v></c><c r="B2"><f>0.1+0.2</f>` +
			`<v>0.30000000000000004</v></c><c r="C2"><f>B2</f></c></row>`)},
		{name: "exponents.xlsx", content: number(`<row r="2"><c r="A2"><v>1E-2</v></c><c r="B2"><v>1.5E+3</v></c>` +
			`<c r="C2"><v>-4.4408920985006262E-16</v></c></row>`)},
		{name: "date-formats.xlsx", content: number(`<row r="2"><c r="A2" s="1"><v>46354</v></c><c r="B2" s="2"><v>46354.75</v></c>`+
			`<c r="C2" s="3"><v>46354.9999999999</v></c><c r="D2" s="4"><v>46354</v></c><c r="E2" s="5"><v>0.5</v></c>`+
			`<c r="F2" s="6"><v>1.5</v></c><c r="G2" s="7"><v>46354</v></c><c r="H2" s="8"><v>12</v></c><c r="I2" s="9"><v>7</v></c></row>`,
			styles("14", "22", "yyyy\\-mm\\-dd", "[$-407]d. mmmm yyyy;@", "20", "[h]:mm", "mmm-yy", `0 "days"`, "[Red]0.00"))},
		{name: "date-format-overrides-number.xlsx", content: number(`<row r="2"><c r="A2" s="1"><v>46354</v></c></row>`,
			part{"xl/styles.xml", `<styleSheet ` + mainSpace + `><numFmts><numFmt numFmtId="14" formatCode="0.00"/></numFmts>` +
				`<cellXfs><xf/><xf numFmtId="14"/></cellXfs></styleSheet>`})},
		{name: "days-at-the-edges.xlsx", content: number(`<row r="2"><c r="A2" s="1"><v>0</v></c><c r="B2" s="1"><v>1</v></c>`+
			`<c r="C2" s="1"><v>59</v></c><c r="D2" s="1"><v>61</v></c><c r="E2" s="1"><v>2958465</v></c>`+
			`<c r="F2" s="1"><v>2958466</v></c><c r="G2" s="1"><v>-1</v></c></row>`, styles("14"))},
		{name: "days-from-1904.xlsx", content: pack(t, replace(book(header+`<row r="2"><c r="A2" s="1"><v>44892</v></c>`+
			`<c r="B2" s="1"><v>0</v></c></row>`, styles("14")), "xl/workbook.xml", "<sheets>", `<workbookPr date1904="1"/><sheets>`)...)},
		{name: "percent.xlsx", content: number(`<row r="2"><c r="A2" s="1"><v>0.15</v></c></row>`, styles("9"))},
		{name: "style-that-is-not-there.xlsx", content: number(`<row r="2"><c r="A2" s="99"><v>46354</v></c></row>`, styles("14"))},
		{name: "merged-header.xlsx", content: pack(t, replace(book(`<row r="1">`+text("A1", "November")+`<c r="B1"/><c r="C1"/></row><row r="2">`+
			text("A2", "Date")+text("C2", "Amount")+`</row><row r="3"><c r="A3"><v>1</v></c><c r="C3"><v>2</v></c></row>`),
			"xl/worksheets/sheet1.xml", "</sheetData>", `</sheetData><mergeCells count="1"><mergeCell ref="A1:C1"/></mergeCells>`)...)},
		{name: "rows-left-out.xlsx", content: number(`<row r="5"><c r="C5"><v>5</v></c></row><row r="900000"><c r="A900000"><v>9</v></c></row>`)},
		{name: "rows-without-numbers.xlsx", content: pack(t, book(`<row><c t="inlineStr"><is><t>Date</t></is></c><c t="inlineStr"><is><t>Amount</t></is></c>`+
			`</row><row/><row><c><v>1</v></c><c><v>2</v></c></row>`)...)},
		{name: "hidden-rows.xlsx", content: number(`<row r="2" hidden="1"><c r="A2"><v>1</v></c></row>`)},
		{name: "prefixed-names.xlsx", content: pack(t, part{"xl/worksheets/sheet1.xml", `<x:worksheet xmlns:x="http://schemas.openxmlformats.org/` +
			`spreadsheetml/2006/main"><x:sheetData><x:row r="1"><x:c r="A1"><x:v>7</x:v></x:c></x:row></x:sheetData></x:worksheet>`},
			book("")[0], book("")[1], book("")[2])},
		{name: "backslashes-and-capitals.xlsx", content: pack(t, func() []part {
			parts := book(header)
			for i := range parts {
				if strings.Contains(parts[i].name, "sheet1") {
					parts[i].name = `XL\Worksheets\Sheet1.xml`
				}
			}

			return parts
		}()...)},
		{name: "hidden-sheet-first.xlsx", content: pack(t, three...)},
		{name: "hidden-sheet-by-name.xlsx", content: pack(t, three...), o: table.Options{Sheet: "secret"}},
		{name: "blank-sheet-by-name.xlsx", content: pack(t, three...), o: table.Options{Sheet: "Blank"}},
		{name: "sheet-that-is-not-there.xlsx", content: pack(t, three...), o: table.Options{Sheet: "Chart"}},
		{name: "no-rows.xlsx", content: pack(t, book("")...)},
		{name: "shared-text-that-is-not-there.xlsx", content: number(`<row r="2"><c r="A2" t="s"><v>0</v></c><c r="B2" t="s"><v>1</v></c></row>`,
			shared(`<si><t>zero</t></si>`))},
		{name: "with-password.xlsx", content: encrypted(t)},
		{name: "rows-out-of-order.xlsx", content: number(`<row r="3"><c r="A3"><v>3</v></c></row><row r="2"><c r="A2"><v>2</v></c></row>`)},
		{name: "cells-out-of-order.xlsx", content: number(`<row r="2"><c r="B2"><v>3</v></c><c r="A2"><v>2</v></c></row>`)},
		{name: "cell-after-the-last-column.xlsx", content: number(`<row r="2"><c r="SF2"/><c r="SG2"><v>2</v></c></row>`)},
		{name: "row-zero.xlsx", content: number(`<row r="0"><c r="A2"><v>3</v></c></row>`)},
		{name: "sheet-cut.xlsx", content: pack(t, replace(book(header), "xl/worksheets/sheet1.xml", "</sheetData></worksheet>", "")...)},
		{name: "sheet-is-no-xml.xlsx", content: pack(t, replace(book(header), "xl/worksheets/sheet1.xml", "<row", "<<row")...)},
		{name: "text-document.docx", content: pack(t, part{"_rels/.rels", rels + `<Relationship Id="a" Type="` + officeTypes +
			`/officeDocument" Target="word/document.xml"/></Relationships>`}, part{"word/document.xml", "<document/>"})},
		{name: "open-document.ods", content: pack(t, part{"mimetype", "application/vnd.oasis.opendocument.spreadsheet"}, part{"content.xml", "<x/>"})},
		{name: "any-zip.xlsx", content: pack(t, part{"statement.csv", "Date,Amount\n"})},
	}
}

// encrypted makes a workbook with a password.
func encrypted(t *testing.T) []byte {
	t.Helper()

	var content bytes.Buffer
	if err := excelize.NewFile().Write(&content, excelize.Options{Password: "secret"}); err != nil {
		t.Fatal(err)
	}

	return content.Bytes()
}

// A workbook as excelize writes it reads like one of Excel.
func TestWorkbookOfExcelize(t *testing.T) {
	t.Parallel()

	written := excelize.NewFile()
	written.SetSheetRow("Sheet1", "A1", &[]any{"Date", "Amount", "Paid"})
	written.SetSheetRow("Sheet1", "A2", &[]any{time.Date(2026, 11, 28, 23, 59, 0, 0, time.UTC), 1234.5, true})

	var content bytes.Buffer
	if err := written.Write(&content); err != nil {
		t.Fatal(err)
	}

	var out bytes.Buffer

	describe(&out, content.Bytes(), table.Options{})

	const want = `{"xlsx" "" "" "Sheet1" ["Sheet1"]}
1 (header): Date | Amount | Paid
2: =2026-11-28 | =1234.5 | TRUE
date: ymd, decided true
	2026-11-28 -> 2026-11-28 <nil>
amount: ., decided true
	1234.5 -> 123450 <nil>

`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestWorkbookThatUnpacksToTooMuch(t *testing.T) {
	t.Parallel()

	blank := strings.Repeat(" ", 1<<20)

	many := book("")
	for i := range 2001 {
		many = append(many, part{"xl/media/" + strconv.Itoa(i), ""})
	}

	listed := book("")
	for i := range 60_000 {
		listed = append(listed, part{strings.Repeat("x", 60) + strconv.Itoa(i), ""})
	}

	for _, test := range []struct {
		name    string
		content []byte
	}{
		{"many parts", pack(t, many...)},
		{"a list of parts that is too long", pack(t, listed...)},
		{"65 MiB of blanks", pack(t, book("", part{"xl/media/image1.png", strings.Repeat(blank, 65)})...)},
		{"a row of 17 MiB", pack(t, book(`<row r="1"><c r="A1"><v>`+strings.Repeat("1", 17<<20)+`</v></c></row>`)...)},
		{"a text of 17 MiB", pack(t, book(`<row r="1"><c r="A1" t="s"><v>0</v></c></row>`, shared("<si><t>"+strings.Repeat("x", 17<<20)+"</t></si>"))...)},
		{"a cell above the limit", pack(t, book(`<row r="1">`+text("A1", strings.Repeat("x", table.MaxRecord+1))+`</row>`)...)},
		{"more texts than there can be", pack(t, book(`<row r="1"><c r="A1"><v>0</v></c></row>`, shared(strings.Repeat("<si/>", 2_000_001)))...)},
		{"styles of 9 MiB", pack(t, book(`<row r="1"><c r="A1"><v>0</v></c></row>`, part{"xl/styles.xml", strings.Repeat(blank, 9)})...)},
	} {
		_, err := readAll(bytes.NewReader(test.content), int64(len(test.content)), table.Options{})

		var fault *table.Error
		if !errors.As(err, &fault) || !errors.Is(err, table.ErrTooLarge) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// A part that says that it is small and is not ends as a damaged one.
func TestWorkbookThatLiesAboutItsSize(t *testing.T) {
	t.Parallel()

	rows := strings.Repeat(`<row><c><v>1</v></c></row>`, 1000)
	content := pack(t, book(rows)...)

	directory := bytes.LastIndex(content, []byte("PK\x01\x02"))
	copy(content[directory+24:], "\x64\x00\x00\x00") // The last part is the sheet.

	_, err := readAll(bytes.NewReader(content), int64(len(content)), table.Options{})
	if !errors.Is(err, table.ErrMalformed) {
		t.Error(err)
	}
}

func TestLargeSheetStreams(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)

	const rows = 100_000

	var sheet, texts strings.Builder

	for i := range rows {
		n := strconv.Itoa(i)
		sheet.WriteString(`<row><c s="1"><v>46354</v></c><c t="s"><v>` + n + `</v></c><c><v>` + n + `.25</v></c></row>`)
		texts.WriteString(`<si><t>text ` + n + ` ` + strings.Repeat("x", 100) + `</t></si>`)
	}

	content := pack(t, book(sheet.String(), shared(texts.String()), styles("14"))...)

	reader, err := table.Open(bytes.NewReader(content), int64(len(content)), table.Options{})
	if err != nil {
		t.Fatal(err)
	}

	var highest uint64

	for i := range rows {
		row, err := reader.Next()
		if err != nil {
			t.Fatal(err)
		}

		n := strconv.Itoa(i)

		want := []string{"2026-11-28", "text " + n + " " + strings.Repeat("x", 100), n + ".25"}
		if row.Line != i+1 || !slices.Equal(row.Cells, want) || !slices.Equal(row.Plain, []bool{true, false, true}) {
			t.Fatalf("%+v, want %q", row, want)
		}

		if i%20_000 == 0 {
			var memory runtime.MemStats

			runtime.GC()
			runtime.ReadMemStats(&memory)
			highest = max(highest, memory.HeapAlloc)
		}
	}

	// The strings of this test alone are 19 MiB.
	if highest > 60<<20 {
		t.Errorf("%d MiB are in use", highest>>20)
	}

	if _, err := reader.Next(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}

	if err := reader.Close(); err != nil {
		t.Error(err)
	}

	wantNoFiles(t, folder)
}

func TestRefusedWorkbookLeavesNoFiles(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)

	content := pack(t, book(`<row r="1"><c r="A1"><v>1</v></c></row>`, part{"xl/styles.xml", "<broken"})...)
	if _, err := table.Open(bytes.NewReader(content), int64(len(content)), table.Options{}); !errors.Is(err, table.ErrMalformed) {
		t.Error(err)
	}

	wantNoFiles(t, folder)
}

func wantNoFiles(t *testing.T, folder string) {
	t.Helper()

	left, err := os.ReadDir(folder)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Every two-decimal amount that a sheet stores as a double comes back exactly.
func TestParsePlainIsExact(t *testing.T) {
	t.Parallel()

	for cents := int64(1); cents < 10_000_000_000_000; cents = cents*3 + 7 {
		sum := strconv.FormatFloat(math.Nextafter(float64(cents)/100, 0), 'g', 17, 64)
		if got, err := table.ParsePlain(sum, 2); err != nil || got != cents {
			t.Errorf("%s: %d, %v; want %d", sum, got, err, cents)
		}
	}
}

// Whatever the rows of a sheet and its texts are, reading them gives rows that go up or a fault.
func FuzzSheet(f *testing.F) {
	f.Add(`<row r="1"><c r="A1" t="s"><v>0</v></c><c s="1"><v>46354</v></c></row>`, `<si><t>text</t></si>`)
	f.Add(`<row><c t="s"><v>-1</v></c></row><row r="9"><c r="C9"><f>A1</f></c></row>`, `<si><r><t>a</t></r></si>`)
	f.Add(`<row r="1"><c r="XFD1" t="d"><v>2026-11-28</v></c>`, `</sst>`)

	f.Fuzz(func(t *testing.T, rows, texts string) {
		content := pack(t, book(rows, shared(texts), styles("14"))...)
		walk(t, content, table.Options{})
	})
}

func BenchmarkWorkbook(b *testing.B) {
	const rows = 20_000

	sheet := strings.Repeat(`<row><c s="1"><v>46354</v></c><c t="s"><v>0</v></c><c><v>1500.25</v></c><c><v>2.5</v></c></row>`, rows)
	content := pack(b, book(sheet, shared("<si><t>Rent</t></si>"), styles("14"))...)

	b.ReportAllocs()

	for b.Loop() {
		if read, err := readAll(bytes.NewReader(content), int64(len(content)), table.Options{}); err != nil || read != rows {
			b.Fatal(read, err)
		}
	}

	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
