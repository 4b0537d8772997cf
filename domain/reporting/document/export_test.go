package render

// RegularWidth measures text in the regular font, in points.
func RegularWidth(text string, size float64) float64 {
	fonts, err := loadFonts()
	if err != nil {
		panic(err)
	}
	return fonts.Width(text, false, size)
}
