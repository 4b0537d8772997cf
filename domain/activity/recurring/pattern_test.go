package recurring_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/activity/recurring"
	"stayledger/platform/day"
)

// firstDates are up to n dates of a pattern.
func firstDates(p *recurring.Pattern, first string, n int) string {
	var out []string
	for d := range p.Dates(date(first)) {
		if len(out) == n {
			break
		}

		out = append(out, d.String())
	}

	return strings.Join(out, " ")
}

func TestPatterns(t *testing.T) {
	t.Parallel()

	type pattern = recurring.Pattern

	tests := map[string]struct {
		pattern     pattern
		first       string
		want, words string
	}{
		"daily":           {pattern{Frequency: "daily", Interval: 1}, "2026-02-27", "2026-02-27 2026-02-28 2026-03-01 2026-03-02", "Every day"},
		"every third day": {pattern{Frequency: "daily", Interval: 3, Count: new(int64(2))}, "2026-01-30", "2026-01-30 2026-02-02", "Every 3 days, 2 times"},
		"weekly by itself": {
			pattern{Frequency: "weekly", Interval: 1}, "2026-01-07", "2026-01-07 2026-01-14 2026-01-21 2026-01-28", "Every week on Wednesday",
		},
		"every other week on two days, begun between them": {
			pattern{Frequency: "weekly", Interval: 2, WeekDays: []recurring.Weekday{"friday", "monday"}},
			"2026-01-07", "2026-01-09 2026-01-19 2026-01-23 2026-02-02", "Every 2 weeks on Monday and Friday",
		},
		"monthly on the 31st": {
			pattern{Frequency: "monthly", Interval: 1}, "2026-01-31", "2026-01-31 2026-02-28 2026-03-31 2026-04-30", "Every month on day 31",
		},
		"monthly on the first and the last": {
			pattern{Frequency: "monthly", Interval: 1, MonthDays: []int64{-1, 1}},
			"2026-01-15",
			"2026-01-31 2026-02-01 2026-02-28 2026-03-01", "Every month on day 1 and the last day",
		},
		"one date of a short month counts once": {
			pattern{Frequency: "monthly", Interval: 1, MonthDays: []int64{30, 31, -1}},
			"2026-02-01",
			"2026-02-28 2026-03-30 2026-03-31 2026-04-30", "Every month on day 30, day 31 and the last day",
		},
		"quarterly until a day": {
			pattern{Frequency: "monthly", Interval: 3, EndDate: new(date("2026-07-15"))},
			"2026-01-15",
			"2026-01-15 2026-04-15 2026-07-15", "Every 3 months on day 15, until 2026-07-15",
		},
		"leap day": {pattern{Frequency: "yearly", Interval: 1}, "2024-02-29", "2024-02-29 2025-02-28 2026-02-28 2027-02-28", "Every year in February on day 29"},
		"taxes twice a year": {
			pattern{Frequency: "yearly", Interval: 1, Months: []int64{6, 1}, MonthDays: []int64{20}},
			"2026-02-01",
			"2026-06-20 2027-01-20 2027-06-20 2028-01-20", "Every year in January and June on day 20",
		},
		"once":                    {pattern{Frequency: "daily", Interval: 1, Count: new(int64(1))}, "2026-02-27", "2026-02-27", "Every day, once"},
		"the end of the calendar": {pattern{Frequency: "yearly", Interval: 1000}, "9000-01-01", "9000-01-01", "Every 1000 years in January on day 1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if got := firstDates(&test.pattern, test.first, 4); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}

			if got := test.pattern.Format(date(test.first)); got != test.words {
				t.Errorf("got %q, want %q", got, test.words)
			}
		})
	}
}

// Whatever the pattern: its dates ascend, none lies before the first or after the end, and there are no more than it
// counts.
func TestPatternDatesAscend(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first := date("2024-01-01").AddDays(rapid.IntRange(0, 1500).Draw(t, "first"))

		p := recurring.Pattern{
			Frequency: rapid.SampledFrom([]recurring.Frequency{"daily", "weekly", "monthly", "yearly"}).Draw(t, "frequency"),
			Interval:  rapid.Int64Range(1, 7).Draw(t, "interval"),
			Count:     new(rapid.Int64Range(1, 40).Draw(t, "count")),
		}
		if p.Frequency == recurring.Weekly {
			p.WeekDays = rapid.SliceOfN(rapid.SampledFrom([]recurring.Weekday{"monday", "thursday", "sunday"}), 0, 4).Draw(t, "weekDays")
		}

		if p.Frequency == recurring.Monthly || p.Frequency == recurring.Yearly {
			p.MonthDays = rapid.SliceOfN(rapid.SampledFrom([]int64{-1, 1, 15, 28, 29, 30, 31}), 0, 5).Draw(t, "monthDays")
		}

		if p.Frequency == recurring.Yearly {
			p.Months = rapid.SliceOfN(rapid.Int64Range(1, 12), 0, 4).Draw(t, "months")
		}

		dates := slices.Collect(p.Dates(first))
		if int64(len(dates)) != *p.Count || dates[0].Before(first) {
			t.Fatalf("%d dates from %v", len(dates), dates)
		}

		if !slices.IsSortedFunc(dates, day.Day.Compare) || len(slices.Compact(slices.Clone(dates))) != len(dates) {
			t.Fatalf("dates %v", dates)
		}

		p.EndDate = new(dates[len(dates)/2])
		if got := slices.Collect(p.Dates(first)); !slices.Equal(got, dates[:len(dates)/2+1]) {
			t.Fatalf("until %v: %v of %v", p.EndDate, got, dates)
		}
	})
}
