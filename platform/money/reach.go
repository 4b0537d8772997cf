package money

// Reach adds up the magnitudes of amounts: no sum of any of them, in any order and with either sign, is further from
// nothing. As long as it is Valid such sums can be taken without a look at each, and none leaves the safe range. The
// zero Reach is nothing.
type Reach struct{ cents Cents }

// Add takes an amount in and reports whether the reach still lies in the safe range. Once it does not, it never does
// again, and nothing wraps.
func (r *Reach) Add(c Cents) bool {
	if r.Valid() {
		// Both are at most MaxCents here, so their sum is far below 64 bits; what is more is held just beyond the
		// range.
		r.cents += Cents(min(c.magnitude(), MaxCents+1))
	}

	return r.Valid()
}

// Valid reports whether the reach lies in the safe range.
func (r *Reach) Valid() bool { return r.cents.Valid() }
