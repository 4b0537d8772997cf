package bank

import "stayledger/platform/apierr"

// held is a record that nobody else changes or reconciles until the transaction ends.
type held struct {
	stored
	state
}

// state is what others have done with a record. LeftOut is whether Exclude left it out, so that it counts again when
// its account's first day lets it.
type state struct {
	MatchedByBankRule bool
	Reconciled        bool
	LeftOut           bool
}

// may refuses a change, or with nil the deletion, of what somebody else says or relies on. What a bank feed says stays
// as it is, and so does all that a rule has matched; a record that transactions make up keeps what they explain. Rules
// RSN-09 to RSN-12.
func (h *held) may(to *stored) error {
	moves, excludes := true, false
	if to != nil {
		moves, excludes = h.movesMoney(to), h.Status != to.Status
	}

	switch {
	case h.Source == Bankfeed && (moves || !same(h.UniqueRef, to.UniqueRef)):
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

// movesMoney reports whether a change is one of what transactions explain: how much came or went, where and when.
func (h *held) movesMoney(to *stored) bool {
	return h.Date != to.Date || h.Amount != to.Amount || !same(h.Balance, to.Balance) || !same(h.AccountID, to.AccountID)
}

// same reports whether two values are the same, or both nothing.
func same[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// equal reports whether nothing has changed.
func (h *held) equal(to *stored) bool {
	return !h.movesMoney(to) && h.Status == to.Status && h.Description == to.Description && same(h.UniqueRef, to.UniqueRef)
}

// apply makes the changes, or tells of all the fields that keep them from being made. The account is the one that the
// record comes to or stays on, nil when there is none; leftOut is whether the record counts nowhere because its account
// begins later.
func (u *Update) apply(h *held, a *chartAccount) (to stored, leftOut bool, err error) {
	to = h.stored

	var issues []apierr.Issue

	to.UniqueRef = u.UniqueRef.Or(to.UniqueRef)
	set(&to.Description, u.Description)
	set(&to.Date, u.Date)

	switch {
	case u.Amount == nil:
	case to.Type == Stated:
		issues = append(issues, apierr.IssueContradiction.InBody("amount"))
	default:
		to.Amount = *u.Amount
	}

	switch {
	case u.Balance == nil:
	case to.Type == Movement:
		issues = append(issues, apierr.IssueContradiction.InBody("balance"))
	default:
		to.Balance = u.Balance
	}

	if u.AccountID != nil && !same(u.AccountID, to.AccountID) {
		to.AccountID = u.AccountID

		if code := a.takes(h.Currency); code != "" {
			issues = append(issues, code.InBody("accountId"))
		}
	}

	leftOut, possible := u.place(h, &to, a)
	if !possible {
		issues = append(issues, apierr.IssueDateOutOfRange.InBody("status"))
	}

	if len(issues) > 0 {
		return to, false, apierr.BadRequest.At(issues...)
	}

	return to, leftOut, nil
}

// place says whether a record counts from now on, whether it is left out only because its account begins later, and
// whether that is possible: what is before the account's first day is part of its opening and would count twice. One
// that a person has excluded stays excluded wherever it comes.
func (u *Update) place(h *held, to *stored, a *chartAccount) (leftOut, possible bool) {
	moved := h.Date != to.Date || !same(h.AccountID, to.AccountID)

	early, status := a.leavesOut(to.Date), h.Status
	if u.Status != nil {
		status = *u.Status
	}

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

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}
