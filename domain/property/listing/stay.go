package listing

import (
	"stayledger/platform/day"
	"stayledger/platform/money"
)

// Nights are the nights of a stay, from CheckIn to the one before CheckOut.
type Nights struct {
	CheckIn, CheckOut day.Day
	// ByNight is set when the stay is recognised night by night; else all of it is recognised on the day of
	// RecognizedAt.
	ByNight      bool
	RecognizedAt day.Day
}

// Count returns how many nights there are.
func (n Nights) Count() int { return n.CheckIn.DaysUntil(n.CheckOut) }

// Owned is the part of an amount of a stay that belongs to one ownership period, nil for no one: that of the nights
// From (inclusive) to To (exclusive), counted from the check-in.
type Owned struct {
	Period   *Period
	From, To int
}

// Owner returns the ownership period that an entry of the stay dated on a day belongs to, if the stay is not
// recognised by night: the one that covers the day. An owner who came after the last night has no part of the stay;
// then, and on a day without an owner, it is the period of the owned night that is nearest to the day, of two equally
// near the earlier. It is nil for a stay without any owned night.
func (n Nights) Owner(periods []Period, at day.Day) (nearest *Period) {
	if p := Covering(periods, at); p != nil && (p.StartAt == nil || p.StartAt.Before(n.CheckOut)) {
		return p
	}

	// Only a strictly nearer night replaces what was found, so the earlier of two wins.
	distance := 0

	for on := n.CheckIn; on.Before(n.CheckOut); on = on.AddDays(1) {
		away := max(on.DaysUntil(at), at.DaysUntil(on))
		if nearest != nil && away >= distance {
			continue
		}

		if p := Covering(periods, on); p != nil {
			nearest, distance = p, away
		}
	}

	return nearest
}

// Owners returns the parts of an amount of the stay, whatever day it is dated on: all of it belongs to whoever has
// what was recognised as a whole; by night there is a part for each run of nights with one owner, and one for those
// without.
func (n Nights) Owners(periods []Period) (out []Owned) {
	count := n.Count()
	if !n.ByNight {
		return []Owned{{Period: n.Owner(periods, n.RecognizedAt), To: count}}
	}

	for night := range count {
		p := Covering(periods, n.CheckIn.AddDays(night))
		if last := len(out) - 1; last >= 0 && out[last].Period == p {
			out[last].To = night + 1
			continue
		}

		out = append(out, Owned{Period: p, From: night, To: night + 1})
	}

	return out
}

// Share returns the part's share of an amount of so many nights. The shares of all parts add up to the amount.
func (o Owned) Share(total money.Cents, nights int) (sum money.Cents) {
	if o.To-o.From == nights {
		return total
	}

	for _, night := range money.Nightly(total, nights)[o.From:o.To] {
		sum += night
	}

	return sum
}
