package payout

import (
	"errors"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/ledger"
	"stayledger/platform/apierr"
)

// cause is why a statement is skipped or has failed; it is stored, and told as a fixed text.
type cause string

const (
	// What can be told of every statement before anything is written.
	causeNotFound        cause = "notFound"
	causeNotMember       cause = "notMember"
	causeNotPublished    cause = "statementNotReadyForPayment"
	causeNoAccount       cause = "requiredAccountMissing"
	causeNotBank         cause = "notBankAccount"
	causeAccountInactive cause = "accountInactive"
	causeCurrency        cause = "currencyMismatch"
	causeRecalculating   cause = "journalRecalculationPending"
	causeArchive         cause = "archiveRequired"
	causeUnknown         cause = "paymentAttempted"
	causePaid            cause = "alreadyPaid"
	// Nothing is due: no one is at fault.
	causeNothingDue cause = "nothingDue"
	causeSettled    cause = "settledElsewhere"
	// Guests still owe what is due: it is paid when they have paid, or by an amount.
	causeNotCollected cause = "notCollected"
	// What happened on the way.
	causeUnfinished cause = "unfinished"
	causeRefused    cause = "refused"
	causePayment    cause = "paymentFailed"
	causeReturned   cause = "paymentReturned"
	causeRejected   cause = "paymentRejected"
	causeAwaiting   cause = "awaitingApproval"
)

var (
	errNotReady      = apierr.New(apierr.CodeBadRequest, apierr.ReasonStatementNotReadyForPayment, "The owner statement is not published")
	errAttempted     = apierr.New(apierr.CodeConflict, apierr.ReasonPaymentAttempted, "An ACH payment was already attempted")
	errPaid          = apierr.New(apierr.CodeConflict, apierr.ReasonAlreadyPaid, "Already has a payment")
	errArchive       = apierr.New(apierr.CodeBadRequest, apierr.ReasonArchiveRequired, "The original has to be archived or returned first")
	errNotBank       = apierr.New(apierr.CodeBadRequest, apierr.ReasonNotBankAccount, "The account is not a bank account")
	errRecalculating = apierr.New(apierr.CodeJournalRecalculationPending, "", "Journals are being recalculated")
)

// refusals are the causes that a request is refused for as a whole, in the order in which they are checked. Those without a condition are
// plain mistakes of the caller.
var refusals = []struct {
	cause     cause
	issue     apierr.IssueCode
	condition *apierr.Error
}{
	{causeNotFound, apierr.IssueNotFound, apierr.BadRequest},
	{causeNotMember, apierr.IssueNotMember, apierr.BadRequest},
	{causeNotPublished, apierr.IssueStatementNotReadyForPayment, errNotReady},
	{causeNotBank, apierr.IssueNotBankAccount, errNotBank},
	{causeAccountInactive, apierr.IssueAccountInactive, apierr.BadRequest},
	{causeCurrency, apierr.IssueCurrencyMismatch, apierr.BadRequest},
	{causeRecalculating, apierr.IssueJournalRecalculationPending, errRecalculating},
	{causeArchive, apierr.IssueArchiveRequired, errArchive},
	{causeUnknown, apierr.IssuePaymentAttempted, errAttempted},
	{causePaid, apierr.IssueAlreadyPaid, errPaid},
}

// skips reports causes that leave a statement out and are no failure of an operation: there is nothing, or nothing any more, to pay.
func (c cause) skips() bool {
	return c == causePaid || c == causeUnknown || c == causeNothingDue || c == causeSettled || c == causeNotCollected
}

// texts of the causes that are found here. Those that transactions are refused for have the text of the refusal.
var texts = map[cause]string{
	causeNotFound:        "The owner statement is not known",
	causeNotMember:       "The contact is not a member of the ownership",
	causeNotPublished:    "The owner statement is not published",
	causeNoAccount:       "A required account assignment is missing",
	causeNotBank:         "The account is not a bank account",
	causeAccountInactive: "The account is inactive",
	causeCurrency:        "The bank account has another currency",
	causeRecalculating:   "Journals are being recalculated",
	causeArchive:         "The original has to be archived or returned first",
	causeUnknown:         "An ACH payment was already attempted",
	causePaid:            "Already has a payment",
	causeNothingDue:      "Nothing is due",
	causeSettled:         "Other payouts have settled what was due",
	causeNotCollected:    "Guests still owe what is available",
	causeUnfinished:      "The operation ended before this statement",
	causeRefused:         "The payout was refused",
	causePayment:         "A payment failed",
	causeReturned:        "A payment came back",
	causeRejected:        "A payment was rejected",
	causeAwaiting:        "A payment waits for approval",
}

// text is what a cause is told as; empty for one that neither stands here nor refuses transactions.
func (c cause) text() string {
	if own := texts[c]; own != "" {
		return own
	}
	for _, refusal := range transaction.Refusals().Conditions() {
		if cause(refusal.Reason()) == c {
			return refusal.Message()
		}
	}
	return ""
}

func message(s Status, c cause) string {
	switch {
	case c != "":
		return c.text()
	case s == Requested:
		return "The payment was requested"
	case s == Previewed:
		return "The payouts can be made"
	case s == Recorded:
		return "The payouts are recorded"
	default:
		return texts[causeUnfinished]
	}
}

// causeOf is the cause of a refusal of the books. The condition's text is static, so nothing of the request is kept.
func causeOf(err error) cause {
	refusal, ok := errors.AsType[*apierr.Error](err)
	if !ok {
		return causeRefused
	}
	if c := cause(refusal.Reason()); c.text() != "" {
		return c
	}
	return causeRefused
}

// shared reports refusals that do not depend on the statement, so that trying the others by themselves is pointless.
func shared(err error) bool {
	c := causeOf(err)
	return ledger.IsDayLock(err) || c == causeNoAccount || c == cause(apierr.ReasonBeforeStatementStartDate)
}
