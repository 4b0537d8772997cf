package paper

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"stayledger/platform/pdf"
)

// missingGlyph replaces a character that no font has.
const missingGlyph = '□'

// The joiners, which are used in Persian and the languages of India.
const (
	zeroWidthNonJoiner = '\u200C'
	zeroWidthJoiner    = '\u200D'
)

// textCleaner rewrites text into characters that the fonts have. It adds the fallback fonts if a text needs one.
type textCleaner struct{ fonts *pdf.Fonts }

// line returns the text as a single line. Control characters and line breaks become spaces.
func (l textCleaner) line(s string) string {
	if l.plain(s) {
		return strings.TrimSpace(s)
	}

	return strings.Join(strings.Fields(l.text(s)), " ")
}

// plain reports whether a text is printable ASCII without two spaces in a row, and so needs no change.
func (l textCleaner) plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || s[i] == ' ' && i > 0 && s[i-1] == ' ' {
			return false
		}
	}

	return true
}

// lines returns the texts that are not empty, each as a single line.
func (l textCleaner) lines(all []string) []string {
	kept := make([]string, 0, len(all))
	for _, s := range all {
		if s = l.line(s); s != "" {
			kept = append(kept, s)
		}
	}

	return kept
}

// text returns the text with its line breaks. Characters without a glyph are dropped, replaced by similar ones, or
// shown as a box.
func (l textCleaner) text(s string) string {
	var b strings.Builder

	// Composed characters are in more fonts than separate accents.
	s = norm.NFC.String(strings.ToValidUTF8(s, "\uFFFD"))

	last := rune(0)
	for _, r := range strings.ReplaceAll(s, "\r\n", "\n") {
		// A joiner matters only after a letter of a script in which letters join.
		before := last

		last = r
		switch {
		case (r == zeroWidthNonJoiner || r == zeroWidthJoiner) && pdf.IsShaped(before):
			b.WriteRune(r) // says whether the letters before and after it join
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
func (l textCleaner) substitute(b *strings.Builder, r rune) {
	for _, c := range norm.NFKC.String(string(r)) {
		if !l.has(c) || unicode.IsControl(c) {
			c = missingGlyph
		}

		b.WriteRune(c)
	}
}

// has reports whether some font has the character. It loads the fallback fonts when a character needs them.
func (l textCleaner) has(r rune) bool {
	switch {
	case unicode.IsControl(r):
		return false
	case l.fonts.Regular.Has(r) && l.fonts.Bold.Has(r):
		return true

	// Fonts for these would only show a box or a blank.
	case r == unicode.ReplacementChar || unicode.Is(unicode.Co, r) || unicode.IsSpace(r):
		return false
	}

	// The fallback fonts are large, and most documents need none.
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
