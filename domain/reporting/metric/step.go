package metric

import (
	"fmt"
	"math"
	"time"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
)

// Dimension is the length of the steps of a metric.
type Dimension string

// The lengths.
const (
	Month Dimension = "month"
	Week  Dimension = "week"
	Day   Dimension = "day"
	Year  Dimension = "year"
)

// Enum lists the lengths.
func (Dimension) Enum() []string {
	return []string{string(Month), string(Week), string(Day), string(Year)}
}

// The bounds of a metric: its days, and its rows.
const (
	mostDays  = 20 * 366
	mostSteps = 1100
)

// step is a part of a range, with the date that names it.
type step struct {
	name string
	days day.Range
}

// label returns the name of the step that a day is in: YYYY, YYYY-MM, YYYY-Www (the ISO week) or YYYY-MM-DD.
func (d Dimension) label(at day.Day) string {
	switch d {
	case Year:
		return at.String()[:4]
	case Week:
		year, week := at.In(time.UTC).ISOWeek()
		return fmt.Sprintf("%04d-W%02d", year, week)
	case Day:
		return at.String()
	case Month:
	}

	return at.Month().String()
}

// steps divides a range. The first and the last step have the days that are in the range.
func (d Dimension) steps(r day.Range) []step {
	var out []step

	for at := r.From; at.Before(r.To); at = at.AddDays(1) {
		name := d.label(at)
		if len(out) == 0 || out[len(out)-1].name != name {
			out = append(out, step{name: name, days: day.Range{From: at}})
		}

		out[len(out)-1].days.To = at.AddDays(1)
	}

	return out
}

// check refuses a range of too many days or steps; the issue is at a query parameter.
func (d Dimension) check(r day.Range, parameter string) []apierr.Issue {
	if days := r.Days(); days > mostDays || d == Day && days > mostSteps {
		return []apierr.Issue{apierr.IssueRange.InQuery(parameter)}
	}

	return nil
}

// fold adds values by day up to the steps of a range.
func fold[T any](steps []step, byDay map[day.Day]T, add func(step int, value T)) {
	for i, s := range steps {
		for at := s.days.From; at.Before(s.days.To); at = at.AddDays(1) {
			if v, there := byDay[at]; there {
				add(i, v)
			}
		}
	}
}

// rate returns a part of a whole rounded to four decimals, 0 of nothing.
func rate(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}

	return math.Round(float64(part)/float64(whole)*10_000) / 10_000
}
