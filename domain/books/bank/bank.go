// Package bank owns what banks say: the movements and balances that they report on the bank accounts of a team, and
// which transactions these are made of.
//
// A record of type transaction is a movement; the transactions that it is reconciled with explain it in whole or in
// part. A record of type balance states what the account held at the end of its day. An inactive record is excluded: it
// stays readable and counts nowhere.
//
// Bank and books are compared by what is open, however many records there are. Triggers keep how much of each record
// its transactions explain (made), the sums of the records of an account by day (bank_day, folded as the ledger's sums
// are), and the day on which bank and books agree on each source of entries (bank_clearing). Compare is the one
// comparison: account summaries and trust reconciliations ask it. Records and transactions are joined and parted in one
// place (Reconcile, Free), by a person or by a rule; transactions are locked before records, each by id.
//
// The page docs/decisions/bank.md says what the contract leaves open and how it is answered here.
package bank

import (
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Status distinguishes records that count from excluded ones.
type Status string

// The statuses.
const (
	Active   Status = "active"
	Inactive Status = "inactive"
)

// Enum lists the statuses.
func (Status) Enum() []string { return []string{string(Active), string(Inactive)} }

// Type distinguishes movements from stated balances.
type Type string

// The types.
const (
	Movement Type = "transaction"
	Stated   Type = "balance"
)

// Enum lists the types.
func (Type) Enum() []string { return []string{string(Movement), string(Stated)} }

// Source is how a record came into the service.
type Source string

// The sources.
const (
	Manual   Source = "manual"
	CSV      Source = "csv"
	Bankfeed Source = "bankfeed"
)

// Enum lists the sources.
func (Source) Enum() []string { return []string{string(Manual), string(CSV), string(Bankfeed)} }

// ReconcileStatus compares a movement with the transactions that it is reconciled with, in the movement's direction.
type ReconcileStatus string

// The reconcile statuses.
const (
	Unpaid    ReconcileStatus = "unpaid"
	Underpaid ReconcileStatus = "underpaid"
	Overpaid  ReconcileStatus = "overpaid"
	Paid      ReconcileStatus = "paid"
)

// Enum lists the reconcile statuses.
func (ReconcileStatus) Enum() []string {
	return []string{string(Unpaid), string(Underpaid), string(Overpaid), string(Paid)}
}

// Transaction is a transaction, or a manual journal, that belongs to a bank record or matches it. Its amount has
// the sign of the record's: positive into the account.
type Transaction struct {
	ID          id.ID       `json:"id"`
	Date        day.Day     `json:"date"`
	Description *string     `json:"description"`
	Type        string      `json:"type" enum:"deposit,expense,transfer,payout,journal" doc:"journal for a manual journal."`
	Amount      money.Cents `json:"amount"`
}

// Reconciliation has the transactions that make up a movement.
type Reconciliation struct {
	Status       ReconcileStatus `json:"status"`
	Transactions []Transaction   `json:"transactions" doc:"By date. The amount is the part of the record that the transaction makes."`
}

// Balance is the balance that the bank stated for the end of a day.
type Balance struct {
	Current    money.Cents  `json:"current"`
	Correction *money.Cents `json:"correction" doc:"What current differs by from the balance stated before, or the account's opening, with the movements since; null for the first."`
}

// RuleRef is a bank rule that a record meets.
type RuleRef struct {
	ID   id.ID  `json:"id"`
	Name string `json:"name"`
}

// Record is a movement or a balance that the bank reported for an account.
type Record struct {
	ID                id.ID           `json:"id"`
	UniqueRef         *string         `json:"uniqueRef" doc:"The caller's or the bank's own reference, unique in the team."`
	Date              day.Day         `json:"date"`
	Status            Status          `json:"status" doc:"An inactive record is excluded: it counts nowhere."`
	Description       string          `json:"description"`
	BankAccountID     *id.ID          `json:"bankAccountId" doc:"Account at the bank that a feed reads; null when the record came another way."`
	AccountID         *id.ID          `json:"accountId" doc:"Bank account in the chart; null when the record is not linked to one."`
	ConnectionID      *id.ID          `json:"connectionId" doc:"The feed's connection."`
	Source            Source          `json:"source"`
	Type              Type            `json:"type"`
	Amount            money.Cents     `json:"amount" doc:"Cents: positive into the account, negative out of it; 0 for a stated balance."`
	Currency          string          `json:"currency" doc:"ISO 4217 in lower case."`
	Balance           *Balance        `json:"balance" doc:"Null for a movement."`
	Reconciliation    *Reconciliation `json:"reconciliation" doc:"Null for a stated balance."`
	MatchedByBankRule *id.ID          `json:"matchedByBankRule" doc:"The bank rule that reconciled the record; null when none did."`
	CreatedAt         day.Instant     `json:"createdAt"`
	UpdatedAt         day.Instant     `json:"updatedAt"`

	MatchingTransactions []Transaction `json:"matchingTransactions,omitzero" db:"-" doc:"Transactions that would make up what is open of the record, the nearest in time first, at most 25. In lists only on request."`
	Duplicates           []Duplicate   `json:"duplicates,omitzero" db:"-" doc:"Movements that are perhaps the same one: of the amount, from another source at most 3 days away, or from the same source word for word in another request. None once one is excluded or both are reconciled. In lists only on request."`
	MatchingRules        []RuleRef     `json:"matchingRules,omitzero" db:"-" doc:"Active bank rules that the record meets. In lists only on request."`
}
