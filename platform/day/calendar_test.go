package day_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"stayledger/platform/day"
)

// daysOfMonth returns how many days a month has in the Gregorian calendar, by its rule for leap years.
func daysOfMonth(year int, month time.Month) int {
	if isLeap := year%4 == 0 && (year%100 != 0 || year%400 == 0); isLeap && month == time.February {
		return 29
	}

	return [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[month-1]
}

// Every day from 0001 to 9999 follows the one before, and agrees with package time about its name and its distance.
func TestTheCalendarIsGregorian(t *testing.T) {
	t.Parallel()

	first := mustParse(t, "0001-01-01")
	at, next := time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC), first
	count := 0

	for year := 1; year <= 9999; year++ {
		for month := time.January; month <= time.December; month++ {
			days := daysOfMonth(year, month)
			for number := 1; number <= days; number++ {
				d := day.Of(at)
				if d != next || !d.Valid() || at.Day() != number || first.DaysUntil(d) != count {
					t.Fatalf("day %d after the first: %v by package time, %v by counting", count, d, next)
				}

				next, at, count = d.AddDays(1), at.Add(24*time.Hour), count+1
			}

			// The month ends where its days do.
			whole := day.Month{Year: year, Month: month}
			if whole.Last() != next.AddDays(-1) || whole.Next().First() != next || whole.Range().Days() != days {
				t.Fatalf("%v ends on %v and has %d days, want %d", whole, whole.Last(), whole.Range().Days(), days)
			}
		}
	}

	if next.String() != "10000-01-01" || next.Valid() {
		t.Errorf("the calendar ends with %v", next)
	}
}

// Two days drawn from the whole calendar compare, differ, read and add up as they do in package time.
func TestDaysAgreeWithPackageTime(t *testing.T) {
	t.Parallel()

	const calendar = 3652059 // days from 0001-01-01 to 9999-12-31

	seed := rand.Uint64()
	draw := rand.New(rand.NewPCG(seed, 0))

	for range 20_000 {
		n, m := draw.IntN(calendar), draw.IntN(calendar)
		a, b := time.Date(1, 1, 1+n, 0, 0, 0, 0, time.UTC), time.Date(1, 1, 1+m, 23, 59, 59, 999, time.UTC)
		first, second := day.Of(a), day.Of(b)

		if first.String() != a.Format(time.DateOnly) || mustParse(t, first.String()) != first || !first.In(time.UTC).Equal(a) {
			t.Fatalf("seed %d: %v is %v", seed, a, first)
		}

		if first.AddDays(m-n) != second || first.DaysUntil(second) != m-n {
			t.Fatalf("seed %d: %v and %d days: %v, want %v", seed, first, m-n, first.AddDays(m-n), second)
		}

		if first.Compare(second) != a.Truncate(24*time.Hour).Compare(b.Truncate(24*time.Hour)) || first.Before(second) != (n < m) ||
			first.After(second) != (n > m) || (first == second) != (n == m) {
			t.Fatalf("seed %d: %v compared with %v: %d", seed, first, second, first.Compare(second))
		}

		if years := draw.IntN(20); a.Year()+years <= 9999 && first.AddYears(years) != day.Of(a.AddDate(years, 0, 0)) {
			t.Fatalf("seed %d: %v and %d years: %v", seed, first, years, first.AddYears(years))
		}
	}
}
