package journal

import (
	"context"

	"stayledger/domain/activity/reservation"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/ledger"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Sources returns all nouns with journals. Each of them follows the changes of the records that it is derived from.
func Sources() ledger.Sources {
	return ledger.Sources{transaction.Source(), reservation.Source(), Source()}
}

// Source describes to the ledger how the postings of manual journals are found and made anew, so that they follow
// the owners of their listings.
func Source() *ledger.Source {
	return &ledger.Source{Noun: ledger.ManualJournals, Touched: loadTouched, Derive: derive}
}

// loadTouched loads the journals with owners' lines on listings that changed owners.
func loadTouched(ctx context.Context, tx *db.Tx, b ledger.Basis) ([]id.ID, error) {
	if b.Listings == nil {
		return nil, nil
	}

	return db.Select[id.ID](ctx, tx, `select distinct journal_id from journal_line where team_id = @team and party = 'owners' and listing_id = any(@listings)`,
		db.Args{"team": tx.Team, "listings": b.Listings})
}

// derive locks manual journals and makes their postings anew. It reports a failure for one with a listing that has
// no owner on its date any more.
func derive(ctx context.Context, tx *db.Tx, ids []id.ID) (*ledger.Derived, error) {
	if err := lockAll(ctx, tx, ids); err != nil {
		return nil, err
	}

	found, err := loadAll(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	// Lines may have no listing of their own, so the records that they name are loaded as for a new journal.
	journals := make([]*Journal, len(found))
	for i := range found {
		journals[i] = &found[i]
	}

	n, err := loadReferences(ctx, tx, journals)
	if err != nil {
		return nil, err
	}

	out := &ledger.Derived{Failed: map[id.ID]error{}}

	// A journal that cannot be derived does not hold up the others.
	for _, j := range journals {
		p, err := j.derivePosting(n)
		if err != nil {
			out.Failed[j.ID] = err
			continue
		}

		out.Sources, out.Postings = append(out.Sources, j.ID), append(out.Postings, p)
	}

	return out, nil
}
