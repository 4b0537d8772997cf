package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// Noun names a kind of record with derived journals; it is also the name of its table.
type Noun string

// The nouns with journals that are derived.
const (
	Transactions   Noun = "transaction"
	Reservations   Noun = "reservation"
	ManualJournals Noun = "journal"
)

// nouns returns the nouns in the order in which a database transaction derives them: changing a transaction locks it
// before its reservations.
func nouns() []Noun { return []Noun{Transactions, Reservations, ManualJournals} }

// Kinds of the tasks that derive journals; the Part of each noun handles its own (Source.Handlers). All take
// RefreshArgs.
var (
	RefreshTransactions   = job.NewKind("transaction.refresh")
	RefreshReservations   = job.NewKind("reservation.refresh")
	RefreshManualJournals = job.NewKind("journal.refresh")
)

// refresh returns the kind of the tasks that derive journals of the noun.
func (n Noun) refresh() job.Kind {
	return map[Noun]job.Kind{
		Transactions:   RefreshTransactions,
		Reservations:   RefreshReservations,
		ManualJournals: RefreshManualJournals,
	}[n]
}

// changeReason returns the reason for a journal of the noun that is not current although no change has marked it.
func (n Noun) changeReason() Reason {
	return map[Noun]Reason{
		Transactions:   TransactionChanged,
		Reservations:   ReservationChanged,
		ManualJournals: OwnershipChanged,
	}[n]
}

// Source says how the journals of one noun are found and derived. Everything else (tasks, chunks, failed and locked
// journals) is the same for all nouns, see refresh.go and refresh_task.go.
type Source struct {
	Noun Noun
	// Touched loads the ids of the sources with journals affected by a change of their basis, in any order.
	Touched func(ctx context.Context, tx *db.Tx, b Basis) ([]id.ID, error)
	// AtOnce does the noun's other work, apart from journals, in the transaction that changes the basis. May be nil.
	AtOnce func(ctx context.Context, tx *db.Tx, b Basis) error
	// Derive locks the rows of these ids until the transaction ends, loads the records that their journals depend on,
	// and derives the journals.
	Derive func(ctx context.Context, tx *db.Tx, ids []id.ID) (*Derived, error)
	// Replaces reports whether a refresh of a mode other than full replaces a posting. Nil: every mode replaces all.
	Replaces func(mode string, p *Posting) bool

	// What a refresh that callers ask for (Source.Answer) needs; a noun without one leaves it empty.

	// Operation is the operation type, and Resource the type of the resources in its operations.
	Operation operation.Type
	Resource  operation.ResourceType
	// Group is the column of the noun's table by which its rows are derived together; Having is the condition on the
	// rows that have journals.
	Group, Having string
}

// Derived has the journals of some sources.
type Derived struct {
	// Sources are the existing sources that could be derived, Postings all postings in their journals.
	Sources  []id.ID
	Postings []Posting
	// Made says that the transaction has just inserted the sources, so they have no stored postings.
	Made bool
	// Standing are the stored postings of the sources, if the transaction has read them since it locked the sources; nil
	// if it has not.
	Standing []Posting
	// Failed are those that cannot be derived, each with the refusal.
	Failed map[id.ID]error
	// With are sources of another noun with journals that follow these; nil for none.
	With *Following
}

// listFailed returns the sources that cannot be derived, in the order of their ids.
func (d *Derived) listFailed() []id.ID {
	return slices.SortedFunc(maps.Keys(d.Failed), id.ID.Compare)
}

// refusal returns why the first of them cannot be derived; nil if all can.
func (d *Derived) refusal() error {
	if len(d.Failed) == 0 {
		return nil
	}

	return d.Failed[d.listFailed()[0]]
}

// Following are sources with journals that follow another noun's journals.
type Following struct {
	Source *Source
	IDs    []id.ID
}

// Basis is a change of the records that journals are derived from apart from their own source.
type Basis struct {
	// Listings have other owners, or owners on other terms.
	Listings []id.ID
	// Assignments belong to other accounts.
	Assignments []Reassigned
	// Connection has another accounting window.
	Connection *id.ID
	// Settings says that the team's settings decide otherwise.
	Settings bool
}

