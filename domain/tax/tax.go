// Package tax owns the team's tax rates. A rate is named by transactions; one that a transaction uses is archived rather than deleted.
package tax

import (
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Status tells rates in use from archived ones.
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
	errDuplicateName      = apierr.New(apierr.CodeConflict, apierr.ReasonDuplicateName, "A tax rate with this name already exists")
	errDuplicateUniqueRef = apierr.New(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef, "A tax rate with this reference already exists")
	errInUse              = apierr.New(apierr.CodeBadRequest, apierr.ReasonInUse, "Tax rate is still used by transactions")
)

// LockContext tells the caller of a refused deletion what still uses the rate, and that archiving is possible.
type LockContext struct {
	LockReasons       []string `json:"lockReasons"`
	SuggestedOnLocked string   `json:"suggestedOnLocked"`
}
