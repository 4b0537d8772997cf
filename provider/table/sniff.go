package table

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sniffLength is how much of a file is looked at to recognize its type and delimiter.
const sniffLength = 64 << 10

// foreign are the first bytes of files that are often saved under the name of a table. Text is in lower case.
var foreign = []string{
	"%pdf-",
	"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", // Old .xls, and workbooks with a password.
	"<!doctype", "<html", "<head", "<body", "<script", "<table", "<?xml", "<!--", "<ofx", "ofxheader",
	"{\\rtf", "\x1f\x8b", "\x89png", "\xff\xd8\xff", "gif8", "rar!", "7z\xbc\xaf",
}

// isForeign reports whether a file is known to be no table by its first bytes.
func isForeign(head []byte) bool {
	text := strings.TrimLeftFunc(string(head[:min(len(head), 512)]), isSpace)
	text = strings.TrimPrefix(text, "\ufeff")
	text = lowerASCII(strings.TrimLeftFunc(text, isSpace))

	for _, start := range foreign {
		if strings.HasPrefix(text, start) {
			return true
		}
	}

	return false
}

// lowerASCII returns a text with A to Z in lower case and every other byte as it was.
func lowerASCII(text string) string {
	lower := []byte(text)

	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}

	return string(lower)
}

// isZip reports whether a file is a zip archive, as all workbooks are.
func isZip(head []byte) bool {
	return bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06"))
}

// isBlank reports whether bytes in any encoding hold no text.
func isBlank(head []byte) bool {
	_, length := byteOrderMark(head)

	for _, c := range head[length:] {
		if c != 0 && c != ' ' && (c < '\t' || c > '\r') {
			return false
		}
	}

	// NUL bytes belong to the spaces of UTF-16 only.
	return length == 2 || bytes.IndexByte(head, 0) < 0
}

// isSpace reports whether a character counts as white space around a cell.
func isSpace(r rune) bool {
	return unicode.IsSpace(r) || r == '\u200b' || r == '\ufeff'
}

// trim returns a cell without the white space around it.
func trim(cell string) string {
	if cell == "" {
		return cell
	}

	// Most cells begin and end with a printed ASCII character.
	first, last := cell[0], cell[len(cell)-1]
	if ' ' < first && first < utf8.RuneSelf && ' ' < last && last < utf8.RuneSelf {
		return cell
	}

	return strings.TrimFunc(cell, isSpace)
}
