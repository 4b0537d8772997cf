package ledger

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/record/audit"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// chunkLines bounds the lines in one round of Replace, so a refresh of a whole team stays within a statement's reach.
const chunkLines = 10_000

// chunkSources bounds the sources of a round: sources without lines cost a look at what they have stored.
const chunkSources = 2_000

// Above this many sources, ask PostgreSQL for fresh plans: a cached one may date from when the ledger was much smaller.
const fewSources = 20

// Replace makes the stored postings of the sources equal to wanted, which has postings of these sources alone. Postings
// that are stored as wanted keep their rows. Every other posting, added or removed, must pass Locked; then the old rows
// are deleted and the new rows inserted. The StatementID of wanted lines is ignored.
//
// The caller holds the rows of the sources locked (select … for update), so two derivations of a source take turns.
// Replace itself shares the locks of the ownership periods it posts to, so no statement is saved meanwhile; the team's
// gate keeps the closing of the books out.
//
// Errors: ErrInvalid, ErrUnknownAccount, and the locks of Locked.
func Replace(ctx context.Context, tx *db.Tx, sources []id.ID, wanted []Posting, l Lenience) (Change, error) {
	return replacePart(ctx, tx, subset{sources: sources}, wanted, l)
}

// Post is Replace for sources which the transaction has just inserted. They cannot have stored postings, so it does not
// look for any. It fails as Replace does.
func Post(ctx context.Context, tx *db.Tx, sources []id.ID, wanted []Posting, l Lenience) (Change, error) {
	return replacePart(ctx, tx, subset{sources: sources, made: true}, wanted, l)
}

// subset are the sources of a derivation. The sources behind keep some postings as they are stored although they
// would be derived differently. Nothing is stored of sources that were just made.
type subset struct {
	noun    Noun // empty if the caller writes the audit events of the sources itself
	sources []id.ID
	behind  map[id.ID]bool
	made    bool
	// standing are the stored postings, if they have been read.
	standing []Posting
	read     bool
}

// narrow returns the subset for some of the sources.
func (of subset) narrow(sources []id.ID) subset {
	of.sources = sources
	return of
}

// loadPostings returns the stored postings of the sources, which are in the order of their ids.
func (of *subset) loadPostings(ctx context.Context, tx *db.Tx) ([]Posting, error) {
	switch {
	case of.made:
		return nil, nil
	case of.read:
		return slices.DeleteFunc(slices.Clone(of.standing), func(p Posting) bool {
			_, found := slices.BinarySearchFunc(of.sources, p.SourceID, id.ID.Compare)
			return !found
		}), nil
	default:
		return LoadPostings(ctx, tx, of.sources)
	}
}

// replacePart replaces the postings of a subset of sources as Replace does. The sources behind are not current after
// it: what they still have to change stays to be done.
func replacePart(ctx context.Context, tx *db.Tx, of subset, wanted []Posting, l Lenience) (Change, error) {
	ordered := id.Distinct(of.sources)
	bySource := make(map[id.ID][]Posting, len(ordered))

	// First check the postings and sort them by source.
	codes := make(map[string]bool, len(wanted))
	for i := range wanted {
		p := &wanted[i]
		if err := p.Check(); err != nil {
			return Change{}, err
		}

		// A code names one posting of one source.
		if _, found := slices.BinarySearchFunc(ordered, p.SourceID, id.ID.Compare); !found || codes[p.TxnCode] {
			return Change{}, fmt.Errorf(
				"%w %q: of a source that is not replaced, or given twice", ErrInvalid, p.TxnCode,
			)
		}

		codes[p.TxnCode] = true
		bySource[p.SourceID] = append(bySource[p.SourceID], *p)
	}

	// Then replace them in rounds that fit into a statement.
	var total Change

	replace := func(ctx context.Context, tx *db.Tx) error {
		for len(ordered) > 0 {
			n, postings := chunk(ordered, bySource)

			change, err := replaceChunk(ctx, tx, of.narrow(ordered[:n]), postings, l)
			if err != nil {
				return err
			}

			total = total.plus(change)
			ordered = ordered[n:]
		}

		return nil
	}

	if len(ordered) <= fewSources {
		err := replace(ctx, tx)
		return total, err
	}

	err := tx.PlanAfresh(ctx, replace)

	return total, err
}

