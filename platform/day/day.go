// Package day holds civil dates: days, months and ranges of days without a time zone.
//
// A day here is a date as printed on a statement, never an instant. The calendar runs from 0001-01-01 to 9999-12-31;
// the day after its last exists only as the exclusive end of a Range. The zero value of each type is not a date: it
// says so through IsZero and is refused by text, JSON and the database. A date that can be missing is a *Day.
package day

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/jackc/pgx/v5/pgtype"
)

// Day is a civil date. Days are comparable with == and can be keys of a map.
type Day struct {
	year  int
	month time.Month
	day   int
}

// The errors have static texts, which can be shown: they never hold the value that was refused.
var (
	// ErrFormat is returned for a text that does not have the form asked for or names a day that does not exist.
	ErrFormat = errors.New("day: not a date of the accepted form")
	// ErrOrder is returned for a range that ends before it starts.
	ErrOrder = errors.New("day: the range ends before it starts")
	// ErrOutside is returned when a zero or impossible day is written.
	ErrOutside = errors.New("day: not a day of the calendar")
)

// Parse reads YYYY-MM-DD, strictly: four, two and two digits, nothing around them, a day that exists in the years 0001
// to 9999. Anything else is ErrFormat.
func Parse(s string) (Day, error) {
	if len(s) != len("YYYY-MM-DD") || s[7] != '-' {
		return Day{}, ErrFormat
	}

	month, err := ParseMonth(s[:7])
	if err != nil {
		return Day{}, err
	}

	// digits refuses a sign, which strconv.Atoi would accept: -1 is two characters, too.
	number, ok := digits(s[8:])
	if !ok {
		return Day{}, ErrFormat
	}

	day := Day{month.Year, month.Month, number}
	if !day.Valid() {
		return Day{}, ErrFormat
	}

	return day, nil
}

// digits reads a text of ASCII digits only.
func digits(s string) (int, bool) {
	number := 0

	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}

		number = number*10 + int(c-'0')
	}

	return number, s != ""
}

// Of returns the date of t in t's own location.
func Of(t time.Time) Day {
	year, month, day := t.Date()
	return Day{year, month, day}
}

// IsZero reports whether the day was never set.
func (d Day) IsZero() bool { return d == Day{} }

// Valid reports whether the day exists in the calendar.
func (d Day) Valid() bool {
	// Package time carries a day that does not exist over to the next month, such as the 30th of February to the 2nd of March.
	return d.year >= firstYear && d.year <= lastYear && Of(d.In(time.UTC)) == d
}

const (
	firstYear = 1
	lastYear  = 9999
)

// String returns YYYY-MM-DD.
func (d Day) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.year, int(d.month), d.day) }

// In returns midnight of the day in a location, for the few places that need an instant.
func (d Day) In(location *time.Location) time.Time {
	return time.Date(d.year, d.month, d.day, 0, 0, 0, 0, location)
}

// AddDays returns the day n days later, or earlier if n is negative. It returns the zero Day if d is zero or the
// result leaves the calendar by more than the one day that ends a range.
func (d Day) AddDays(n int) Day {
	// More days than the calendar has, and few enough for the arithmetic of package time.
	const calendar = 366 * (lastYear + 1)
	if d.IsZero() || n > calendar || n < -calendar {
		return Day{}
	}

	return Of(d.In(time.UTC).AddDate(0, 0, n)).withinReach()
}

// AddYears returns the same day of another year; for the 29th of February, if there is none, the 1st of March.
func (d Day) AddYears(years int) Day {
	// Package time carries a 29th of February over to the 1st of March in years without a leap day.
	return Of(d.In(time.UTC).AddDate(years, 0, 0))
}

func (d Day) withinReach() Day {
	if d.Valid() || d.endsCalendar() {
		return d
	}

	return Day{}
}

// endsCalendar reports whether the day is the one after the last.
func (d Day) endsCalendar() bool {
	return d == Day{lastYear + 1, time.January, 1}
}

// DaysUntil returns how many days later other is: the nights between arrival and departure. It is negative if other
// is earlier.
func (d Day) DaysUntil(other Day) int {
	// Days of UTC all have 24 hours. A time.Duration would be too short for the calendar: it ends after 292 years.
	const secondsOfDay = 24 * 60 * 60
	return int((other.In(time.UTC).Unix() - d.In(time.UTC).Unix()) / secondsOfDay)
}

// Before reports whether d is earlier than other.
func (d Day) Before(other Day) bool { return d.Compare(other) < 0 }

// After reports whether d is later than other.
func (d Day) After(other Day) bool { return d.Compare(other) > 0 }

// Compare returns -1, 0 or 1 if d is earlier than, the same as or later than other. The zero Day is earlier than
// all.
func (d Day) Compare(other Day) int {
	return cmp.Or(d.Month().Compare(other.Month()), cmp.Compare(d.day, other.day))
}

// Month returns the month of the day.
func (d Day) Month() Month { return Month{d.year, d.month} }

// FirstOfMonth returns the first day of the day's month.
func (d Day) FirstOfMonth() Day { return d.Month().First() }

// LastOfMonth returns the last day of the day's month.
func (d Day) LastOfMonth() Day { return d.Month().Last() }

// Min returns the earliest of the days.
func Min(first Day, others ...Day) Day {
	for _, other := range others {
		if other.Before(first) {
			first = other
		}
	}

	return first
}

// Max returns the latest of the days.
func Max(first Day, others ...Day) Day {
	for _, other := range others {
		if other.After(first) {
			first = other
		}
	}

	return first
}

// MarshalText returns YYYY-MM-DD, also in JSON. It fails with ErrOutside for a day outside the calendar, such as
// the zero Day.
func (d Day) MarshalText() ([]byte, error) {
	if !d.Valid() {
		return nil, ErrOutside
	}

	return []byte(d.String()), nil
}

// UnmarshalText reads what Parse reads.
func (d *Day) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}

	*d = parsed

	return nil
}

// UnmarshalJSON reads a string of the form Parse reads. Null is refused, where encoding/json alone would leave the old
// value: a *Day takes it.
func (d *Day) UnmarshalJSON(data []byte) error {
	return unmarshalString(data, d.UnmarshalText)
}

func unmarshalString(data []byte, read func([]byte) error) error {
	text, err := jsontext.AppendUnquote(nil, data)
	if err != nil {
		return ErrFormat
	}

	return read(text)
}

// ScanDate reads a date column; it makes the driver know Day. NULL is an error, a *Day takes it. So is infinity.
func (d *Day) ScanDate(v pgtype.Date) error {
	if !v.Valid {
		return fmt.Errorf("%w: NULL needs a *day.Day", ErrOutside)
	}

	if v.InfinityModifier != pgtype.Finite {
		return fmt.Errorf("%w: infinity", ErrOutside)
	}

	// PostgreSQL has dates before the year 1 and after 9999. The day after 9999-12-31 is stored as the end of a range.
	scanned := Of(v.Time).withinReach()
	if scanned.IsZero() {
		return ErrOutside
	}

	*d = scanned

	return nil
}

// DateValue writes a date column. The zero Day is ErrOutside and not NULL, so that a forgotten date cannot pass for a
// missing one. The exclusive end of the calendar can be stored.
func (d Day) DateValue() (pgtype.Date, error) {
	if d.withinReach().IsZero() {
		return pgtype.Date{}, ErrOutside
	}

	return pgtype.Date{Time: d.In(time.UTC), Valid: true}, nil
}
