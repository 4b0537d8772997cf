package plaid

import (
	"encoding/json"

	"stayledger/platform/day"
	"stayledger/platform/money"
)

// Transaction is a row of an account. Its ID never changes; a pending row is replaced by a posted one of another ID.
type Transaction struct {
	ID        string
	AccountID string
	// Amount is in the smallest unit of the currency; positive is money that came into the account. The vendor's sign
	// is the other way around.
	Amount money.Cents
	// Currency is empty for money that is none of ISO 4217; Unofficial names it then, and its unit counts as a hundred
	// smaller ones.
	Currency   money.Currency
	Unofficial string
	// Rounded says that the amount had more digits than the currency: it is rounded half away from zero.
	Rounded bool
	// Date is the day on which it was posted, or on which it occurred if it is pending. AuthorizedOn is zero if the
	// bank does not give it.
	Date         day.Day
	AuthorizedOn day.Day
	// Name describes it, Original is the bank's own text. At most 500 characters each, like all texts.
	Name        string
	Original    string
	Merchant    string
	CheckNumber string
	Channel     string // such as online
	Code        string // the bank's kind of transaction
	Reference   string
	Payee       string
	Payer       string
	Pending     bool
	PendingID   string // of the pending row that this one replaces
}

// Removed is a row that the bank has taken back, or that a posted one replaces.
type Removed struct {
	ID        string
	AccountID string // empty if the vendor does not give it
}

// Unreadable is a row that cannot be used, with the field that is wrong: id, account_id, amount, currency, date or, for
// a row that is no such object at all, row. ID and AccountID are empty if they are wrong.
type Unreadable struct {
	ID        string
	AccountID string
	Field     string
}

type wireTransaction struct {
	ID           string          `json:"transaction_id"`
	AccountID    string          `json:"account_id"`
	Amount       json.RawMessage `json:"amount"`
	Currency     string          `json:"iso_currency_code"`
	Unofficial   string          `json:"unofficial_currency_code"`
	Date         string          `json:"date"`
	AuthorizedOn string          `json:"authorized_date"`
	Name         string          `json:"name"`
	Original     string          `json:"original_description"`
	Merchant     string          `json:"merchant_name"`
	CheckNumber  string          `json:"check_number"`
	Channel      string          `json:"payment_channel"`
	Code         string          `json:"transaction_code"`
	Pending      bool            `json:"pending"`
	PendingID    string          `json:"pending_transaction_id"`
	Meta         struct {
		Reference string `json:"reference_number"`
		Payee     string `json:"payee"`
		Payer     string `json:"payer"`
	} `json:"payment_meta"`
}

// transaction checks a row and returns it. If the row cannot be used, fault is the field of Unreadable, or else "".
func (w *wireTransaction) transaction() (t Transaction, fault string) {
	t = Transaction{
		ID:          tidyID(w.ID),
		AccountID:   tidyID(w.AccountID),
		Name:        text(w.Name, maxText),
		Original:    text(w.Original, maxText),
		Merchant:    text(w.Merchant, maxText),
		CheckNumber: text(w.CheckNumber, maxText),
		Channel:     text(w.Channel, maxCode),
		Code:        text(w.Code, maxCode),
		Reference:   text(w.Meta.Reference, maxText),
		Payee:       text(w.Meta.Payee, maxText),
		Payer:       text(w.Meta.Payer, maxText),
		Pending:     w.Pending,
		PendingID:   tidyID(w.PendingID),
	}

	// The currency comes first: it decides how many digits the amount has. The vendor's sign is turned around.
	t.Currency, t.Unofficial = readCurrency(w.Currency, w.Unofficial)
	cents, rounded, amountErr := money.ParseDecimal(string(w.Amount), t.Currency)
	t.Amount, t.Rounded = -cents, rounded

	var dateErr error

	t.Date, dateErr = day.Parse(w.Date)

	t.AuthorizedOn, _ = day.Parse(w.AuthorizedOn) // null if the bank does not give it

	// The row comes back even if it cannot be used, for its identifiers. Other fields may be empty.
	switch {
	case t.ID == "":
		return t, "id"
	case t.AccountID == "":
		return t, "account_id"
	case t.Currency == "" && t.Unofficial == "":
		return t, "currency"
	case amountErr != nil:
		return t, "amount"
	case dateErr != nil:
		return t, "date"
	}

	return t, ""
}
