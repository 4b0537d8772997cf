package day

// Span is the value of a date filter: the days from First to Last, both of them included. The zero Span is a filter
// that was not given.
type Span struct{ First, Last Day }

// ParseSpan reads YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DD...YYYY-MM-DD. A single value stands for its full period, so
// 2024 and 2024-01-01...2024-12-31 are the same. Another form, a day that does not exist included, is ErrFormat; an end
// before the start is ErrOrder. Rules PAG-33, PAG-34, PAG-35.
func ParseSpan(s string) (Span, error) {
	first, last, err := parseEnds(s)
	if err != nil {
		return Span{}, err
	}

	if last.Before(first) {
		return Span{}, ErrOrder
	}

	return Span{first, last}, nil
}

// IsZero reports whether the filter was not given.
func (s Span) IsZero() bool { return s == Span{} }

// Range is the days of the span. When endInclusive (the parameter isDateRangeEndInclusive, true when it was not given)
// is false, the last day is left out; of a single day, or of a span that starts and ends on one day, nothing is left
// then.
func (s Span) Range(endInclusive *bool) Range {
	if endInclusive == nil || *endInclusive {
		return Range{s.First, s.Last.AddDays(1)}
	}

	return Range{s.First, s.Last}
}

// String gives both ends.
func (s Span) String() string { return s.First.String() + "..." + s.Last.String() }

// MarshalText gives both ends.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what ParseSpan reads, and fails as it does.
func (s *Span) UnmarshalText(text []byte) error {
	parsed, err := ParseSpan(string(text))
	*s = parsed

	return err
}
