package table

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
)

// Limits of one element of a sheet and of its table of texts.
const (
	maxElement   = 4 << 20 // Bytes of XML of one row with what follows it, or of one shared text.
	maxDepth     = 50      // Elements within one another.
	maxTail      = 64 << 10
	maxStrings   = 2_000_000
	lastSheetRow = 1 << 20
	lastColumn   = 1 << 14
)

// sheetCell is what excelize does not say of a cell when it streams: where it is, and how its value is meant.
type sheetCell struct {
	column   int    // From 1.
	kind     string // The attribute t; empty is a number.
	style    int
	shared   int // The index of a shared text, from 0.
	hasValue bool
}

// sheetScan reads the cells of a sheet without their values.
type sheetScan struct {
	bounded *boundedReader
	decoder *xml.Decoder
	content io.Closer
	depth   int
	row     int // The number of the last row.
	cells   []sheetCell
	ahead   *xml.StartElement // The start of the next row; nil after the last one.
	isAhead bool              // Set once ahead is known, or why it is not.
	err     error             // Why ahead is not known.
}

// boundedReader ends with ErrTooLarge when one element takes more than its room.
type boundedReader struct {
	from io.Reader
	room int
}

// Read implements io.Reader.
func (b *boundedReader) Read(p []byte) (int, error) {
	if b.room <= 0 {
		return 0, ErrTooLarge
	}

	n, err := b.from.Read(p)
	b.room -= n

	return n, err
}

// scanSheet opens a sheet, or the table of texts.
func scanSheet(part *zip.File) (*sheetScan, error) {
	content, err := part.Open()
	if err != nil {
		return nil, &Error{Err: ErrMalformed}
	}

	bounded := &boundedReader{from: content, room: maxElement}

	return &sheetScan{bounded: bounded, decoder: xml.NewDecoder(bounded), content: content}, nil
}

func (s *sheetScan) close() error { return s.content.Close() }

// token returns the next token. The end of the part comes as ErrMalformed: callers stop before it.
func (s *sheetScan) token() (xml.Token, error) {
	token, err := s.decoder.RawToken()

	switch {
	case errors.Is(err, ErrTooLarge):
		return nil, &Error{Line: s.row + 1, Err: ErrTooLarge}
	case err != nil:
		return nil, &Error{Line: s.row, Err: ErrMalformed}
	}

	// Excelize keeps the elements that are open.
	switch token.(type) {
	case xml.StartElement:
		s.depth++
	case xml.EndElement:
		s.depth--
	}

	if s.depth > maxDepth {
		return nil, &Error{Line: s.row + 1, Err: ErrTooLarge}
	}

	return token, nil
}

// next reads the cells of the next row, and goes on to the start of the row after it: excelize reads as far, and must
// not find there what was not checked. It returns io.EOF after the last row, and checks that rows and cells are in
// order: in another order they are not where excelize puts them.
func (s *sheetScan) next() error {
	if !s.isAhead {
		s.err = s.advance()
	}

	switch {
	case s.err != nil:
		return s.err
	case s.ahead == nil:
		return io.EOF
	}

	if err := s.startRow(*s.ahead); err != nil {
		return err
	}

	if err := s.readCells(); err != nil {
		return err
	}

	// The row itself is whole when the sheet is damaged behind it.
	if s.err = s.advance(); errors.Is(s.err, ErrTooLarge) {
		return s.err
	}

	return nil
}

// advance goes to the start of the next row, or to the end of the sheet's data.
func (s *sheetScan) advance() error {
	s.ahead, s.isAhead = nil, true

	for {
		token, err := s.token()
		if err != nil {
			return err
		}

		switch token := token.(type) {
		case xml.StartElement:
			if token.Name.Local == "row" {
				s.ahead = &token
				s.bounded.room = maxElement

				return nil
			}
		case xml.EndElement:
			if token.Name.Local == "sheetData" {
				return nil
			}
		}
	}
}

// readCells reads the cells up to the end of a row.
func (s *sheetScan) readCells() error {
	s.cells = s.cells[:0]

	for {
		token, err := s.token()
		if err != nil {
			return err
		}

		switch token := token.(type) {
		case xml.StartElement:
			// A row within a row would be another one for excelize.
			if token.Name.Local == "row" {
				return &Error{Line: s.row, Err: ErrMalformed}
			}

			if token.Name.Local == "c" {
				if err := s.readCell(token); err != nil {
					return err
				}
			}
		case xml.EndElement:
			if token.Name.Local == "row" {
				return nil
			}
		}
	}
}

