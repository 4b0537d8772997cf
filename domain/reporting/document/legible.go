package document

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"stayledger/platform/pdf"
)

// missingGlyph stands for a character that no font has.
const missingGlyph = '□'

// The joiners, which Persian and the languages of India are written with.
const (
	zeroWidthNonJoiner = '\u200C'
	zeroWidthJoiner    = '\u200D'
)

// legible rewrites text into characters the fonts have. It brings in the fallback fonts when text needs one.
type legible struct{ fonts *pdf.Fonts }

// line makes a single line; control characters and breaks become spaces.
func (l legible) line(s string) string {
	if l.plain(s) {
		return strings.TrimSpace(s)
	}

	return strings.Join(strings.Fields(l.text(s)), " ")
}

// plain holds for printable ASCII without two spaces in a row, which is fine as it is.
func (l legible) plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || s[i] == ' ' && i > 0 && s[i-1] == ' ' {
			return false
		}
	}

	return true
}

func (l legible) lines(all []string) []string {
	kept := make([]string, 0, len(all))
	for _, s := range all {
		if s = l.line(s); s != "" {
			kept = append(kept, s)
		}
	}

	return kept
}

// text keeps line breaks.
func (l legible) text(s string) string {
	var b strings.Builder

	s = norm.NFC.String(strings.ToValidUTF8(s, "\uFFFD"))

	last := rune(0)
	for _, r := range strings.ReplaceAll(s, "\r\n", "\n") {
		before := last

		last = r
		switch {
		case (r == zeroWidthNonJoiner || r == zeroWidthJoiner) && pdf.IsShaped(before):
			b.WriteRune(r) // says whether the letters beside it join
		case unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r):
			// Invisible by itself: joiners, direction marks, soft hyphens.
		case r == '\n' || l.has(r):
			b.WriteRune(r)
		case unicode.IsControl(r) || unicode.IsSpace(r):
			b.WriteByte(' ')
		case unicode.Is(unicode.Mn, r):
			// Changes the look of the character before it, which has been written.
		default:
			l.substitute(&b, r)
		}
	}

	return b.String()
}

// substitute writes the compatible form of a character, such as the letters of a ligature, or a box.
func (l legible) substitute(b *strings.Builder, r rune) {
	for _, c := range norm.NFKC.String(string(r)) {
		if !l.has(c) || unicode.IsControl(c) {
			c = missingGlyph
		}

		b.WriteRune(c)
	}
}

func (l legible) has(r rune) bool {
	switch {
	case unicode.IsControl(r):
		return false
	case l.fonts.Regular.Has(r) && l.fonts.Bold.Has(r):
		return true
	case r == unicode.ReplacementChar || unicode.Is(unicode.Co, r) || unicode.IsSpace(r):
		return false
	}

	if l.fonts.Fallbacks == nil {
		l.fonts.Fallbacks = pdf.FallbackFonts()
	}

	for _, font := range l.fonts.Fallbacks {
		if font.Has(r) {
			return true
		}
	}

	return false
}
