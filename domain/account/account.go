// Package account owns the chart of accounts: categories, accounts, and the parts (assignments) that accounts play in the books.
//
// An account belongs to one category, and its classification is the category's; the classification stays as it is once the ledger uses the
// account, because every report that was given out depends on it. An assignment belongs to at most one account, and an account that plays
// a part, is mapped or is charged by a fee can be neither deleted nor archived.
package account

import (
	"stayledger/platform/apierr"
	"stayledger/platform/day"
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

// Type says what an account is for.
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

// Status tells accounts in use from archived ones.
type Status string

// The statuses.
const (
	Active   Status = "active"
	Inactive Status = "inactive"
)

// Enum lists the statuses.
func (Status) Enum() []string { return []string{string(Active), string(Inactive)} }

// BankingCategory says whose money a bank account holds.
type BankingCategory string

// The categories of bank accounts.
const (
	Trust     BankingCategory = "trust"
	Operating BankingCategory = "operating"
	External  BankingCategory = "external"
)

// Enum lists the categories of bank accounts.
func (BankingCategory) Enum() []string {
	return []string{string(Trust), string(Operating), string(External)}
}

// Banking is what only a bank account has.
type Banking struct {
	Category BankingCategory `json:"category"`
	Type     *string         `json:"type" doc:"Kind of bank account, such as deposit."`
	Last4    *string         `json:"last4" doc:"Last four digits of the account number; no two bank accounts of a team share them."`
	Currency string          `json:"currency" doc:"ISO 4217 code in lower case."`
}

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

// Issue is a finding about an account that somebody should look at.
type Issue struct {
	Code     string         `json:"code"`
	Severity string         `json:"severity" enum:"error,warning"`
	Context  map[string]any `json:"context"`
}

// Account is an account of the chart.
type Account struct {
	ID             id.ID          `json:"id"`
	Code           *string        `json:"code" doc:"Number in the chart, unique in the team."`
	Name           string         `json:"name"`
	UniqueRef      *string        `json:"uniqueRef"`
	Status         Status         `json:"status"`
	Type           Type           `json:"type"`
	Category       CategoryRef    `json:"category"`
	Classification Classification `json:"classification" doc:"The category's."`
	CategoryLock   *CategoryLock  `json:"categoryLock" doc:"Set while ledger entries keep the classification as it is."`
	Assignments    []Assignment   `json:"assignments"`
	OffsetAccount  *Offset        `json:"offsetAccount"`
	Banking        *Banking       `json:"banking" doc:"Null unless the type is bank."`
	Issues         []Issue        `json:"issues"`
	CreatedAt      day.Instant    `json:"createdAt"`
	UpdatedAt      day.Instant    `json:"updatedAt"`
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
	errDuplicateName        = apierr.New(apierr.CodeConflict, apierr.ReasonDuplicateName, "Name or code is already used")
	errDuplicateUniqueRef   = apierr.New(apierr.CodeConflict, apierr.ReasonDuplicateUniqueRef, "An account with this reference already exists")
	errDuplicateLast4       = apierr.New(apierr.CodeBadRequest, apierr.ReasonDuplicateLast4, "Last four digits are used by another bank account or feed")
	errClassificationLocked = apierr.New(apierr.CodeBadRequest, apierr.ReasonAccountClassificationLocked, "The ledger classification cannot change")
	errInUse                = apierr.New(apierr.CodeBadRequest, apierr.ReasonAccountInUse, "Account is still in use")
	errNotBank              = apierr.New(apierr.CodeBadRequest, apierr.ReasonNotBankAccount, "Account is not a bank account")
)

// LockContext tells the caller of a refused deletion what still uses the record, and what to do instead when something can be done.
type LockContext struct {
	LockReasons       []string `json:"lockReasons"`
	SuggestedOnLocked string   `json:"suggestedOnLocked,omitempty"`
}

// Last4Context names those who hold the digits already.
type Last4Context struct {
	AccountIDs           []id.ID `json:"accountIds"`
	AccountConnectionIDs []id.ID `json:"accountConnectionIds"`
	LastDigits           string  `json:"lastDigits"`
}

// last4Taken refuses digits that others hold. Rules ERR-117, ERR-118, ERR-120, ERR-121.
func last4Taken(a *Account, holders []id.ID) *apierr.Error {
	return errDuplicateLast4.
		With(Last4Context{AccountIDs: holders, AccountConnectionIDs: []id.ID{}, LastDigits: *a.Banking.Last4}).
		At(at("Last four digits are used by another bank account or feed", "duplicateLast4", "banking", "last4"))
}

// Usage is what refers to an account.
type Usage struct {
	JournalEntries bool
	LockedEntries  bool // entries in closed books or on an owner statement
	Transactions   bool
	Reservations   bool // lines that name the account
	RecurringFees  bool
	ActiveFees     bool
	LineMappings   bool
	Assignments    bool
	OffsetAccounts bool
	PayoutAccounts bool // contacts that are paid from the account
}

// deletion lists what keeps the account from being deleted.
func (u Usage) deletion() []string {
	return reasonsOf([]reason{
		{u.JournalEntries, "journalEntries"},
		{u.Transactions, "transactions"},
		{u.Reservations, "reservations"},
		{u.RecurringFees, "recurringFees"},
		{u.LineMappings, "lineMappings"},
		{u.Assignments, "assignments"},
		{u.OffsetAccounts, "offsetAccounts"},
		{u.PayoutAccounts, "payoutAccounts"},
	})
}

// archiving lists what keeps the account from being archived: history alone does not, but locked history and parts still played do.
func (u Usage) archiving() []string {
	return reasonsOf([]reason{
		{u.LockedEntries, "lockedJournalEntries"},
		{u.ActiveFees, "recurringFees"},
		{u.LineMappings, "lineMappings"},
		{u.Assignments, "assignments"},
		{u.PayoutAccounts, "payoutAccounts"},
	})
}

// checkDelete refuses to delete an account in use: ERR-72, ERR-73, ERR-74, RSN-03.
func (u Usage) checkDelete() error {
	held := u.deletion()
	if held == nil {
		return nil
	}
	context := LockContext{LockReasons: held}
	if u.archiving() == nil {
		context.SuggestedOnLocked = "archive"
	}
	return errInUse.With(context)
}

// checkArchive refuses to archive an account that still plays a part.
func (u Usage) checkArchive() error {
	if held := u.archiving(); held != nil {
		return errInUse.With(LockContext{LockReasons: held})
	}
	return nil
}

type reason struct {
	holds bool
	name  string
}

func reasonsOf(all []reason) []string {
	var out []string
	for _, r := range all {
		if r.holds {
			out = append(out, r.name)
		}
	}
	return out
}
