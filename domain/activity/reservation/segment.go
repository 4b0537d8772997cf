package reservation

import (
	"slices"

	"stayledger/domain/activity/fee"
	"stayledger/domain/property/listing"
	"stayledger/platform/day"
	"stayledger/platform/money"
)

// segment is a part of the stay that is recognised on one date: its nights from (inclusive) to (exclusive), of
// nights in all.
type segment struct {
	at       day.Day
	period   *listing.Period
	from, to int
	nights   int
	proRata  bool
	// fixed says that the nights belong to a single owner, the nth of the stay, and all are recognised on the date.
	fixed bool
	part  int
}

// recognition returns the setting for the reservation as a whole: pro rata for long-term stays, else the team's.
func (in *Input) recognition() fee.Recognition {
	if in.LongTermStayNights != nil && int64(in.Reservation.nights()) > *in.LongTermStayNights {
		return fee.ProRata
	}

	return in.Recognition
}

// Window is the accounting window of a connection: from StartAt to before EndAt. Nil is no bound. Without bounds it
// can be closed: another connection is the accounting source.
type Window struct {
	StartAt *day.Day `json:"startAt"`
	EndAt   *day.Day `json:"endAt"`
	Closed  bool     `json:"closed"`
}

// has returns true for a date in the window.
func (w Window) has(at day.Day) bool {
	if w.Closed {
		return false
	}

	return (w.StartAt == nil || !at.Before(*w.StartAt)) && (w.EndAt == nil || at.Before(*w.EndAt))
}

// posts reports whether the reservation can have a journal: it counts, the team keeps books, and its accounting date is
// in the window of the connection that it came over (CUT-13).
func (in *Input) posts() bool { return in.Reservation.posts() && in.findKeptOutReason() == "" }

// findKeptOutReason returns why nothing of a reservation that counts is posted, "" if something can be.
func (in *Input) findKeptOutReason() InactiveReason {
	switch {
	case in.NoLedger:
		return LedgerDisabled
	case !in.Window.has(in.accountingDate()):
		return OutsideWindow
	default:
		return ""
	}
}

// accountingDate returns the date that decides whether the reservation is in an accounting window: its posting date if
// it has one, or else the check-in, the check-out also for pro rata, or the day of the booking, by the recognition of
// the reservation (CUT-14..CUT-17).
func (in *Input) accountingDate() day.Day {
	r := &in.Reservation

	switch recognition := in.recognition(); {
	case r.GeneralLedgerPostingAt != nil:
		return *r.GeneralLedgerPostingAt
	case recognition == fee.CheckOut, recognition == fee.ProRata:
		return r.CheckOut
	case recognition == fee.BookedAt && r.BookedAt != nil:
		return *r.BookedAt
	default:
		return r.CheckIn
	}
}

// overrideDate returns the single date for everything without its own date, whatever the settings: the override, or the
// date of the cancellation. It returns nil if there is neither.
func (in *Input) overrideDate() *day.Day {
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

// segments cuts a stay into parts that are recognised together: all of it on one date, or runs of nights that share
// a month and an owner.
func (in *Input) segments(recognition fee.Recognition) []segment {
	at := in.recognizedAt(recognition)

	// On one date the nights still decide about the owners, where the nights are recognised.
	switch fixed := in.overrideDate() != nil; {
	case recognition == fee.ProRata && !fixed:
		return in.nightly(in.Reservation.nights())
	case recognition == fee.ProRata:
		if parts := in.byOwner(at); len(parts) > 1 {
			return parts
		}
	}

	return []segment{in.wholeStay(at)}
}

// wholeStay returns the whole stay as one segment, recognised on one date.
func (in *Input) wholeStay(at day.Day) segment {
	nights := in.Reservation.nights()
	return segment{at: at, period: in.periodAt(at), to: nights, nights: nights}
}

// periodAt returns the ownership period that an entry dated on a day belongs to, nil for none.
func (in *Input) periodAt(at day.Day) *listing.Period {
	return in.nights().Owner(in.Periods, at)
}

// nights returns the nights of the reservation, by which its money finds the owners.
func (in *Input) nights() listing.Nights {
	return listing.Nights{
		CheckIn: in.Reservation.CheckIn, CheckOut: in.Reservation.CheckOut,
		ByNight: in.recognition() == fee.ProRata, RecognizedAt: in.recognizedAt(in.recognition()),
	}
}

// recognizedAt returns the day on which the stay is recognised as a whole, or begins to be. A fixed date comes before
// every setting; booked-at falls back to the check-in when that date is missing.
func (in *Input) recognizedAt(recognition fee.Recognition) day.Day {
	r := &in.Reservation

	switch fixed := in.overrideDate(); {
	case fixed != nil:
		return *fixed
	case recognition == fee.CheckOut:
		return r.CheckOut
	case recognition == fee.BookedAt && r.BookedAt != nil:
		return *r.BookedAt
	default:
		return r.CheckIn
	}
}

// byOwner cuts an amount of the stay that is dated on one day into the parts of its owners.
func (in *Input) byOwner(at day.Day) []segment {
	nights := in.nights()

	var out []segment
	for n, o := range nights.Owners(in.Periods) {
		out = append(out, segment{
			at: at, period: o.Period, from: o.From, to: o.To, nights: in.Reservation.nights(),
			proRata: nights.ByNight, fixed: true, part: n,
		})
	}

	return out
}

// nightly cuts a stay of so many nights for pro rata recognition: one segment for each run of nights that share a
// month and an ownership period and are on one side of the first day of the books. A night without an owner has no
// period.
func (in *Input) nightly(nights int) []segment {
	var out []segment

	for night := range nights {
		at := in.Reservation.CheckIn.AddDays(night)
		period := listing.Covering(in.Periods, at)

		// A night that continues the last segment extends it instead of starting a new segment.
		first := in.FirstDay != nil && at == *in.FirstDay
		if n := len(out); n > 0 && !first && out[n-1].at.Month() == at.Month() && out[n-1].period == period {
			out[n-1].to = night + 1
			continue
		}

		out = append(out, segment{at: at, period: period, from: night, to: night + 1, nights: nights, proRata: true})
	}

	return out
}

// sameSegments reports whether two ways to cut the stay recognise the same nights on the same dates.
func sameSegments(a, b []segment) bool {
	return slices.EqualFunc(a, b, func(a, b segment) bool { return a.at == b.at && a.from == b.from && a.to == b.to })
}

// narrowTo narrows the segment to the nights in which a fee is charged, and reports whether any are left. A segment
// on one date is charged as a whole or not at all.
func (s segment) narrowTo(p fee.Period) (segment, bool) {
	if !s.proRata || s.fixed {
		return s, p.Covers(s.at)
	}

	// Drop nights from the start, and move the date along, then from the end.
	for s.from < s.to && !p.Covers(s.at) {
		s.from++
		s.at = s.at.AddDays(1)
	}

	for s.from < s.to && !p.Covers(s.at.AddDays(s.to-s.from-1)) {
		s.to--
	}

	return s, s.from < s.to
}

// share returns the segment's part of an amount. The parts of all nights add up to the amount.
func (s segment) share(total money.Cents) money.Cents {
	if !s.proRata {
		return total
	}

	return listing.Owned{From: s.from, To: s.to}.Share(total, s.nights)
}
