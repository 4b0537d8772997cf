package ledger

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/id"
)

// Lenience says which locks a caller may pass.
type Lenience struct {
	// IgnoreBooksClosed passes the closed books, and nothing else.
	IgnoreBooksClosed bool
	// SkipLocked leaves all postings of a source unchanged when a lock holds any posting, instead of failing.
	SkipLocked bool
	// Late collects the differences of sources that are skipped; nil for nothing.
	Late *Late
}

// The errors of a write that a lock refuses.
var (
	ErrBooksClosed = apierr.New(
		apierr.CodeForbidden, apierr.ReasonBooksClosed, "The books are closed on this date",
	)
	ErrStatementAttachment = apierr.New(
		apierr.CodeForbidden, apierr.ReasonStatementAttachment, "The data is attached to an owner statement",
	)
	ErrStatementPeriod = apierr.New(
		apierr.CodeForbidden, apierr.ReasonStatementPeriod, "A published owner statement locks the period",
	)
	ErrStatementInReview = apierr.New(
		apierr.CodeForbidden, apierr.ReasonStatementInReview, "An owner statement of the period is in review",
	)
	ErrReconciled = apierr.New(
		apierr.CodeForbidden, apierr.ReasonTransactionReconciled, "The transaction is reconciled",
	)
)

// A lockRule is one kind of lock: a reason why postings may be neither added nor removed. Go decides about postings
// before they are written to the database; SQL decides about stored postings. Both are written here side by side, and a
// test compares them over every kind of posting. The SQL knows the parameter @team and, where personal, @reader.
type lockRule struct {
	// refusals are the conditions that holds answers with.
	refusals []*apierr.Error
	// holds refuses to add or remove a posting, with a LockContext, or answers nil.
	holds func(Closing, *Touched) error
	// ignorable says that Lenience.IgnoreBooksClosed passes the lock.
	ignorable bool
	// personal says that the lock does not hold for everybody: its SQL asks who @reader is.
	personal bool
	// day is the SQL of a lock on everything dated on a day; a ? takes the place of the day.
	day string
	// entry is the SQL of any other lock: whether it holds the stored entry h, and with it all entries of the posting.
	entry string
	// source is the SQL of a lock on whole sources, whatever their entries; a ? takes the place of the source id.
	source string
	// holder is the SQL condition that the statement or bank record s.held_by still holds the source s.source_id. Only
	// the first rule with such a holder has it.
	holder string
	// visible says that Lock has a field for the holder. Any other lock shows in its status alone.
	visible bool
}

// lockRules are the locks in the order in which a write is refused with them. Every question whether something is
// locked is answered by this list.
var lockRules = []lockRule{
	{
		refusals: []*apierr.Error{ErrBooksClosed}, ignorable: true, visible: true, day: "? < " + closedBefore,
		holds: func(c Closing, p *Touched) error { return checkClosedBooks(c.BooksClosedAt, nil, p) },
	},
	{
		refusals:  []*apierr.Error{ErrBooksClosed},
		ignorable: true,
		visible:   true,
		personal:  true,
		day:       "? < " + softClosedBefore,
		holds: func(c Closing, p *Touched) error {
			if c.MayPost {
				return nil
			}

			return checkClosedBooks(c.SoftClosedAt, c.SoftClosedAt, p)
		},
	},
	{
		refusals: []*apierr.Error{ErrStatementAttachment}, visible: true, entry: "h.statement_id is not null",
		holder: "exists (select from statement x where x.team_id = s.team_id and x.id = s.held_by)",
		holds:  func(_ Closing, p *Touched) error { return checkStatements(ErrStatementAttachment, p.AttachedTo) },
	},
	{
		refusals: []*apierr.Error{ErrStatementPeriod, ErrStatementInReview}, visible: true,
		entry: reported + " and h.party = 'owners' and exists (select from statement x where " + covers + ")",
		holds: func(_ Closing, p *Touched) error {
			if !p.isReported() {
				return nil
			}

			return cmp.Or(
				checkStatements(ErrStatementPeriod, p.Published),
				checkStatements(ErrStatementInReview, p.InReview),
			)
		},
	},
	{
		refusals: []*apierr.Error{ErrReconciled}, visible: true,
		entry: "exists (select from bank_reconciliation x where x.team_id = @team and x.transaction_id = h.source_id)" +
			" and exists (select from account x where x.team_id = @team and x.id = h.account_id and x.type = 'bank')",
		source: "exists (select from bank_reconciliation x where x.team_id = @team and x.transaction_id = ?)",
		holder: "exists (select from bank_reconciliation x where x.team_id = s.team_id and x.bank_record_id = " +
			"s.held_by and x.transaction_id = s.source_id)",
		holds: func(_ Closing, p *Touched) error {
			if len(p.Reconciled) == 0 {
				return nil
			}

			return ErrReconciled.With(LockContext{BankRecordIDs: id.Distinct(p.Reconciled)})
		},
	},
}

