package ledger

import (
	"context"
	"fmt"
	"slices"

	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// chunkLines bounds the lines that one round of Replace carries, so that a refresh of a whole team stays within a statement's reach.
const chunkLines = 10_000

// chunkSources bounds the sources of a round: sources without lines cost a look at what they have stored.
const chunkSources = 2_000

// Replace makes the stored postings of the sources equal to wanted, which holds postings of these sources alone. Postings that already
// stand as wanted keep their rows; of the others every one that is added or removed must pass Locked, then the old rows are deleted and
// the new ones inserted. The StatementID of wanted lines is ignored.
//
// The caller holds the rows of the sources locked (select … for update), so that two derivations of one source take turns. Replace itself
// shares the team and the ownership periods it posts to, so that neither closing the books nor saving a statement passes it by.
//
// Errors: ErrInvalid, ErrUnknownAccount, and the locks of Locked.
func Replace(ctx context.Context, tx *db.Tx, sources []id.ID, wanted []Posting, l Lenience) (Change, error) {
	ordered := slices.Clone(sources)
	slices.SortFunc(ordered, id.ID.Compare)
	ordered = slices.Compact(ordered)
	bySource := make(map[id.ID][]Posting, len(ordered))
	codes := make(map[string]bool, len(wanted))
	for i := range wanted {
		p := &wanted[i]
		if err := p.Check(); err != nil {
			return Change{}, err
		}
		if _, found := slices.BinarySearchFunc(ordered, p.SourceID, id.ID.Compare); !found || codes[p.TxnCode] {
			return Change{}, fmt.Errorf("%w %q: of a source that is not replaced, or given twice", ErrInvalid, p.TxnCode)
		}
		codes[p.TxnCode] = true
		bySource[p.SourceID] = append(bySource[p.SourceID], *p)
	}
	var total Change
	for len(ordered) > 0 {
		n, postings := chunk(ordered, bySource)
		change, err := replaceChunk(ctx, tx, ordered[:n], postings, l)
		if err != nil {
			return Change{}, err
		}
		total = total.Plus(change)
		ordered = ordered[n:]
	}
	return total, nil
}

// chunk takes as many sources from the front as fit in one round, at least one.
func chunk(sources []id.ID, bySource map[id.ID][]Posting) (n int, postings []Posting) {
	lines := 0
	for n < len(sources) && n < chunkSources {
		own := bySource[sources[n]]
		for i := range own {
			lines += len(own[i].Lines)
		}
		if n > 0 && lines > chunkLines {
			break
		}
		postings = append(postings, own...)
		n++
	}
	return n, postings
}

func replaceChunk(ctx context.Context, tx *db.Tx, sources []id.ID, wanted []Posting, l Lenience) (Change, error) {
	if err := shareLocks(ctx, tx, sources, wanted); err != nil {
		return Change{}, err
	}
	touched, err := compare(ctx, tx, sources, wanted)
	if err != nil || len(touched) == 0 {
		return Change{}, err
	}
	skipped, err := decide(touched, l)
	if err != nil {
		return Change{}, err
	}
	var change Change
	var gone, added []Posting
	standing := make(map[string]*Posting, len(wanted))
	for i := range wanted {
		standing[wanted[i].TxnCode] = &wanted[i]
	}
	for i := range touched {
		t := &touched[i]
		switch {
		case skipped[t.SourceID]:
			change.Skipped++
		case t.Removed:
			gone = append(gone, Posting{SourceID: t.SourceID, TxnCode: t.TxnCode})
		default:
			added = append(added, *standing[t.TxnCode])
		}
	}
	change.Removed, change.Added = len(gone), len(added)
	return change, write(ctx, tx, gone, added)
}

// decide asks the locks about every posting. It returns the sources that are left as they are.
func decide(touched []difference, l Lenience) (map[id.ID]bool, error) {
	skipped := map[id.ID]bool{}
	for i := range touched {
		t := &touched[i]
		err := Locked(t.BooksClosedAt, t.Touched(), l)
		switch {
		case err == nil:
		case l.SkipLocked:
			skipped[t.SourceID] = true
		default:
			return nil, err
		}
	}
	return skipped, nil
}

// BooksClosedAt is the team's first open day, nil while its books were never closed.
func BooksClosedAt(ctx context.Context, tx *db.Tx) (*day.Day, error) {
	return db.Get[*day.Day](ctx, tx, `select books_closed_at from team where id = @team`, db.Args{"team": tx.Team})
}
