package listing_test

import (
	"testing"

	"stayledger/domain/property/listing"
	"stayledger/platform/day"
)

func on(t *testing.T, text string) *day.Day {
	t.Helper()

	if text == "" {
		return nil
	}

	d, err := day.Parse(text)
	if err != nil {
		t.Fatal(err)
	}

	return &d
}

func TestCovering(t *testing.T) {
	t.Parallel()

	owned := []listing.Period{
		{StartAt: nil, EndAt: on(t, "2020-01-01")},
		{StartAt: on(t, "2020-01-01"), EndAt: on(t, "2020-02-01")},
		{StartAt: on(t, "2020-03-01"), EndAt: nil},
	}
	for text, want := range map[string]int{
		"0001-01-01": 0, "2019-12-31": 0, "2020-01-01": 1, "2020-01-31": 1, "2020-02-01": -1, "2020-02-29": -1, "2020-03-01": 2, "9999-12-31": 2,
	} {
		got := listing.Covering(owned, *on(t, text))
		switch {
		case want < 0 && got != nil:
			t.Errorf("%s is covered by %v", text, got)
		case want >= 0 && got != &owned[want]:
			t.Errorf("%s is covered by %v, want period %d", text, got, want)
		}
	}

	if listing.Covering(nil, *on(t, "2020-01-01")) != nil {
		t.Error("no periods cover nothing")
	}
}
