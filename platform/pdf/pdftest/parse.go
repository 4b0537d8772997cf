// Package pdftest reads the PDF files that package pdf writes, so that tests can tell what they show and how they are
// tagged.
package pdftest

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// Values of PDF are nil, bool, float64, Name, string, Ref, []any, Dict, and Operator in page contents.
type (
	// Name is such as Page.
	Name string
	// Ref is the number of an object.
	Ref int
	// Dict is a dictionary.
	Dict map[Name]any
	// Operator is an instruction of a page's content.
	Operator string
)

// Stream is a dictionary with data, uncompressed unless it is an image.
type Stream struct {
	Dict Dict
	Data []byte
}

var errSyntax = errors.New("pdftest: not as expected")

// lexer reads values one after the other.
type lexer struct {
	data []byte
	at   int
}

const (
	spaces     = " \t\r\n\f\x00"
	delimiters = spaces + "()<>[]{}/%"
)

// skip skips white space and comments.
func (l *lexer) skip() {
	for l.at < len(l.data) && (strings.IndexByte(spaces, l.data[l.at]) >= 0 || l.data[l.at] == '%') {
		if l.data[l.at] == '%' {
			for l.at < len(l.data) && l.data[l.at] != '\n' {
				l.at++
			}

			continue
		}

		l.at++
	}
}

func (l *lexer) word() string {
	start := l.at
	for l.at < len(l.data) && strings.IndexByte(delimiters, l.data[l.at]) < 0 {
		l.at++
	}

	return string(l.data[start:l.at])
}

func (l *lexer) has(prefix string) bool {
	if !bytes.HasPrefix(l.data[l.at:], []byte(prefix)) {
		return false
	}

	l.at += len(prefix)

	return true
}

var reference = regexp.MustCompile(`^\d+ 0 R\b`)

// value reads a value. It returns false at the end.
func (l *lexer) value() (any, bool) {
	l.skip()

	switch {
	case l.at >= len(l.data):
		return nil, false
	case l.has("<<"):
		d := Dict{}

		for {
			l.skip()

			if l.has(">>") || l.at >= len(l.data) {
				return d, true
			}

			key, _ := l.value()

			v, _ := l.value()
			if name, ok := key.(Name); ok {
				d[name] = v
			}
		}
	case l.has("["):
		list := []any{}

		for {
			l.skip()

			if l.has("]") || l.at >= len(l.data) {
				return list, true
			}

			v, _ := l.value()
			list = append(list, v)
		}
	case l.has("/"):
		return Name(l.word()), true
	case l.has("("):
		return l.literal(), true
	case l.has("<"):
		end := bytes.IndexByte(l.data[l.at:], '>')

		var out []byte

		for i := l.at; i+1 < l.at+end; i += 2 {
			b, _ := strconv.ParseUint(string(l.data[i:i+2]), 16, 8)
			out = append(out, byte(b))
		}

		l.at += end + 1

		return string(out), true
	}

	// A reference begins like a number.
	if match := reference.Find(l.data[l.at:min(l.at+20, len(l.data))]); match != nil {
		l.at += len(match)
		n, _ := strconv.Atoi(string(match[:bytes.IndexByte(match, ' ')]))

		return Ref(n), true
	}

	word := l.word()
	if word == "" {
		l.at++
		return Operator(l.data[l.at-1 : l.at]), true
	}

	if v, err := strconv.ParseFloat(word, 64); err == nil {
		return v, true
	}

	switch word {
	case "true", "false":
		return word == "true", true
	case "null":
		return nil, true
	}

	return Operator(word), true
}

// literal reads a string in parentheses.
func (l *lexer) literal() string {
	var out []byte

	for depth := 0; l.at < len(l.data); l.at++ {
		switch c := l.data[l.at]; c {
		case '\\':
			l.at++
			if c = l.data[l.at]; c == 'r' {
				c = '\r'
			}

			out = append(out, c)

			continue
		case '(':
			depth++
		case ')':
			if depth == 0 {
				l.at++
				return string(out)
			}

			depth--
		}

		out = append(out, l.data[l.at])
	}

	return string(out)
}

// File is a file that was read.
type File struct {
	Trailer Dict
	data    []byte
	rows    [][3]int // kind, place, index
	packs   map[Ref]pack
}

// pack is an object stream.
type pack struct {
	data  []byte
	first int
	heads []string
}

