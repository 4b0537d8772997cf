// Package payment owns payments through providers: it sends each payment at most once, learns its outcome, and handles
// recovery and returns.
//
// A payment is a row that is committed before anything leaves; its id is the key under which the provider knows it. It
// is marked as sending, in a commit of its own, before the provider hears of it. After that only news from the provider
// move it: an attempt that finds a payment sending asks for it by its key first, and submits it again, under the same
// key, only if the provider has never seen it.
//
// News that comes as answer, callback, poll or return file goes through one function, in any order and any number of
// times. A payment that was refused or is unknown reads as open everywhere (the view payment_not_received), though it
// stays booked until it is put away. CheckFunds alone decides how much may leave, for previews, payments and approvals.
//
// The page docs/decisions/payment.md says what the contract leaves open and how it is answered here.
package payment

import (
	"stayledger/domain/tenant/connection"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/provider/pay"
)

// Status is how far a payment is.
type Status string

// The states. Payments that await approval wait for a second person, and requested ones wait to be sent. Sending means
// that the provider may have the payment.
const (
	Awaiting  Status = "awaitingApproval"
	Requested Status = "requested"
	Sending   Status = "sending"
	Submitted Status = "submitted"
	Paid      Status = "paid"
	Failed    Status = "failed"
	Canceled  Status = "canceled"
	Returned  Status = "returned"
)

// Enum lists the states.
func (Status) Enum() []string {
	return []string{"awaitingApproval", "requested", "sending", "submitted", "paid", "failed", "canceled", "returned"}
}

// Payment is a payment as its team sees it. The provider's own references and texts are not shown (ERR-100).
type Payment struct {
	ID                     id.ID            `json:"id"`
	ShortRef               string           `json:"shortRef"`
	Status                 Status           `json:"status" doc:"One that is awaitingApproval waits for a second person, and what it pays is unpaid. Of a payment that is sending it is not known whether the provider has it."`
	Provider               connection.AppID `json:"provider"`
	ConnectionID           id.ID            `json:"connectionId"`
	TransactionID          id.ID            `json:"transactionId"`
	ContactID              id.ID            `json:"contactId"`
	ContactPaymentMethodID id.ID            `json:"contactPaymentMethodId"`
	FundingAccountID       id.ID            `json:"fundingAccountId"`
	ApprovalID             *id.ID           `json:"approvalId" doc:"The approval that a second person decides on, null for a payment that needs none."`
	OperationID            *id.ID           `json:"operationId" doc:"The operation that has sent it, null before."`
	Amount                 money.Cents      `json:"amount" doc:"Cents."`
	Currency               string           `json:"currency"`
	Date                   day.Day          `json:"date" doc:"When the money should arrive."`
	Destination            Destination      `json:"destination" doc:"As it was when the payment was asked for."`
	Failure                *Failure         `json:"failure" doc:"Why no money arrived, or did not stay."`
	FileID                 *id.ID           `json:"fileId" doc:"The file to deliver to the bank, for a provider that works by files."`
	FileURL                *string          `json:"fileUrl" doc:"Authenticated download path of the file."`
	ReturnTransactionID    *id.ID           `json:"returnTransactionId" doc:"The negative payout that booked the return."`
	Issues                 []Issue          `json:"issues"`
	CreatedAt              day.Instant      `json:"createdAt"`
	SentAt                 *day.Instant     `json:"sentAt" doc:"When it was first about to be sent."`
	UnknownSince           *day.Instant     `json:"unknownSince" doc:"Since when the provider's word is missing; null while the state is known. It is asked, and the payment sent again under its key, for a day."`
	SettledAt              *day.Instant     `json:"settledAt" doc:"When it last became paid, failed, canceled or returned."`
	RecoveredAt            *day.Instant     `json:"recoveredAt" doc:"When it was put away, so that its transaction can be paid again."`
	UpdatedAt              day.Instant      `json:"updatedAt"`
}

// Destination says how old the payment method was as a place where money goes when the payment was asked for, and who made
// it one.
type Destination struct {
	Since      *day.Instant `json:"since" doc:"When it had been chosen, null if that was not kept."`
	By         *id.ID       `json:"by" doc:"The user who did that."`
	ReleasedBy *id.ID       `json:"releasedBy" doc:"Who freed it."`
}

// Failure is the public reason of a payment that brought nothing.
type Failure struct {
	Code    string `json:"code" enum:"paymentFailed,paymentCanceled,paymentRejected,paymentReturned"`
	Message string `json:"message"`
}

// Issue is something about a payment that a person should look at.
type Issue struct {
	Code     string            `json:"code" enum:"duplicatePayment,contradictoryNews,unknownToProvider,returnNotBooked,paymentStillBooked,givenUp,notTakenBack"`
	Severity finding.Severity  `json:"severity"`
	Context  map[string]string `json:"context"`
}

