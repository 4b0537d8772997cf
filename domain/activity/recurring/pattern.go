package recurring

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
)

// Frequency is the unit that a pattern counts in.
type Frequency string

// The frequencies.
const (
	Daily   Frequency = "daily"
	Weekly  Frequency = "weekly"
	Monthly Frequency = "monthly"
	Yearly  Frequency = "yearly"
)

// Enum lists the frequencies.
func (Frequency) Enum() []string { return []string{"daily", "weekly", "monthly", "yearly"} }

// Weekday is a day of the week.
type Weekday string

// Enum lists the days; a week begins on Monday.
func (Weekday) Enum() []string {
	return []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
}

// lastDay means the last day of a month.
const lastDay = -1

// Pattern says on which dates something repeats, from a first date on. An empty list follows from that date.
type Pattern struct {
	Frequency Frequency `json:"frequency"`
	Interval  int64     `json:"interval" doc:"Every how many days, weeks, months or years."`
	WeekDays  []Weekday `json:"weekDays"`
	MonthDays []int64   `json:"monthDays" doc:"1 to 31, or -1 for the last day; a day that a month lacks falls on its last."`
	Months    []int64   `json:"months" doc:"1 to 12."`
	Count     *int64    `json:"count" doc:"How many dates there are; null: no end."`
	EndDate   *day.Day  `json:"endDate" doc:"The last possible date; null: no end."`
}

// PatternInput is a pattern as the caller describes it.
type PatternInput struct {
	Frequency Frequency        `json:"frequency"`
	Interval  int64            `json:"interval,omitempty" minimum:"1" maximum:"1000" doc:"Every how many days, weeks, months or years; absent: every one."`
	WeekDays  []Weekday        `json:"weekDays,omitempty" maxItems:"7" doc:"weekly only; absent: the weekday of the first date."`
	MonthDays []int64          `json:"monthDays,omitempty" maxItems:"32" doc:"monthly and yearly: 1 to 31, or -1 for the last day; a day that a month lacks falls on its last. Absent: the day of the first date."`
	Months    []int64          `json:"months,omitempty" maxItems:"12" doc:"yearly only: 1 to 12; absent: the month of the first date."`
	Count     api.Opt[int64]   `json:"count,omitzero" minimum:"1" maximum:"10000" doc:"How many dates there are; absent or null: no end."`
	EndDate   api.Opt[day.Day] `json:"endDate,omitzero" doc:"The last possible date; absent or null: no end."`
}

// pattern returns the pattern of a body.
func (in *PatternInput) pattern() Pattern {
	return Pattern{
		Frequency: in.Frequency,
		Interval:  max(in.Interval, 1),
		WeekDays:  in.WeekDays,
		MonthDays: in.MonthDays,
		Months:    in.Months,
		Count:     in.Count.Value,
		EndDate:   in.EndDate.Value,
	}
}

// check returns an issue for each field that contradicts the frequency or the first date.
func (p *Pattern) check(first day.Day) []apierr.Issue {
	var issues []apierr.Issue

	refuse := func(wrong bool, field string) {
		if wrong {
			issues = append(issues, apierr.IssuePatternInvalid.InBody("pattern", field))
		}
	}

	// Each list belongs to certain frequencies.
	refuse(len(p.WeekDays) > 0 && p.Frequency != Weekly, "weekDays")
	refuse(len(p.MonthDays) > 0 && p.Frequency != Monthly && p.Frequency != Yearly, "monthDays")
	refuse(len(p.Months) > 0 && p.Frequency != Yearly, "months")
	refuse(
		slices.ContainsFunc(p.MonthDays, func(d int64) bool { return d != lastDay && (d < 1 || d > 31) }), "monthDays",
	)
	refuse(slices.ContainsFunc(p.Months, func(m int64) bool { return m < 1 || m > 12 }), "months")
	refuse(p.EndDate != nil && p.EndDate.Before(first), "endDate")

	return issues
}

// complete returns the pattern with everything that follows from the first date, its lists in order and without
// repetition.
func (p *Pattern) complete(first day.Day) Pattern {
	s := *p

	s.WeekDays, s.MonthDays = append([]Weekday{}, p.WeekDays...), append([]int64{}, p.MonthDays...)
	s.Months = append([]int64{}, p.Months...)

	// A list that the caller left out follows from the first date.
	if p.Frequency == Weekly && len(s.WeekDays) == 0 {
		s.WeekDays = []Weekday{Weekday(Weekday("").Enum()[daysSinceMonday(first)])}
	}

	if (p.Frequency == Monthly || p.Frequency == Yearly) && len(s.MonthDays) == 0 {
		s.MonthDays = []int64{int64(first.FirstOfMonth().DaysUntil(first) + 1)}
	}

	if p.Frequency == Yearly && len(s.Months) == 0 {
		s.Months = []int64{int64(first.Month().Month)}
	}

	slices.SortFunc(s.WeekDays, func(a, b Weekday) int { return a.place() - b.place() })
	slices.SortFunc(s.MonthDays, func(a, b int64) int { return int(place(a) - place(b)) })
	slices.Sort(s.Months)
	s.WeekDays, s.MonthDays = slices.Compact(s.WeekDays), slices.Compact(s.MonthDays)
	s.Months = slices.Compact(s.Months)

	return s
}

