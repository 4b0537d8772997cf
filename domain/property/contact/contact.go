// Package contact owns the people a team deals with: owners, who are paid for their listings, and vendors, who are paid
// for their work.
//
// An owner who has ever owned a listing stays an owner. A tax identifier is kept sealed, so a copy of the database
// gives no social security number away; only its last four digits are ever shown.
package contact

import (
	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/parts"
)

// Type says whether a contact is an owner or a vendor.
type Type string

// The types.
const (
	Owner  Type = "owner"
	Vendor Type = "vendor"
)

// Enum lists the types.
func (Type) Enum() []string { return []string{string(Owner), string(Vendor)} }

// Status says whether a contact is in use or archived.
type Status string

// The statuses.
const (
	Active   Status = "active"
	Inactive Status = "inactive"
)

// Enum lists the statuses.
func (Status) Enum() []string { return []string{string(Active), string(Inactive)} }

// CompanyType is the legal form that decides which information return a contact gets; an individual has none.
type CompanyType string

// The company types.
const (
	LimitedLiabilityCompany CompanyType = "limited_liability_company"
	CCorporation            CompanyType = "c_corporation"
	SCorporation            CompanyType = "s_corporation"
	Partnership             CompanyType = "partnership"
	TrustEstate             CompanyType = "trust_estate"
)

// Enum lists the company types.
func (CompanyType) Enum() []string {
	return []string{
		string(LimitedLiabilityCompany), string(CCorporation), string(SCorporation), string(Partnership),
		string(TrustEstate),
	}
}

// Address is a postal address.
type Address struct {
	Full        string `json:"full,omitempty" maxLength:"500" doc:"The whole address on one line."`
	Line1       string `json:"line1,omitempty" maxLength:"200"`
	Line2       string `json:"line2,omitempty" maxLength:"200"`
	City        string `json:"city,omitempty" maxLength:"100"`
	State       string `json:"state,omitempty" maxLength:"100"`
	PostalCode  string `json:"postalCode,omitempty" maxLength:"20"`
	StateCode   string `json:"stateCode,omitempty" maxLength:"10"`
	CountryCode string `json:"countryCode,omitempty" maxLength:"2" doc:"ISO 3166-1 alpha-2."`
}

// Contact is an owner or a vendor.
type Contact struct {
	ID              id.ID        `json:"id"`
	ShortRef        string       `json:"shortRef"`
	UniqueRef       *string      `json:"uniqueRef"`
	ConnectionID    *id.ID       `json:"connectionId" doc:"The connection that it came over; null for none."`
	SourceID        *string      `json:"sourceId" doc:"The contact's own key in the app of the connection."`
	Source          *Source      `json:"source" doc:"The contact at the app, and the status of the connection; null unless both connectionId and sourceId are there."`
	Type            Type         `json:"type"`
	Status          Status       `json:"status"`
	Name            string       `json:"name"`
	FirstName       *string      `json:"firstName"`
	Email           *string      `json:"email"`
	Phone           *string      `json:"phone"`
	Address         *Address     `json:"address"`
	CompanyType     *CompanyType `json:"companyType" doc:"Null for an individual."`
	TaxIdentifier   *string      `json:"taxIdentifier" doc:"Masked: only the last four digits are shown."`
	PayoutAccountID *id.ID       `json:"payoutAccountId" doc:"Bank account that pays this contact instead of the team's."`
	CreatedAt       day.Instant  `json:"createdAt"`
	UpdatedAt       day.Instant  `json:"updatedAt"`

	Operations *operation.Summary `json:"operations,omitempty" db:"-" doc:"Only in lists with include=operations."`
}

// Ownership is a listing that a contact owns today.
type Ownership struct {
	ListingID id.ID    `json:"listingId"`
	Split     int64    `json:"split" doc:"Parts per 100000."`
	StartAt   *day.Day `json:"startAt"`
	EndAt     *day.Day `json:"endAt"`
}

// Detail is a contact with the listings it owns today.
type Detail struct {
	Contact
	ActiveOwnerships []Ownership `json:"activeOwnerships"`
	PayoutReady      bool        `json:"payoutReady" doc:"There is a verified default payment method."`
}

// What can be wrong with a change to a contact.
var (
	errDuplicateUniqueRef = apierr.New(
		apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef, "A contact with this reference already exists",
	)
	errDuplicateSource = apierr.New(
		apierr.CodeConflict, "", "A contact with this key of the connection already exists",
	)
	errInUse      = apierr.New(apierr.CodeBadRequest, apierr.ReasonInUse, "Contact is still in use")
	errTypeLocked = apierr.New(apierr.CodeBadRequest, "", "An owner of a listing stays an owner")
	errNotBank    = apierr.New(
		apierr.CodeBadRequest, apierr.ReasonNotBankAccount, "Payout account is not a bank account",
	)
)

// checkDelete refuses to delete a contact in use; archiving is always possible: ERR-72, ERR-73, ERR-74, RSN-24.
func checkDelete(used parts.Used) error {
	if used.Deletion == nil {
		return nil
	}

	return errInUse.With(apierr.InUse{LockReasons: used.Deletion, SuggestedOnLocked: apierr.Archive})
}
