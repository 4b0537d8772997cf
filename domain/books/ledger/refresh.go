package ledger

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// together is how many sources are derived together: it bounds memory and is the size of a task.
const together = 500

// full is the mode of a refresh that replaces all postings; the empty mode is the same.
const full = "full"

// policy says what a refresh replaces and which locks it passes.
type policy struct {
	Lenience
	mode string
}

// refreshResult is the result of a refresh.
type refreshResult struct {
	Change
	// failed is how many sources could not be derived, and refusal why the first of them could not.
	failed  int
	refusal error
}

// add adds up two results; the refusal is the first one.
func (r refreshResult) add(o refreshResult) refreshResult {
	r.Change, r.failed = r.plus(o.Change), r.failed+o.failed
	if r.refusal == nil {
		r.refusal = o.refusal
	}

	return r
}

// Book derives the journals of sources and stores the differences, in the transaction of a write that depends on it.
// The sources stay locked until the transaction ends; unknown ids are left out.
//
// Errors: the refusal of the first source that cannot be derived, and the errors of Replace.
func (s *Source) Book(ctx context.Context, tx *db.Tx, ids []id.ID, l Lenience) (Change, error) {
	done, err := s.refresh(ctx, tx, ids, policy{Lenience: l})
	if err == nil {
		err = done.refusal
	}

	return done.Change, err
}

// Store is Book for journals that the caller has derived. It stores the postings that a mode replaces; the empty
// mode replaces all.
func (s *Source) Store(ctx context.Context, tx *db.Tx, derived *Derived, mode string, l Lenience) (Change, error) {
	if err := derived.refusal(); err != nil {
		return Change{}, err
	}

	return s.replace(ctx, tx, derived, policy{l, mode})
}

// BookAfter derives the journals of sources that depend on records written by the transaction. Their outcome does not
// affect the write: a source that is locked or cannot be derived says so in its journalStatus.
func (s *Source) BookAfter(ctx context.Context, tx *db.Tx, ids []id.ID, l Lenience) error {
	if len(ids) == 0 {
		return nil
	}

	l.SkipLocked = true

	// A savepoint keeps a refusal from undoing the write itself.
	err := tx.Try(ctx, func(ctx context.Context, tx *db.Tx) error {
		_, err := s.refresh(ctx, tx, ids, policy{Lenience: l})
		return err
	})
	if apierr.IsRefusal(err) {
		return markFailed(ctx, tx, s.Noun, ids)
	}

	return err
}

// refresh derives the journals of sources and stores the differences. A source that cannot be derived keeps its journal
// and is marked as failed.
func (s *Source) refresh(ctx context.Context, tx *db.Tx, ids []id.ID, by policy) (total refreshResult, err error) {
	for some := range slices.Chunk(id.Distinct(ids), together) {
		// Deriving locks the sources, so that two refreshes of one source take turns.
		derived, err := s.Derive(ctx, tx, some)
		if err != nil {
			return refreshResult{}, err
		}

		if err := markFailed(ctx, tx, s.Noun, derived.listFailed()); err != nil {
			return refreshResult{}, err
		}

		// What could be derived is stored, even if others of the chunk failed.
		done := refreshResult{failed: len(derived.Failed), refusal: derived.refusal()}
		if done.Change, err = s.replace(ctx, tx, derived, by); err != nil {
			return refreshResult{}, fmt.Errorf("book the journals of a %s: %w", s.Noun, err)
		}

		// Journals of another noun that follow these come last, when these are stored.
		if with := derived.With; with != nil {
			if err := with.Source.BookAfter(ctx, tx, with.IDs, by.Lenience); err != nil {
				return refreshResult{}, err
			}
		}

		total = total.add(done)
	}

	return total, nil
}

// replace stores the postings that the mode replaces and keeps the others as they are stored. A source stays stale
// if its other postings would be derived differently.
func (s *Source) replace(ctx context.Context, tx *db.Tx, derived *Derived, by policy) (Change, error) {
	// A refresh of everything needs no look at the stored postings here.
	if derived.Made || by.mode == "" || by.mode == full || s.Replaces == nil {
		return replacePart(
			ctx, tx,
			subset{noun: s.Noun, sources: derived.Sources, made: derived.Made, standing: derived.Standing, read: derived.Standing != nil},
			derived.Postings, by.Lenience,
		)
	}

	present, err := LoadPostings(ctx, tx, derived.Sources)
	if err != nil {
		return Change{}, err
	}

	// First keep the stored postings that the mode does not replace.
	wanted := present[:0:0]
	kept := map[string]*Posting{}

	for i := range present {
		if p := &present[i]; !s.Replaces(by.mode, p) {
			wanted = append(wanted, *p)
			kept[p.TxnCode] = p
		}
	}

	// Then add the derived postings which these replace. A kept posting that differs from the derived posting leaves
	// its source behind.
	behind := map[id.ID]bool{}

	for i := range derived.Postings {
		p := &derived.Postings[i]
		if s.Replaces(by.mode, p) {
			wanted = append(wanted, *p)
			continue
		}

		if old := kept[p.TxnCode]; old == nil || !p.equal(old) {
			behind[p.SourceID] = true
		}

		delete(kept, p.TxnCode)
	}

	// Postings left in kept are no longer derived at all.
	for _, p := range kept {
		behind[p.SourceID] = true
	}

	return replacePart(
		ctx, tx,
		subset{noun: s.Noun, sources: derived.Sources, behind: behind, standing: present, read: true},
		wanted, by.Lenience,
	)
}

