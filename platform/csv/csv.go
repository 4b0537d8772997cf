// Package csv writes typed cells as CSV that spreadsheets read as they are meant: amounts, dates and identifiers in one
// form, texts that no spreadsheet takes for a formula.
//
// Equal input gives equal bytes. Nothing here reads a clock.
package csv

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"stayledger/platform/day"
	"stayledger/platform/money"
)

// Kind says what the cells of a column hold, and so how they are written.
type Kind string

// The kinds of columns.
const (
	// Text is anything people wrote. Only Text and ID cells are neutralised against formulas.
	Text Kind = "text"
	// Date is a civil date, YYYY-MM-DD.
	Date Kind = "date"
	// Instant is a point in time, RFC 3339 in UTC with milliseconds.
	Instant Kind = "instant"
	// Amount takes cents and writes a decimal with the places of the row's currency, which is in a Currency column.
	Amount Kind = "amount"
	// Integer is a whole number.
	Integer Kind = "integer"
	// Currency is an ISO 4217 code, written in upper case.
	Currency Kind = "currency"
	// ID is an identifier of ours or of a booking channel.
	ID Kind = "id"
	// Bool is `true` or `false`.
	Bool Kind = "bool"
)

// Column is one column of a CSV.
type Column struct {
	Name string
	Kind Kind
	// Hidden columns are given with each row and left out of the file, such as the currency that a reader did not ask
	// for.
	Hidden bool
}

// ErrCell is wrapped by Row for a value that does not fit its column. The message names row and column, not the value.
var ErrCell = errors.New("csv: value does not fit the column")

const csvBuffer = 64 << 10

// Writer writes RFC 4180 with CRLF in UTF-8, without a byte order mark, the header row first. Equal values give equal
// bytes. The first error stays: later calls return it.
type Writer struct {
	out     *bufio.Writer
	columns []Column
	line    []byte
	rows    int
	raw     []rawCell // per column, once raw values were written
	headed  bool
	err     error

	currencyAt int    // the Currency column, or -1
	code       []byte // its cell in the latest row
	places     int    // of that currency
}

// NewWriter begins a CSV. The header row is written with the first Row or Flush. Amounts without a Currency column are
// ErrCell: their places would be unknown.
func NewWriter(w io.Writer, columns []Column) *Writer {
	c := &Writer{out: bufio.NewWriterSize(w, csvBuffer), columns: columns, places: money.Currency("").MinorDigits()}
	isOf := func(kind Kind) func(Column) bool { return func(column Column) bool { return column.Kind == kind } }

	c.currencyAt = slices.IndexFunc(columns, isOf(Currency))
	if at := slices.IndexFunc(columns, isOf(Amount)); at >= 0 && c.currencyAt < 0 {
		c.err = fmt.Errorf("%w: column %q has amounts of no currency", ErrCell, columns[at].Name)
	}

	return c
}

// setCurrency chooses the places of the amounts in a row by its Currency cell. A row without one has 2 places, as most
// currencies do.
func (c *Writer) setCurrency(code []byte) {
	if bytes.Equal(code, c.code) {
		return
	}

	c.code = append(c.code[:0], code...)
	c.places = money.Currency(bytes.ToLower(code)).MinorDigits()
}

// Row writes one row, a value per column. Every kind takes nil and nil pointers as an empty cell. Otherwise
//   - Amount takes money.Cents and integers, which are cents;
//   - Integer takes integers;
//   - Date takes day.Day and a string of the form YYYY-MM-DD;
//   - Instant takes day.Instant;
//   - Currency takes strings of three letters;
//   - Bool takes bool;
//   - Text and ID take all of these but amounts, fmt.Stringer and named string types.
//
// A pointer counts as its target. Row fails with ErrCell for a value that does not fit.
func (c *Writer) Row(values ...any) error {
	if c.err != nil {
		return c.err
	}

	// The heading comes with the first row, or when the file ends without one.
	c.head()

	c.rows++
	if len(values) != len(c.columns) {
		c.err = fmt.Errorf("%w: row %d has %d values for %d columns", ErrCell, c.rows, len(values), len(c.columns))
		return c.err
	}

	// The currency decides how the amounts of the row are written, so it comes first.
	if c.currencyAt >= 0 {
		if code, ok := c.appendCell(c.line[:0], Currency, values[c.currencyAt]); ok {
			c.setCurrency(code)
		}
	}

	// Then the cells, each followed by a comma that end replaces.
	c.line = c.line[:0]
	for i, value := range values {
		if c.columns[i].Hidden {
			continue
		}

		line, ok := c.appendCell(c.line, c.columns[i].Kind, value)
		if !ok {
			c.err = fmt.Errorf("%w: row %d, column %q, %T", ErrCell, c.rows, c.columns[i].Name, value)
			return c.err
		}

		c.line = line
		c.line = append(c.line, ',')
	}

	c.end()

	return c.err
}

// Flush hands everything written so far to the underlying writer; without rows that is the header row.
func (c *Writer) Flush() error {
	c.head()

	if c.err == nil {
		c.err = c.out.Flush()
	}

	return c.err
}

