// Package tax owns the team's tax rates. A rate is named by transactions and recurring fees; one that
// is in use is archived rather than deleted.
package tax

import (
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Status distinguishes rates in use from archived ones.
type Status string

// The statuses.
const (
	Active   Status = "active"
	Inactive Status = "inactive"
)

// Enum lists the statuses.
func (Status) Enum() []string { return []string{string(Active), string(Inactive)} }

// Rate is a tax rate.
type Rate struct {
	ID          id.ID       `json:"id"`
	Name        string      `json:"name"`
	BasisPoints money.Rate  `json:"basisPoints" doc:"Parts per 100000: 7250 is 7.25 percent."`
	Status      Status      `json:"status"`
	UniqueRef   *string     `json:"uniqueRef"`
	CreatedAt   day.Instant `json:"createdAt"`
	UpdatedAt   day.Instant `json:"updatedAt"`
}

// What can be wrong with a change to the tax rates.
var (
	errDuplicateName = apierr.New(
		apierr.CodeConflict, apierr.ReasonDuplicateName, "A tax rate with this name already exists",
	)
	errDuplicateUniqueRef = apierr.New(
		apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef, "A tax rate with this reference already exists",
	)
	errInUse = apierr.New(apierr.CodeBadRequest, apierr.ReasonInUse, "Tax rate is still used")
)

// Behavior says whether an amount contains its tax.
type Behavior string

// The behaviors.
const (
	// Included amounts contain the tax, which is taken out of them.
	Included Behavior = "included"
	// Excluded amounts are before tax, which comes on top.
	Excluded Behavior = "excluded"
)

// Enum lists the behaviors.
func (Behavior) Enum() []string { return []string{string(Included), string(Excluded)} }

// Split divides the charged amount into the amount without tax and the tax on it, which is rounded half away from
// zero. With an included tax the sum of both is exactly the given amount.
func (b Behavior) Split(amount money.Cents, rate money.Rate) (net, taxes money.Cents) {
	// The tax is taken out of the amount, so nothing is lost by rounding.
	if b == Included {
		taxes = rate.TaxIn(amount)
		return amount - taxes, taxes
	}

	return amount, rate.Of(amount)
}
