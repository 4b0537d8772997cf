package bank

import (
	"stayledger/platform/apierr"
	"stayledger/platform/id"
	"stayledger/platform/ptr"
)

// lockedRecord is a locked record: no other transaction changes or reconciles it until this one ends.
type lockedRecord struct {
	storedRecord
	state
}

// state is the state of a record that other records give it. LeftOut says that Exclude excluded it, so that it
// counts again when its account's first day allows it. BankAccountID is the account at the bank that a feed reads.
type state struct {
	BankAccountID     *id.ID
	MatchedByBankRule bool
	Reconciled        bool
	LeftOut           bool
}

// checkChange refuses a change, or for nil the deletion, of a record that others rely on. A record from a bank feed
// keeps the fields from the feed, a record matched by a rule keeps everything, and a record made up by transactions
// keeps the fields they explain. The feed may change its own fields. Rules RSN-09 to RSN-12.
func (h *lockedRecord) checkChange(to *storedRecord, byFeed bool) error {
	moves, excludes := true, false
	if to != nil {
		moves, excludes = h.movesMoney(to), h.Status != to.Status
	}

	// The first refusal that applies is returned, in the order of the rules.
	switch {
	case h.Source == Bankfeed && !byFeed && (moves || !same(h.UniqueRef, to.UniqueRef)):
		return errFed
	case to == nil && h.Source != CSV:
		return errNotCSV
	case h.MatchedByBankRule:
		return errRuleMatched
	case h.Reconciled && (moves || excludes):
		return ErrReconciled
	}

	return nil
}

// movesMoney reports whether a change affects what transactions explain: amount, account and date.
func (h *lockedRecord) movesMoney(to *storedRecord) bool {
	return h.Date != to.Date || h.Amount != to.Amount || !same(h.Balance, to.Balance) ||
		!same(h.AccountID, to.AccountID)
}

// same reports whether two values are the same, or both nil.
func same[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// equal reports whether nothing has changed.
func (h *lockedRecord) equal(to *storedRecord) bool {
	return !h.movesMoney(to) && h.Status == to.Status && h.Description == to.Description &&
		same(h.UniqueRef, to.UniqueRef)
}

// apply returns the changed record, or the issues of all fields that keep it from being changed. The account is the one
// that the record moves to or stays on, nil if there is none. The result leftOut says that the record counts nowhere
// because its account begins later.
func (u *Update) apply(h *lockedRecord, a *chartAccount) (to storedRecord, leftOut bool, err error) {
	to = h.storedRecord

	var issues []apierr.Issue

	to.UniqueRef = u.UniqueRef.Or(to.UniqueRef)
	ptr.Set(&to.Description, u.Description)
	ptr.Set(&to.Date, u.Date)

	// A movement has an amount, a stated balance has a balance.
	switch {
	case u.Amount == nil:
	case to.Type == Stated:
		issues = append(issues, apierr.IssueContradiction.InBody("amount"))
	default:
		to.Amount = *u.Amount
	}

	// Movements have a null balance; a stated balance cannot be set to null.
	switch {
	case !u.Balance.Present:
	case to.Type == Movement && u.Balance.Value != nil:
		issues = append(issues, apierr.IssueContradiction.InBody("balance"))
	case to.Type == Stated && u.Balance.Value == nil:
		issues = append(issues, apierr.IssueRequired.InBody("balance"))
	default:
		to.Balance = u.Balance.Value
	}

	// A record that is on an account can move to another one, and cannot be without one again.
	if u.AccountID.Present && !same(u.AccountID.Value, to.AccountID) {
		to.AccountID = u.AccountID.Value

		switch code := a.refusal(h.Currency); {
		case to.AccountID == nil:
			issues = append(issues, apierr.IssueRequired.InBody("accountId"))
		case code != "":
			issues = append(issues, code.InBody("accountId"))
		}
	}

	// Last, settle whether the record counts from now on.
	leftOut, possible := u.settleStatus(h, &to, a)
	if !possible {
		issues = append(issues, apierr.IssueDateOutOfRange.InBody("status"))
	}

	if len(issues) > 0 {
		return to, false, apierr.BadRequest.At(issues...)
	}

	return to, leftOut, nil
}

// settleStatus sets whether a record counts from now on. It returns whether the record is excluded only because its
// account begins later, and whether the change is possible: a record before the account's first day is part of its
// opening and would count twice. A record that a person has excluded stays excluded wherever it moves.
func (u *Update) settleStatus(h *lockedRecord, to *storedRecord, a *chartAccount) (leftOut, possible bool) {
	moved := h.Date != to.Date || !same(h.AccountID, to.AccountID)

	early, status := a.leavesOut(to.Date), h.Status
	if u.Status != nil {
		status = *u.Status
	}

	// A record that neither moves nor changes its status stays as it is.
	switch {
	case !moved && status == h.Status:
		return h.LeftOut, true
	case u.Status != nil && status == Active && early:
		return false, false
	case u.Status == nil && (h.Status == Active || h.LeftOut):
		if status = Active; early {
			status = Inactive
		}

		leftOut = early
	case status == Inactive:
		leftOut = h.LeftOut && early
	}

	to.Status = status

	return leftOut, true
}
