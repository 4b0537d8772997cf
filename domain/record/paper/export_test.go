package paper

import "stayledger/platform/pdf"

// RegularWidth measures text in the regular font, in points.
func RegularWidth(text string, size float64) float64 {
	fonts, err := pdf.EmbeddedFonts()
	if err != nil {
		panic(err)
	}

	return fonts.Width(text, false, size)
}

// Legible rewrites text as it is drawn.
func Legible(text string) string {
	embedded, err := pdf.EmbeddedFonts()
	if err != nil {
		panic(err)
	}

	fonts := *embedded

	return textCleaner{&fonts}.text(text)
}