// chunk returns how many sources from the front fit in one round, at least one, and their postings.
func chunk(sources []id.ID, bySource map[id.ID][]Posting) (n int, postings []Posting) {
	lines := 0

	for n < len(sources) && n < chunkSources {
		next := bySource[sources[n]]
		for i := range next {
			lines += len(next[i].Lines)
		}

		if n > 0 && lines > chunkLines {
			break
		}

		postings = append(postings, next...)
		n++
	}

	return n, postings
}

// replaceChunk is one round of replacePart.
func replaceChunk(ctx context.Context, tx *db.Tx, of subset, wanted []Posting, l Lenience) (Change, error) {
	// First find the postings that differ.
	present, err := of.loadPostings(ctx, tx)
	if err != nil {
		return Change{}, err
	}

	gone, added := compare(present, wanted)

	// Then ask the locks about them. Periods of unchanged postings are shared as well.
	f, err := loadFacts(ctx, tx, ownerPeriods(slices.Concat(present, wanted)), slices.Concat(gone, added))
	if err != nil {
		return Change{}, err
	}

	gone, added = f.withoutCaughtUp(gone, added, l)

	skipped, err := f.checkPostings(gone, added, l)
	if err != nil {
		return Change{}, err
	}

	late := f.holdBack(skipped, gone, added, l)

	// Sources that a lock holds stay as they are, with all their postings.
	kept := func(postings []Posting) []Posting {
		return slices.DeleteFunc(postings, func(p Posting) bool {
			_, stays := skipped[p.SourceID]
			return stays
		})
	}
	change := Change{Skipped: countHeld(late.held, gone) + countHeld(late.held, added)}
	gone, added = append(kept(gone), late.gone...), append(kept(added), late.added...)
	change.Added, change.Removed = len(added), len(gone)

	// Last, write the rest, and note which journals are current now.
	savePostings(tx, gone, added)
	noteEffects(tx, of.noun, gone, added)
	settle(tx, of, late.held)

	return change, nil
}

// countHeld counts the postings of sources that locks hold.
func countHeld(held map[id.ID]HeldBack, postings []Posting) (n int) {
	for i := range postings {
		if _, is := held[postings[i].SourceID]; is {
			n++
		}
	}

	return n
}

// noteEffects writes the effect on the entries of each source to its audit event.
func noteEffects(tx *db.Tx, noun Noun, gone, added []Posting) {
	effects := map[id.ID]*audit.Effect{}
	count := func(postings []Posting, sign int64) {
		for i := range postings {
			p := &postings[i]

			f := effects[p.SourceID]
			if f == nil {
				f = &audit.Effect{Delta: []audit.Delta{}}
				effects[p.SourceID] = f
			}

			if sign > 0 {
				f.EntriesAdded += len(p.Lines)
			} else {
				f.EntriesRetired += len(p.Lines)
			}

			for k := range p.Lines {
				f.Count(p.Lines[k].AccountID, sign*int64(p.Lines[k].CentTotal))
			}
		}
	}
	count(gone, -1)
	count(added, 1)

	// The effects join the audit events of the sources, if there are any.
	for source, f := range effects {
		audit.NoteJournal(tx, audit.Entity(noun), source, *f)
	}
}

// compare returns the stored postings that are not wanted as they are, and the wanted postings that are not stored that
// way. A posting is a unit: if an entry differs, the whole posting does.
func compare(present, wanted []Posting) (gone, added []Posting) {
	at := make(map[string]int, len(present))
	for i := range present {
		at[present[i].TxnCode] = i
	}

	same := make([]bool, len(present))

	for i := range wanted {
		k, found := at[wanted[i].TxnCode]
		if found && wanted[i].equal(&present[k]) {
			same[k] = true
		} else {
			added = append(added, wanted[i])
		}
	}

	for i := range present {
		if !same[i] {
			gone = append(gone, present[i])
		}
	}

	return gone, added
}