// LockPolicy says how a refresh handles a journal that a lock holds.
type LockPolicy string

// The lock policies.
const (
	BestEffort LockPolicy = "bestEffort"
	Strict     LockPolicy = "strict"
)

// Enum lists the lock policies.
func (LockPolicy) Enum() []string { return []string{string(BestEffort), string(Strict)} }

// Refreshed is a reservation or transaction after its journal was derived.
type Refreshed struct {
	ID            id.ID         `json:"id"`
	JournalStatus JournalStatus `json:"journalStatus"`
}

// RefreshDone is the answer of a refresh that was done in the request.
type RefreshDone struct {
	Data  []Refreshed `json:"data"`
	Total int64       `json:"total"`
}

// RefreshRequest selects the journals to derive.
type RefreshRequest struct {
	IDs        []id.ID    `json:"ids,omitempty" minItems:"1" maxItems:"10000" doc:"Absent means all of the team."`
	LockPolicy LockPolicy `json:"lockPolicy,omitempty" doc:"strict fails, bestEffort leaves locked journals as they are; absent means bestEffort."`
}

// namedResources is the limit on the sources that an operation names; a larger selection concerns the team, not a
// source.
const namedResources = 20

// Answer derives a single journal within the request, and starts an operation for several journals and for all
// (OPEN-74).
//
// Errors: BAD_REQUEST with the unknown ids; in the request the errors of Book.
func (s *Source) Answer(
	ctx context.Context, tx *db.Tx, r RefreshRequest, mode string,
) (*operation.Answer[RefreshDone], error) {
	args := RefreshArgs{Strict: r.LockPolicy == Strict, Mode: mode}

	// No ids means all of the team.
	if r.IDs == nil {
		return s.startAll(ctx, tx, args)
	}

	ids, err := s.checkIDs(ctx, tx, r.IDs)
	if err != nil {
		return nil, err
	}

	if len(ids) != 1 {
		return s.start(ctx, tx, ids, args)
	}

	// A single journal is derived in the request.
	done, err := s.refresh(ctx, tx, ids, args.policy())
	if err == nil {
		err = done.refusal
	}

	if err != nil {
		return nil, err
	}

	statuses, err := s.Noun.LoadStatuses(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	one := RefreshDone{Data: []Refreshed{{ID: ids[0], JournalStatus: statuses[ids[0]]}}, Total: 1}

	return &operation.Answer[RefreshDone]{Done: &one}, nil
}

// start starts the operation that derives some journals. A small selection is named by it.
func (s *Source) start(
	ctx context.Context, tx *db.Tx, ids []id.ID, args RefreshArgs,
) (*operation.Answer[RefreshDone], error) {
	n := operation.New{Type: s.Operation, Tasks: s.Noun.tasks(ids, args)}
	if len(ids) <= namedResources {
		for _, v := range ids {
			n.Resources = append(n.Resources, operation.Resource{Type: s.Resource, ID: v, Role: operation.Target})
		}
	}

	ack, err := operation.Start(ctx, tx, n)

	return &operation.Answer[RefreshDone]{Started: ack}, err
}

// startAll starts the operation that derives all journals of the noun. Its tasks are stretches, so starting it hardly
// costs more for a large team. A source written meanwhile has its journal already.
func (s *Source) startAll(ctx context.Context, tx *db.Tx, args RefreshArgs) (*operation.Answer[RefreshDone], error) {
	places, err := s.loadBoundaries(ctx, tx)
	if err != nil {
		return nil, err
	}

	n := operation.New{Type: s.Operation}

	for i := range places {
		args.Stretch = &Stretch{From: places[i]}
		if i+1 < len(places) {
			args.Stretch.Until = &places[i+1]
		}

		n.Tasks = append(n.Tasks, s.Noun.task(args))
	}

	// An operation has at least one task, even if there is nothing to derive.
	if n.Tasks == nil {
		n.Tasks = []operation.Task{s.Noun.task(args)}
	}

	ack, err := operation.Start(ctx, tx, n)

	return &operation.Answer[RefreshDone]{Started: ack}, err
}

// checkIDs returns the given ids in order, each once. It fails with an issue for each that the team does not have, up
// to 100.
func (s *Source) checkIDs(ctx context.Context, tx *db.Tx, ids []id.ID) ([]id.ID, error) {
	found, err := db.Select[id.ID](ctx, tx, `select id from `+string(s.Noun)+` where team_id = @team and id = any(@ids) order by id`,
		db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("look up the sources of a refresh: %w", err)
	}

	var missing []apierr.Issue
	for i, v := range ids {
		if _, exists := slices.BinarySearchFunc(found, v, id.ID.Compare); !exists && len(missing) < 100 {
			missing = append(missing, apierr.IssueNotFound.InBody("ids", i))
		}
	}

	if missing != nil {
		return nil, apierr.BadRequest.At(missing...)
	}

	return found, nil
}
