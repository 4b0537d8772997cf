package fee

import (
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Stay is what the charges on a reservation depend on.
type Stay struct {
	// Line gives the active lines of a type, with merchantFee and channelFee what deposits paid, and with cancellation
	// the adjustments on the account of that assignment. A discount is positive.
	Line func(name string) money.Cents
	// Account gives what the stay's active lines and financial adjustments credit to an account: revenue is positive.
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

// Charge is what a subscription comes to on a stay, or why it comes to nothing.
type Charge struct {
	Subscription *Subscription
	// Amount is without tax: what the credit party earns.
	Amount money.Cents
	// Tax on the fee: on top of Amount when excluded, taken out of what was computed when included.
	Tax money.Cents
	// InactiveReason is empty when the fee is charged.
	InactiveReason string
}

// Total is what the debit party bears.
func (c Charge) Total() money.Cents { return c.Amount + c.Tax }

// Charges computes every subscription of a listing on a stay, in the order given, whether or not its listing period
// covers the stay: which nights are charged is the journal's to say. A fee that others build on counts with the Amount
// that its subscription at s.At comes to, and with nothing when it has none or is not charged.
func Charges(subscriptions []Subscription, s *Stay) []Charge {
	c := charging{stay: s, subscriptions: subscriptions, charges: make([]Charge, len(subscriptions)), progress: make([]progress, len(subscriptions))}
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

type charging struct {
	stay          *Stay
	subscriptions []Subscription
	charges       []Charge
	progress      []progress
}

func (c *charging) charge(i int) *Charge {
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

	out.Amount = s.amount(c.stay.Nights, Values{Line: c.stay.Line, Account: c.stay.Account, Fee: c.fee})
	if t := s.Fee.TaxRate; t != nil && s.Fee.TaxBehavior != nil {
		out.Amount, out.Tax = s.Fee.TaxBehavior.Split(out.Amount, t.BasisPoints)
	}

	return out
}

// fee is what a fee that others build on comes to.
func (c *charging) fee(feeID id.ID) money.Cents {
	for i := range c.subscriptions {
		if s := &c.subscriptions[i]; s.Fee.ID == feeID && s.Period.Covers(c.stay.At) {
			return c.charge(i).Amount
		}
	}

	return 0
}

// inactive returns why the fee is not charged on a stay, or "". A fee without a currency of its own is in that of the
// stay.
func (s *Subscription) inactive(stay *Stay) string {
	namesAmounts := s.Fee.RateType == Flat || len(s.Fee.AccountTotalConditions) > 0
	if namesAmounts && s.Currency != "" && stay.Currency != "" && s.Currency != stay.Currency {
		return OtherCurrency
	}

	return s.Fee.inactive(stay)
}

// inactive says why the fee is not charged on a stay; empty means that it is.
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
