package day

// Span is the value of a date filter: the days from First to Last, both of them included. The zero Span is a filter
// that was not given.
type Span struct{ First, Last Day }

// ParseSpan reads YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DD...YYYY-MM-DD. A single value means its full period, so
// 2024 and 2024-01-01...2024-12-31 are the same. It fails with ErrFormat for another form or a day that does not
// exist, and with ErrOrder for an end before the start (PAG-33, PAG-34, PAG-35).
func ParseSpan(s string) (Span, error) {
	first, last, err := parseEnds(s)
	if err != nil {
		return Span{}, err
	}

	// A span has at least one day: a range in the wrong order is an error, not an empty filter.
	if last.Before(first) {
		return Span{}, ErrOrder
	}

	return Span{first, last}, nil
}

// IsZero reports whether the filter was not given.
func (s Span) IsZero() bool { return s == Span{} }

// Range returns the days of the span. If endInclusive (the parameter isDateRangeEndInclusive, true by default) is
// false, the last day is left out; a single day is then empty.
func (s Span) Range(endInclusive *bool) Range {
	if endInclusive == nil || *endInclusive {
		// A Range ends before its To, so the last day needs the next day as the end.
		return Range{s.First, s.Last.AddDays(1)}
	}

	return Range{s.First, s.Last}
}

// String returns both ends.
func (s Span) String() string { return s.First.String() + "..." + s.Last.String() }

// MarshalText returns both ends.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what ParseSpan reads, and fails as it does.
func (s *Span) UnmarshalText(text []byte) error {
	parsed, err := ParseSpan(string(text))
	*s = parsed

	return err
}
