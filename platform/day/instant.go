package day

import (
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// Instant is a point in time as the contract shows it: RFC 3339, UTC, always with milliseconds.
type Instant struct{ time.Time }

const instantForm = "2006-01-02T15:04:05.000Z"

// At returns the instant of a time.
func At(t time.Time) Instant { return Instant{t.UTC().Truncate(time.Millisecond)} }

// String returns the form of the contract.
func (i Instant) String() string { return string(i.Append(nil)) }

// Append adds the form of the contract to b. Lists hold hundreds of instants, so the digits are written without reading
// a layout.
func (i Instant) Append(b []byte) []byte {
	t := i.UTC()

	// Only years of four digits can be written digit by digit.
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.AppendFormat(b, instantForm)
	}

	hour, minute, second := t.Clock()
	b = twoDigits(twoDigits(b, year/100), year%100)
	b = twoDigits(append(b, '-'), int(month))
	b = twoDigits(append(b, '-'), day)
	b = twoDigits(append(b, 'T'), hour)
	b = twoDigits(append(b, ':'), minute)
	b = twoDigits(append(b, ':'), second)
	ms := t.Nanosecond() / int(time.Millisecond)
	b = append(b, '.', byte('0'+ms/100)) //nolint:gosec // a digit

	return append(twoDigits(b, ms%100), 'Z')
}

func twoDigits(b []byte, n int) []byte {
	return append(b, byte('0'+n/10), byte('0'+n%10)) //nolint:gosec // two digits
}

// MarshalText returns the form of the contract.
func (i Instant) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// MarshalJSON returns the form of the contract.
func (i Instant) MarshalJSON() ([]byte, error) { return []byte(`"` + i.String() + `"`), nil }

// UnmarshalText reads any RFC 3339 instant.
func (i *Instant) UnmarshalText(b []byte) error {
	t, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return fmt.Errorf("%w: not a date-time", ErrFormat)
	}

	*i = At(t)

	return nil
}

// UnmarshalJSON reads any RFC 3339 instant.
func (i *Instant) UnmarshalJSON(b []byte) error {
	if len(b) < 2 || b[0] != '"' {
		return fmt.Errorf("%w: not a date-time", ErrFormat)
	}

	return i.UnmarshalText(b[1 : len(b)-1])
}

// ScanTimestamptz takes the instant from Postgres.
func (i *Instant) ScanTimestamptz(v pgtype.Timestamptz) error {
	if !v.Valid || v.InfinityModifier != pgtype.Finite {
		return errors.New("an instant cannot be null or infinite")
	}

	*i = At(v.Time)

	return nil
}

// TimestamptzValue hands the instant to Postgres.
func (i Instant) TimestamptzValue() (pgtype.Timestamptz, error) {
	return pgtype.Timestamptz{Time: i.Time, Valid: true}, nil
}
