package fee

import (
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// ChargeBasis says how often a flat rate is charged on a stay.
type ChargeBasis string

// The charge bases.
const (
	PerReservation ChargeBasis = "perReservation"
	PerNight       ChargeBasis = "perNight"
)

// Enum lists the charge bases.
func (ChargeBasis) Enum() []string { return []string{string(PerReservation), string(PerNight)} }

// StatusFilter says which reservations a fee is charged on.
type StatusFilter string

// The status filters. No fee is charged on an inactive reservation.
const (
	BookedOnly   StatusFilter = "booked"
	CanceledOnly StatusFilter = "canceled"
	AnyStatus    StatusFilter = "all"
)

// Enum lists the status filters.
func (StatusFilter) Enum() []string {
	return []string{string(BookedOnly), string(CanceledOnly), string(AnyStatus)}
}

// statuses returns the reservation statuses that the filter lets through.
func (f StatusFilter) statuses() []string {
	switch f {
	case CanceledOnly:
		return []string{"canceled"}
	case AnyStatus:
		return []string{"booked", "canceled"}
	case BookedOnly:
	}

	return []string{"booked"}
}

// OwnerStayFilter says whether a fee is charged when owners use their own listing.
type OwnerStayFilter string

// The owner stay filters.
const (
	ExcludeOwnerStays OwnerStayFilter = "exclude"
	IncludeOwnerStays OwnerStayFilter = "include"
	OnlyOwnerStays    OwnerStayFilter = "only"
)

// Enum lists the owner stay filters.
func (OwnerStayFilter) Enum() []string {
	return []string{string(ExcludeOwnerStays), string(IncludeOwnerStays), string(OnlyOwnerStays)}
}

// Operator compares an account's total with a value.
type Operator string

// The operators.
const (
	Above   Operator = ">"
	AtLeast Operator = ">="
	Below   Operator = "<"
	AtMost  Operator = "<="
	Equal   Operator = "="
	Unequal Operator = "!="
)

// Enum lists the operators.
func (Operator) Enum() []string {
	return []string{string(Above), string(AtLeast), string(Below), string(AtMost), string(Equal), string(Unequal)}
}

// Condition is a total of an account that a stay must have earned for the fee to be charged on it. Revenue is
// positive.
type Condition struct {
	AccountID id.ID       `json:"accountId"`
	Operator  Operator    `json:"operator"`
	CentValue money.Cents `json:"centValue" minimum:"-9007199254740991" maximum:"9007199254740991"`
}

// holds reports whether a total meets the condition.
func (c Condition) holds(total money.Cents) bool {
	switch c.Operator {
	case Above:
		return total > c.CentValue
	case AtLeast:
		return total >= c.CentValue
	case Below:
		return total < c.CentValue
	case AtMost:
		return total <= c.CentValue
	case Equal:
		return total == c.CentValue
	case Unequal:
		return total != c.CentValue
	}

	return false
}