// The issues: the provider holds more than one payment under our key; it said something that cannot follow what it said
// before; it does not know a payment that it has accepted; the money came back and could not be booked; no money left
// and the bill still counts as paid; for a day it was unknown whether the provider has it, so it is not sent again by
// itself; the provider did not take it back when it was asked to, for the reason in the context.
const (
	duplicatePayment   = "duplicatePayment"
	contradictoryNews  = "contradictoryNews"
	unknownToProvider  = "unknownToProvider"
	returnNotBooked    = "returnNotBooked"
	paymentStillBooked = "paymentStillBooked"
	givenUp            = "givenUp"
	notTakenBack       = "notTakenBack"
)

// issue returns an issue of a payment. All of them are errors.
func issue(code string, context map[string]string) Issue {
	if context == nil {
		context = map[string]string{}
	}

	return Issue{Code: code, Severity: finding.Error, Context: context}
}

// Refusals of payments that payouts answer with as well.
var (
	ErrAlreadyPaid     = apierr.New(apierr.CodeConflict, apierr.ReasonAlreadyPaid, "Already has a payment")
	ErrArchiveRequired = apierr.New(
		apierr.CodeBadRequest,
		apierr.ReasonArchiveRequired,
		"The original has to be archived or returned first",
	)
)

var (
	errNotSupported = apierr.New(
		apierr.CodeBadRequest,
		apierr.ReasonPayProviderPaymentNotSupported,
		"The provider cannot pay this transaction",
	)
	errVendorOwner = apierr.New(
		apierr.CodePayproviderVendorOwnerRequired,
		"",
		"Only a vendor or an owner is paid through a provider",
	)
	errRecipient = apierr.New(
		apierr.CodeBadRequest,
		apierr.ReasonPayProviderRecipientNotReady,
		"The recipient has no ready ACH payment method",
	)
	errConnection = apierr.New(
		apierr.CodeBadRequest,
		apierr.ReasonPayProviderConnectionInactive,
		"The payment provider connection is not active",
	)
	errFunding = apierr.New(
		apierr.CodeBadRequest,
		apierr.ReasonPayProviderAccountNotReady,
		"The funding account is not ready for payments",
	)
	errRequiresMark = apierr.New(
		apierr.CodeForbidden,
		apierr.ReasonPaymentAccountRequiresMarkPaid,
		"The credential records payments without a funding account only",
	)
	errRecovering = apierr.New(
		apierr.CodeConflict,
		apierr.ReasonProviderPaymentRecoveryInProgress,
		"A recovery of the payment is already running",
	)
	errUnrecoverable = apierr.New(
		apierr.CodeBadRequest,
		apierr.ReasonProviderPaymentRecoveryUnavailable,
		"The payment cannot be recovered",
	)
	errExceeds = apierr.New(
		apierr.CodeBadRequest,
		apierr.ReasonAmountExceedsReturnable,
		"The amount exceeds what is left to return or replace",
	)
	errNotEligible = apierr.New(
		apierr.CodeBadRequest,
		apierr.ReasonPaymentReturnNotEligible,
		"The payout cannot be returned",
	)
	errNoReturnFiles = apierr.New(apierr.CodeNotImplemented, "", "The app of the connection has no return files")
	errCallback      = apierr.New(apierr.CodeUnauthorized, "", "The callback is not to be believed")
)

// next returns the status that news of a provider lead to. Acknowledged says that the provider has once confirmed
// that it has the payment. States only move forward. News that are older than the known ones change nothing; news
// that contradict them change nothing either, and are reported.
func (s Status) next(news pay.State, acknowledged bool) (next Status, contradiction bool) {
	n := Status(news)

	// Each status accepts some news as its next step, and some as old.
	switch s {
	case Awaiting, Requested: // no provider can know it yet
		return s, true
	case Sending, Submitted:
		return n, false
	case Paid:
		return moveForward(s, n, n == Returned, n == Submitted)
	case Returned:
		return moveForward(s, n, false, n == Submitted || n == Paid)
	case Failed, Canceled:
		return moveForward(s, n, false, n == Submitted && acknowledged)
	}

	return s, true
}

// moveForward returns the new status if the news move it, else the old one; other news that are not old are a
// contradiction.
func moveForward(s, n Status, moves, old bool) (Status, bool) {
	if moves {
		return n, false
	}

	return s, s != n && !old
}

// isFinal reports whether no money moves any more, unless it comes back.
func (s Status) isFinal() bool {
	switch s {
	case Paid, Failed, Canceled, Returned:
		return true
	case Awaiting, Requested, Sending, Submitted:
	}

	return false
}

// notFoundAt returns the error for an unknown reference in the body.
func notFoundAt(path ...any) error {
	return apierr.BadRequest.At(apierr.IssueNotFound.InBody(path...))
}

// Refusals returns the errors with which a payment through a provider is refused, in addition to those of the
// transaction that books it.
func Refusals() apierr.List {
	return apierr.List{errConnection, errFunding, errNotSupported, errRecipient, errFunds, errLimit}
}
