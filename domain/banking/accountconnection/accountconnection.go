// Package accountconnection owns account connections: the accounts that a team has at its banks, whether a feed reads
// them or somebody keeps them by hand.
//
// An account connection is attached to at most one bank account of the chart, and each of these to at most one account
// connection. What is read from the bank goes to the account that is attached then. Last digits are unique over the
// account connections and the bank accounts of a team, but for the two that are attached to each other
// (account.CheckLast4).
//
// The page docs/decisions/accountconnection.md says what the contract leaves open and how it is answered here.
package accountconnection

import (
	"stayledger/platform/api"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Status says whether what the bank reports reaches the books.
type Status string

// The statuses.
const (
	// Active is attached to a bank account of the chart.
	Active Status = "active"
	// Detached is attached to none.
	Detached Status = "detached"
	// Gone is not shown by the bank any more; it can be detached, but not attached.
	Gone Status = "gone"
)

// Enum lists the statuses.
func (Status) Enum() []string { return []string{string(Active), string(Detached), string(Gone)} }

// Mode says what becomes of the bank records when an account connection is detached.
type Mode string

// The modes.
const (
	// PreserveHistory leaves the records on the account.
	PreserveHistory Mode = "preserve-history"
	// DetachHistory takes them from it: they are linked to no account until the account connection is attached again.
	DetachHistory Mode = "detach-history"
)

// Enum lists the modes, the usual one first.
func (Mode) Enum() []string { return []string{string(PreserveHistory), string(DetachHistory)} }

// Balance is the last balance that the bank stated.
type Balance struct {
	Current   money.Cents  `json:"current"`
	Available *money.Cents `json:"available" doc:"What of it can be spent; null when the bank does not say."`
	At        day.Instant  `json:"at" doc:"When the bank said it."`
}

// AccountConnection is an account that a team has at a bank.
type AccountConnection struct {
	ID                id.ID        `json:"id"`
	ConnectionID      *id.ID       `json:"connectionId" doc:"The feed's connection; null for one made by hand."`
	ProviderAccountID *string      `json:"providerAccountId" doc:"What the feed's provider calls the account; null for one made by hand."`
	Name              string       `json:"name"`
	LastDigits        *string      `json:"lastDigits" doc:"Last four digits of the account number; no other account connection or bank account of the team has them, but the one that is attached."`
	Type              *string      `json:"type" doc:"Kind of bank account, such as checking."`
	Currency          string       `json:"currency" doc:"ISO 4217 code in lower case."`
	AccountID         *id.ID       `json:"accountId" doc:"The bank account of the chart that it is attached to."`
	StartAt           *day.Day     `json:"startAt" doc:"First day that is read from the bank; null for all that it has."`
	Status            Status       `json:"status" doc:"active is attached to a bank account, detached to none; gone is not shown by the bank any more."`
	Balance           *Balance     `json:"balance" doc:"What the bank last said; null when a feed has not asked."`
	LastRecordAt      *day.Instant `json:"lastRecordAt" doc:"When its latest bank record came."`
	CreatedAt         day.Instant  `json:"createdAt"`
	UpdatedAt         day.Instant  `json:"updatedAt"`
}

// Callers know the schemas of the package by two words.
var _ = api.PublishUnder[Attached]("accountConnection")

// errAttached refuses to attach what is attached elsewhere (RSN-02).
var errAttached = apierr.New(
	apierr.CodeConflict, apierr.ReasonAccountConnectionAttached, "Account or bank feed is attached elsewhere",
)

// Attached names the two that are attached to each other already.
type Attached struct {
	AccountID           id.ID `json:"accountId"`
	AccountConnectionID id.ID `json:"accountConnectionId"`
}