// Refusals are the conditions that locks refuse a write with, in the order in which the rules are asked.
var Refusals apierr.Listed = refusals{}

type refusals struct{}

// Conditions returns the conditions of the rules that exist when it is called.
func (refusals) Conditions() []*apierr.Error {
	var out apierr.List

	for i := range lockRules {
		for _, refusal := range lockRules[i].refusals {
			out = append(out, refusal)
		}
	}

	return out.Conditions()
}

// LockReasons returns the lock reasons as the endpoint texts name them, in the order in which the rules are asked.
func LockReasons() string {
	var names []string
	for _, refusal := range Refusals.Conditions() {
		names = append(names, "`"+string(refusal.Reason())+"`")
	}

	return strings.Join(names, ", ")
}

// noLock is the condition of no lock at all.
const noLock = "false"

// The parts that the rules in SQL are made of.
const (
	// An entry h that closed books and statements show is active, and of the trust or operating ledger.
	reported = "h.status = 'active' and h.ledger <> 'historical'"
	// The first open day of the team m, for everybody and for @reader; null where all are open.
	booksClosed = "m.books_closed_at"
	softClosed  = "case when not coalesce(@reader = any(m.soft_close_posters), false) then m.soft_closed_at end"
	// The same as a value of its own.
	closedBefore     = "coalesce((select " + booksClosed + " from team m where m.team_id = @team), '-infinity')"
	softClosedBefore = "coalesce((select " + softClosed + " from team m where m.team_id = @team), '-infinity')"
	// A saved statement x holds what it reports. Imported statements hold nothing: their figures contain no entry of
	// the books, and the opening balance after their end is dated under them.
	holding = "x.team_id = @team and not x.imported"
	// Such a statement x holds owners' entries h of its own and earlier months: it starts with the sum of all earlier
	// entries.
	covers = holding + " and x.ownership_period_id = h.ownership_period_id and x.currency = h.currency" +
		" and x.end_at >= h.txn_at"
)

// onEntry returns the rule as a condition on a stored entry h.
func (r *lockRule) onEntry() string {
	// A lock on a day holds entries that closed books show, as checkClosedBooks does.
	if r.day != "" {
		return reported + " and " + r.onDay("h.txn_at")
	}

	return r.entry
}

// onDay returns the rule as a condition on a day, given as SQL.
func (r *lockRule) onDay(at string) string { return strings.ReplaceAll(r.day, "?", at) }

// anyLock joins the conditions of all rules with "or". The function returns each rule's condition, empty if the rule
// does not apply.
func anyLock(text func(*lockRule) string) string {
	var out []string

	for i := range lockRules {
		if condition := text(&lockRules[i]); condition != "" {
			out = append(out, condition)
		}
	}

	if out == nil {
		return noLock
	}

	return "(" + strings.Join(out, " or ") + ")"
}

// SourceLockSQL returns the condition that a lock holds the journal of a source for the user @reader, as in
// Lock.Status. The source is SQL.
func SourceLockSQL(source string) string {
	whole := anyLock(func(r *lockRule) string { return strings.ReplaceAll(r.source, "?", source) })

	return "(" + whole + " or exists (select from ledger_entry h where h.team_id = @team and h.source_id = " + source +
		" and " + anyLock((*lockRule).onEntry) + "))"
}

// EntryLockSQL returns the condition that a lock holds a stored entry, named by its alias, for everybody. Locks hold
// whole postings: an entry that is attached to a statement, belongs to owners in a month up to the last saved
// statement, or moves reconciled money holds all entries of its posting.
func EntryLockSQL(entry string) string {
	// Personal locks do not hold for everybody, so they are left out.
	var postings []string

	for i := range lockRules {
		if r := &lockRules[i]; r.entry != "" && !r.personal {
			postings = append(
				postings, "select h.source_id, h.txn_code from ledger_entry h where h.team_id = @team and "+r.entry,
			)
		}
	}

	// A lock on a day is a condition on the entry alone; it needs no look at the other entries of the posting.
	dated := anyLock(func(r *lockRule) string {
		if r.day == "" || r.personal {
			return ""
		}

		return strings.ReplaceAll(reported, "h.", entry+".") + " and " + r.onDay(entry+".txn_at")
	})

	return "(" + dated + " or (" + entry + ".source_id, " + entry + ".txn_code) in (" +
		strings.Join(postings, " union all ") + "))"
}

