package journal

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/ledger"
	"stayledger/domain/listing"
	"stayledger/domain/operation"
	"stayledger/domain/transaction"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// refreshListing has the journals of a listing follow its owners: manual ones in a transaction of their own, then those of transactions and
// reservations. Doing it again changes nothing.
func refreshListing(ctx context.Context, d *db.DB, scope db.Scope, _ operation.Run, args listing.RefreshArgs) (db.Work, error) {
	err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		_, err := RefreshListings(ctx, tx, []id.ID{args.ListingID})
		return err
	})
	if err != nil {
		return nil, err
	}
	return nil, transaction.RefreshListing(ctx, d, scope, args.ListingID)
}

// refreshChunk is how many journals are posted together; it bounds memory.
const refreshChunk = 500

// RefreshListings posts the journals with owners' lines on some listings anew, so that they follow the owners. Those that a lock holds stay as
// they are, and so do those of a listing that nobody owns on their date any more, which count as skipped.
func RefreshListings(ctx context.Context, tx *db.Tx, listingIDs []id.ID) (ledger.Change, error) {
	ids, err := db.Select[id.ID](ctx, tx, `
		select j.id from journal j where j.team_id = @team and exists (
			select from journal_line l where l.team_id = @team and l.journal_id = j.id and l.party = 'owners' and l.listing_id = any(@listings))
		order by j.id`, db.Args{"team": tx.Team, "listings": listingIDs})
	if err != nil {
		return ledger.Change{}, fmt.Errorf("find the journals of listings: %w", err)
	}
	return refreshAll(ctx, tx, ids)
}

// refreshTask posts the journals of a task anew.
func refreshTask(ctx context.Context, d *db.DB, scope db.Scope, _ operation.Run, args ledger.RefreshArgs) (db.Work, error) {
	return nil, d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
		_, err := refreshAll(ctx, tx, args.IDs)
		return err
	})
}

func refreshAll(ctx context.Context, tx *db.Tx, ids []id.ID) (total ledger.Change, err error) {
	for chunk := range slices.Chunk(ids, refreshChunk) {
		change, err := refresh(ctx, tx, chunk)
		if err != nil {
			return ledger.Change{}, err
		}
		total = total.Plus(change)
	}
	return total, nil
}

func refresh(ctx context.Context, tx *db.Tx, ids []id.ID) (ledger.Change, error) {
	if err := holdAll(ctx, tx, ids); err != nil {
		return ledger.Change{}, err
	}
	found, err := byIDs(ctx, tx, ids)
	if err != nil {
		return ledger.Change{}, err
	}
	journals := make([]*Journal, len(found))
	for i := range found {
		journals[i] = &found[i]
	}
	n, err := load(ctx, tx, journals)
	if err != nil {
		return ledger.Change{}, err
	}
	var sources, failed []id.ID
	var postings []ledger.Posting
	for _, j := range journals {
		p, err := j.posting(n)
		if err != nil {
			failed = append(failed, j.ID)
			continue
		}
		sources, postings = append(sources, j.ID), append(postings, p)
	}
	if err := ledger.MarkFailed(ctx, tx, "journal", failed); err != nil {
		return ledger.Change{}, err
	}
	change, err := ledger.Replace(ctx, tx, sources, postings, ledger.Lenience{SkipLocked: true})
	if err != nil {
		return ledger.Change{}, fmt.Errorf("post journals: %w", err)
	}
	change.Skipped += len(failed)
	return change, nil
}
