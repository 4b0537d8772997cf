package payout

import (
	"errors"
	"fmt"
	"slices"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/settlement/chain"
	"stayledger/domain/settlement/payment"
	"stayledger/domain/tenant/team"
	"stayledger/platform/apierr"
	"stayledger/platform/finding"
	"stayledger/platform/money"
)

// cause says why a statement is skipped or has failed. It is stored, and the API shows a fixed text for it.
type cause string

const (
	// Causes that are found before anything is written.
	causeNotFound        cause = "notFound"
	causeNotMember       cause = "notMember"
	causeNotPublished          = cause(apierr.ReasonStatementNotReadyForPayment)
	causeNoAccount             = cause(apierr.ReasonRequiredAccountMissing)
	causeNotBank               = cause(apierr.ReasonNotBankAccount)
	causeAccountInactive cause = "accountInactive"
	causeCurrency        cause = "currencyMismatch"
	causeRecalculating   cause = "journalRecalculationPending"
	causeArchive               = cause(apierr.ReasonArchiveRequired)
	causeUnknown               = cause(apierr.ReasonPaymentAttempted)
	causePaid                  = cause(apierr.ReasonAlreadyPaid)
	// Nothing is due: no one is at fault.
	causeNothingDue cause = "nothingDue"
	causeSettled    cause = "settledElsewhere"
	// The owners owe: a run pays out, and records no money that came in.
	causeOwed cause = "owed"
	// Guests still owe what is due: it is paid when they have paid, or by an amount.
	causeNotCollected cause = "notCollected"
	// What is due is kept until the stays of the guests who have paid it.
	causeNotReleased cause = "notReleased"
	// Causes that occur while the payouts are made.
	causeUnfinished cause = "unfinished"
	causeRefused    cause = "refused"
	causePayment    cause = "paymentFailed"
	causeReturned   cause = "paymentReturned"
	causeRejected   cause = "paymentRejected"
	causeAwaiting   cause = "awaitingApproval"
)

// refusals are the causes for which a request is refused as a whole, in the order in which they are checked. Those
// without a condition of their own are plain mistakes of the caller.
var refusals = []struct {
	cause     cause
	issue     apierr.IssueCode
	condition *apierr.Error
}{
	{causeNotFound, apierr.IssueNotFound, apierr.BadRequest},
	{causeNotMember, apierr.IssueNotMember, apierr.BadRequest},
	{causeNotPublished, apierr.IssueStatementNotReadyForPayment, transaction.ErrNotReady},
	{causeNotBank, apierr.IssueNotBankAccount, transaction.ErrNotBank},
	{causeAccountInactive, apierr.IssueAccountInactive, apierr.BadRequest},
	{causeCurrency, apierr.IssueCurrencyMismatch, apierr.BadRequest},
	{causeRecalculating, apierr.IssueJournalRecalculationPending, team.ErrNotDerived},
	{causeArchive, apierr.IssueArchiveRequired, payment.ErrArchiveRequired},
	{causeUnknown, apierr.IssuePaymentAttempted, transaction.ErrAttempted},
	{causePaid, apierr.IssueAlreadyPaid, payment.ErrAlreadyPaid},
}

// isSkipped reports whether the cause leaves a statement out without failing the operation: there is nothing to pay, or
// nothing any more.
func (c cause) isSkipped() bool {
	return c == causePaid || c == causeUnknown || c == causeNothingDue || c == causeSettled || c == causeOwed || c == causeNotCollected || c == causeNotReleased
}

// refusalConditions are the refusals with a reason that is a cause; their messages are its texts. The locks are among
// them.
var refusalConditions = apierr.List{
	transaction.ErrNotReady,
	transaction.ErrNotBank,
	transaction.ErrAttempted,
	transaction.ErrListing,
	transaction.ErrBeforeStart,
	payment.ErrAlreadyPaid,
	payment.ErrArchiveRequired,
	account.ErrRequiredMissing,
	ledger.Refusals,
}