// IsLock reports whether an error is one of the locks.
func IsLock(err error) bool {
	return slices.ContainsFunc(lockRules, func(r lockRule) bool {
		return slices.ContainsFunc(r.refusals, func(lock *apierr.Error) bool { return errors.Is(err, lock) })
	})
}

// IsDayLock reports whether an error is a lock on a day, which holds everything that is dated on it.
func IsDayLock(err error) bool {
	return slices.ContainsFunc(lockRules, func(r lockRule) bool {
		isRefusal := func(lock *apierr.Error) bool { return errors.Is(err, lock) }
		return r.day != "" && slices.ContainsFunc(r.refusals, isRefusal)
	})
}

// OpenFrom returns the first day that a lock leaves open; nil if it does not say or if the error is no lock.
func OpenFrom(err error) *day.Day {
	var lock *apierr.Error
	if !errors.As(err, &lock) {
		return nil
	}

	c, _ := lock.Context().(LockContext)

	return c.openFrom
}

// Closing says how far the team's books are closed for the actor.
type Closing struct {
	// BooksClosedAt is the first open day, nil while the books were never closed.
	BooksClosedAt *day.Day
	// SoftClosedAt is the first day that is open to everybody; the days before it are open to named users alone. Nil
	// for none.
	SoftClosedAt *day.Day
	// MayPost says whether these users include the actor.
	MayPost bool
}

// checkClosedBooks refuses a reported posting dated before the first open day. The argument soft is the first open day
// for softly closed books, else nil.
func checkClosedBooks(first, soft *day.Day, p *Touched) error {
	if first == nil || !p.isReported() || !p.TxnAt.Before(*first) {
		return nil
	}

	// The context has the day from which the caller may post.
	return ErrBooksClosed.With(
		LockContext{LockReason: "period", BooksClosedAt: first, SoftClosedAt: soft, openFrom: first},
	)
}

// Touched is a posting that is going to be added or removed, with the facts that the locks decide by.
type Touched struct {
	SourceID id.ID
	TxnCode  string
	Ledger   Ledger
	Status   Status
	TxnAt    day.Day
	// AttachedTo are the owner statements that the posting's stored entries are attached to.
	AttachedTo []Saved
	// Published and InReview are the statements saved for the month of an owners' entry in the posting and for later
	// months.
	Published []Saved
	InReview  []Saved
	// Reconciled are the bank records of the money that the posting moves through a bank account.
	Reconciled []id.ID
}

// Saved is a saved owner statement with its last day.
type Saved struct {
	ID    id.ID
	EndAt day.Day
}

// isReported reports whether closed books and statements show the posting, as the SQL of this name does for its
// entries.
func (p *Touched) isReported() bool { return p.Status == Active && p.Ledger != Historical }

// LockContext shows the caller of a refused change which records hold it.
type LockContext struct {
	// LockReason is period for closed books and statement for owner statements (ERR-71); a reconciled transaction has
	// none.
	LockReason string `json:"lockReason,omitempty"`
	// BooksClosedAt is the first day that is open to the caller; SoftClosedAt is the same day when named users may
	// still post before it.
	BooksClosedAt *day.Day `json:"booksClosedAt,omitempty"`
	SoftClosedAt  *day.Day `json:"softClosedAt,omitempty"`
	StatementIDs  []id.ID  `json:"statementIds,omitempty"`
	BankRecordIDs []id.ID  `json:"bankRecordIds,omitempty"`

	openFrom *day.Day
}

// checkStatements refuses a posting held by statements. The day after the last statement is open.
func checkStatements(condition *apierr.Error, statements []Saved) error {
	if len(statements) == 0 {
		return nil
	}

	c := LockContext{LockReason: "statement"}

	// All statements have to be returned to draft, so the last of them counts.
	last := statements[0].EndAt
	for _, s := range statements {
		c.StatementIDs, last = append(c.StatementIDs, s.ID), day.Max(last, s.EndAt)
	}

	c.StatementIDs, c.openFrom = id.Distinct(c.StatementIDs), new(last.AddDays(1))

	return condition.With(c)
}

// CheckLocks decides whether a posting may be added or removed; every write path asks it and no other code decides. It
// returns nil or one of ErrBooksClosed, ErrStatementAttachment, ErrStatementPeriod, ErrStatementInReview and
// ErrReconciled with a LockContext.
func CheckLocks(c Closing, p Touched, l Lenience) error {
	for i := range lockRules {
		// Only a rule that says so may be passed with the books closed.
		if r := &lockRules[i]; !r.ignorable || !l.IgnoreBooksClosed {
			if err := r.holds(c, &p); err != nil {
				return err
			}
		}
	}

	return nil
}
