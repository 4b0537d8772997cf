package account

import (
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// BankingCategory says to which ledger the money of a bank account belongs.
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

// Banking has the fields that only a bank account has.
type Banking struct {
	Category    BankingCategory `json:"category"`
	Type        *string         `json:"type" doc:"Kind of bank account, such as deposit."`
	Last4       *string         `json:"last4" doc:"Last four digits of the account number; no other bank account or account connection of the team has them."`
	Currency    string          `json:"currency" doc:"ISO 4217 code in lower case."`
	Connections []Connected     `json:"connections" doc:"The account at a bank that is attached, if there is one."`
	BankRecords *BankRecords    `json:"bankRecords" doc:"What the bank reported; excluded records do not count."`
	Balance     *BankBalance    `json:"balance"`
}

// Connected is an account connection as its bank account shows it.
type Connected struct {
	ID           id.ID   `json:"id"`
	ConnectionID *id.ID  `json:"connectionId" doc:"The feed's connection; null for one made by hand."`
	Name         string  `json:"name"`
	LastDigits   *string `json:"lastDigits"`
	Status       string  `json:"status"`
}

// BankRecords counts the movements that the bank reported on an account.
type BankRecords struct {
	Reconciled      int64        `json:"reconciled" doc:"Made up to the cent of transactions."`
	Unreconciled    int64        `json:"unreconciled"`
	Total           int64        `json:"total"`
	LatestCreatedAt *day.Instant `json:"latestCreatedAt"`
}

// BankBalance is the balance of a bank account in the books.
type BankBalance struct {
	OpeningDate *day.Day     `json:"openingDate" doc:"First day that is reconciled; null until the banking was initialized."`
	Opening     *money.Cents `json:"opening" doc:"Cents that the bank held at the start of that day."`
	Ending      money.Cents  `json:"ending" doc:"Cents in the books up to and including today."`
}
