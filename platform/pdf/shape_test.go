package pdf_test

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"golang.org/x/text/unicode/norm"

	"stayledger/platform/pdf"
	"stayledger/platform/pdf/pdftest"
)

// withArabic returns fonts with a fallback that has Arabic.
func withArabic(t testing.TB) *pdf.Fonts {
	t.Helper()

	var err error

	for _, path := range []string{
		"/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "/usr/share/fonts/dejavu/DejaVuSans.ttf", "/usr/share/fonts/TTF/DejaVuSans.ttf",
		"/Library/Fonts/Arial Unicode.ttf", "/System/Library/Fonts/Supplemental/Arial Unicode.ttf",
	} {
		var ttf []byte
		if ttf, err = os.ReadFile(path); err != nil {
			continue
		}

		fallback, err := pdf.ParseFont("Fallback", ttf)
		if err != nil {
			t.Fatal(err)
		}

		return &pdf.Fonts{Regular: fonts().Regular, Bold: fonts().Bold, Fallbacks: []*pdf.Font{fallback}}
	}

	t.Fatalf("no font with Arabic letters; run: scripts/ensure font (%v)", err)

	return nil
}

// drawnLines draws lines and reads them back.
func drawnLines(t *testing.T, fonts *pdf.Fonts, lines []string) []pdftest.Text {
	t.Helper()

	var file bytes.Buffer

	d := pdf.New(&file, info, fonts)
	d.Page(600, 800)

	for i, line := range lines {
		d.Text(nil, 20, 40+20*float64(i), line, pdf.Style{Size: 12, Bold: i%2 == 1})
	}

	d.EndSection(func(int, int) {})

	if err := d.Close(); err != nil {
		t.Fatal(err)
	}

	read, err := pdftest.Read(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}

	pages, err := read.Pages()
	if err != nil {
		t.Fatal(err)
	}

	if len(pages[0].Texts) != len(lines) {
		t.Fatalf("%d lines, want %d", len(pages[0].Texts), len(lines))
	}

	return pages[0].Texts
}

// shapedLines are lines and the order in which their letters stand from left to right, as the Unicode bidirectional
// algorithm gives it.
var shapedLines = []struct{ read, drawn string }{
	// A line of Hebrew or Arabic only goes from right to left, its numbers from left to right.
	{"שלום", "םולש"},
	{"שלום 1,234.50 עולם", "םלוע 1,234.50 םולש"},
	{"שלום (12)", "(12) םולש"},
	{"שלום.", ".םולש"},
	{"וילה 12, חיפה", "הפיח ,12 הליו"},
	{"شقة ١٢", "١٢ ةقش"},
	// With a Latin letter it goes from left to right, with passages in it that do not.
	{"Unit שלום (עולם), Dubai", "Unit (םלוע) םולש, Dubai"},
	{"Flat (תל אביב) 12", "Flat (ביבא לת) 12"},
	{"בית 1,250.50 (א) x", "(א) 1,250.50 תיב x"},
	{"Unit שלום 12 עולם 13 of B", "Unit 13 םלוע 12 םולש of B"},
	{"Unit שלום 12% of B", "Unit 12% םולש of B"},
	{"Unit שלום – 12 Jan", "Unit 12 – םולש Jan"},
	{"Unit 12 שלום", "Unit 12 םולש"},
	{"Unit ١٢ شقة", "Unit ةقش ١٢"},
	// A line without such letters is drawn as it is read.
	{"Ελένη Żółć Щукина 100", "Ελένη Żółć Щукина 100"},
	// Persian: the joiner keeps two letters apart and is not drawn.
	{"می\u200cخواهم", "مهاوخیم"},
}

func TestLinesFromRightToLeft(t *testing.T) {
	t.Parallel()

	lines := make([]string, 0, len(shapedLines))
	for _, line := range shapedLines {
		lines = append(lines, line.read)
	}

	for i, text := range drawnLines(t, withArabic(t), lines) {
		if text.Text != shapedLines[i].drawn {
			t.Errorf("%q is drawn as %q, want %q", shapedLines[i].read, text.Text, shapedLines[i].drawn)
		}

		if measured := withArabic(t).Width(shapedLines[i].read, i%2 == 1, text.Size); measured-text.Width > 0.01 || text.Width-measured > 0.01 {
			t.Errorf("%q is measured %f and drawn %f", text.Text, measured, text.Width)
		}
	}
}

// Letters of Arabic have up to four forms: the same letter is drawn by another glyph at the begin, in the middle, at
// the end and alone.
func TestArabicLettersJoin(t *testing.T) {
	t.Parallel()

	texts := drawnLines(t, withArabic(t), []string{"ههه", "ه", "ه", "لا", "ل", "مُ", "م"})
	if glyphs := texts[0].Glyphs; len(glyphs) != 3 || glyphs[0] == glyphs[1] || glyphs[1] == glyphs[2] || glyphs[0] == glyphs[2] || slices.Contains(glyphs, texts[2].Glyphs[0]) {
		t.Errorf("three letters are drawn by the glyphs %v, and one alone by %v", glyphs, texts[2].Glyphs)
	}

	if len(texts[3].Glyphs) != 1 || norm.NFKC.String(texts[3].Text) != "لا" {
		t.Errorf("lam and alef are drawn by %v as %q, want one glyph that is copied as their ligature", texts[3].Glyphs, texts[3].Text)
	}

	if texts[5].Width != texts[6].Width {
		t.Errorf("a letter with a mark takes %f, without it %f", texts[5].Width, texts[6].Width)
	}
}

// A mark without a composed form with its letter is put over it and takes no room.
func TestCombiningMarks(t *testing.T) {
	t.Parallel()

	texts := drawnLines(t, withArabic(t), []string{"x\u0304yz", "b", "xyz"})
	if texts[0].Width != texts[2].Width || len(texts[0].Glyphs) != 4 {
		t.Errorf("three letters and a mark are drawn by %v and take %f, the letters %f", texts[0].Glyphs, texts[0].Width, texts[2].Width)
	}
}

// The vowel AM of Lao is drawn as two glyphs with the tone between them: a reader gets the text from ActualText.
func TestGlyphsWithoutTheTextOfTheirLine(t *testing.T) {
	t.Parallel()

	if text := drawnLines(t, withArabic(t), []string{"ນ້ຳ"})[0]; text.Text != "ນ້ຳ" || text.Drawn == "" || text.Drawn == text.Text {
		t.Errorf("read as %q and drawn as %q", text.Text, text.Drawn)
	}
}

// Lines of any characters can be measured.
func FuzzShape(f *testing.F) {
	for _, line := range shapedLines {
		f.Add(line.read)
	}

	f.Add("क्षत्रिय กำลัง ᠮᠣᠩᠭᠣᠯ \u202eabc\u202c \u2067x\u2069")
	fonts := withArabic(f)
	f.Fuzz(func(t *testing.T, line string) {
		fonts.Width(line, false, 10)
	})
}