// place returns the place of the day in a week that begins on Monday.
func (w Weekday) place() int { return slices.Index(w.Enum(), string(w)) }

// place returns the place of a day in a month; the last day comes after all others.
func place(monthDay int64) int64 {
	if monthDay == lastDay {
		return 32
	}

	return monthDay
}

// daysSinceMonday returns how many days a day is after the Monday of its week.
func daysSinceMonday(d day.Day) int { return (int(d.In(time.UTC).Weekday()) + 6) % 7 }

// Dates returns the dates of the pattern in order, from the first date on, until its end or the end of the
// calendar.
func (p *Pattern) Dates(first day.Day) iter.Seq[day.Day] {
	s := p.complete(first)

	return func(yield func(day.Day) bool) {
		var n int64

		for cycle := int64(0); ; cycle++ {
			batch, more := s.cycle(first, int(cycle*s.Interval))

			// The first cycle may begin before the first date. Dates before it do not count.
			for _, d := range batch {
				switch {
				case d.Before(first):
					continue
				case p.EndDate != nil && d.After(*p.EndDate), p.Count != nil && n >= *p.Count:
					return
				}

				n++

				if !yield(d) {
					return
				}
			}

			// A cycle after the end date ends the pattern, even if it has no date to yield.
			if !more || p.EndDate != nil && len(batch) > 0 && batch[0].After(*p.EndDate) {
				return
			}
		}
	}
}

// lastYear bounds patterns without an end.
const lastYear = 9999

// cycle returns the dates of one day, week, month or year, the one that is so many after that of the first date. It
// also reports whether others can follow.
func (p *Pattern) cycle(first day.Day, after int) (dates []day.Day, more bool) {
	switch p.Frequency {
	case Daily:
		d := first.AddDays(after)
		return []day.Day{d}, !d.IsZero()
	case Weekly:
		// A week is counted from its Monday, so that all its days belong to one cycle.
		monday := first.AddDays(7*after - daysSinceMonday(first))
		for _, w := range p.WeekDays {
			if d := monday.AddDays(w.place()); !d.IsZero() {
				dates = append(dates, d)
			}
		}

		return dates, !monday.IsZero()
	case Monthly:
		// Months are counted from the year 0, so that a step can pass over years.
		month := first.Month()
		at := month.Year*12 + int(month.Month) - 1 + after

		return p.monthDates(at/12, time.Month(at%12+1)), at/12 < lastYear
	case Yearly:
		year := first.Month().Year + after
		for _, m := range p.Months {
			dates = append(dates, p.monthDates(year, time.Month(m))...)
		}

		return dates, year < lastYear
	}

	return nil, false
}

// monthDates returns the dates of a month. A day that the month lacks falls on its last day; two that do so are one
// date.
func (p *Pattern) monthDates(year int, m time.Month) (dates []day.Day) {
	month := day.Month{Year: year, Month: m}
	if !month.Valid() {
		return nil
	}

	last := month.Last()
	for _, n := range p.MonthDays {
		d := month.First().AddDays(int(n) - 1)
		if n == lastDay || d.IsZero() || d.After(last) {
			d = last
		}

		if len(dates) == 0 || dates[len(dates)-1] != d {
			dates = append(dates, d)
		}
	}

	return dates
}

// Format returns the pattern in words.
func (p *Pattern) Format(first day.Day) string {
	s := p.complete(first)
	unit := map[Frequency]string{Daily: "day", Weekly: "week", Monthly: "month", Yearly: "year"}[s.Frequency]

	text := "Every " + unit
	if s.Interval > 1 {
		text = "Every " + strconv.FormatInt(s.Interval, 10) + " " + unit + "s"
	}

	// Weekdays and days of the month never occur together.
	var days []string
	for _, w := range s.WeekDays {
		days = append(days, strings.ToUpper(string(w[:1]))+string(w[1:]))
	}

	for _, n := range s.MonthDays {
		if n == lastDay {
			days = append(days, "the last day")
		} else {
			days = append(days, "day "+strconv.FormatInt(n, 10))
		}
	}

	var months []string
	for _, m := range s.Months {
		months = append(months, time.Month(m).String())
	}

	// Then put the parts together: months, days, and how the pattern ends.
	if months != nil {
		text += " in " + joinWords(months)
	}

	if days != nil {
		text += " on " + joinWords(days)
	}

	if s.Count != nil && *s.Count == 1 {
		text += ", once"
	} else if s.Count != nil {
		text += ", " + strconv.FormatInt(*s.Count, 10) + " times"
	}

	if s.EndDate != nil {
		text += ", until " + s.EndDate.String()
	}

	return text
}

// joinWords joins words with commas and a last "and".
func joinWords(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}

	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
