package day_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"stayledger/platform/day"
)

func TestParseMonth(t *testing.T) {
	t.Parallel()

	for _, text := range []string{"0001-01", "2024-02", "9999-12"} {
		if got, err := day.ParseMonth(text); err != nil || got.String() != text || !got.Valid() || got.IsZero() {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}

	for _, text := range append([]string{"2024", "2024-01-01", "2024-1 ", " 2024-1"}, malformed...) {
		if got, err := day.ParseMonth(text); !errors.Is(err, day.ErrFormat) || !got.IsZero() {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
}

func TestMonthNeighbours(t *testing.T) {
	t.Parallel()

	for _, test := range []struct{ month, next, first, last string }{
		{"2024-02", "2024-03", "2024-02-01", "2024-02-29"},
		{"2023-02", "2023-03", "2023-02-01", "2023-02-28"},
		{"2024-12", "2025-01", "2024-12-01", "2024-12-31"},
		{"9999-11", "9999-12", "9999-11-01", "9999-11-30"},
	} {
		month, err := day.ParseMonth(test.month)
		if err != nil {
			t.Fatal(err)
		}

		next := month.Next()
		if next.String() != test.next || next.Prev() != month || month.Compare(next) >= 0 || next.Compare(month) <= 0 {
			t.Errorf("%v: next is %v, and the one before that %v", month, next, next.Prev())
		}

		if month.First().String() != test.first || month.Last().String() != test.last {
			t.Errorf("%v: from %v to %v", month, month.First(), month.Last())
		}

		if got := month.Range(); got != (day.Range{From: month.First(), To: next.First()}) {
			t.Errorf("%v: got %v", month, got)
		}
	}
}

func TestMonthOutsideTheCalendar(t *testing.T) {
	t.Parallel()

	after := day.Month{Year: 9999, Month: time.December}.Next()
	if after.First() != mustParse(t, "9999-12-31").AddDays(1) {
		t.Errorf("the first day after the calendar: got %v", after.First())
	}

	before := day.Month{Year: 1, Month: time.January}.Prev()
	for _, month := range []day.Month{{}, after, before, {Year: 2024, Month: 13}, {Year: 2024}} {
		if month.Valid() || !month.Last().IsZero() || !month.Range().Empty() {
			t.Errorf("%v: valid %t, last %v, range %v", month, month.Valid(), month.Last(), month.Range())
		}

		if _, err := month.MarshalText(); !errors.Is(err, day.ErrOutside) {
			t.Errorf("%v: %v", month, err)
		}
	}
}

func TestMonthJSON(t *testing.T) {
	t.Parallel()

	var got map[day.Month]day.Month

	const text = `{"2024-01":"2024-02"}`
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}

	if back, err := json.Marshal(got); err != nil || string(back) != text {
		t.Errorf("got %s, %v", back, err)
	}

	for _, text := range []string{`null`, `202401`, `"2024"`, `"2024-01-01"`} {
		var got day.Month
		if err := json.Unmarshal([]byte(text), &got); !errors.Is(err, day.ErrFormat) {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
}
