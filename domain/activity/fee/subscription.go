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
	// Currency is that of the listing, which amounts of the fee are in; empty where it is not known.
	Currency string
	formula  Formula
}

// NewSubscription joins a fee with a listing period. It fails when the fee's formula is no formula, which no stored one
// is.
func NewSubscription(f Fee, p Period) (Subscription, error) {
	formula, err := f.parse()
	return subscription(f, formula, p), err
}

// parse reads the formula of a percentage fee, with what it refers to.
func (f *Fee) parse() (Formula, error) {
	if f.RateType != Percentage {
		return Formula{}, nil
	}

	formula, err := ParseFormula(cmp.Or(f.Stored, f.Formula))
	formula.Bind(f.References)

	return formula, err
}

// useCurrentNames shows the formula with what its fees and accounts are called now.
func (f *Fee) useCurrentNames() {
	f.Stored = f.Formula

	formula, err := ParseFormula(f.Formula)
	if err != nil {
		return // the empty formula of a flat fee
	}

	formula.Bind(f.References)
	f.Formula = formula.Text()
}

func subscription(f Fee, formula Formula, p Period) Subscription {
	s := Subscription{Fee: f, Period: p, Rate: f.DefaultRate, formula: formula}
	if p.Rate != nil {
		s.Rate = *p.Rate
	}

	return s
}

// amount is what the fee comes to on a stay of some nights.
func (s *Subscription) amount(nights int, of Values) money.Cents {
	switch s.Fee.RateType {
	case Flat:
		if s.Fee.ChargeBasis == PerNight {
			return times(money.Cents(s.Rate), nights)
		}

		return held(money.Cents(s.Rate))
	case Percentage:
		return held(money.Rate(s.Rate).Of(s.formula.Value(of)))
	default:
		return 0
	}
}

// times multiplies without wrapping: a rate in parts of the whole is exact for amounts of whole multiples.
func times(c money.Cents, n int) money.Cents {
	return held(money.Rate(int64(n) * int64(money.WholeRate)).Of(c))
}

// appliesTo reports whether the fee is charged on a reservation of a booking platform.
func (f *Fee) appliesTo(platform string) bool {
	return len(f.BookingChannelsFilter) == 0 || slices.ContainsFunc(f.BookingChannelsFilter, func(channel string) bool { return strings.EqualFold(channel, platform) })
}
