package ledger

import (
	"errors"
	"slices"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
)

// Lenience says which locks a caller may pass.
type Lenience struct {
	// IgnoreBooksClosed passes the closed books, and nothing else.
	IgnoreBooksClosed bool
	// SkipLocked leaves every posting of a source as it is when a lock holds one of them, instead of failing.
	SkipLocked bool
}

// The locks, in the order in which they are checked.
var (
	ErrBooksClosed         = apierr.New(apierr.CodeForbidden, apierr.ReasonBooksClosed, "The books are closed on this date")
	ErrStatementAttachment = apierr.New(apierr.CodeForbidden, apierr.ReasonStatementAttachment, "The data is attached to an owner statement")
	ErrStatementPeriod     = apierr.New(apierr.CodeForbidden, apierr.ReasonStatementPeriod, "A published owner statement locks the period")
	ErrStatementInReview   = apierr.New(apierr.CodeForbidden, apierr.ReasonStatementInReview, "An owner statement of the period is in review")
	ErrReconciled          = apierr.New(apierr.CodeForbidden, apierr.ReasonTransactionReconciled, "The transaction is reconciled")
)

// IsLock reports whether an error is one of the locks.
func IsLock(err error) bool {
	return slices.ContainsFunc([]error{ErrBooksClosed, ErrStatementAttachment, ErrStatementPeriod, ErrStatementInReview, ErrReconciled},
		func(lock error) bool { return errors.Is(err, lock) })
}

// Closing is how far the team's books are closed for whoever asks.
type Closing struct {
	// BooksClosedAt is the first open day, nil while the books were never closed.
	BooksClosedAt *day.Day
	// SoftClosedAt is the first day that is open to everybody; the days before it are open to named users alone. Nil for none.
	SoftClosedAt *day.Day
	// MayPost says that the actor is one of these users.
	MayPost bool
}

// closedOn gives what the caller is told when a day is closed for him, nil when it is open.
func (c Closing) closedOn(d day.Day) *LockContext {
	switch {
	case c.BooksClosedAt != nil && d.Before(*c.BooksClosedAt):
		return &LockContext{LockReason: "period", BooksClosedAt: c.BooksClosedAt}
	case c.SoftClosedAt != nil && d.Before(*c.SoftClosedAt) && !c.MayPost:
		return &LockContext{LockReason: "period", BooksClosedAt: c.SoftClosedAt, SoftClosedAt: c.SoftClosedAt}
	}
	return nil
}

// Touched is what the lock decision knows of a posting that is to be added or removed.
type Touched struct {
	SourceID id.ID
	TxnCode  string
	Ledger   Ledger
	Status   Status
	TxnAt    day.Day
	// AttachedTo are the owner statements that the posting's stored entries are attached to.
	AttachedTo []id.ID
	// Published and InReview are the saved statements of the month that an owners' entry of the posting falls into, and of later months: what
	// a statement starts with is what all that came before it comes to.
	Published []id.ID
	InReview  []id.ID
	// Reconciled are the bank records that stand for the money that the posting moves through a bank account.
	Reconciled []id.ID
}

// LockContext tells the caller of a locked change what holds it.
type LockContext struct {
	// LockReason is period for closed books and statement for owner statements (ERR-71); a reconciled transaction has none.
	LockReason string `json:"lockReason,omitempty"`
	// BooksClosedAt is the first day that is open to the caller; SoftClosedAt is the same day when named users may still post before it.
	BooksClosedAt *day.Day `json:"booksClosedAt,omitempty"`
	SoftClosedAt  *day.Day `json:"softClosedAt,omitempty"`
	StatementIDs  []id.ID  `json:"statementIds,omitempty"`
	BankRecordIDs []id.ID  `json:"bankRecordIds,omitempty"`
}

// Locked decides whether a posting may be added or removed; every write path asks it and nothing else does. The answer is nil or one of
// ErrBooksClosed, ErrStatementAttachment, ErrStatementPeriod, ErrStatementInReview and ErrReconciled with a LockContext.
//
// Closed books and statements show active entries of the trust and operating ledgers, so others are free unless a statement holds them.
func Locked(c Closing, p Touched, l Lenience) error {
	held := func(condition *apierr.Error, statements []id.ID) error {
		return condition.With(LockContext{LockReason: "statement", StatementIDs: sortedIDs(statements)})
	}
	reported := p.Status == Active && p.Ledger != Historical
	if closed := c.closedOn(p.TxnAt); reported && closed != nil && !l.IgnoreBooksClosed {
		return ErrBooksClosed.With(*closed)
	}
	switch {
	case len(p.AttachedTo) > 0:
		return held(ErrStatementAttachment, p.AttachedTo)
	case reported && len(p.Published) > 0:
		return held(ErrStatementPeriod, p.Published)
	case reported && len(p.InReview) > 0:
		return held(ErrStatementInReview, p.InReview)
	case len(p.Reconciled) > 0:
		return ErrReconciled.With(LockContext{BankRecordIDs: sortedIDs(p.Reconciled)})
	}
	return nil
}

func sortedIDs(ids []id.ID) []id.ID {
	sorted := slices.Clone(ids)
	slices.SortFunc(sorted, id.ID.Compare)
	return slices.Compact(sorted)
}
