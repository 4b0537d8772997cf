package day_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"stayledger/platform/day"
)

func mustParse(t *testing.T, s string) day.Day {
	t.Helper()

	parsed, err := day.Parse(s)
	if err != nil {
		t.Fatalf("%q: %v", s, err)
	}

	return parsed
}

// malformed has texts that no parser of this package reads.
var malformed = []string{
	"", " ", "24", "024", "20245", "2024-", "2024-1", "2024-1-1", "2024-01-1", "2024-1-01", "24-01-01", "2024-13-01", "2024-00-01",
	"2024-01-00", "2024-01-32", "2024-02-30", "2023-02-29", "2100-02-29", "0000-01-01", "0000-01", "0000", "10000-01-01",
	" 2024-01-01", "2024-01-01 ", "2024-01-01\n", "2024/01/01", "2024-01/01", "20240101", "2024-01-01T00:00:00Z", "+024-01-01",
	"-024-01-01", "2024-+1-01", "2024-01--1", "2024-01-01-", "٢٠٢٤", "2024-0١", "today", "2024-W01", "2024-Q1", "2024-00", "2024-13",
}

func TestParse(t *testing.T) {
	t.Parallel()

	for _, text := range []string{"0001-01-01", "2024-02-29", "2000-02-29", "2024-12-31", "9999-12-31"} {
		if got := mustParse(t, text); got.String() != text || !got.Valid() || got.IsZero() {
			t.Errorf("%q: got %v", text, got)
		}
	}

	for _, text := range append([]string{"2024", "2024-01"}, malformed...) {
		if got, err := day.Parse(text); !errors.Is(err, day.ErrFormat) || !got.IsZero() {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
}

func TestOfTakesTheClockOfItsLocation(t *testing.T) {
	t.Parallel()

	instant := time.Date(2024, 12, 31, 23, 30, 0, 0, time.UTC)
	if got := day.Of(instant); got.String() != "2024-12-31" {
		t.Errorf("got %v", got)
	}

	if got := day.Of(instant.In(time.FixedZone("", 3600))); got.String() != "2025-01-01" {
		t.Errorf("got %v", got)
	}
}

func TestAddDays(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		from string
		n    int
		want string
	}{
		{"2024-02-28", 1, "2024-02-29"},
		{"2023-02-28", 1, "2023-03-01"},
		{"2024-01-01", -1, "2023-12-31"},
		{"2024-01-01", 0, "2024-01-01"},
		{"2024-01-01", 366, "2025-01-01"},
		{"0001-01-01", 3652058, "9999-12-31"},
		{"9999-12-31", -3652058, "0001-01-01"},
	} {
		from := mustParse(t, test.from)

		got := from.AddDays(test.n)
		if got.String() != test.want {
			t.Errorf("%s and %d days: got %v, want %s", test.from, test.n, got, test.want)
		}

		if n := from.DaysUntil(got); n != test.n {
			t.Errorf("%s until %s: got %d, want %d", test.from, test.want, n, test.n)
		}
	}
}

func TestAddDaysLeavesTheCalendarAsZero(t *testing.T) {
	t.Parallel()

	first, last := mustParse(t, "0001-01-01"), mustParse(t, "9999-12-31")
	for _, got := range []day.Day{
		first.AddDays(-1), last.AddDays(2), first.AddDays(math.MaxInt), last.AddDays(math.MinInt), day.Day{}.AddDays(1),
	} {
		if !got.IsZero() {
			t.Errorf("got %v", got)
		}
	}

	if end := last.AddDays(1); end.IsZero() || end.Valid() || end.AddDays(-1) != last {
		t.Errorf("the end of the calendar: got %v", end)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()

	inOrder := []day.Day{{}, mustParse(t, "2023-12-31"), mustParse(t, "2024-01-01"), mustParse(t, "2024-01-02"), mustParse(t, "2024-02-01")}
	for i, a := range inOrder {
		for j, b := range inOrder {
			if a.Before(b) != (i < j) || a.After(b) != (i > j) || (a.Compare(b) == 0) != (i == j) || (a == b) != (i == j) {
				t.Errorf("%v and %v", a, b)
			}
		}
	}

	if got := day.Min(inOrder[3], inOrder[1], inOrder[2]); got != inOrder[1] {
		t.Errorf("min: got %v", got)
	}

	if got := day.Max(inOrder[1], inOrder[4], inOrder[2]); got != inOrder[4] {
		t.Errorf("max: got %v", got)
	}
}

func TestDayOfMonth(t *testing.T) {
	t.Parallel()

	leap := mustParse(t, "2024-02-15")
	if got := leap.FirstOfMonth().String(); got != "2024-02-01" {
		t.Errorf("first: got %s", got)
	}

	if got := leap.LastOfMonth().String(); got != "2024-02-29" {
		t.Errorf("last: got %s", got)
	}

	if got := leap.Month(); got != (day.Month{Year: 2024, Month: time.February}) {
		t.Errorf("month: got %v", got)
	}
}

func TestDayJSON(t *testing.T) {
	t.Parallel()

	type period struct {
		From day.Day  `json:"from"`
		To   *day.Day `json:"to"`
	}

	const open = `{"from":"2024-01-01","to":null}`

	var got period
	if err := json.Unmarshal([]byte(open), &got); err != nil || got.From != mustParse(t, "2024-01-01") || got.To != nil {
		t.Fatalf("got %v, %v", got, err)
	}

	if text, err := json.Marshal(got); err != nil || string(text) != open {
		t.Errorf("got %s, %v", text, err)
	}

	if _, err := json.Marshal(day.Day{}); !errors.Is(err, day.ErrOutside) {
		t.Errorf("the zero day: %v", err)
	}

	for _, text := range []string{`null`, `20240101`, `""`, `"2024-1-1"`, `{}`, `["2024-01-01"]`, `true`} {
		var got day.Day
		if err := json.Unmarshal([]byte(text), &got); !errors.Is(err, day.ErrFormat) || !got.IsZero() {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range append([]string{"2024-02-29", "9999-12-31", "0001-01-01"}, malformed...) {
		f.Add(text)
	}

	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := day.Parse(text)
		if err != nil {
			if !parsed.IsZero() || !errors.Is(err, day.ErrFormat) {
				t.Fatalf("%q: got %v, %v", text, parsed, err)
			}

			return
		}

		if parsed.String() != text || !parsed.Valid() {
			t.Fatalf("%q: got %v", text, parsed)
		}

		if oracle, err := time.Parse(time.DateOnly, text); err != nil || day.Of(oracle) != parsed {
			t.Fatalf("%q: got %v, package time has %v, %v", text, parsed, oracle, err)
		}
	})
}
