// Package listing owns listings and who owns them when.
//
// The ownership periods of a listing never overlap; a day that none covers has no owner. The members of a period are
// owners whose shares sum to 100000. Once an owner statement is saved over a period, its owners, their shares and the
// days of the statement stay as they are.
//
// The page docs/decisions/listing.md says what the contract leaves open and how it is answered here.
package listing

import (
	"stayledger/domain/property/contact"
	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

// Status says whether a listing is managed or not managed any more.
type Status string

// The statuses.
const (
	Active   Status = "active"
	Inactive Status = "inactive"
)

// Enum lists the statuses.
func (Status) Enum() []string { return []string{string(Active), string(Inactive)} }

// FeePeriod is a recurring fee that a listing is charged today.
type FeePeriod struct {
	ID           id.ID        `json:"id"`
	StartAt      *day.Day     `json:"startAt"`
	EndAt        *day.Day     `json:"endAt"`
	Rate         *int64       `json:"rate" doc:"Cents or parts per 100000, by the fee's rate type; null means the fee's default rate."`
	RecurringFee RecurringFee `json:"recurringFee"`
}

// RecurringFee is the fee of a FeePeriod.
type RecurringFee struct {
	ID          id.ID  `json:"id"`
	Name        string `json:"name"`
	Type        string `json:"type"`
	RateType    string `json:"rateType"`
	DefaultRate int64  `json:"defaultRate"`
}

// Listing is a property that guests stay in.
type Listing struct {
	ID                        id.ID             `json:"id"`
	ShortRef                  string            `json:"shortRef"`
	Name                      string            `json:"name"`
	UniqueRef                 *string           `json:"uniqueRef"`
	ConnectionID              *id.ID            `json:"connectionId" doc:"The connection whose system has the listing; null for none."`
	Source                    *contact.Source   `json:"source" doc:"The listing at the system: its id there, and the status of the connection."`
	Status                    Status            `json:"status"`
	DefaultCurrency           string            `json:"defaultCurrency" doc:"ISO 4217 code in lower case."`
	TimeZone                  *day.Zone         `json:"timeZone" doc:"IANA name of the time zone of its days; null takes the team's."`
	Address                   *contact.Address  `json:"address"`
	Parent                    *NameRef          `json:"parent"`
	ActiveOwnership           *Period           `json:"activeOwnership" db:"-" doc:"The ownership period that covers today, or null."`
	ActiveRecurringFeePeriods []FeePeriod       `json:"activeRecurringFeePeriods" db:"-" doc:"Recurring fees charged today."`
	Issues                    []finding.Finding `json:"issues" doc:"What a sync could not do about the listing and about stays of it that are not here."`
	CreatedAt                 day.Instant       `json:"createdAt"`
	UpdatedAt                 day.Instant       `json:"updatedAt"`

	Operations *operation.Summary `json:"operations,omitempty" db:"-" doc:"Only in lists with include=operations."`
}

// What can be wrong with a change to a listing.
var (
	errDuplicateUniqueRef = apierr.New(
		apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef, "A listing with this reference already exists",
	)
	errInUse = apierr.New(apierr.CodeBadRequest, apierr.ReasonInUse, "Listing is still in use")
)

// checkDelete refuses to delete a listing in use: ERR-72, ERR-73, ERR-74, RSN-24.
func checkDelete(used parts.Used) error {
	if used.Deletion == nil {
		return nil
	}

	context := apierr.InUse{LockReasons: used.Deletion}
	if used.Archiving == nil {
		context.SuggestedOnLocked = apierr.Archive
	}

	return errInUse.With(context)
}

// checkDeactivate refuses to deactivate a listing that guests are still going to stay in.
func checkDeactivate(used []string) error {
	if used == nil {
		return nil
	}

	return errInUse.With(apierr.InUse{LockReasons: used})
}
