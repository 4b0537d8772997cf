package file

import (
	"path"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxName bounds the length of a file's name, in characters.
const maxName = 200

// cleanName makes a name that is safe to show and to save under of what a sender calls a file: no folders, nothing
// invisible that could make the name look like another one, not too long. It is empty when nothing is left. Names never
// become paths of the store.
func cleanName(sent string) string {
	sent = strings.ToValidUTF8(sent, "\uFFFD")
	sent = sent[strings.LastIndexAny(sent, `/\`)+1:]
	name := norm.NFC.String(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			return -1 // Cf are the formatting characters, those that turn the direction of writing among them
		}

		return r
	}, sent))
	name = strings.Trim(name, " .")

	runes := []rune(name)
	if len(runes) <= maxName {
		return name
	}

	ending := []rune(path.Ext(name))
	if len(ending) > maxName/4 {
		ending = nil
	}

	return strings.TrimRight(string(runes[:maxName-len(ending)]), " .") + string(ending)
}
