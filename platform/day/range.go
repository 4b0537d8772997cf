package day

import (
	"strings"
	"time"
)

// Range is the days from From up to but not including To. It is empty when To is not after From, as the zero Range is.
type Range struct {
	From Day
	// To is exclusive.
	To Day
}

// ParseRange returns the days of a span as ParseSpan reads it; endInclusive says whether its last day counts. It
// fails as ParseSpan does.
func ParseRange(s string, endInclusive bool) (Range, error) {
	span, err := ParseSpan(s)
	if err != nil {
		return Range{}, err
	}

	return span.Range(&endInclusive), nil
}

// parseEnds parses two days with three dots between them, or one period: a year, a month or a day.
func parseEnds(s string) (first, last Day, err error) {
	from, to, isRange := strings.Cut(s, "...")
	if !isRange {
		return ParseBoundary(s)
	}

	if first, err = Parse(from); err != nil {
		return Day{}, Day{}, err
	}

	if last, err = Parse(to); err != nil {
		return Day{}, Day{}, err
	}

	return first, last, nil
}

// ParseBoundary reads the query parameters startDate and endDate: YYYY, YYYY-MM or YYYY-MM-DD. It gives the first and
// the last day of the period; a start takes the first, an end the last, which is inclusive. Another form is ErrFormat.
// Rule PAG-36.
func ParseBoundary(s string) (first, last Day, err error) {
	switch len(s) {
	case len("YYYY"):
		january, err := ParseMonth(s + "-01")
		if err != nil {
			return Day{}, Day{}, err
		}

		return january.First(), Month{january.Year, time.December}.Last(), nil
	case len("YYYY-MM"):
		month, err := ParseMonth(s)
		if err != nil {
			return Day{}, Day{}, err
		}

		return month.First(), month.Last(), nil
	default:
		day, err := Parse(s)
		return day, day, err
	}
}

// Empty reports whether the range has no day. A range without a From has none.
func (r Range) Empty() bool { return r.From.IsZero() || !r.From.Before(r.To) }

// Contains reports whether the day lies in the range.
func (r Range) Contains(d Day) bool {
	return !r.Empty() && !d.Before(r.From) && d.Before(r.To)
}

// Days returns how many days the range has: the nights of a stay from From to To.
func (r Range) Days() int {
	if r.Empty() {
		return 0
	}

	return r.From.DaysUntil(r.To)
}

// Overlaps reports whether the ranges share a day. Ranges that only touch do not, and an empty one overlaps nothing.
func (r Range) Overlaps(other Range) bool {
	return !r.Empty() && !other.Empty() && r.From.Before(other.To) && other.From.Before(r.To)
}

// Months lists the months that have a day in the range, in order.
func (r Range) Months() []Month {
	if r.Empty() {
		return nil
	}

	// To is exclusive: a range up to the first of a month has no day in that month.
	last := r.To.AddDays(-1).Month()

	var months []Month
	for month := r.From.Month(); month.Compare(last) <= 0; month = month.Next() {
		months = append(months, month)
	}

	return months
}

// Earliest is the first day that requests may name: earlier than anything that a manager of rentals still books, and
// later than the dates that programs write for "none".
var Earliest = Day{1990, time.January, 1}

// RequestRange returns the days that requests may name: from 1990-01-01 to ten years from today. This bounds everything
// that runs from one date to another, such as the months of a team's statements or the instances of a template.
func RequestRange(today Day) Range {
	return Range{Earliest, today.AddYears(10).AddDays(1)}
}
