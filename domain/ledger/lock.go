package ledger

import (
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
)

// Touched is what the lock decision knows of a posting that is to be added or removed.
type Touched struct {
	SourceID id.ID
	TxnCode  string
	Ledger   Ledger
	Status   Status
	TxnAt    day.Day
	// AttachedTo are the owner statements that the posting's stored entries are attached to.
	AttachedTo []id.ID
	// Published and InReview are the statements over a month that an owners' entry of the posting falls into.
	Published []id.ID
	InReview  []id.ID
}

// LockContext tells the caller of a locked change what holds it.
type LockContext struct {
	// LockReason is period for closed books and statement for owner statements.
	LockReason    string   `json:"lockReason"`
	BooksClosedAt *day.Day `json:"booksClosedAt,omitempty"`
	StatementIDs  []id.ID  `json:"statementIds,omitempty"`
}

// Locked decides whether a posting may be added or removed; every write path asks it and nothing else does. The first open day is
// booksClosedAt, nil while the books were never closed. The answer is nil or one of ErrBooksClosed, ErrStatementAttachment, ErrStatementPeriod
// and ErrStatementInReview with a LockContext.
//
// Closed books and statements show active entries of the trust and operating ledgers, so others are free unless a statement holds them.
func Locked(booksClosedAt *day.Day, p Touched, l Lenience) error {
	held := func(condition *apierr.Error, statements []id.ID) error {
		return condition.With(LockContext{LockReason: "statement", StatementIDs: sortedIDs(statements)})
	}
	reported := p.Status == Active && p.Ledger != Historical
	switch {
	case reported && booksClosedAt != nil && p.TxnAt.Before(*booksClosedAt) && !l.IgnoreBooksClosed:
		return ErrBooksClosed.With(LockContext{LockReason: "period", BooksClosedAt: booksClosedAt})
	case len(p.AttachedTo) > 0:
		return held(ErrStatementAttachment, p.AttachedTo)
	case reported && len(p.Published) > 0:
		return held(ErrStatementPeriod, p.Published)
	case reported && len(p.InReview) > 0:
		return held(ErrStatementInReview, p.InReview)
	}
	return nil
}

func sortedIDs(ids []id.ID) []id.ID {
	sorted := slices.Clone(ids)
	slices.SortFunc(sorted, id.ID.Compare)
	return slices.Compact(sorted)
}
