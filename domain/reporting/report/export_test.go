package report

import "stayledger/platform/day"

// Reading shows how a period is read: whole months, and days to add or to take off.
type Reading struct {
	Months, Start, End     day.Range
	StartExcess, EndExcess bool
	Direct                 bool
}

// ReadingOf plans a period.
func ReadingOf(from *day.Day, to day.Day) Reading {
	r := planReading(from, to)
	return Reading{r.months, r.start.days, r.end.days, r.start.excess, r.end.excess, r.direct}
}