// equal reports whether two postings have the same entries. It ignores the order of the lines and the owner
// statements that they are attached to.
func (p *Posting) equal(o *Posting) bool {
	if p.SourceID != o.SourceID || p.Ledger != o.Ledger || p.Status != o.Status || p.TxnAt != o.TxnAt ||
		p.Currency != o.Currency || len(p.Lines) != len(o.Lines) {
		return false
	}

	lines := make(map[string]*Line, len(o.Lines))
	for i := range o.Lines {
		lines[o.Lines[i].Ref] = &o.Lines[i]
	}

	for i := range p.Lines {
		theirs, found := lines[p.Lines[i].Ref]
		if !found {
			return false
		}

		// Attaching an entry to a statement does not change it.
		ours := p.Lines[i]

		ours.StatementID = theirs.StatementID
		if ours != *theirs {
			return false
		}
	}

	return true
}

// checkPostings asks the locks about every posting. It returns the sources that stay as they are, each with a lock that
// holds it, or the first lock unless these may be skipped.
func (f *facts) checkPostings(gone, added []Posting, l Lenience) (map[id.ID]hold, error) {
	skipped := map[id.ID]hold{}

	f.moved = f.findBankMoves(gone, added)
	for _, postings := range [][]Posting{gone, added} {
		for i := range postings {
			p := &postings[i]

			lock := CheckLocks(f.closing, f.lockInput(p), l)
			switch {
			case lock == nil:
				continue
			case !l.SkipLocked:
				return nil, lock
			}

			// Remember the lock, so that its removal finds the journal again.
			h, err := newHold(lock, p.TxnAt)
			if err != nil {
				return nil, err
			}

			// Of several days the earliest is the last to be opened.
			before, held := skipped[p.SourceID]
			if !held || before.at != nil && h.at != nil && h.at.Before(*before.at) {
				skipped[p.SourceID] = h
			}
		}
	}

	return skipped, nil
}

// bankLeg says where and when money moves at a bank.
type bankLeg struct {
	source, account id.ID
	ledger          Ledger
	status          Status
	currency        string
	at              day.Day
}

// findBankMoves returns the sources that move other money at a bank than before: another amount, account, day or
// currency. If a source moves the same money, its bank records still match, whatever else of it changes.
func (f *facts) findBankMoves(gone, added []Posting) map[id.ID]bool {
	sums := map[bankLeg]money.Cents{}
	count := func(postings []Posting, sign money.Cents) {
		for i := range postings {
			p := &postings[i]
			for k := range p.Lines {
				if l := &p.Lines[k]; f.banks[l.AccountID] {
					sums[bankLeg{
						p.SourceID, l.AccountID, p.Ledger, p.Status, p.Currency, p.TxnAt,
					}] += sign * l.CentTotal
				}
			}
		}
	}
	count(gone, -1)
	count(added, 1)

	// Removed and added postings that move the same money cancel each other out.
	moved := map[id.ID]bool{}

	for leg, cents := range sums {
		if cents != 0 {
			moved[leg.source] = true
		}
	}

	return moved
}

// lockInput returns a posting with the facts that the locks decide by.
func (f *facts) lockInput(p *Posting) Touched {
	t := Touched{SourceID: p.SourceID, TxnCode: p.TxnCode, Ledger: p.Ledger, Status: p.Status, TxnAt: p.TxnAt}
	banked := false

	for i := range p.Lines {
		l := &p.Lines[i]

		banked = banked || f.banks[l.AccountID]
		if end, saved := f.saved[l.StatementID]; saved {
			t.AttachedTo = append(t.AttachedTo, Saved{l.StatementID, end})
		}

		// Statements report the owners' entries only.
		if l.Party != Owners {
			continue
		}

		// Statements of the day and later ones show the entry.
		for _, s := range f.over[l.OwnershipPeriodID] {
			if s.Currency != p.Currency || p.TxnAt.After(*s.EndAt) {
				continue
			}

			if s.Status == "published" {
				t.Published = append(t.Published, Saved{s.ID, *s.EndAt})
			} else {
				t.InReview = append(t.InReview, Saved{s.ID, *s.EndAt})
			}
		}
	}

	// Only money that changes is held by the bank records of the source.
	if banked && f.moved[p.SourceID] {
		for _, record := range f.over[p.SourceID] {
			t.Reconciled = append(t.Reconciled, record.ID)
		}
	}

	return t
}
