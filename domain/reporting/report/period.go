package report

import (
	"stayledger/platform/apierr"
	"stayledger/platform/day"
)

// Start is the query parameter startDate: a day, or a month or year, which means its first day (PAG-36).
type Start struct{ day.Day }

// End is the query parameter endDate: a day, or a month or year, which means its last day (PAG-36).
type End struct{ day.Day }

// UnmarshalText reads YYYY, YYYY-MM or YYYY-MM-DD as its first day.
func (s *Start) UnmarshalText(text []byte) error {
	first, _, err := day.ParseBoundary(string(text))
	s.Day = first

	return err
}

// UnmarshalText reads YYYY, YYYY-MM or YYYY-MM-DD as its last day.
func (e *End) UnmarshalText(text []byte) error {
	_, last, err := day.ParseBoundary(string(text))
	e.Day = last

	return err
}

// UnmarshalJSON reads the same from a body.
func (s *Start) UnmarshalJSON(data []byte) error {
	text, err := boundaryText(data)
	if err != nil {
		return err
	}

	return s.UnmarshalText(text)
}

// UnmarshalJSON reads the same from a body.
func (e *End) UnmarshalJSON(data []byte) error {
	text, err := boundaryText(data)
	if err != nil {
		return err
	}

	return e.UnmarshalText(text)
}

// boundaryText returns the content of a JSON string. It fails for anything else.
func boundaryText(data []byte) ([]byte, error) {
	if len(data) < 2 || data[0] != '"' || data[len(data)-1] != '"' {
		return nil, day.ErrFormat
	}

	return data[1 : len(data)-1], nil
}

// Period is the pair of days that a report is about.
type Period struct {
	StartDate Start `query:"startDate" format:"date-boundary" json:"startDate" required:"true" pattern:"^\\d{4}(-\\d{2}(-\\d{2})?)?$" doc:"YYYY, YYYY-MM or YYYY-MM-DD; a period means its first day."`
	EndDate   End   `query:"endDate" format:"date-boundary" json:"endDate" required:"true" pattern:"^\\d{4}(-\\d{2}(-\\d{2})?)?$" doc:"YYYY, YYYY-MM or YYYY-MM-DD; a period means its last day, which is included."`
}

// Check refuses a period that ends before it starts.
func (p Period) Check() []apierr.Issue {
	if p.EndDate.Before(p.StartDate.Day) {
		return []apierr.Issue{apierr.IssueDateOrder.InQuery("endDate")}
	}

	return nil
}
