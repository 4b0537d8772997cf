package day_test

import (
	"errors"
	"fmt"
	"testing"

	"stayledger/platform/day"
)

func mustRange(t *testing.T, s string) day.Range {
	t.Helper()

	parsed, err := day.ParseRange(s, true)
	if err != nil {
		t.Fatalf("%q: %v", s, err)
	}

	return parsed
}

// Proves: PAG-33, PAG-34.
func TestParseRange(t *testing.T) {
	t.Parallel()

	for text, ends := range map[string][2]string{
		"2024":                    {"2024-01-01", "2025-01-01"},
		"2024-02":                 {"2024-02-01", "2024-03-01"},
		"2023-12":                 {"2023-12-01", "2024-01-01"},
		"2024-02-29":              {"2024-02-29", "2024-03-01"},
		"2024-01-01...2024-12-31": {"2024-01-01", "2025-01-01"},
		"2024-05-05...2024-05-05": {"2024-05-05", "2024-05-06"},
		"9999":                    {"9999-01-01", "10000-01-01"},
		"0001-01-01...9999-12-31": {"0001-01-01", "10000-01-01"},
	} {
		got := mustRange(t, text)
		if got.From.String() != ends[0] || got.To.String() != ends[1] {
			t.Errorf("%q: got %v", text, got)
		}
	}

	for _, text := range append([]string{
		"...", "2024...", "...2024", "2024...2025", "2024-01...2024-02", "2024-01-01...", "...2024-01-01", "2024-01-01..2024-01-02",
		"2024-01-01....2024-01-02", "2024-01-01 ... 2024-01-02", "2024-01-01...2024-01-02...2024-01-03", "2024-01-01...2024-02-30",
		"2024-01-01,2024-01-02", "2024-01-01…2024-01-02", "2024-01-01/2024-01-02",
	}, malformed...) {
		if got, err := day.ParseRange(text, true); !errors.Is(err, day.ErrFormat) || got != (day.Range{}) {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}

	for _, inclusive := range []bool{true, false} {
		if got, err := day.ParseRange("2024-01-02...2024-01-01", inclusive); !errors.Is(err, day.ErrOrder) || got != (day.Range{}) {
			t.Errorf("reversed: got %v, %v", got, err)
		}
	}
}

// The half of PAG-35 that lies here; that the parameter is a boolean with the default true is the endpoint's.
func TestParseRangeWithoutItsEnd(t *testing.T) {
	t.Parallel()

	for text, last := range map[string]string{
		"2024":                    "2024-12-31",
		"2024-02":                 "2024-02-29",
		"2024-01-01...2024-01-31": "2024-01-31",
		"2024-01-15":              "2024-01-15",
		"2024-01-15...2024-01-15": "2024-01-15",
	} {
		without, err := day.ParseRange(text, false)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}

		with := mustRange(t, text)
		if end := mustParse(t, last); without.Contains(end) || !with.Contains(end) || without.From != with.From {
			t.Errorf("%q: got %v without its end, %v with it", text, without, with)
		}

		if got, want := without.Days(), with.Days()-1; got != want {
			t.Errorf("%q: got %d days, want %d", text, got, want)
		}
	}

	if single, err := day.ParseRange("2024-01-15", false); err != nil || !single.Empty() {
		t.Errorf("a single day without its end: got %v, %v", single, err)
	}
}

// Proves: PAG-36.
func TestParseBoundary(t *testing.T) {
	t.Parallel()

	for text, ends := range map[string][2]string{
		"2024":       {"2024-01-01", "2024-12-31"},
		"2024-02":    {"2024-02-01", "2024-02-29"},
		"2024-02-03": {"2024-02-03", "2024-02-03"},
		"9999":       {"9999-01-01", "9999-12-31"},
	} {
		first, last, err := day.ParseBoundary(text)
		if err != nil || first.String() != ends[0] || last.String() != ends[1] {
			t.Errorf("%q: got %v, %v, %v", text, first, last, err)
		}
	}

	for _, text := range append([]string{"2024-01-01...2024-01-02"}, malformed...) {
		if first, last, err := day.ParseBoundary(text); !errors.Is(err, day.ErrFormat) || !first.IsZero() || !last.IsZero() {
			t.Errorf("%q: got %v, %v, %v", text, first, last, err)
		}
	}
}

