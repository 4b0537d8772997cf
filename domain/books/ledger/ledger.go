// Package ledger owns the general ledger: postings, how they replace each other, and the locks that protect what was
// reported.
//
// A posting is the journal entries of one event: they share a transaction code, a date and a currency, and sum to zero.
// Debit is positive, credit is negative. Postings are derived from their source (a reservation, a transaction, a
// listing) and are written by Replace alone, which leaves unchanged postings untouched.
//
// Statement-level triggers check that postings balance and note what changed in ledger_delta. A periodic task folds the
// changes into sums by listing and month (ledger_balance), by month (ledger_month), by day (ledger_day), and by
// ownership period and month (ledger_owner). These names are views of both, so sums equal the entries at any moment and
// no writer waits for another. Reports read whole months from the month sums and the days at their edges from the day
// sums.
//
// Each noun with journals has a Source, which says which rows a change touches and how they are loaded and derived.
// Chunks, tasks, locked journals and the answer of a refresh are the same for all and are here.
//
// Locks are one list of rules (lock.go). A rule decides in Go about postings to be written and in SQL about stored
// ones. Lock objects, filters, exports, the use of accounts and the closing of books are made from this list, so a new
// rule reaches everything. A locked journal remembers its lock in ledger_stale, and whoever removes the lock queues the
// journal (RetryReleased, RetryReopened).
//
// The page docs/decisions/ledger.md says what the contract leaves open and how it is answered here.
package ledger

import (
	"errors"
	"fmt"
	"strconv"

	"stayledger/platform/day"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Ledger is a set of books that balances on its own.
type Ledger string

// The ledgers.
const (
	Trust      Ledger = "trust"
	Operating  Ledger = "operating"
	Historical Ledger = "historical"
)

// Party says which party an income or cost belongs to; the empty Party means none.
type Party string

// The parties.
const (
	NoParty Party = ""
	Owners  Party = "owners"
	Manager Party = "manager"
)

// Enum lists the parties that an entry can name.
func (Party) Enum() []string { return []string{string(Owners), string(Manager)} }

// Status distinguishes entries that count from entries kept for the record.
type Status string

// The statuses of an entry.
const (
	Active   Status = "active"
	Inactive Status = "inactive"
)

// The trigger types: what made an entry.
const (
	TriggerReservation        = "reservation"
	TriggerRecurringFee       = "recurringFee"
	TriggerDeposit            = "deposit"
	TriggerExpense            = "expense"
	TriggerExpensePayment     = "expensePayment"
	TriggerPayout             = "payout"
	TriggerTransfer           = "transfer"
	TriggerOpeningBalance     = "openingBalance"
	TriggerDeferredRevenue    = "deferredRevenue"
	TriggerRevenueRecognition = "revenueRecognition"
	TriggerManual             = "manual"
)

// Line is one journal entry of a posting. Zero ids stand for none.
type Line struct {
	// Ref is unique in the posting and stays the same from one derivation to the next.
	Ref       string
	AccountID id.ID
	// CentTotal is positive for a debit and negative for a credit, never zero.
	CentTotal         money.Cents
	Party             Party
	ListingID         id.ID
	OwnershipPeriodID id.ID
	ContactID         id.ID
	ReservationID     id.ID
	TransactionID     id.ID
	RecurringFeeID    id.ID
	// StatementID is the owner statement that a stored entry is attached to; Replace ignores it in the lines it is
	// given.
	StatementID id.ID
	Trigger     string `db:"trigger_type"`
	Description string
}

// Posting has the entries of one event.
type Posting struct {
	// SourceID is the record that the posting is derived from: a reservation, a transaction or a listing.
	SourceID id.ID
	// TxnCode names the posting within the team, for example "reservation:<uuid>:revenue". It is stable, and never
	// shared by two sources.
	TxnCode  string
	Ledger   Ledger
	Status   Status
	TxnAt    day.Day
	Currency string
	Lines    []Line `db:"-"`
}

// ErrInvalid is a posting that the books cannot take: a defect in the deriving code, never the caller's mistake.
var ErrInvalid = errors.New("ledger: invalid posting")

// Check refuses a posting that is incomplete or does not balance, with ErrInvalid.
func (p Posting) Check() error {
	refuse := func(what string) error { return fmt.Errorf("%w %q: %s", ErrInvalid, p.TxnCode, what) }

	switch {
	case p.SourceID.IsZero() || p.TxnCode == "":
		return refuse("no source or code")
	case p.Ledger != Trust && p.Ledger != Operating && p.Ledger != Historical:
		return refuse("unknown ledger")
	case p.Status != Active && p.Status != Inactive:
		return refuse("unknown status")
	case !p.TxnAt.Valid() || p.Currency == "":
		return refuse("no date or currency")
	case len(p.Lines) == 0:
		return refuse("no lines")
	}

	// Then the lines: each is complete and has its own reference, and together they sum to zero.
	seen := make(map[string]bool, len(p.Lines))

	var (
		sum   money.Cents
		reach money.Reach
	)

	for i := range p.Lines {
		l := &p.Lines[i]
		switch {
		case l.CentTotal == 0 || !l.CentTotal.Valid():
			return refuse("a line is zero or beyond the safe range")
		case l.AccountID.IsZero() || l.Trigger == "":
			return refuse("a line has no account or trigger")
		case l.Party != NoParty && l.Party != Owners && l.Party != Manager:
			return refuse("unknown party")
		case l.Ref == "" || seen[l.Ref]:
			return refuse("a line has no reference of its own")
		}

		seen[l.Ref] = true

		// The debits are bounded; as the lines balance, so are the credits.
		if sum += l.CentTotal; l.CentTotal > 0 && !reach.Add(l.CentTotal) {
			return refuse("the lines exceed the safe range")
		}
	}

	if sum != 0 {
		return refuse("the lines do not balance")
	}

	return nil
}

// Change counts what Replace did, in postings.
type Change struct {
	Added, Removed int
	// Skipped counts the postings of sources left unchanged because a lock holds a posting.
	Skipped int
}

// plus returns the sum of two changes.
func (c Change) plus(o Change) Change {
	return Change{c.Added + o.Added, c.Removed + o.Removed, c.Skipped + o.Skipped}
}

// IsZero reports whether nothing was written or skipped.
func (c Change) IsZero() bool { return c == Change{} }

// PartRef returns the reference of the nth owner's part, counted from 0, of an amount with this reference.
func PartRef(name string, n int) string {
	if n == 0 {
		return name
	}

	return name + ":" + strconv.Itoa(n+1)
}
