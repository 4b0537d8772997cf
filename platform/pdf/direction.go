package pdf

import (
	"slices"
	"unicode"
)

// isRightToLeft holds for letters that are written from right to left.
func isRightToLeft(r rune) bool {
	return r >= 0x590 && (r <= 0x8FF || r >= 0xFB1D && r <= 0xFDFF || r >= 0xFE70 && r <= 0xFEFC) && unicode.IsLetter(r)
}

// mirrored are the signs that open to the other side in text from right to left.
var mirrored = map[rune]rune{'(': ')', ')': '(', '[': ']', ']': '[', '<': '>', '>': '<', '«': '»', '»': '«'}

// leftToRight gives a line in the order in which it is drawn: passages from right to left are turned round, figures in them are not. A
// passage reaches from its first letter to its last; what stands around it goes from left to right, as documents do. Letters that change
// their form beside others are not joined.
func leftToRight(s string) string {
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		plain = s[i] < 0xD6 // the first byte of Hebrew, and below those of what follows it
	}
	if plain {
		return s
	}
	line := []rune(s)
	for at := 0; at < len(line); at++ {
		if !isRightToLeft(line[at]) {
			continue
		}
		end := at + 1
		for i := end; i < len(line) && (isRightToLeft(line[i]) || !unicode.IsLetter(line[i])); i++ {
			if isRightToLeft(line[i]) || unicode.Is(unicode.Mn, line[i]) {
				end = i + 1
			}
		}
		if end < len(line) && line[end] == ')' && slices.Contains(line[at:end], '(') && !slices.Contains(line[at:end], ')') {
			end++ // closes what the passage opened
		}
		copy(line[at:], turn(line[at:end]))
		at = end
	}
	return string(line)
}

// turn returns a passage turned round, with the figures in it turned back.
func turn(passage []rune) []rune {
	passage = slices.Clone(passage)
	slices.Reverse(passage)
	for i, r := range passage {
		if other, has := mirrored[r]; has {
			passage[i] = other
		}
	}
	for i := 0; i < len(passage); i++ {
		if !unicode.IsDigit(passage[i]) {
			continue
		}
		end := i + 1
		for end < len(passage) && (unicode.IsDigit(passage[end]) || end+1 < len(passage) && unicode.IsDigit(passage[end+1]) && (passage[end] == '.' || passage[end] == ',')) {
			end++
		}
		slices.Reverse(passage[i:end])
		i = end
	}

	return passage
}