// head writes the row of headings, once.
func (c *Writer) head() {
	if c.headed || c.err != nil {
		return
	}

	c.headed = true

	c.line = c.line[:0]

	// Hidden columns, such as a currency that only the amounts need, have no heading and no cells.
	for _, column := range c.columns {
		if column.Hidden {
			continue
		}

		c.line = append(appendText(c.line, column.Name), ',')
	}

	c.end()
}

// end writes the line, in which a comma follows each cell.
func (c *Writer) end() {
	c.line = bytes.TrimSuffix(c.line, []byte{','})
	if len(c.line) == 0 {
		c.line = append(c.line, '"', '"') // a bare line break would not be read as a row of one empty cell
	}

	c.line = append(c.line, '\r', '\n')
	if _, err := c.out.Write(c.line); err != nil {
		c.err = err
	}
}

// appendCell appends a value as its kind of column writes it, and reports whether it fits.
func (c *Writer) appendCell(line []byte, kind Kind, value any) ([]byte, bool) {
	value, ok := plain(value)
	if !ok {
		return line, false
	}

	// An empty cell fits every kind.
	if value == nil {
		return line, true
	}

	switch kind {
	case Amount:
		if n, ok := value.(int64); ok {
			return money.Cents(n).AppendDecimal(line, c.places), true
		}

		cents, ok := value.(money.Cents)

		return cents.AppendDecimal(line, c.places), ok
	case Integer:
		n, ok := value.(int64)
		return strconv.AppendInt(line, n, 10), ok
	case Date:
		return appendDate(line, value)
	case Instant:
		at, ok := value.(day.Instant)
		if !ok {
			return line, false
		}

		return at.Append(line), true
	case Currency:
		code, ok := value.(string)
		return append(line, strings.ToUpper(code)...), ok && (code == "" || isCurrency(code))
	case Bool:
		b, ok := value.(bool)
		return strconv.AppendBool(line, b), ok
	case Text, ID:
		return appendAny(line, value)
	}

	return line, false
}

func appendDate(line []byte, value any) ([]byte, bool) {
	switch v := value.(type) {
	case day.Day:
		return append(line, v.String()...), !v.IsZero()
	case string:
		return append(line, v...), v == "" || isDate(v)
	default:
		return line, false
	}
}

// appendAny writes a value into a Text or ID column. Only what a person or a foreign system may have written is
// neutralised: a negative number is no formula. An amount does not fit: only an Amount column knows its places.
func appendAny(line []byte, value any) ([]byte, bool) {
	switch v := value.(type) {
	case string:
		return appendText(line, v), true
	case int64:
		return strconv.AppendInt(line, v, 10), true
	case bool:
		return strconv.AppendBool(line, v), true
	case day.Day:
		return append(line, v.String()...), true

	// Such a text may come from outside, so it is neutralised too.
	case fmt.Stringer:
		return appendText(line, v.String()), true
	default:
		return line, false
	}
}

// plain reduces a value to nil, string, int64, bool, money.Cents, day.Day or a fmt.Stringer that may be called, and
// reports whether it could. The types that fill exports come first; reflection is left for the rest, mostly named
// string types and pointers.
func plain(value any) (any, bool) {
	switch v := value.(type) {
	case nil, string, int64, bool, money.Cents, day.Day, day.Instant:
		return v, true
	case int:
		return int64(v), true
	case *string:
		return deref(v), true
	case *money.Cents:
		return deref(v), true
	case *day.Day:
		return deref(v), true
	case *day.Instant:
		return deref(v), true
	}

	// Then reflection. A pointer that is a Stringer itself is not followed.
	v := reflect.ValueOf(value)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil, true
		}

		if _, ok := value.(fmt.Stringer); !ok {
			return plain(v.Elem().Interface())
		}
	}

	// Named types are written as their base type.
	if stringer, ok := value.(fmt.Stringer); ok {
		return stringer, true
	}

	switch {
	case v.Kind() == reflect.String:
		return v.String(), true
	case v.CanInt():
		return v.Int(), true
	case v.Kind() == reflect.Bool:
		return v.Bool(), true
	default:
		return nil, false
	}
}

// deref returns the target of a pointer, or nil.
func deref[T any](p *T) any {
	if p == nil {
		return nil
	}

	return *p
}

// isCurrency returns true for three letters.
func isCurrency(code string) bool {
	if len(code) != 3 {
		return false
	}

	for i := range len(code) {
		if c := code[i] | 0x20; c < 'a' || c > 'z' {
			return false
		}
	}

	return true
}

// isDate returns true for a text of the form 2006-01-02.
func isDate(s string) bool {
	if len(s) != len("2006-01-02") {
		return false
	}

	// Only the form is checked, and not whether the day exists.
	for i := range len(s) {
		if i == 4 || i == 7 {
			if s[i] != '-' {
				return false
			}
		} else if s[i] < '0' || s[i] > '9' {
			return false
		}
	}

	return true
}
