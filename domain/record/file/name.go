package file

import (
	"path"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxName bounds the length of a file's name, in characters.
const maxName = 200

// CleanName returns a safe name for a file from the name that the sender gave: without folders and invisible
// characters that could make it look like another name, and not too long. It returns "" if nothing is left. Names
// never become paths of the store.
func CleanName(sent string) string {
	sent = strings.ToValidUTF8(sent, "\uFFFD")
	sent = sent[strings.LastIndexAny(sent, `/\`)+1:]
	name := norm.NFC.String(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			return -1 // Cf includes the characters that turn the direction of writing
		}

		return r
	}, sent))
	name = strings.Trim(name, " .")

	// Shorten a long name in front of its ending, so that programs still recognise the file.
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
