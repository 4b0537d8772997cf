package pdf_test

import (
	"io"
	"testing"

	"stayledger/platform/pdf"
)

// BenchmarkPage draws a page of 60 lines: in Latin letters, with one line in Arabic, and all in Arabic.
func BenchmarkPage(b *testing.B) {
	fonts := withArabic(b)
	latin, arabic := "Owner statement of the Palm Company 1,234.50", "كشف حساب المالك لشركة النخيل 1,234.50"

	for name, every := range map[string]int{"latin": 0, "one": 60, "arabic": 1} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				d := pdf.New(io.Discard, info, fonts)
				d.Page(595, 842)

				for i := range 60 {
					line := latin
					if every > 0 && i%every == 0 {
						line = arabic
					}

					fonts.Width(line, false, 10)
					d.Text(nil, 40, 20+float64(i)*12, line, pdf.Style{Size: 10})
				}

				d.EndSection(func(int, int) {})

				if err := d.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
