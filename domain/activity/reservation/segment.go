package reservation

import (
	"slices"

	"stayledger/domain/activity/fee"
	"stayledger/domain/property/listing"
	"stayledger/platform/day"
	"stayledger/platform/money"
)

// segment is a part of the stay that is recognised on one date: the nights from (inclusive) to (exclusive) of the stay.
type segment struct {
	at       day.Day
	period   *listing.Period
	from, to int
	nights   int
	proRata  bool
}

// recognition is the setting that holds for the reservation as a whole.
func (in *Input) recognition() fee.Recognition {
	if in.LongTermStayNights != nil && int64(in.Reservation.Nights()) > *in.LongTermStayNights {
		return fee.ProRata
	}

	return in.Recognition
}

// fixedAt is the one date of everything that has none of its own, whatever the settings: the override, or the
// cancellation.
func (in *Input) fixedAt() *day.Day {
	r := &in.Reservation
	switch {
	case r.GeneralLedgerPostingAt != nil:
		return r.GeneralLedgerPostingAt
	case r.Status == Canceled && r.CancelledAt != nil:
		return r.CancelledAt
	default:
		return nil
	}
}

// segments cuts a stay into what is recognised together: all of it on one date, or runs of nights that share a month
// and an owner.
func (in *Input) segments(recognition fee.Recognition) []segment {
	r := &in.Reservation
	at := r.CheckIn

	fixed := in.fixedAt()
	switch {
	case fixed != nil:
		at = *fixed
	case recognition == fee.ProRata:
		return in.nightly(r.Nights())
	case recognition == fee.CheckOut:
		at = r.CheckOut
	case recognition == fee.BookedAt && r.BookedAt != nil:
		at = *r.BookedAt
	}

	return []segment{in.on(at)}
}

// on is the whole stay recognised on one date.
func (in *Input) on(at day.Day) segment {
	nights := in.Reservation.Nights()
	return segment{at: at, period: in.owned(at), to: nights, nights: nights}
}

// owned is the ownership period that an entry dated on a day belongs to: the one that owns the day; when nobody does,
// because the stay is recognised after or before its nights, the one that owns the nearest night of the stay, the
// earlier of two as near. It is nil for a stay without any owned night.
func (in *Input) owned(at day.Day) (nearest *listing.Period) {
	if p := listing.Covering(in.Periods, at); p != nil {
		return p
	}

	distance := 0

	for night := range in.Reservation.Nights() {
		on := in.Reservation.CheckIn.AddDays(night)

		away := max(on.DaysUntil(at), at.DaysUntil(on))
		if nearest != nil && away >= distance {
			continue
		}

		if p := listing.Covering(in.Periods, on); p != nil {
			nearest, distance = p, away
		}
	}

	return nearest
}

func (in *Input) nightly(nights int) []segment {
	var out []segment

	for night := range nights {
		at := in.Reservation.CheckIn.AddDays(night)

		period := in.owned(at)
		if n := len(out); n > 0 && out[n-1].at.Month() == at.Month() && out[n-1].period == period {
			out[n-1].to = night + 1
			continue
		}

		out = append(out, segment{at: at, period: period, from: night, to: night + 1, nights: nights, proRata: true})
	}

	return out
}

// together reports whether two ways to cut the stay recognise the same nights on the same dates.
func together(a, b []segment) bool {
	return slices.EqualFunc(a, b, func(a, b segment) bool { return a.at == b.at && a.from == b.from && a.to == b.to })
}

// during narrows the segment to the nights in which a fee is charged. One date is charged as a whole or not at all.
func (s segment) during(p fee.Period) (segment, bool) {
	if !s.proRata {
		return s, p.Covers(s.at)
	}

	for s.from < s.to && !p.Covers(s.at) {
		s.from++
		s.at = s.at.AddDays(1)
	}

	for s.from < s.to && !p.Covers(s.at.AddDays(s.to-s.from-1)) {
		s.to--
	}

	return s, s.from < s.to
}

// share is the segment's part of an amount. The parts of all nights add up to it.
func (s segment) share(total money.Cents) (sum money.Cents) {
	if !s.proRata || s.to-s.from == s.nights {
		return total
	}

	for _, night := range money.Nightly(total, s.nights)[s.from:s.to] {
		sum += night
	}

	return sum
}
