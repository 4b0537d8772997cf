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

// step is a year, month, week or day of the range, with its name.
type step struct {
	name string
	days day.Range
}

// stepName returns the name of the step that includes a day: YYYY, YYYY-MM, YYYY-Www (the ISO week) or YYYY-MM-DD.
func (d Dimension) stepName(at day.Day) string {
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

// splitRange splits a range into steps. The first and last step can be shorter than the others.
func (d Dimension) splitRange(r day.Range) []step {
	var out []step

	for at := r.From; at.Before(r.To); at = at.AddDays(1) {
		name := d.stepName(at)
		if len(out) == 0 || out[len(out)-1].name != name {
			out = append(out, step{name: name, days: day.Range{From: at}})
		}

		out[len(out)-1].days.To = at.AddDays(1)
	}

	return out
}

// checkRange refuses a range with too many days or steps. The issue names the query parameter.
func (d Dimension) checkRange(r day.Range, parameter string) []apierr.Issue {
	if days := r.Days(); days > mostDays || d == Day && days > mostSteps {
		return []apierr.Issue{apierr.IssueRange.InQuery(parameter)}
	}

	return nil
}

// foldDays calls add for each day of a step that has a value.
func foldDays[T any](steps []step, byDay map[day.Day]T, add func(step int, value T)) {
	for i, s := range steps {
		for at := s.days.From; at.Before(s.days.To); at = at.AddDays(1) {
			if v, there := byDay[at]; there {
				add(i, v)
			}
		}
	}
}

// roundRate returns part/whole with four decimals, and 0 if whole is 0.
func roundRate(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}

	return math.Round(float64(part)/float64(whole)*10_000) / 10_000
}
