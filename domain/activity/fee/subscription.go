package fee

import (
	"cmp"
	"slices"
	"strings"

	"stayledger/platform/money"
)

// Subscription is an active fee on a listing during one of its listing periods.
type Subscription struct {
	Fee    Fee
	Period Period
	// Rate is the period's own rate, else the fee's.
	Rate int64
	// Currency is the listing's, which amounts of the fee are in; empty where it is not known.
	Currency string
	formula  Formula
}

// NewSubscription joins a fee with a listing period. It fails if the fee's formula cannot be read, which is never
// the case for a stored one.
func NewSubscription(f Fee, p Period) (Subscription, error) {
	formula, err := f.parse()
	return subscription(f, formula, p), err
}

// parse reads the formula of a percentage fee and binds its references. A flat fee has the zero formula.
func (f *Fee) parse() (Formula, error) {
	if f.RateType != Percentage {
		return Formula{}, nil
	}

	// A fee that was read has its written text in Stored; a new one has it in Formula.
	formula, err := ParseFormula(cmp.Or(f.Stored, f.Formula))
	formula.Bind(f.References)

	return formula, err
}

// useCurrentNames sets the formula to its text with the current names of its fees and accounts, and keeps the
// written text in Stored.
func (f *Fee) useCurrentNames() {
	f.Stored = f.Formula

	formula, err := ParseFormula(f.Formula)
	if err != nil {
		return // the empty formula of a flat fee
	}

	formula.Bind(f.References)
	f.Formula = formula.Text()
}

// subscription returns a fee during a listing period, at the rate of the period if it has one.
func subscription(f Fee, formula Formula, p Period) Subscription {
	s := Subscription{Fee: f, Period: p, Rate: f.DefaultRate, formula: formula}
	if p.Rate != nil {
		s.Rate = *p.Rate
	}

	return s
}

// amount returns the amount of the fee on a stay of some nights, before tax is split off or added.
func (s *Subscription) amount(nights int, of Values) money.Cents {
	switch s.Fee.RateType {
	case Flat:
		if s.Fee.ChargeBasis == PerNight {
			return times(money.Cents(s.Rate), nights)
		}

		return clamp(money.Cents(s.Rate))
	case Percentage:
		return clamp(money.Rate(s.Rate).Of(s.formula.Value(of)))
	default:
		return 0
	}
}

// times multiplies without wrapping: a rate in parts of the whole is exact for whole multiples.
func times(c money.Cents, n int) money.Cents {
	return clamp(money.Rate(int64(n) * int64(money.WholeRate)).Of(c))
}

// appliesTo reports whether the fee is charged on a reservation of a booking platform.
func (f *Fee) appliesTo(platform string) bool {
	isPlatform := func(channel string) bool { return strings.EqualFold(channel, platform) }

	return len(f.BookingChannelsFilter) == 0 || slices.ContainsFunc(f.BookingChannelsFilter, isPlatform)
}