// texts are the texts of the causes that are no refusals.
var texts = map[cause]string{
	causeNotFound:        "The owner statement is not known",
	causeNotMember:       "The contact is not a member of the ownership",
	causeAccountInactive: "The account is inactive",
	causeCurrency:        "The bank account has another currency",
	causeRecalculating:   team.ErrNotDerived.Message(),
	causeNothingDue:      "Nothing is due",
	causeSettled:         "Other payouts have settled what was due",
	causeOwed:            "The owner owes",
	causeNotCollected:    "Guests still owe what is available",
	causeNotReleased:     "What is available is kept until the guests' stays",
	causeUnfinished:      "The operation ended before this statement",
	causeRefused:         "The payout was refused",
	causePayment:         "A payment failed",
	causeReturned:        "A payment came back",
	causeRejected:        "A payment was rejected",
	causeAwaiting:        "A payment waits for approval",
}

// text returns the text that is shown for a cause, empty when it has none.
func (c cause) text() string {
	for _, refusal := range refusalConditions.Conditions() {
		if cause(refusal.Reason()) == c {
			return refusal.Message()
		}
	}

	return texts[c]
}

// ownerOwes is the code of the issue that says what the owners owe.
const ownerOwes = "ownerOwes"

// findOwed returns the issue of a statement that is skipped because its owners owe an amount.
func findOwed(owed money.Cents, currency string) finding.Finding {
	code := money.Currency(currency)

	return finding.Finding{Code: ownerOwes, Severity: finding.Warning, Context: map[string]any{
		"amount": owed, "currency": currency, "amountFormatted": owed.Decimal(code) + " " + code.Code(),
	}}
}

// findUnreleased returns the issue of a statement of which a part is kept until stays: how much, by which rule, and the day
// from which all of it is free.
func findUnreleased(of *chain.Payable) []finding.Finding {
	if of.Held.Unreleased == 0 {
		return nil
	}

	return []finding.Finding{{Code: payment.FundsNotReleased, Severity: finding.Warning, Context: map[string]any{
		"rule": "fundsRelease", "amount": of.Held.Unreleased, "currency": of.Currency, "freeAt": of.Held.FreeAt,
	}}}
}

// findings returns the issues of a statement that is not paid for the cause: those that say more about it.
func (c cause) findings(issues []finding.Finding) []finding.Finding {
	out := []finding.Finding{}

	for _, f := range issues {
		if c == causeOwed && f.Code == ownerOwes || c == causeNotReleased && f.Code == payment.FundsNotReleased {
			out = append(out, f)
		}
	}

	return out
}

// message returns the text about a statement in a result.
func message(s Status, c cause, issues []finding.Finding) string {
	isError := func(f finding.Finding) bool { return f.Severity == finding.Error }

	// A cause explains the status best; without one the status itself is the message.
	switch {
	case c == causeOwed && len(issues) > 0:
		return fmt.Sprintf("%s %v", c.text(), issues[0].Context["amountFormatted"])
	case c != "":
		return c.text()
	case s == Requested:
		return "The payment was requested"
	case s == Previewed && slices.ContainsFunc(issues, isError):
		return "The payouts cannot be made: see the issues"
	case s == Previewed:
		return "The payouts can be made"
	case s == Recorded:
		return "The payouts are recorded"
	default:
		return causeUnfinished.text()
	}
}

// causeFor returns the cause of a refusal of the books. The text of a cause is fixed, so no data of the request is
// stored.
func causeFor(err error) cause {
	refusal, ok := errors.AsType[*apierr.Error](err)
	if !ok {
		return causeRefused
	}

	// A reason without a text of its own must not reach the result.
	if c := cause(refusal.Reason()); c.text() != "" {
		return c
	}

	return causeRefused
}

// isShared reports whether a refusal does not depend on the statement, so that it is pointless to try the others by
// themselves.
func isShared(err error) bool {
	c := causeFor(err)
	return ledger.IsDayLock(err) || c == causeNoAccount || errors.Is(err, transaction.ErrBeforeStart)
}
