package csv

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/money"
)

// The object ids of the types that a raw cell may have.
const (
	oidBool        = 16
	oidName        = 19
	oidText        = 25
	oidBpchar      = 1042
	oidVarchar     = 1043
	oidInt8        = 20
	oidInt2        = 21
	oidInt4        = 23
	oidDate        = 1082
	oidTimestamptz = 1184
	oidUUID        = 2950
)

// epoch is day and microsecond zero of PostgreSQL.
var epoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// rawCell appends a value that is not null; it reports whether the value fits the column.
type rawCell func(line, value []byte) ([]byte, bool)

// Raw writes one row of values in PostgreSQL's binary format with the object ids of their types, nil for an empty
// cell. It writes the same text as Row for the same values: Amount and Integer take integers, Date dates, Instant
// timestamps with time zone, Bool booleans, Currency text, Text and ID text, uuids and integers. All rows of a CSV
// have the same types.
func (c *Writer) Raw(types []uint32, values [][]byte) error {
	if c.err != nil {
		return c.err
	}

	c.head()

	// The first row decides how each column is decoded.
	if c.raw == nil {
		c.err = c.prepare(types)
	}

	c.rows++
	if len(values) != len(c.columns) && c.err == nil {
		c.err = fmt.Errorf("%w: row %d has %d values for %d columns", ErrCell, c.rows, len(values), len(c.columns))
	}

	if c.err != nil {
		return c.err
	}

	// The currency decides how the amounts of the row are written, so it comes first.
	if c.currencyAt >= 0 {
		c.setCurrency(values[c.currencyAt])
	}

	// Then the cells, each followed by a comma that end replaces.
	c.line = c.line[:0]
	for i, value := range values {
		if c.columns[i].Hidden {
			continue
		}

		// Null is an empty cell in every kind of column.
		if value == nil {
			c.line = append(c.line, ',')
			continue
		}

		line, ok := c.raw[i](c.line, value)
		if !ok {
			c.err = fmt.Errorf("%w: row %d, column %q", ErrCell, c.rows, c.columns[i].Name)
			return c.err
		}

		c.line = line
		c.line = append(c.line, ',')
	}

	c.end()

	return c.err
}

// prepare chooses how the cells of each column are written.
func (c *Writer) prepare(types []uint32) error {
	if len(types) != len(c.columns) {
		return fmt.Errorf("%w: %d types for %d columns", ErrCell, len(types), len(c.columns))
	}

	c.raw = make([]rawCell, len(types))
	for i, column := range c.columns {
		if c.raw[i] = c.rawCellFor(column.Kind, types[i]); c.raw[i] == nil {
			return fmt.Errorf("%w: column %q is of type %d", ErrCell, column.Name, types[i])
		}
	}

	return nil
}

// rawCellFor returns the function that writes cells of a type in a kind of column, or nil if the type does not fit.
func (c *Writer) rawCellFor(kind Kind, oid uint32) rawCell {
	// Integers of all widths are decoded alike.
	integer := oid == oidInt8 || oid == oidInt4 || oid == oidInt2

	switch kind {
	case Amount:
		if integer {
			return c.appendRawAmount
		}
	case Integer:
		if integer {
			return appendRawInteger
		}
	case Date:
		if oid == oidDate {
			return appendRawDate
		}
	case Instant:
		if oid == oidTimestamptz {
			return appendRawInstant
		}
	case Bool:
		if oid == oidBool {
			return appendRawBool
		}
	case Currency:
		return appendRawCurrency
	case Text, ID:
		switch oid {
		// Ids are uuids, references are texts, and some names are numbers.
		case oidUUID:
			return appendRawUUID
		case oidInt8, oidInt4, oidInt2:
			return appendRawInteger
		case oidText, oidVarchar, oidBpchar, oidName:
			return appendRawText
		}
	}

	return nil
}

// rawInteger decodes an integer of PostgreSQL's binary format, false for another length.
func rawInteger(value []byte) (int64, bool) {
	switch len(value) {
	case 8:
		return int64(binary.BigEndian.Uint64(value)), true //nolint:gosec // the bits are the number
	case 4:
		return int64(int32(binary.BigEndian.Uint32(value))), true //nolint:gosec // the bits are the number
	case 2:
		return int64(int16(binary.BigEndian.Uint16(value))), true //nolint:gosec // the bits are the number
	}

	return 0, false
}

func (c *Writer) appendRawAmount(line, value []byte) ([]byte, bool) {
	n, ok := rawInteger(value)
	return money.Cents(n).AppendDecimal(line, c.places), ok
}

func appendRawInteger(line, value []byte) ([]byte, bool) {
	n, ok := rawInteger(value)
	return strconv.AppendInt(line, n, 10), ok
}

// appendRawDate refuses the infinities, which no reader of a CSV knows.
func appendRawDate(line, value []byte) ([]byte, bool) {
	n, ok := rawInteger(value)
	if !ok || len(value) != 4 || n == -1<<31 || n == 1<<31-1 {
		return line, false
	}

	return epoch.AddDate(0, 0, int(n)).AppendFormat(line, time.DateOnly), true
}

func appendRawInstant(line, value []byte) ([]byte, bool) {
	n, ok := rawInteger(value)
	if !ok || len(value) != 8 || n == -1<<63 || n == 1<<63-1 {
		return line, false
	}

	return day.At(time.UnixMicro(epoch.UnixMicro() + n)).Append(line), true
}

func appendRawBool(line, value []byte) ([]byte, bool) {
	return strconv.AppendBool(line, len(value) == 1 && value[0] != 0), len(value) == 1
}

// appendRawCurrency appends a currency in capitals, and returns false for what is none.
func appendRawCurrency(line, value []byte) ([]byte, bool) {
	for _, c := range value {
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}

		line = append(line, c)
	}

	return line, len(value) == 0 || isCurrency(string(value))
}

// appendRawUUID appends a UUID of PostgreSQL's binary format, and returns false for another length.
func appendRawUUID(line, value []byte) ([]byte, bool) {
	if len(value) != 16 {
		return line, false
	}

	for i, part := range [][]byte{value[:4], value[4:6], value[6:8], value[8:10], value[10:]} {
		if i > 0 {
			line = append(line, '-')
		}

		line = hex.AppendEncode(line, part)
	}

	return line, true
}

func appendRawText(line, value []byte) ([]byte, bool) {
	return appendText(line, string(value)), true
}
