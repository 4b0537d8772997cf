package day

import (
	"cmp"
	"fmt"
	"time"
)

// Month is a month of a year, the period of an owner statement. Months are comparable with ==.
type Month struct {
	Year  int
	Month time.Month
}

// ParseMonth reads YYYY-MM, strictly: four and two digits, the years 0001 to 9999. Anything else is ErrFormat.
func ParseMonth(s string) (Month, error) {
	if len(s) != len("YYYY-MM") || s[4] != '-' {
		return Month{}, ErrFormat
	}

	year, yearOK := digits(s[:4])
	month, monthOK := digits(s[5:])

	// Two digits can be 00 or 13 to 99, and the calendar has no year 0000.
	parsed := Month{year, time.Month(month)}
	if !yearOK || !monthOK || !parsed.Valid() {
		return Month{}, ErrFormat
	}

	return parsed, nil
}

// IsZero reports whether the month was never set.
func (m Month) IsZero() bool { return m == Month{} }

// Valid reports whether the month exists in the calendar.
func (m Month) Valid() bool {
	return m.Year >= firstYear && m.Year <= lastYear && m.Month >= time.January && m.Month <= time.December
}

// String returns YYYY-MM.
func (m Month) String() string { return fmt.Sprintf("%04d-%02d", m.Year, int(m.Month)) }

// First returns the first day of the month, or the zero Day for a month outside the calendar.
func (m Month) First() Day {
	return Day{m.Year, m.Month, 1}.withinReach()
}

// Last returns the last day of the month, or the zero Day for a month outside the calendar.
func (m Month) Last() Day {
	if !m.Valid() {
		return Day{}
	}
	// Day 0 of the next month is the last of this one.
	return Of(time.Date(m.Year, m.Month+1, 0, 0, 0, 0, 0, time.UTC))
}

// Range returns all days of the month, or the empty zero Range for a month outside the calendar.
func (m Month) Range() Range { return Range{m.First(), m.Last().AddDays(1)} }

// Next returns the month after. The one after 9999-12 is outside the calendar, but its First ends a range.
func (m Month) Next() Month {
	if m.Month == time.December {
		return Month{m.Year + 1, time.January}
	}

	return Month{m.Year, m.Month + 1}
}

// Prev returns the month before. The one before 0001-01 is outside the calendar.
func (m Month) Prev() Month {
	if m.Month == time.January {
		return Month{m.Year - 1, time.December}
	}

	return Month{m.Year, m.Month - 1}
}

// Compare returns -1, 0 or 1 if m is earlier than, the same as or later than other.
func (m Month) Compare(other Month) int {
	return cmp.Or(cmp.Compare(m.Year, other.Year), cmp.Compare(m.Month, other.Month))
}

// MarshalText returns YYYY-MM, also in JSON. It fails with ErrOutside for a month outside the calendar.
func (m Month) MarshalText() ([]byte, error) {
	if !m.Valid() {
		return nil, ErrOutside
	}

	return []byte(m.String()), nil
}

// UnmarshalText reads what ParseMonth reads.
func (m *Month) UnmarshalText(text []byte) error {
	parsed, err := ParseMonth(string(text))
	if err != nil {
		return err
	}

	*m = parsed

	return nil
}

// UnmarshalJSON reads a string of the form ParseMonth reads; null is refused as it is for a Day.
func (m *Month) UnmarshalJSON(data []byte) error {
	return unmarshalString(data, m.UnmarshalText)
}
