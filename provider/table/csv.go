package table

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// bufferLength is how much of a text is read ahead.
const bufferLength = 64 << 10

// csvRows reads the records of a CSV file.
type csvRows struct {
	source    *source
	reader    *csv.Reader
	text      text
	row       Row
	following int   // The line after the last record.
	offset    int64 // Where the last record ended.
	err       error // Kept after the first fault: nothing can be read behind it.
}

// openCSV finds out encoding and delimiter of a text and returns a reader of its records.
func openCSV(from io.ReaderAt, size int64, head []byte, o Options) (*Reader, error) {
	found, err := detectText(from, size, head, o.Encoding)
	if err != nil {
		return nil, err
	}

	// A person is asked only if the text itself does not say how its cells are divided.
	delimiter := o.Delimiter
	if delimiter == 0 {
		if delimiter, err = recognizeDelimiter(found); err != nil {
			return nil, err
		}
	}

	// These cannot divide cells: they have another meaning in every file.
	if !utf8.ValidRune(delimiter) || strings.ContainsRune("\"\r\n\x00\ufffd", delimiter) {
		return nil, &Error{Err: ErrDelimiter}
	}

	// Records may have any number of cells: what is before the header is often shorter.
	in := newSource(found)
	lines := csv.NewReader(bufio.NewReaderSize(in, bufferLength))
	lines.Comma = delimiter
	lines.FieldsPerRecord = -1
	lines.ReuseRecord = true

	return &Reader{
		form: Form{Type: "csv", Encoding: found.name, Delimiter: string(delimiter)},
		rows: &csvRows{source: in, reader: lines, text: found, following: 1},
	}, nil
}

func (c *csvRows) close() error { return nil }

// next returns the next record. It leaves out the line with which Excel names the delimiter.
func (c *csvRows) next() (*Row, error) {
	if c.err == nil {
		c.err = c.read()
	}

	if c.err == nil && c.row.Line == 1 && isSeparatorLine(c.row.Cells) {
		c.err = c.read()
	}

	if c.err != nil {
		return nil, c.err
	}

	return &c.row, nil
}

// read reads one record into c.row and checks its cells.
func (c *csvRows) read() error {
	// A record without an end fails here, before it fills the memory.
	c.source.room = MaxRecord + bufferLength

	cells, err := c.reader.Read()
	if err != nil {
		return c.locate(err, len(cells))
	}

	// The text was read ahead by up to one buffer, so the exact length is only known now.
	end := c.reader.InputOffset()
	length := end - c.offset
	c.offset = end
	c.row.Line, _ = c.reader.FieldPos(0)

	if length > MaxRecord {
		return &Error{Line: c.row.Line, Err: ErrTooLarge}
	}

	// A cell may have line ends within its quotes.
	last, _ := c.reader.FieldPos(len(cells) - 1)
	c.following = last + 1 + strings.Count(cells[len(cells)-1], "\n")

	return c.check(cells)
}

// check trims the cells of a record and reports the first one that is no text or after the last column.
func (c *csvRows) check(cells []string) error {
	c.row.Cells = cells[:min(len(cells), MaxColumns)]

	// Cells after the last column may be blank: Excel writes such.
	for i, cell := range cells {
		fault := c.fault(cell)

		cell = trim(cell)
		if fault == nil && cell != "" && i >= MaxColumns {
			fault = ErrTooManyColumns
		}

		if fault != nil {
			line, _ := c.reader.FieldPos(i)
			return &Error{Line: line, Column: i + 1, Err: fault}
		}

		cells[i] = cell
	}

	return nil
}

// fault returns what is wrong with the characters of a cell, or nil.
func (c *csvRows) fault(cell string) error {
	switch {
	case strings.IndexByte(cell, 0) >= 0:
		return ErrMalformed
	case !utf8.ValidString(cell), c.text.isDecoded() && strings.ContainsRune(cell, utf8.RuneError):
		return ErrEncoding
	default:
		return nil
	}
}

// locate returns a fault of the record that follows with its place. The record had so many whole cells before it.
func (c *csvRows) locate(err error, cells int) error {
	var parse *csv.ParseError

	switch {
	case errors.As(err, &parse) && errors.Is(parse.Err, csv.ErrBareQuote):
		// The cell began without a quote, so this line is the right one.
		return &Error{Line: parse.Line, Column: cells + 1, Err: ErrMalformed}
	case errors.As(err, &parse):
		// A quote that is never closed is noticed lines later: say where its cell begins.
		line := parse.StartLine
		if cells > 0 {
			line, _ = c.reader.FieldPos(cells - 1)
		}

		return &Error{Line: line, Column: cells + 1, Err: ErrMalformed}
	case errors.Is(err, ErrTooLarge):
		return &Error{Line: c.following, Err: ErrTooLarge}
	default:
		return err // The end, or the file cannot be read any more.
	}
}

// isSeparatorLine reports whether a record is the line "sep=;" by which Excel knows the delimiter.
func isSeparatorLine(cells []string) bool {
	rest, is := parseSeparator(cells[0])
	return is && utf8.RuneCountInString(rest) <= 1 && !hasText(cells[1:])
}

// parseSeparator returns the text after "sep=".
func parseSeparator(line string) (string, bool) {
	// Programs write it in any letters.
	const start = "sep="
	if len(line) < len(start) || !strings.EqualFold(line[:len(start)], start) {
		return "", false
	}

	return line[len(start):], true
}

// source is a text on its way to the CSV reader. It turns the line ends of old Macs into new ones, and ends with
// ErrTooLarge when a record takes more than its room.
type source struct {
	from *bufio.Reader
	room int
}

func newSource(from text) *source { return &source{from: bufio.NewReader(from.reader())} }

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	if s.room <= 0 {
		return 0, ErrTooLarge
	}

	n, err := s.from.Read(p)
	s.room -= n

	// Only a CR without LF is changed: encoding/csv reads CRLF itself.
	for at := 0; ; at++ {
		next := bytes.IndexByte(p[at:n], '\r')
		if next < 0 {
			return n, err
		}

		at += next
		if !s.isBeforeLF(p[:n], at) {
			p[at] = '\n'
		}
	}
}

// isBeforeLF reports whether LF follows a byte of p, or of the text after p.
func (s *source) isBeforeLF(p []byte, at int) bool {
	if at+1 < len(p) {
		return p[at+1] == '\n'
	}

	next, err := s.from.Peek(1)

	return err == nil && next[0] == '\n'
}
