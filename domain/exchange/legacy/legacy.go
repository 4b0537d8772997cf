// Package legacy fills teams without a general ledger with a dump of their former product: owners,
// listings with their shares, connections, reservations, templates, and statements with lines of legacy accounts.
// Package migration moves such a team into one with books.
//
// A dump is one JSON object. It is read as it arrives, a few hundred records at a time, so that its size is no
// matter.
//
// The page docs/decisions/migration.md says what the contract leaves open and how it is answered here.
package legacy

import (
	"encoding/json"

	"stayledger/domain/property/contact"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Account is an account of the legacy product.
type Account struct {
	Key            string  `json:"key" minLength:"1" maxLength:"180"`
	Ref            *string `json:"ref,omitempty" maxLength:"180"`
	Name           string  `json:"name" minLength:"1" maxLength:"200"`
	Classification *string `json:"classification,omitempty" enum:"asset,liability,revenue,expense"`
}

// Owner is an owner of listings.
type Owner struct {
	ID        string           `json:"id" minLength:"1" maxLength:"180"`
	Name      string           `json:"name" minLength:"1" maxLength:"200"`
	FirstName *string          `json:"firstName,omitempty" maxLength:"200"`
	Email     *string          `json:"email,omitempty" maxLength:"320"`
	Phone     *string          `json:"phone,omitempty" maxLength:"50"`
	Address   *contact.Address `json:"address,omitempty"`
}

// Listing is a listing with the shares of its owners.
type Listing struct {
	ID       string           `json:"id" minLength:"1" maxLength:"180"`
	Name     string           `json:"name" minLength:"1" maxLength:"200"`
	Currency string           `json:"currency,omitempty"`
	Address  *contact.Address `json:"address,omitempty"`
	Inactive bool             `json:"inactive,omitempty"`
	Owners   []Share          `json:"owners,omitempty" maxItems:"100"`
}

// Share is an owner's part in a listing from StartAt up to, but not including, EndAt.
type Share struct {
	OwnerID string   `json:"ownerId" minLength:"1" maxLength:"180"`
	Split   int64    `json:"split" minimum:"1" maximum:"100000" doc:"Parts per 100000."`
	StartAt *day.Day `json:"startAt,omitempty"`
	EndAt   *day.Day `json:"endAt,omitempty"`
}

// Connection is a connection to an app.
type Connection struct {
	ID          string          `json:"id" minLength:"1" maxLength:"180"`
	AppID       string          `json:"appId" minLength:"1" maxLength:"100"`
	Name        string          `json:"name" minLength:"1" maxLength:"200"`
	Settings    json.RawMessage `json:"settings,omitempty"`
	Credentials json.RawMessage `json:"credentials,omitempty"`
}

// Reservation is a stay.
type Reservation struct {
	ID               string  `json:"id" minLength:"1" maxLength:"180"`
	ListingID        string  `json:"listingId" minLength:"1" maxLength:"180"`
	GuestName        *string `json:"guestName,omitempty" maxLength:"200"`
	ConfirmationCode *string `json:"confirmationCode,omitempty" maxLength:"200"`
	CheckIn          day.Day `json:"checkIn"`
	CheckOut         day.Day `json:"checkOut"`
	Currency         string  `json:"currency,omitempty"`
	Status           string  `json:"status,omitempty" enum:"booked,canceled,inactive"`
}

// Status is the state of a legacy statement.
type Status string

// The states: posted and published statements are final.
const (
	Draft     Status = "draft"
	Posted    Status = "posted"
	Published Status = "published"
	Void      Status = "void"
)

// Enum lists the states.
func (Status) Enum() []string {
	return []string{string(Draft), string(Posted), string(Published), string(Void)}
}

// Statement is an owner statement. Amounts are owner-facing cents.
type Statement struct {
	ID           string      `json:"id" minLength:"1" maxLength:"150"`
	ListingID    string      `json:"listingId" minLength:"1" maxLength:"180"`
	StartAt      day.Day     `json:"startAt"`
	EndAt        day.Day     `json:"endAt" doc:"Last day, inclusive."`
	Currency     string      `json:"currency,omitempty"`
	Status       Status      `json:"status"`
	BalanceStart money.Cents `json:"balanceStart" minimum:"-9007199254740991" maximum:"9007199254740991"`
	BalanceEnd   money.Cents `json:"balanceEnd" minimum:"-9007199254740991" maximum:"9007199254740991"`
	Lines        []Line      `json:"lines" maxItems:"20000"`
}

// Line is an amount of a statement. A payout names no account.
type Line struct {
	ID          string      `json:"id" minLength:"1" maxLength:"180"`
	Type        string      `json:"type" enum:"line,payout"`
	AccountKey  *string     `json:"accountKey,omitempty" maxLength:"180"`
	Amount      money.Cents `json:"amount" minimum:"-9007199254740991" maximum:"9007199254740991" doc:"Revenue is positive, an expense negative; money paid out is positive."`
	Date        *day.Day    `json:"date,omitempty"`
	Description string      `json:"description,omitempty" maxLength:"900"`
	OwnerID     *string     `json:"ownerId,omitempty" doc:"Who was paid."`
}

// Payout is the line type for money paid to owners.
const Payout = "payout"

// Template is a layout of statements.
type Template struct {
	ID         string    `json:"id" minLength:"1" maxLength:"180"`
	Name       string    `json:"name" minLength:"1" maxLength:"100"`
	IsDefault  bool      `json:"isDefault,omitempty"`
	NetRevenue []Section `json:"netRevenueSections,omitempty" maxItems:"20"`
	Other      []Section `json:"otherSections,omitempty" maxItems:"20"`
}

// Section is a table of a template.
type Section struct {
	Name    string   `json:"name" minLength:"1" maxLength:"100"`
	Columns []Column `json:"columns" maxItems:"50"`
}

// Column adds up the lines of some accounts.
type Column struct {
	Name        string   `json:"name" minLength:"1" maxLength:"100"`
	AccountKeys []string `json:"accountKeys" maxItems:"500"`
}

// Counts are the records of a dump.
type Counts struct {
	Accounts     int64 `json:"accounts" doc:"Legacy accounts."`
	Owners       int64 `json:"owners" doc:"Owners, each a contact."`
	Listings     int64 `json:"listings" doc:"Listings."`
	Connections  int64 `json:"connections" doc:"Connections."`
	Reservations int64 `json:"reservations" doc:"Stays."`
	Templates    int64 `json:"templates" doc:"Templates of statements."`
	Statements   int64 `json:"statements" doc:"Statements of all states."`
	Lines        int64 `json:"lines" doc:"Lines of statements."`
}

// Filled is the answer to a dump.
type Filled struct {
	TeamID id.ID  `json:"teamId" doc:"The team that was filled."`
	Counts Counts `json:"counts" doc:"What the dump had."`
}
