// Package table reads tables that people have: CSV files of banks, booking channels and spreadsheets, and XLSX
// workbooks. It finds out by the content how a file is written, gives its rows one by one in flat memory, and decides
// over a whole column how numbers and dates are written. What reads in two ways is reported, never guessed.
//
// It knows no columns and no records: callers find the header by FindHeader and give meaning to the cells. Decisions
// are in docs/decisions/table.md.
package table

import (
	"errors"
	"fmt"
	"io"
)

// Limits.
const (
	MaxColumns = 500
	MaxRecord  = 1 << 20 // Bytes of one record.
	MaxRows    = 1_000_000
)

// What is wrong with a file. Open and Next return each in an *Error with its place.
var (
	// ErrEncoding means text that is not in the encoding asked for, or an encoding that is not known.
	ErrEncoding = errors.New("table: text in another encoding")
	// ErrMalformed means misplaced quotes, a NUL byte, or a damaged workbook.
	ErrMalformed = errors.New("table: malformed")
	// ErrDelimiter means that two delimiters divide the file equally well, or that none can be what was asked for.
	ErrDelimiter = errors.New("table: delimiter not recognized")
	// ErrTooManyColumns means text in a column after MaxColumns.
	ErrTooManyColumns = errors.New("table: too many columns")
	// ErrTooLarge means a record above MaxRecord, a row after MaxRows, or a workbook that unpacks to too much.
	ErrTooLarge = errors.New("table: too large")
	// ErrEmpty means a file or a workbook without any text.
	ErrEmpty = errors.New("table: empty")
	// ErrNotTable means another kind of file, a protected workbook, or a sheet that the workbook does not have.
	ErrNotTable = errors.New("table: not a table")
)

// Error is a fault of a file at a place. The column is that of the table, as in a spreadsheet: 3 is column C.
type Error struct {
	Line   int // From 1, 0 if unknown. In a sheet the number of the row.
	Column int // From 1, 0 if unknown.
	Err    error
}

// Error returns the fault with its place.
func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return e.Err.Error()
	case e.Column == 0:
		return fmt.Sprintf("%v (line %d)", e.Err, e.Line)
	default:
		return fmt.Sprintf("%v (line %d, column %d)", e.Err, e.Line, e.Column)
	}
}

// Unwrap returns the fault without its place.
func (e *Error) Unwrap() error { return e.Err }

// Options say what a person knows about a file that its content does not say.
type Options struct {
	// Encoding can be utf-8, utf-16, windows-1252, iso-8859-1, iso-8859-2, cp850 or cp852. Empty means UTF-8. A byte
	// order mark in the file counts more.
	Encoding  string
	Delimiter rune   // 0 means to recognize it among comma, semicolon, tab and pipe.
	Sheet     string // Name of the sheet of a workbook. Empty means the first visible one with rows.
}

// Form says how a file is written.
type Form struct {
	Type      string   // "csv" or "xlsx".
	Encoding  string   // As read; empty for a workbook.
	Delimiter string   // Empty for a workbook.
	Sheet     string   // The sheet that is read.
	Sheets    []string // All sheets of a workbook, the hidden ones too.
}

// Row is one record. It is valid until the next call of Next.
type Row struct {
	Line  int      // Its first line in the file, from 1; in a sheet the number of the row.
	Cells []string // White space around is removed, non-breaking spaces too.
	// Plain says for each cell that it is a number with a decimal point or a date YYYY-MM-DD as the sheet stores it,
	// whatever its column is written like. Nil for CSV.
	Plain []bool
}

// Reader gives the rows of one table.
type Reader struct {
	form  Form
	rows  rows
	count int
}

// rows reads one type of file. Its next returns io.EOF at the end and may return blank rows.
type rows interface {
	next() (*Row, error)
	close() error
}

// Open recognizes the type of a file by its content and finds out how it is written. It returns an *Error if the file
// cannot be read as a table. The file must stay readable until Close.
func Open(from io.ReaderAt, size int64, o Options) (*Reader, error) {
	head := make([]byte, min(size, sniffLength))
	if _, err := from.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}

	// The first bytes say what a file is. Names of files and types that browsers send are often wrong.
	switch {
	case isBlank(head) && size <= sniffLength:
		return nil, &Error{Err: ErrEmpty}
	case isZip(head):
		return openWorkbook(from, size, o.Sheet)
	case isForeign(head):
		return nil, &Error{Err: ErrNotTable}
	default:
		return openCSV(from, size, head, o)
	}
}

// Next returns the next row that has text, and io.EOF after the last one. Any other fault of the file is an *Error, such
// as ErrEmpty if no row has text.
func (r *Reader) Next() (*Row, error) {
	for {
		row, err := r.rows.next()
		if errors.Is(err, io.EOF) && r.count == 0 {
			return nil, &Error{Err: ErrEmpty}
		}

		if err != nil {
			return nil, err
		}

		// Blank records are no rows, and do not count as such.
		if !hasText(row.Cells) {
			continue
		}

		r.count++
		if r.count > MaxRows {
			return nil, &Error{Line: row.Line, Err: ErrTooLarge}
		}

		return row, nil
	}
}

// Form returns how the file is written.
func (r *Reader) Form() Form { return r.form }

// Close removes temporary files. It does not close the file that was given to Open.
func (r *Reader) Close() error { return r.rows.close() }

// hasText reports whether a cell of a row is not blank.
func hasText(cells []string) bool {
	for _, cell := range cells {
		if cell != "" {
			return true
		}
	}

	return false
}
