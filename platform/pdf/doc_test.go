package pdf_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"

	"stayledger/platform/pdf"
	"stayledger/platform/pdf/pdftest"
)

var fonts = sync.OnceValue(func() *pdf.Fonts {
	regular, err := pdf.ParseFont("LiberationSans", liberationsansregular.TTF)
	if err != nil {
		panic(err)
	}

	bold, err := pdf.ParseFont("LiberationSans-Bold", liberationsansbold.TTF)
	if err != nil {
		panic(err)
	}

	return &pdf.Fonts{Regular: regular, Bold: bold}
})

var info = pdf.Info{Title: "Owner statement – Σπίτι (1)", Author: `Harbour & "Pine" \`, Lang: "en-US", Created: time.Date(2026, 6, 2, 0, 0, 0, 0, time.UTC)}

func Example() {
	var file bytes.Buffer

	d := pdf.New(&file, info, fonts())
	section := d.Open(nil, pdf.Sect)
	d.Page(612, 792)
	title := d.Open(section, pdf.Heading1)
	d.Text(title, 56, 80, "Lighthouse Cottage", pdf.Style{Bold: true, Size: 20})
	d.End(title)
	d.Rect(56, 90, 500, 0.5, pdf.Colour{})
	d.End(section)
	d.EndSection(func(n, pages int) { d.Text(nil, 56, 760, fmt.Sprintf("Page %d of %d", n, pages), pdf.Style{Size: 8}) })
	fmt.Println(d.Close(), file.String()[:8])
	// Output: <nil> %PDF-1.7
}

// write draws sections of pages with a table each, with cells that go on over the pages.
func write(w io.Writer, sections, pages int) error {
	d := pdf.New(w, info, fonts())
	for s := range sections {
		section := d.Open(nil, pdf.Sect)
		d.Page(300, 400)
		table := d.Open(section, pdf.Table)
		row := d.Open(table, pdf.TR)
		head, cell := d.Open(row, pdf.TH), d.Open(row, pdf.TD)
		head.Scope = pdf.RowScope

		for p := range pages {
			if p > 0 {
				d.Page(300, 400)
			}

			d.Text(head, 20, 50, fmt.Sprintf("head %d.%d", s, p), pdf.Style{Bold: true, Size: 9})
			d.Text(cell, 120, 50, "AVATAR (1) \\ 100,11", pdf.Style{Size: 9, Colour: pdf.Colour{R: 255}})
			d.Rect(20, 60, 200, 1, pdf.Colour{})
		}

		for _, e := range []*pdf.Element{head, cell, row, table, section} {
			d.End(e)
		}

		d.EndSection(func(n, of int) { d.Text(nil, 20, 380, fmt.Sprintf("Page %d of %d", n, of), pdf.Style{Size: 8}) })
	}

	return d.Close()
}

func TestPagesCountInTheirSection(t *testing.T) {
	t.Parallel()

	var b bytes.Buffer
	if err := write(&b, 70, 3); err != nil {
		t.Fatal(err)
	}

	file, err := pdftest.Read(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}

	pages, err := file.Pages()
	if err != nil || len(pages) != 210 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}

	for i, page := range pages {
		got := make([]string, len(page.Texts))
		for k, text := range page.Texts {
			got[k] = text.Text
		}

		want := []string{fmt.Sprintf("head %d.%d", i/3, i%3), "AVATAR (1) \\ 100,11", fmt.Sprintf("Page %d of 3", i%3+1)}
		if !slices.Equal(got, want) || !page.Texts[2].Artifact || page.Texts[1].Artifact {
			t.Errorf("page %d: %q", i, got)
		}
	}

	root, err := file.Structure()
	if err != nil {
		t.Fatal(err)
	}

	if cells := root.All("TD"); len(cells) != 70 || cells[0].Content != 3 || root.All("TH")[0].Scope != "Row" {
		t.Errorf("%d cells", len(cells))
	}
}

func TestProperties(t *testing.T) {
	t.Parallel()

	var b bytes.Buffer
	if err := write(&b, 1, 1); err != nil {
		t.Fatal(err)
	}

	file, err := pdftest.Read(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}

	got := file.Dict(file.Trailer["Info"])
	if pdftest.String(got["Title"]) != info.Title || pdftest.String(got["Author"]) != info.Author || got["CreationDate"] != "D:20260602000000Z" {
		t.Errorf("properties %q", got)
	}

	catalog := file.Dict(file.Trailer["Root"])
	if catalog["Lang"] != "en-US" || file.Dict(catalog["MarkInfo"])["Marked"] != true || file.Dict(catalog["ViewerPreferences"])["DisplayDocTitle"] != true {
		t.Errorf("catalog %q", catalog)
	}

	metadata, _ := file.Get(catalog["Metadata"]).(pdftest.Stream)
	for _, want := range []string{"<pdfuaid:part>1</pdfuaid:part>", "Owner statement – Σπίτι (1)", "Harbour &amp; &#34;Pine&#34;", "2026-06-02T00:00:00Z"} {
		if !strings.Contains(string(metadata.Data), want) {
			t.Errorf("metadata lack %s", want)
		}
	}
}

func TestKerningSparesFigures(t *testing.T) {
	t.Parallel()

	width := func(s string) float64 { return fonts().Width(s, false, 10) }
	if width("AV") >= width("A")+width("V") {
		t.Error("letters are not kerned")
	}

	if width("1111") != 4*width("1") || width("1") != width("8") {
		t.Error("figures have other widths")
	}

	var b bytes.Buffer
	if err := write(&b, 1, 1); err != nil {
		t.Fatal(err)
	}

	file, err := pdftest.Read(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}

	pages, err := file.Pages()
	if err != nil {
		t.Fatal(err)
	}

	for _, text := range pages[0].Texts {
		if measured := fonts().Width(text.Text, text.Bold, text.Size); measured-text.Width > 0.001 || text.Width-measured > 0.001 {
			t.Errorf("%q is measured %f and drawn %f", text.Text, measured, text.Width)
		}
	}
}

func TestEqualBytesAtOnce(t *testing.T) {
	t.Parallel()

	var first bytes.Buffer
	if err := write(&first, 3, 2); err != nil {
		t.Fatal(err)
	}

	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			var again bytes.Buffer
			if err := write(&again, 3, 2); err != nil || !bytes.Equal(first.Bytes(), again.Bytes()) {
				t.Errorf("a second file differs, %v", err)
			}
		})
	}

	group.Wait()
}

type full struct{ after int }

var errFull = errors.New("disk is full")

func (f *full) Write(b []byte) (int, error) {
	if f.after -= len(b); f.after < 0 {
		return 0, errFull
	}

	return len(b), nil
}

func TestFailures(t *testing.T) {
	t.Parallel()

	for _, after := range []int{0, 20_000, 40_000} {
		if err := write(&full{after}, 60, 3); !errors.Is(err, errFull) {
			t.Errorf("after %d bytes: %v", after, err)
		}
	}

	if err := pdf.New(io.Discard, info, fonts()).Close(); err == nil {
		t.Error("a file without pages is no file")
	}
}

// TestMemoryStaysFlat is not parallel, because it measures what the process holds.
//
//nolint:paralleltest // it measures the process
func TestMemoryStaysFlat(t *testing.T) {
	held := func() uint64 {
		var m runtime.MemStats

		runtime.GC()
		runtime.ReadMemStats(&m)

		return m.HeapAlloc
	}

	fonts() // which are kept for all documents

	before, most := held(), uint64(0)

	watch := writer(func(n int) {
		if n%4 == 0 {
			most = max(most, held())
		}
	})
	if err := write(watch, 3000, 2); err != nil {
		t.Fatal(err)
	}

	if grown := int64(most) - int64(before); grown > 4<<20 {
		t.Errorf("6000 pages hold %d bytes", grown)
	}
}

// writer calls back with the number of the write.
func writer(called func(n int)) io.Writer {
	n := 0
	return writing(func() { n++; called(n) })
}

type writing func()

func (w writing) Write(b []byte) (int, error) {
	w()
	return len(b), nil
}

func TestDamagedFonts(t *testing.T) {
	t.Parallel()

	whole := liberationsansregular.TTF
	for cut := 0; cut < len(whole); cut += len(whole) / 40 {
		for name, ttf := range map[string][]byte{"short": whole[:cut], "zeroed": append(append([]byte{}, whole[:cut]...), make([]byte, len(whole)-cut)...)} {
			font, err := pdf.ParseFont("Damaged", ttf)
			if err != nil {
				if !errors.Is(err, pdf.ErrFont) {
					t.Errorf("%s at %d: %v", name, cut, err)
				}

				continue
			}

			d := pdf.New(io.Discard, info, &pdf.Fonts{Regular: font, Bold: font})
			d.Page(100, 100)
			d.Text(nil, 10, 10, "Ångström ÀÉ", pdf.Style{Size: 10})
			d.EndSection(func(int, int) {})

			if err := d.Close(); err != nil {
				t.Errorf("%s at %d: %v", name, cut, err)
			}
		}
	}
}

func TestPackedImages(t *testing.T) {
	t.Parallel()

	transparent := image.NewNRGBA(image.Rect(5, 5, 25, 15))
	transparent.Set(6, 6, color.NRGBA{R: 9, A: 100})

	grey := image.NewGray(image.Rect(0, 0, 20, 10))
	for name, c := range map[string]struct {
		image image.Image
		space string
		mask  bool
	}{"clear": {transparent, "DeviceRGB", true}, "grey": {grey, "DeviceGray", false}} {
		var b bytes.Buffer

		d := pdf.New(&b, info, fonts())
		section := d.Open(nil, pdf.Sect)
		packed := pdf.PackImage(c.image)

		for range 2 {
			d.Page(100, 100)
			figure := d.Open(section, pdf.Figure)
			figure.Alt = "A logo"
			d.Image(figure, packed, pdf.Box{X: 10, Y: 10, Width: 40, Height: 20})
			d.End(figure)
		}

		d.End(section)
		d.EndSection(func(int, int) {})

		if err := d.Close(); err != nil {
			t.Fatal(err)
		}

		file, err := pdftest.Read(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}

		pages, err := file.Pages()
		if err != nil {
			t.Fatal(err)
		}

		images := file.Dict(file.Dict(file.Dict(pages[0].Ref)["Resources"])["XObject"])
		if len(images) != 1 {
			t.Fatalf("%s: %d images", name, len(images))
		}

		got := file.Dict(images["I1"])
		if got["ColorSpace"] != pdftest.Name(c.space) || (got["SMask"] != nil) != c.mask || got["Width"] != 20.0 {
			t.Errorf("%s: %v", name, got)
		}

		root, err := file.Structure()
		if err != nil || len(root.All("Figure")) != 2 || root.All("Figure")[1].Alt != "A logo" {
			t.Errorf("%s: structure %v", name, err)
		}
	}
}

// TestSubsetsHaveThePartsOfTheirLetters reads the embedded font: letters with accents are made of glyphs that no text
// asks for.
func TestSubsetsHaveThePartsOfTheirLetters(t *testing.T) {
	t.Parallel()

	var b bytes.Buffer

	d := pdf.New(&b, info, fonts())
	d.Page(300, 400)
	d.Text(nil, 20, 50, "ő Ǻ ΐ Ё", pdf.Style{Size: 9})
	d.EndSection(func(int, int) {})

	if err := d.Close(); err != nil {
		t.Fatal(err)
	}

	file, err := pdftest.Read(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}

	pages, err := file.Pages()
	if err != nil {
		t.Fatal(err)
	}

	font := file.Dict(file.Dict(file.Dict(file.Dict(pages[0].Ref)["Resources"])["Font"])["F1"])
	descriptor := file.Dict(file.Dict(file.List(font["DescendantFonts"])[0])["FontDescriptor"])

	embedded, _ := file.Get(descriptor["FontFile2"]).(pdftest.Stream)
	if length, _ := embedded.Dict["Length1"].(float64); int(length) != len(embedded.Data) {
		t.Errorf("the file has %d bytes and says %v", len(embedded.Data), length)
	}

	tables := map[string][]byte{}

	for i := range int(binary.BigEndian.Uint16(embedded.Data[4:])) {
		record := embedded.Data[12+16*i:]
		offset, length := binary.BigEndian.Uint32(record[8:]), binary.BigEndian.Uint32(record[12:])
		tables[string(record[:4])] = embedded.Data[offset : offset+length]
	}

	outline := func(glyph int) []byte {
		loca := tables["loca"][4*glyph:]
		return tables["glyf"][binary.BigEndian.Uint32(loca):binary.BigEndian.Uint32(loca[4:])]
	}
	made := 0

	for glyph := range len(tables["loca"])/4 - 1 {
		shape := outline(glyph)
		if len(shape) == 0 || int16(binary.BigEndian.Uint16(shape)) >= 0 {
			continue
		}

		made++

		for at, more := 10, true; more; {
			flags, part := binary.BigEndian.Uint16(shape[at:]), int(binary.BigEndian.Uint16(shape[at+2:]))

			const space = 3 // is empty, and part of the no-break space
			if len(outline(part)) == 0 && part != space {
				t.Errorf("part %d of glyph %d is missing", part, glyph)
			}

			if more = flags&32 != 0; flags&1 != 0 {
				at += 2
			}

			at += 6
		}
	}

	if made < 4 {
		t.Errorf("%d letters are made of others", made)
	}
}
