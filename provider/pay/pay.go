// Package pay moves money through payment providers. One interface, two providers: NACHA makes the file that a bank
// takes, HTTP speaks to a provider over the network. A payment has a key that never changes; asking twice for the same
// key moves the money once.
package pay

import (
	"context"
	"errors"
	"time"

	"stayledger/platform/day"
	"stayledger/platform/money"
)

// AccountType is the kind of a bank account.
type AccountType string

// The account types.
const (
	Checking AccountType = "checking"
	Savings  AccountType = "savings"
)

// Enum lists the account types.
func (AccountType) Enum() []string { return []string{string(Checking), string(Savings)} }

// Account is the bank account that money goes to.
type Account struct {
	Holder  string      `json:"holder"`
	Routing string      `json:"routing"`
	Number  string      `json:"number"`
	Type    AccountType `json:"type"`
}

// Payment is one transfer to a recipient.
type Payment struct {
	// Key identifies the payment for ever: the same key is the same payment.
	Key       string
	Amount    money.Cents // positive
	Currency  string
	Date      day.Day // when the money should arrive
	Recipient Account
	// Company says that the recipient is no individual.
	Company bool
	// Memo is the text that the recipient's bank shows, at most 15 characters.
	Memo string
}

// State is how far a payment is.
type State string

// The states. Submitted payments become paid, failed, canceled or returned; paid ones can still be returned.
const (
	Submitted State = "submitted"
	Paid      State = "paid"
	Failed    State = "failed"
	Canceled  State = "canceled"
	Returned  State = "returned"
)

// Outcome is the answer of a provider about a payment.
type Outcome struct {
	Key   string
	Ref   string // the provider's own name of the payment
	State State
	// Code is the provider's reason for a failure or return, such as R03; for the record, never for the public.
	Code string
	// Duplicate says that the provider holds more than one payment under the key.
	Duplicate bool
}

// File is a file that has to be delivered to the bank.
type File struct {
	Name        string
	ContentType string
	Content     []byte
}

// Batch is a set of payments that go out together.
type Batch struct {
	Payments []Payment
	// Sequence counts the batches of a connection on a day, from 0; At is when the batch was made. The same batch gives
	// the same file.
	Sequence int
	At       time.Time
}

// Receipt is the result of a batch: an outcome per payment, in their order, and the file if the provider works by
// files. A payment that the provider refuses has the outcome failed with its code; the others of the batch go out.
// With an error the outcomes may be fewer: those that are known, each under its key. The outcome of the others is not
// known.
type Receipt struct {
	Outcomes []Outcome
	File     *File
}

// Verification is the answer of a provider about a bank account.
type Verification string

// The verifications.
const (
	Verified Verification = "verified"
	Rejected Verification = "rejected"
)

// Provider moves money. Its errors wrap the sentinels below; after any other error than ErrRefused and ErrNotReady the
// outcome of a submission is not known (but for the outcomes in the receipt), and Find must be asked before the same
// batch is submitted again.
type Provider interface {
	// Check reports whether the provider would take payments now.
	Check(ctx context.Context) error
	// VerifyAccount asks whether money can reach an account; key names the question.
	VerifyAccount(ctx context.Context, key string, a Account) (Verification, error)
	// Submit sends a batch. It stops at the first payment with an outcome that it cannot learn; the receipt has what it
	// knows until then.
	Submit(ctx context.Context, b Batch) (Receipt, error)
	// Find returns the state of a payment by its key; ErrUnknown if the provider has never seen it. A request that is
	// still on its way can arrive after that answer, so an unknown payment may be submitted again under its key but not
	// given up.
	Find(ctx context.Context, key string) (Outcome, error)
	// Cancel takes back a payment that has not left yet; the outcome says whether it was in time.
	Cancel(ctx context.Context, key string) (Outcome, error)
}

// The errors of providers.
var (
	ErrCredentials = errors.New("payment provider refuses the credentials")
	ErrNotReady    = errors.New("payment provider is not ready to pay")
	ErrRefused     = errors.New("payment provider refused; nothing was moved")
	ErrUnknown     = errors.New("payment provider does not know the payment")
	ErrUnavailable = errors.New("payment provider is unavailable")
	ErrTimeout     = errors.New("payment provider did not answer in time")
)

// RefusedError is ErrRefused with the provider's reason, which is for the record and never for the public.
type RefusedError struct{ Code string }

func (e *RefusedError) Error() string { return ErrRefused.Error() }

// Unwrap returns ErrRefused.
func (e *RefusedError) Unwrap() error { return ErrRefused }

// SettingsError says which setting or credential of a connection cannot be used, and why; both texts can be shown.
type SettingsError struct {
	Field   string
	Problem string
}

func (e *SettingsError) Error() string { return "payment provider: " + e.Field + " " + e.Problem }

// Timeout is how long a call to a provider may take (ERR-99).
const Timeout = 25 * time.Second