// startRow notes the number of a row, which is the next one if the row does not say.
func (s *sheetScan) startRow(start xml.StartElement) error {
	number := s.row + 1

	if text := attribute(start, "r"); text != "" {
		var digits int
		if number, digits = leadingNumber(text); digits != len(text) {
			number = 0
		}
	}

	if number <= s.row || number > lastSheetRow {
		return &Error{Line: s.row + 1, Err: ErrMalformed}
	}

	s.row = number

	return nil
}

// readCell notes one cell and goes to its end.
func (s *sheetScan) readCell(start xml.StartElement) error {
	// A cell that does not say where it is comes after the one before.
	previous := 0
	if len(s.cells) > 0 {
		previous = s.cells[len(s.cells)-1].column
	}

	cell := sheetCell{column: previous + 1, kind: attribute(start, "t")}
	cell.style, _ = leadingNumber(attribute(start, "s"))

	if reference := attribute(start, "r"); reference != "" {
		cell.column = columnNumber(reference)
	}

	if cell.column <= previous || cell.column > lastColumn {
		return &Error{Line: s.row, Column: previous + 1, Err: ErrMalformed}
	}

	// The value itself is read by excelize.
	for {
		token, err := s.token()
		if err != nil {
			return err
		}

		switch token := token.(type) {
		case xml.StartElement:
			cell.hasValue = cell.hasValue || token.Name.Local == "v" || token.Name.Local == "is"
		case xml.CharData:
			if cell.kind == sharedText && cell.hasValue {
				cell.shared = textIndex(token)
			}
		case xml.EndElement:
			if token.Name.Local != "c" {
				continue
			}

			if cell.hasValue && cell.column > MaxColumns {
				return &Error{Line: s.row, Column: cell.column, Err: ErrTooManyColumns}
			}

			s.cells = append(s.cells, cell)

			return nil
		}
	}
}

// sharedText is the kind of cells with the index of a text that is kept once for all cells.
const sharedText = "s"

// textIndex returns the index of a shared text, or one that no text has if it is no number.
func textIndex(text []byte) int {
	trimmed := string(bytes.TrimSpace(text))

	index, digits := leadingNumber(trimmed)
	if digits == 0 || digits != len(trimmed) {
		return maxStrings
	}

	return index
}

// attribute returns an attribute without a prefix, or "".
func attribute(start xml.StartElement, name string) string {
	for _, a := range start.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}

	return ""
}

// columnNumber returns the column of a reference such as C12, or 0.
func columnNumber(reference string) int {
	column := 0

	for i := 0; i < len(reference); i++ {
		c := reference[i] &^ ('a' - 'A')
		if c < 'A' || c > 'Z' {
			break
		}

		if column = column*26 + int(c-'A') + 1; column > lastColumn {
			break
		}
	}

	return column
}

// hasValues reports whether some cell of a sheet has a value.
func hasValues(part *zip.File) (bool, error) {
	scan, err := scanSheet(part)
	if err != nil {
		return false, err
	}
	defer scan.close() //nolint:errcheck // It was only read.

	for {
		err := scan.next()
		if errors.Is(err, io.EOF) {
			return false, nil
		}

		if err != nil {
			return false, err
		}

		for _, cell := range scan.cells {
			if cell.hasValue {
				return true, nil
			}
		}
	}
}

// countStrings counts the texts that cells share. It refuses a table of texts that would fill the memory: one that has
// too many texts, or one text that is too long.
func countStrings(part *zip.File) (int, error) {
	if part == nil {
		return 0, nil
	}

	scan, err := scanSheet(part)
	if err != nil {
		return 0, withoutLine(err)
	}
	defer scan.close() //nolint:errcheck // It was only read.

	for count := 0; count <= maxStrings; {
		token, err := scan.token()
		if err != nil {
			return 0, withoutLine(err)
		}

		if end, is := token.(xml.EndElement); is {
			switch end.Name.Local {
			case "si":
				scan.bounded.room = maxElement
				count++
			case "sst":
				return count, scan.checkTail()
			}
		}
	}

	return 0, &Error{Err: ErrTooLarge}
}

// checkTail refuses a part that goes on behind its end, where excelize reads on.
func (s *sheetScan) checkTail() error {
	s.bounded.room = maxTail

	if _, err := io.Copy(io.Discard, s.bounded); errors.Is(err, ErrTooLarge) {
		return &Error{Err: ErrTooLarge}
	} else if err != nil {
		return &Error{Err: ErrMalformed}
	}

	return nil
}

// withoutLine returns a fault of a part that is no sheet: its place says nothing to people.
func withoutLine(err error) error {
	if fault, is := errors.AsType[*Error](err); is {
		return &Error{Err: fault.Err}
	}

	return err
}
