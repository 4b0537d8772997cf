package report_test

import (
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/report"
	"stayledger/platform/day"
)

// Whatever the period, whole months and broken ones cover every day once, and nothing outside it.
func TestSpanCoversEveryDayOnce(t *testing.T) {
	t.Parallel()
	origin := day.Month{Year: 2023, Month: 11}.First()
	rapid.Check(t, func(t *rapid.T) {
		start := origin.AddDays(rapid.IntRange(0, 200).Draw(t, "start"))
		end := start.AddDays(rapid.IntRange(0, 200).Draw(t, "days"))
		s := report.SpanOf(start, end)
		for d := origin.AddDays(-40); d.Before(end.AddDays(70)); d = d.AddDays(1) {
			parts := 0
			for _, part := range []day.Range{s.Head, s.Months, s.Tail} {
				if part.Contains(d) {
					parts++
				}
			}
			want := 0
			if !d.Before(start) && !d.After(end) {
				want = 1
			}
			if parts != want {
				t.Fatalf("%s is in %d parts of %s...%s", d, parts, start, end)
			}
			earlier := d.Before(s.Before.From) || s.Before.Contains(d)
			if earlier != d.Before(start) {
				t.Fatalf("%s counts as earlier: %v, period from %s", d, earlier, start)
			}
		}
		for _, edge := range []day.Day{s.Before.From, s.Months.From, s.Months.To} {
			if !s.Months.Empty() && edge != edge.FirstOfMonth() {
				t.Fatalf("%s does not start a month", edge)
			}
		}
	})
}

func TestSpanReachesTheEndOfTheCalendar(t *testing.T) {
	t.Parallel()
	last := day.Month{Year: 9999, Month: 12}
	s := report.SpanOf(last.First(), last.Last())
	if !s.Head.Empty() || !s.Tail.Empty() || s.Months.Days() != 31 {
		t.Errorf("got %v %v %v", s.Head, s.Months, s.Tail)
	}
}