func TestRangeDays(t *testing.T) {
	t.Parallel()

	week := mustRange(t, "2024-02-26...2024-03-03")
	if week.Days() != 7 || week.Empty() {
		t.Errorf("got %d days", week.Days())
	}

	for text, want := range map[string]bool{
		"2024-02-25": false, "2024-02-26": true, "2024-02-29": true, "2024-03-03": true, "2024-03-04": false,
	} {
		if got := week.Contains(mustParse(t, text)); got != want {
			t.Errorf("contains %s: got %t", text, got)
		}
	}

	reversed := day.Range{From: week.To, To: week.From}
	for _, empty := range []day.Range{{}, reversed, {From: week.From, To: week.From}, {To: week.To}, {From: week.From}} {
		if !empty.Empty() || empty.Days() != 0 || empty.Contains(week.From) || empty.Overlaps(week) || week.Overlaps(empty) || empty.Months() != nil {
			t.Errorf("%v is not empty", empty)
		}
	}

	inside := day.Range{From: mustParse(t, "2024-02-28"), To: mustParse(t, "2024-02-28")}
	if inside.Overlaps(week) || week.Overlaps(inside) {
		t.Error("an empty range within another overlaps it")
	}
}

func TestRangeOverlaps(t *testing.T) {
	t.Parallel()

	february := mustRange(t, "2024-02")
	for text, want := range map[string]bool{
		"2024-01": false, "2024-03": false, "2024": true, "2024-02-29": true, "2024-02-01": true, "2024-01-15...2024-02-01": true,
		"2024-02-29...2024-04-01": true, "2024-02-10...2024-02-12": true, "2024-03-01": false, "2024-01-31": false,
	} {
		other := mustRange(t, text)
		if february.Overlaps(other) != want || other.Overlaps(february) != want {
			t.Errorf("%s: want %t", text, want)
		}
	}
}

func TestRangeMonths(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]string{
		"2024-02":                 "[2024-02]",
		"2023-12-31...2024-02-01": "[2023-12 2024-01 2024-02]",
		"2024-01-15...2024-01-31": "[2024-01]",
		"9999-12":                 "[9999-12]",
	} {
		if got := fmt.Sprint(mustRange(t, text).Months()); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}

	if got := mustRange(t, "0001-01-01...9999-12-31").Months(); len(got) != 9999*12 {
		t.Errorf("the calendar: got %d months", len(got))
	}
}

func FuzzParseRange(f *testing.F) {
	for _, text := range append([]string{
		"2024", "2024-02", "2024-02-29", "2024-01-01...2024-12-31", "2024-01-02...2024-01-01", "...", "9999", "0001",
	}, malformed...) {
		f.Add(text)
	}

	f.Fuzz(func(t *testing.T, text string) {
		with, err := day.ParseRange(text, true)

		without, errWithout := day.ParseRange(text, false)
		if !errors.Is(errWithout, err) {
			t.Fatalf("%q: %v with its end, %v without", text, err, errWithout)
		}

		if err != nil {
			if !errors.Is(err, day.ErrFormat) && !errors.Is(err, day.ErrOrder) {
				t.Fatalf("%q: %v", text, err)
			}

			return
		}

		last := with.To.AddDays(-1)
		if with.Empty() || !with.From.Valid() || !last.Valid() {
			t.Fatalf("%q: got %v", text, with)
		}

		if without.From != with.From || without.To != last {
			t.Fatalf("%q: got %v with its end, %v without", text, with, without)
		}

		again, err := day.ParseRange(with.From.String()+"..."+last.String(), true)
		if err != nil || again != with {
			t.Fatalf("%q: got %v, written out %v, %v", text, with, again, err)
		}
	})
}
