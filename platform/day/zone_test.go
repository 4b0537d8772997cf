package day_test

import (
	"errors"
	"testing"
	"time"

	"stayledger/platform/day"
)

func TestDayInAZone(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		what string
		zone day.Zone
		at   string
		want string
	}{
		{"an evening west of UTC", "America/Chicago", "2026-11-01T02:30:00Z", "2026-10-31"},
		{"the last millisecond of the day, in summer time", "America/Chicago", "2026-11-01T04:59:59.999Z", "2026-10-31"},
		{"midnight in summer time", "America/Chicago", "2026-11-01T05:00:00Z", "2026-11-01"},
		{"the day with 25 hours goes on", "America/Chicago", "2026-11-02T05:59:59Z", "2026-11-01"},
		{"midnight in winter time", "America/Chicago", "2026-11-02T06:00:00Z", "2026-11-02"},
		{"the day with 23 hours ends early", "Europe/Berlin", "2026-03-29T22:00:00Z", "2026-03-30"},
		{"the evening before it", "Europe/Berlin", "2026-03-28T22:59:59Z", "2026-03-28"},
		{"midnight before it", "Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-29"},
		{"a day ahead", "Pacific/Kiritimati", "2026-12-31T10:00:00Z", "2027-01-01"},
		{"behind by twelve hours", "Etc/GMT+12", "2027-01-01T11:59:00Z", "2026-12-31"},
		{"half an hour", "Asia/Kolkata", "2026-06-30T18:30:00Z", "2026-07-01"},
		{"UTC", day.UTC, "2026-10-31T23:59:59Z", "2026-10-31"},
		{"none", "", "2026-10-31T23:59:59Z", "2026-10-31"},
		{"no zone", "Nowhere/Land", "2026-10-31T23:59:59Z", "2026-10-31"},
		{"an instant with another offset", "", "2026-11-01T01:30:00+02:00", "2026-10-31"},
	} {
		at, err := time.Parse(time.RFC3339Nano, c.at)
		if err != nil {
			t.Fatal(err)
		}

		if got := c.zone.Day(at).String(); got != c.want {
			t.Errorf("%s: %s in %s is %s, want %s", c.what, c.at, c.zone, got, c.want)
		}
	}
}

func TestNamesOfZones(t *testing.T) {
	t.Parallel()

	for name, want := range map[string]bool{
		"UTC": true, "America/New_York": true, "America/Argentina/Buenos_Aires": true, "Etc/GMT+5": true,
		"": false, "Local": false, "local": false, "EST": false, "Chicago": false, "America/Nowhere": false, "america/chicago": false,
		"posix/America/Chicago": false, "right/UTC": false, "../etc/passwd": false, "America/../UTC": false, "/etc/localtime": false,
		"America": false, "America/": false,
		"America/Chicago ": false, //nolint:gocritic // The space is what is wrong.
	} {
		got, err := day.ParseZone(name)
		if (err == nil) != want || err != nil && !errors.Is(err, day.ErrZone) || want && string(got) != name {
			t.Errorf("%q: %q, %v, want a zone: %v", name, got, err, want)
		}
	}
}
