package pdftest_test

import (
	"bytes"
	"fmt"

	"codeberg.org/go-fonts/liberation/liberationsansregular"

	"stayledger/platform/pdf"
	"stayledger/platform/pdf/pdftest"
)

// What was drawn is read back: the text, and the tag that says what it is.
func Example() {
	font, err := pdf.ParseFont("LiberationSans", liberationsansregular.TTF)
	if err != nil {
		panic(err)
	}

	var file bytes.Buffer

	d := pdf.New(&file, pdf.Info{Title: "Greeting", Lang: "en"}, &pdf.Fonts{Regular: font, Bold: font})
	d.Page(200, 100)
	section := d.Open(nil, pdf.Sect)
	heading := d.Open(section, pdf.Heading1)
	d.Text(heading, 20, 40, "Good morning", pdf.Style{Size: 12})
	d.End(heading)
	d.End(section)
	d.EndSection(func(int, int) {})

	if err := d.Close(); err != nil {
		panic(err)
	}

	read, err := pdftest.Read(file.Bytes())
	if err != nil {
		panic(err)
	}

	pages, err := read.Pages()
	if err != nil {
		panic(err)
	}

	structure, err := read.Structure()
	if err != nil {
		panic(err)
	}

	fmt.Println(pages[0].Texts[0].Text, len(structure.All("H1")))
	// Output: Good morning 1
}
