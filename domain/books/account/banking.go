package account

import (
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

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
	Category    BankingCategory `json:"category"`
	Type        *string         `json:"type" doc:"Kind of bank account, such as deposit."`
	Last4       *string         `json:"last4" doc:"Last four digits of the account number; no two bank accounts of a team share them."`
	Currency    string          `json:"currency" doc:"ISO 4217 code in lower case."`
	BankRecords *BankRecords    `json:"bankRecords" doc:"What the bank reported; excluded records do not count."`
	Balance     *BankBalance    `json:"balance"`
}

// BankRecords counts the movements that the bank reported on an account.
type BankRecords struct {
	Reconciled      int64        `json:"reconciled" doc:"Made up to the cent of transactions."`
	Unreconciled    int64        `json:"unreconciled"`
	Total           int64        `json:"total"`
	LatestCreatedAt *day.Instant `json:"latestCreatedAt"`
}

// BankBalance is what the books say is in a bank account.
type BankBalance struct {
	OpeningDate *day.Day     `json:"openingDate" doc:"First day that is reconciled; null until the banking was initialized."`
	Opening     *money.Cents `json:"opening" doc:"Cents that the bank held at the start of that day."`
	Ending      money.Cents  `json:"ending" doc:"Cents in the books up to and including today."`
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
		At(apierr.IssueDuplicateLast4.InBody("banking", "last4"))
}