// Reassigned is an assignment in the chart of accounts that moved from an old to a new account; the zero id means no
// account.
type Reassigned struct {
	Assignment string
	From, To   id.ID
}

// Sources are all nouns with journals. A change that may affect the journals of several nouns goes to all nouns: by
// Outdate if an operation derives the journals, by Follow if they are derived at once.
type Sources []*Source

// announce lets every noun do its immediate work for a change and returns the sources with journals that the change
// affects.
func (s Sources) announce(ctx context.Context, tx *db.Tx, b Basis) (map[Noun][]id.ID, error) {
	found := map[Noun][]id.ID{}

	for _, source := range s {
		if source.AtOnce != nil {
			if err := source.AtOnce(ctx, tx, b); err != nil {
				return nil, err
			}
		}

		// A noun may report a source several times; it is derived once.
		ids, err := source.Touched(ctx, tx, b)
		if err != nil {
			return nil, fmt.Errorf("find the journals of a %s: %w", source.Noun, err)
		}

		found[source.Noun] = id.Distinct(ids)
	}

	return found, nil
}

// Follow derives the journals that a change affects in its own transaction, except locked journals. A journal that
// cannot be derived fails the change with its refusal.
func (s Sources) Follow(ctx context.Context, tx *db.Tx, b Basis) error {
	found, err := s.announce(ctx, tx, b)
	if err != nil {
		return err
	}

	// The sources are booked in the order of the nouns, which is the order of their locks.
	for _, source := range s {
		if _, err := source.Book(ctx, tx, found[source.Noun], Lenience{SkipLocked: true}); err != nil {
			return err
		}
	}

	return nil
}

// Outdate marks the journals that a change affects as stale and starts the operation to derive these; see the function
// Outdate.
func (s Sources) Outdate(ctx context.Context, tx *db.Tx, b Basis, o Outdated) error {
	found, err := s.announce(ctx, tx, b)
	if err != nil {
		return err
	}

	o.Sources = found
	_, err = Outdate(ctx, tx, o)

	return err
}

// Mark marks the journals that a change affects as stale and returns the deriving operation, for an endpoint which
// starts it itself.
func (s Sources) Mark(ctx context.Context, tx *db.Tx, b Basis, o Outdated) (*operation.New, error) {
	found, err := s.announce(ctx, tx, b)
	if err != nil {
		return nil, err
	}

	o.Sources = found
	if err := markStale(ctx, tx, &o); err != nil {
		return nil, err
	}

	n := o.operation()

	return &n, nil
}

// ListByAssignments loads the sources affected by changed assignments, if the noun's journals look up the assignments
// of consults whenever they are derived: sources with entries on the old or the new account. If an assignment had no
// account before, journals that need it could not be derived and have no entries to be found by; then it returns all
// sources of the noun.
func ListByAssignments(
	ctx context.Context, tx *db.Tx,
	n Noun,
	changed []Reassigned,
	consults ...string,
) ([]id.ID, error) {
	var accounts []id.ID

	all := false

	// Assignments that the journals do not look up have no effect.
	for _, c := range changed {
		if slices.Contains(consults, c.Assignment) {
			all = all || c.From.IsZero()
			accounts = append(accounts, c.From, c.To)
		}
	}

	switch {
	case all:
		return ListAll(ctx, tx, n)
	case accounts == nil:
		return nil, nil
	}

	return db.Select[id.ID](ctx, tx, `select s.id from `+string(n)+` s where s.team_id = @team and exists (
		select from ledger_entry e where e.team_id = @team and e.source_id = s.id and e.account_id = any(@accounts::uuid[]))`,
		db.Args{"team": tx.Team, "accounts": accounts})
}

// ListAll loads the sources of a noun.
func ListAll(ctx context.Context, tx *db.Tx, n Noun) ([]id.ID, error) {
	return db.Select[id.ID](ctx, tx, `select id from `+string(n)+` where team_id = @team`, db.Args{"team": tx.Team})
}
