package fee

import (
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Stay is everything that the charges on a reservation depend on.
type Stay struct {
	// Line returns the sum of the active lines of a type, for merchantFee and channelFee the costs of deposits, and for
	// cancellation also the adjustments on the account of that assignment. A discount is positive.
	Line func(name string) money.Cents
	// Account returns the sum that the stay's active lines and financial adjustments credit to an account: revenue is
	// positive.
	Account func(accountID id.ID) money.Cents
	// Channel is the booking platform.
	Channel string
	// Currency is that of the stay's money.
	Currency string
	// Status is that of the reservation: booked, canceled or inactive.
	Status    string
	OwnerStay bool
	Nights    int
	// At is the recognition date of the reservation: which listing period of a fee counts for those that build on it.
	At day.Day
}

// The reasons why a fee is not charged on a stay.
const (
	ReservationCancelled    = "reservationCancelled"
	ReservationNotCancelled = "reservationNotCancelled"
	ReservationInactive     = "reservationInactive"
	// OwnerStay says that the fee's ownerStayFilter leaves the stay out, whether it is one of an owner or one of a
	// guest.
	OwnerStay          = "ownerStay"
	ChannelNotIncluded = "channelNotIncluded"
	ConditionNotMet    = "conditionNotMet"
	// OtherCurrency says that the fee names amounts, a flat rate or a condition, and the stay is in another currency
	// than they.
	OtherCurrency = "currencyMismatch"
)

// Charge is the outcome of a subscription on a stay: its amounts, or why it is not charged.
type Charge struct {
	Subscription *Subscription
	// Amount is without tax: the sum that the credit party earns.
	Amount money.Cents
	// Tax on the fee: on top of Amount if excluded, taken out of the computed amount if included.
	Tax money.Cents
	// InactiveReason is empty when the fee is charged.
	InactiveReason string
}

// Total returns the sum that the debit party bears.
func (c Charge) Total() money.Cents { return c.Amount + c.Tax }

// Charges computes every subscription of a listing on a stay, in the order given, whether or not its listing period
// covers the stay: the journal decides which nights are charged. A fee that others build on counts with the Amount
// of its subscription at s.At, and with nothing if it has none or is not charged.
func Charges(subscriptions []Subscription, s *Stay) []Charge {
	c := chargeRun{
		stay:          s,
		subscriptions: subscriptions,
		charges:       make([]Charge, len(subscriptions)),
		progress:      make([]progress, len(subscriptions)),
	}

	// The order of computing does not matter: fees that others build on are computed when they are needed.
	for i := range subscriptions {
		c.charge(i)
	}

	return c.charges
}

// progress of a charge while those that others build on are computed first.
type progress int8

const (
	waiting progress = iota
	underway
	done
)

// chargeRun is the computation of all charges on a stay.
type chargeRun struct {
	stay          *Stay
	subscriptions []Subscription
	charges       []Charge
	progress      []progress
}

// charge computes a charge, unless that is done already. Fees that it builds on are computed first, through fee.
func (c *chargeRun) charge(i int) *Charge {
	out, s := &c.charges[i], &c.subscriptions[i]
	if c.progress[i] != waiting {
		return out // underway only in a ring, which no stored formula closes
	}

	c.progress[i] = underway
	defer func() { c.progress[i] = done }()

	*out = Charge{Subscription: s, InactiveReason: s.inactive(c.stay)}
	if out.InactiveReason != "" {
		return out
	}

	// Other fees build on the amount without tax, so the tax is kept apart.
	out.Amount = s.amount(c.stay.Nights, Values{Line: c.stay.Line, Account: c.stay.Account, Fee: c.fee})
	if t := s.Fee.TaxRate; t != nil && s.Fee.TaxBehavior != nil {
		out.Amount, out.Tax = s.Fee.TaxBehavior.Split(out.Amount, t.BasisPoints)
	}

	return out
}

// fee returns the amount of a fee that others build on.
func (c *chargeRun) fee(feeID id.ID) money.Cents {
	for i := range c.subscriptions {
		// Periods of one fee do not overlap, so at most one covers the day.
		if s := &c.subscriptions[i]; s.Fee.ID == feeID && s.Period.Covers(c.stay.At) {
			return c.charge(i).Amount
		}
	}

	return 0
}

// inactive returns why the fee is not charged on a stay, or "". A fee without a currency of its own is in the
// currency of the stay.
func (s *Subscription) inactive(stay *Stay) string {
	// A percentage without conditions names no amounts and fits every currency.
	namesAmounts := s.Fee.RateType == Flat || len(s.Fee.AccountTotalConditions) > 0
	if namesAmounts && s.Currency != "" && stay.Currency != "" && s.Currency != stay.Currency {
		return OtherCurrency
	}

	return s.Fee.inactive(stay)
}

// inactive returns why the fee is not charged on a stay, or "".
func (f *Fee) inactive(s *Stay) string {
	canceled := s.Status == "canceled"
	switch {
	case s.Status != "booked" && !canceled:
		return ReservationInactive
	case canceled && f.StatusFilter != CanceledOnly && f.StatusFilter != AnyStatus:
		return ReservationCancelled
	case !canceled && f.StatusFilter == CanceledOnly:
		return ReservationNotCancelled
	case s.OwnerStay && f.OwnerStayFilter != IncludeOwnerStays && f.OwnerStayFilter != OnlyOwnerStays,
		!s.OwnerStay && f.OwnerStayFilter == OnlyOwnerStays:
		return OwnerStay
	case !f.appliesTo(s.Channel):
		return ChannelNotIncluded
	}

	// The conditions need the amounts of the stay, so they come last. All must hold.
	for i := range f.AccountTotalConditions {
		var total money.Cents
		if s.Account != nil {
			total = s.Account(f.AccountTotalConditions[i].AccountID)
		}

		if !f.AccountTotalConditions[i].holds(total) {
			return ConditionNotMet
		}
	}

	return ""
}
