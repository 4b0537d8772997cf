package table

import (
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"
)

// sheetRows reads the rows of a sheet. Excelize gives the values, and a scan next to it says how they are meant: a
// number, a date and a text that looks like one are the same to its row reader.
type sheetRows struct {
	folder string // Of temporary files.
	book   *excelize.File
	values *excelize.Rows
	cells  *sheetScan
	at     int // The row that values has reached.
	texts  int // How many texts cells can share.
	is1904 bool
	dates  map[int]bool // Whether a style shows dates.
	row    Row
	err    error // Kept after the first fault.
}

// close removes the temporary files.
func (r *sheetRows) close() error {
	var err error
	if r.cells != nil {
		err = r.cells.close()
	}

	if r.values != nil {
		err = errors.Join(err, r.values.Close())
	}

	if r.book != nil {
		err = errors.Join(err, r.book.Close())
	}

	return errors.Join(err, os.RemoveAll(r.folder))
}

// next returns the next row, which may be blank. After a fault it returns the same again.
func (r *sheetRows) next() (*Row, error) {
	if r.err == nil {
		r.err = r.read()
	}

	if r.err != nil {
		return nil, r.err
	}

	return &r.row, nil
}

// read reads one row into r.row.
func (r *sheetRows) read() error {
	if err := r.cells.next(); err != nil {
		return err
	}

	r.row.Line = r.cells.row
	r.row.Cells, r.row.Plain = r.row.Cells[:0], r.row.Plain[:0]

	// Excelize counts rows that the sheet leaves out too.
	for r.at < r.row.Line {
		if !r.values.Next() {
			return &Error{Line: r.row.Line, Err: ErrMalformed}
		}

		r.at++
	}

	// Cells without a value keep their place.
	values, err := r.values.Columns()
	if err != nil {
		return &Error{Line: r.row.Line, Err: ErrMalformed}
	}

	length := 0

	for _, cell := range r.cells.cells {
		// Excelize gives a blank for a text that is not there, which would be a loss without a word.
		if cell.hasValue && cell.kind == sharedText && cell.shared >= r.texts {
			return &Error{Line: r.row.Line, Column: cell.column, Err: ErrMalformed}
		}

		if !cell.hasValue || cell.column > len(values) {
			continue
		}

		for len(r.row.Cells) < cell.column-1 {
			r.row.Cells, r.row.Plain = append(r.row.Cells, ""), append(r.row.Plain, false)
		}

		text, isPlain := r.render(cell, values[cell.column-1])
		r.row.Cells, r.row.Plain = append(r.row.Cells, text), append(r.row.Plain, isPlain)

		if length += len(text); length > MaxRecord {
			return &Error{Line: r.row.Line, Err: ErrTooLarge}
		}
	}

	return nil
}

// render returns the text of a cell, and whether it is a number or a date as stored.
func (r *sheetRows) render(cell sheetCell, value string) (string, bool) {
	value = trim(value)

	switch cell.kind {
	case "", "n":
		return r.renderNumber(cell, value)
	case "d":
		return renderISO(value)
	case "b":
		if value == "1" {
			return "TRUE", false
		}

		return "FALSE", false
	default:
		return value, false // Shared, inline and computed texts, and errors such as #N/A.
	}
}

// renderNumber returns a number with a decimal point, or the day if the style of its cell shows one.
func (r *sheetRows) renderNumber(cell sheetCell, value string) (string, bool) {
	number, err := strconv.ParseFloat(value, 64)
	if err != nil || strings.Trim(value, "0123456789.+-eE") != "" {
		return value, false
	}

	if r.isDate(cell.style) {
		if text, ok := r.renderDay(number); ok {
			return text, true
		}
	}

	// Excel stores very small and very large numbers with an exponent.
	if strings.ContainsAny(value, "eE") {
		value = strconv.FormatFloat(number, 'f', -1, 64)
	}

	return value, true
}

// The numbers of the first and the last day that a sheet can show. Smaller ones are times of day.
const (
	firstDay = 1
	lastDay  = 2958465
	instant  = 1e-6 // About a tenth of a second: midnight may be stored as a bit less.
)

// renderDay returns the day of a number of days. The time of day is left out.
func (r *sheetRows) renderDay(days float64) (string, bool) {
	// Negative days and times of day are no dates.
	days = math.Floor(days + instant)
	if days < firstDay && (!r.is1904 || days < 0) || days > lastDay {
		return "", false
	}

	found, err := excelize.ExcelDateToTime(days, r.is1904)

	return found.Format(time.DateOnly), err == nil
}

// renderISO returns the day of a date that is stored as text.
func renderISO(value string) (string, bool) {
	// A time may follow, in several forms.
	if len(value) >= len(time.DateOnly) {
		if _, err := time.Parse(time.DateOnly, value[:len(time.DateOnly)]); err == nil {
			return value[:len(time.DateOnly)], true
		}
	}

	return value, false
}

// isDate reports whether a style shows days.
func (r *sheetRows) isDate(style int) bool {
	// A sheet has few styles and many cells.
	is, known := r.dates[style]
	if !known {
		if r.dates == nil {
			r.dates = map[int]bool{}
		}

		is = styleShowsDays(r.book, style)
		r.dates[style] = is
	}

	return is
}

// styleShowsDays reports whether a style of a workbook has a number format with days.
func styleShowsDays(book *excelize.File, style int) bool {
	if book.Styles == nil || book.Styles.CellXfs == nil || style >= len(book.Styles.CellXfs.Xf) {
		return false
	}

	format := book.Styles.CellXfs.Xf[style].NumFmtID
	if format == nil {
		return false
	}

	// A format of the workbook counts more than the number that Excel has for its own ones.
	if book.Styles.NumFmts != nil {
		for _, own := range book.Styles.NumFmts.NumFmt {
			if own != nil && own.NumFmtID == *format {
				return codeShowsDays(own.FormatCode)
			}
		}
	}

	// The numbers 27 to 58 are formats of East Asia, some of which show times only.
	switch id := *format; {
	case id >= 14 && id <= 17, id == 22, id >= 27 && id <= 31, id == 36, id >= 50 && id <= 54, id == 57, id == 58:
		return true
	default:
		return false
	}
}

// codeShowsDays reports whether the code of a number format has a day or a year outside of quotes, brackets and
// escaped characters.
func codeShowsDays(code string) bool {
	for i := 0; i < len(code); i++ {
		switch code[i] {
		case '"', '[':
			end := byte('"')
			if code[i] == '[' {
				end = ']'
			}

			length := strings.IndexByte(code[i+1:], end)
			if length < 0 {
				return false
			}

			i += length + 1
		case '\\', '_', '*':
			i++
		case 'd', 'D', 'y', 'Y':
			return true
		}
	}

	return false
}
