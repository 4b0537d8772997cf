package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The ways in which a body is no JSON.
var (
	errSyntax  = errors.New("not JSON")
	errUTF8    = errors.New("invalid UTF-8")
	errTooDeep = errors.New("nested too deeply")
	errTrailer = errors.New("data after the value")
)

const maxDepth = 64

// scanner reads the tokens of a JSON text where they stand. It builds nothing, so reading costs no memory whatever the
// text holds.
type scanner struct {
	text []byte
	at   int
}

// peek returns the next byte that is not space, or 0 at the end.
func (s *scanner) peek() byte {
	for ; s.at < len(s.text); s.at++ {
		switch b := s.text[s.at]; b {
		case ' ', '\t', '\n', '\r':
		default:
			return b
		}
	}

	return 0
}

// expect passes over a byte that has to come next.
func (s *scanner) expect(b byte) error {
	if s.peek() != b {
		return errSyntax
	}

	s.at++

	return nil
}

// more reports whether a list or object goes on after one of its items, and passes over the comma or the closing
// bracket.
func (s *scanner) more(closing byte) (bool, error) {
	switch s.peek() {
	case ',':
		s.at++
		return true, nil
	case closing:
		s.at++
		return false, nil
	}

	return false, errSyntax
}

func (s *scanner) literal(word string) error {
	if !bytes.HasPrefix(s.text[s.at:], []byte(word)) {
		return errSyntax
	}

	s.at += len(word)

	return nil
}

// token is a string of the text, without its quotes.
type token struct {
	raw     []byte
	escaped bool
	// nul says that it has a NUL character.
	nul bool
}

// String returns the text of the token without its escapes.
func (t token) String() string {
	if !t.escaped {
		return string(t.raw)
	}

	var decoded string

	_ = json.Unmarshal(append(append([]byte{'"'}, t.raw...), '"'), &decoded) // it was scanned

	return decoded
}

// length returns the number of characters; in a text with escapes, each escape counts as one.
func (t token) length() int {
	if t.escaped {
		return utf8.RuneCountInString(t.String())
	}

	return utf8.RuneCount(t.raw)
}

// string reads a string and returns it as it is written. It fails for control characters and bad escapes.
func (s *scanner) string() (token, error) {
	if err := s.expect('"'); err != nil {
		return token{}, err
	}

	var t token

	for start := s.at; s.at < len(s.text); s.at++ {
		switch b := s.text[s.at]; {
		case b == '"':
			t.raw = s.text[start:s.at]
			s.at++

			return t, nil
		case b < ' ':
			return token{}, errSyntax
		case b == '\\':
			t.escaped = true

			nul, err := s.escape()
			if err != nil {
				return token{}, err
			}

			t.nul = t.nul || nul
		}
	}

	return token{}, errSyntax
}

// escape moves over an escape up to its last byte, and reports whether it means a NUL character.
func (s *scanner) escape() (nul bool, err error) {
	s.at++
	if s.at == len(s.text) {
		return false, errSyntax
	}

	if s.text[s.at] != 'u' {
		if !strings.ContainsRune(`"\/bfnrt`, rune(s.text[s.at])) {
			return false, errSyntax
		}

		return false, nil
	}

	if len(s.text)-s.at < len("u0000") {
		return false, errSyntax
	}

	// Surrogates must come in pairs.
	code, err := strconv.ParseUint(string(s.text[s.at+1:s.at+5]), 16, 16)
	if err != nil {
		return false, errSyntax
	}

	s.at += 4

	switch {
	case utf16.IsSurrogate(rune(code)) && code >= lowSurrogates:
		return false, errUTF8
	case utf16.IsSurrogate(rune(code)):
		return false, s.lowSurrogate()
	}

	return code == 0, nil
}

// lowSurrogates is the first code of the second halves of pairs.
const lowSurrogates = 0xDC00

// lowSurrogate passes over the second half of a pair. It fails with errUTF8 when there is none: half a character is no
// text, and would be stored as another one.
func (s *scanner) lowSurrogate() error {
	rest := s.text[s.at+1:]
	if len(rest) < len(`\u0000`) || rest[0] != '\\' || rest[1] != 'u' {
		return errUTF8
	}

	code, err := strconv.ParseUint(string(rest[2:6]), 16, 16)
	if err != nil || !utf16.IsSurrogate(rune(code)) || code < lowSurrogates {
		return errUTF8
	}

	s.at += len(`\u0000`)

	return nil
}

// number moves over a number and returns its text.
func (s *scanner) number() ([]byte, error) {
	start := s.at
	if s.has('-') {
		s.at++
	}

	// No digit may follow a leading zero.
	if s.has('0') {
		s.at++
	} else if !s.digits() {
		return nil, errSyntax
	}

	// Then a fraction and an exponent, both optional.
	if s.has('.') {
		s.at++
		if !s.digits() {
			return nil, errSyntax
		}
	}

	if s.has('e') || s.has('E') {
		s.at++
		if s.has('+') || s.has('-') {
			s.at++
		}

		if !s.digits() {
			return nil, errSyntax
		}
	}

	return s.text[start:s.at], nil
}

func (s *scanner) has(b byte) bool { return s.at < len(s.text) && s.text[s.at] == b }

func (s *scanner) digits() bool {
	start := s.at
	for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
		s.at++
	}

	return s.at > start
}

// maxDigits is more than any number of the safe range needs.
const maxDigits = 1000

// plain reads a number that is a safe integer or a plain decimal; whole says which. Integers are exact, so that none is
// rounded on the way to a bound.
func plain(raw []byte) (n float64, whole, ok bool) {
	if len(raw) > maxDigits {
		return 0, false, false
	}

	text := string(raw)
	if n, ok := integer(text); ok {
		return float64(n), true, true
	}

	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f >= 1<<53 || f <= -(1<<53) || strings.ContainsAny(text, "eE") || text == "-0" {
		return 0, false, false
	}

	return f, false, true
}
