// Package account owns the chart of accounts: categories, accounts, and the parts (assignments) that accounts play in
// the books.
//
// An account belongs to one category, and its classification is the category's; the classification stays as it is once
// the ledger uses the account, because every report that was given out depends on it. An assignment belongs to at most
// one account, and an account that plays a part, is mapped or is charged by a fee can be neither deleted nor archived.
//
// The page docs/decisions/account.md says what the contract leaves open and how it is answered here.
package account

import (
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/finding"
	"stayledger/platform/id"
)

// Classification is the side of the books an account is on.
type Classification string

// The classifications.
const (
	Asset     Classification = "asset"
	Liability Classification = "liability"
	Revenue   Classification = "revenue"
	Expense   Classification = "expense"
)

// Enum lists the classifications.
func (Classification) Enum() []string {
	return []string{string(Asset), string(Liability), string(Revenue), string(Expense)}
}

// Type says what kind of account it is.
type Type string

// The types.
const (
	TypeLedger       Type = "ledger"
	TypeBank         Type = "bank"
	TypeRecurringFee Type = "recurringFee"
	TypeNonPosting   Type = "nonPosting"
)

// Enum lists the types.
func (Type) Enum() []string {
	return []string{string(TypeLedger), string(TypeBank), string(TypeRecurringFee), string(TypeNonPosting)}
}

// Status distinguishes accounts in use from archived ones.
type Status string

// The statuses.
const (
	Active   Status = "active"
	Inactive Status = "inactive"
)

// Enum lists the statuses.
func (Status) Enum() []string { return []string{string(Active), string(Inactive)} }

// CategoryRef is the category of an account.
type CategoryRef struct {
	ID             id.ID          `json:"id"`
	Name           string         `json:"name"`
	Classification Classification `json:"classification"`
}

// CategoryLock says why the classification cannot change; an account without entries has none.
type CategoryLock struct {
	Status string `json:"status" enum:"locked"`
	Reason string `json:"reason" enum:"immutable"`
}

// Offset is the account that mirrors another.
type Offset struct {
	ID        id.ID   `json:"id"`
	Name      string  `json:"name"`
	UniqueRef *string `json:"uniqueRef"`
	Status    Status  `json:"status"`
}

// Account is an account of the chart.
type Account struct {
	ID             id.ID             `json:"id"`
	Code           *string           `json:"code" doc:"Number in the chart, unique in the team."`
	Name           string            `json:"name"`
	UniqueRef      *string           `json:"uniqueRef"`
	Status         Status            `json:"status"`
	Type           Type              `json:"type"`
	Category       CategoryRef       `json:"category"`
	Classification Classification    `json:"classification" doc:"The category's."`
	CategoryLock   *CategoryLock     `json:"categoryLock" doc:"Set while ledger entries keep the classification as it is."`
	Assignments    []Assignment      `json:"assignments"`
	OffsetAccount  *Offset           `json:"offsetAccount"`
	Banking        *Banking          `json:"banking" doc:"Null unless the type is bank."`
	Issues         []finding.Finding `json:"issues"`
	CreatedAt      day.Instant       `json:"createdAt"`
	UpdatedAt      day.Instant       `json:"updatedAt"`
}

// Category groups accounts of one classification.
type Category struct {
	ID             id.ID          `json:"id"`
	Name           string         `json:"name"`
	Classification Classification `json:"classification"`
	Position       int64          `json:"position" doc:"Place in the chart, from 1."`
	CreatedAt      day.Instant    `json:"createdAt"`
}

// What can be wrong with a change to the chart.
var (
	errDuplicateName = apierr.New(
		apierr.CodeConflict, apierr.ReasonDuplicateName, "Name or code is already used",
	)
	errDuplicateUniqueRef = apierr.New(
		apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef, "An account with this reference already exists",
	)
	errClassificationLocked = apierr.New(
		apierr.CodeBadRequest, apierr.ReasonAccountClassificationLocked, "The ledger classification cannot change",
	)
	errInUse         = apierr.New(apierr.CodeBadRequest, apierr.ReasonAccountInUse, "Account is still in use")
	errBankingLocked = apierr.New(
		apierr.CodeBadRequest, apierr.ReasonAccountClassificationLocked,
		"The bank account's ledger and currency cannot change",
	)
)
