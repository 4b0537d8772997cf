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

// causes is everything that keeps a statement from being paid. A cause is a line here, and nothing else: requests that are refused for it in
// this order, what a run skips, and the texts follow. A test walks it.
var causes = []struct {
	cause cause
	// condition refuses a request to pay, record or try out a payout, nil for a cause that refuses none; issue is at each statement. Without
	// a condition of its own it is a plain mistake of the caller.
	condition *apierr.Error
	issue     apierr.IssueCode
	// refusesPreview: a preview is refused, too. It exists to show the others.
	refusesPreview bool
	// skips: a run leaves the statement out without failing: there is nothing to pay, or nothing any more.
	skips bool
	// text is that of the condition if it is empty.
	text string
}{
	{cause: causeNotFound, condition: apierr.BadRequest, issue: apierr.IssueNotFound, refusesPreview: true, text: "The owner statement is not known"},
	{cause: causeNotMember, condition: apierr.BadRequest, issue: apierr.IssueNotMember, refusesPreview: true, text: "The contact is not a member of the ownership"},
	{cause: causeNotPublished, condition: transaction.ErrNotReady, issue: apierr.IssueStatementNotReadyForPayment},
	{cause: causeNotBank, condition: transaction.ErrNotBank, issue: apierr.IssueNotBankAccount},
	{cause: causeAccountInactive, condition: apierr.BadRequest, issue: apierr.IssueAccountInactive, text: "The account is inactive"},
	{cause: causeCurrency, condition: apierr.BadRequest, issue: apierr.IssueCurrencyMismatch, text: "The bank account has another currency"},
	{cause: causeRecalculating, condition: team.ErrNotDerived, issue: apierr.IssueJournalRecalculationPending, refusesPreview: true},
	{cause: causeArchive, condition: payment.ErrArchiveRequired, issue: apierr.IssueArchiveRequired},
	{cause: causeUnknown, condition: transaction.ErrAttempted, issue: apierr.IssuePaymentAttempted, skips: true},
	{cause: causePaid, condition: payment.ErrAlreadyPaid, issue: apierr.IssueAlreadyPaid, skips: true},
	// It concerns the team and not a statement, so it comes last and names none.
	{cause: causeNoAccount, condition: account.ErrRequiredMissing},

	{cause: causeNothingDue, skips: true, text: "Nothing is due"},
	{cause: causeSettled, skips: true, text: "Other payouts have settled what was due"},
	{cause: causeOwed, skips: true, text: "The owner owes"},
	{cause: causeNotCollected, skips: true, text: "Guests still owe what is available"},
	{cause: causeNotReleased, skips: true, text: "What is available is kept until the guests' stays"},

	{cause: causeUnfinished, text: "The operation ended before this statement"},
	{cause: causeRefused, text: "The payout was refused"},
	{cause: causePayment, text: "A payment failed"},
	{cause: causeReturned, text: "A payment came back"},
	{cause: causeRejected, text: "A payment was rejected"},
	{cause: causeAwaiting, text: "A payment waits for approval"},
}

// isSkipped reports whether the cause leaves a statement out without failing the operation.
func (c cause) isSkipped() bool {
	for i := range causes {
		if causes[i].cause == c {
			return causes[i].skips
		}
	}

	return false
}

// refusalsOfBooks are the refusals of the books with a reason that is a cause; their messages are its texts.
var refusalsOfBooks = apierr.List{transaction.ErrListing, transaction.ErrBeforeStart, ledger.Refusals}

// text returns the text that is shown for a cause, empty when it has none.
func (c cause) text() string {
	for i := range causes {
		switch of := &causes[i]; {
		case of.cause != c:
		case of.text != "":
			return of.text
		default:
			return of.condition.Message()
		}
	}

	for _, refusal := range refusalsOfBooks.Conditions() {
		if cause(refusal.Reason()) == c {
			return refusal.Message()
		}
	}

	return ""
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
