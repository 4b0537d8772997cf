package listing_test

import (
	"testing"

	"pgregory.net/rapid"

	"stayledger/domain/property/listing"
	"stayledger/platform/day"
)

// span draws a period within a fortnight, open at either end now and then.
func span(first day.Day) *rapid.Generator[*listing.Period] {
	return rapid.Custom(func(t *rapid.T) *listing.Period {
		from := rapid.IntRange(0, 12).Draw(t, "from")
		start, end := first.AddDays(from), first.AddDays(rapid.IntRange(from+1, 13).Draw(t, "to"))

		p := &listing.Period{StartAt: &start, EndAt: &end}
		if rapid.IntRange(0, 4).Draw(t, "inception") == 0 {
			p.StartAt = nil
		}

		if rapid.IntRange(0, 4).Draw(t, "open") == 0 {
			p.EndAt = nil
		}

		return p
	})
}

// The days around the fortnight stand for all days before and after it.
func TestPeriodsAreSetsOfDays(t *testing.T) {
	t.Parallel()
	first := *on(t, "2026-01-01")
	rapid.Check(t, func(t *rapid.T) {
		p, o, within := span(first).Draw(t, "p"), span(first).Draw(t, "o"), span(first).Draw(t, "within")
		overlap, contained := false, true

		for i := -1; i <= 14; i++ {
			d := first.AddDays(i)
			overlap = overlap || p.Covers(d) && o.Covers(d)
			contained = contained && (!o.Covers(d) || !within.Covers(d) || p.Covers(d))
		}

		if p.Overlaps(o) != overlap || o.Overlaps(p) != overlap {
			t.Fatalf("overlap of %v-%v and %v-%v", p.StartAt, p.EndAt, o.StartAt, o.EndAt)
		}

		if p.Contains(o, within) != contained {
			t.Fatalf("%v-%v contains %v-%v within %v-%v: want %t", p.StartAt, p.EndAt, o.StartAt, o.EndAt, within.StartAt, within.EndAt, contained)
		}
	})
}