// Read finds the objects of a file. It fails unless every listed object is where the list says.
func Read(data []byte) (*File, error) {
	f := &File{data: data, packs: map[Ref]pack{}}

	mark := bytes.LastIndex(data, []byte("startxref\n"))
	if !bytes.HasPrefix(data, []byte("%PDF-1.7\n")) || mark < 0 {
		return nil, fmt.Errorf("%w: %.20q", errSyntax, data)
	}

	at, err := strconv.Atoi(string(bytes.Fields(data[mark:])[1]))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSyntax, err)
	}

	_, v, err := f.objectAt(at)

	table, ok := v.(Stream)
	if err != nil || !ok {
		return nil, fmt.Errorf("%w: cross references: %w", errSyntax, err)
	}

	// Each row is stored as the difference to the row above.
	f.Trailer = table.Dict
	width := int(table.Dict["W"].([]any)[1].(float64)) //nolint:errcheck,forcetypeassert // a test may panic

	above := make([]byte, width+2)
	for row := table.Data; len(row) > 0; row = row[width+3:] {
		place := 0

		for i := range above {
			above[i] += row[i+1]
			if i > 0 && i <= width {
				place = place<<8 | int(above[i])
			}
		}

		f.rows = append(f.rows, [3]int{int(above[0]), place, int(above[width+1])})
	}

	// Check every place.
	for n := range f.rows {
		if f.rows[n][0] == 0 && n > 0 {
			return nil, fmt.Errorf("%w: object %d was never written", errSyntax, n)
		}

		if f.rows[n][0] == 1 {
			if got, _, err := f.objectAt(f.rows[n][1]); err != nil || got != n {
				return nil, fmt.Errorf("%w: object %d is not at %d: %w", errSyntax, n, f.rows[n][1], err)
			}
		}
	}

	return f, nil
}

// objectAt reads the object at an offset.
func (f *File) objectAt(at int) (n int, v any, err error) {
	l := &lexer{data: f.data, at: at}
	number, _ := l.value()

	_, _ = l.value()
	if begin, _ := l.value(); begin != Operator("obj") {
		return 0, nil, fmt.Errorf("%w: no object at %d", errSyntax, at)
	}

	v, _ = l.value()
	n = int(number.(float64)) //nolint:errcheck,forcetypeassert // a test may panic
	dict, isDict := v.(Dict)

	l.skip()

	if !isDict || !l.has("stream\n") {
		return n, v, nil
	}

	// A stream must end where its length says.
	length, _ := dict["Length"].(float64)

	data := f.data[l.at : l.at+int(length)]
	if l.at += int(length); !l.has("\nendstream\nendobj\n") {
		return 0, nil, fmt.Errorf("%w: length of stream %d", errSyntax, n)
	}

	if dict["Filter"] == Name("FlateDecode") {
		r, err := zlib.NewReader(bytes.NewReader(data))
		if err != nil {
			return 0, nil, fmt.Errorf("stream %d: %w", n, err)
		}

		if data, err = io.ReadAll(r); err != nil {
			return 0, nil, fmt.Errorf("stream %d: %w", n, err)
		}
	}

	return n, Stream{dict, data}, nil
}

// Get resolves a reference and returns other values unchanged.
func (f *File) Get(v any) any {
	n, ok := v.(Ref)
	if !ok {
		return v
	}

	row := f.rows[n]
	if row[0] == 1 {
		_, v, err := f.objectAt(row[1])
		if err != nil {
			return nil
		}

		return v
	}

	// Small objects are packed into streams.
	p, known := f.packs[Ref(row[1])]
	if !known {
		stream, _ := f.Get(Ref(row[1])).(Stream)
		first, _ := stream.Dict["First"].(float64)
		p = pack{data: stream.Data, first: int(first), heads: strings.Fields(string(stream.Data[:int(first)]))}
		f.packs[Ref(row[1])] = p
	}

	if p.heads[2*row[2]] != strconv.Itoa(int(n)) {
		return nil
	}

	offset, _ := strconv.Atoi(p.heads[2*row[2]+1])
	out, _ := (&lexer{data: p.data, at: p.first + offset}).value()

	return out
}

// Dict resolves a dictionary; nil when it is none.
func (f *File) Dict(v any) Dict {
	switch v := f.Get(v).(type) {
	case Dict:
		return v
	case Stream:
		return v.Dict
	}

	return nil
}

// List resolves an array.
func (f *File) List(v any) []any {
	list, _ := f.Get(v).([]any)
	return list
}
