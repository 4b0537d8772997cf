package transaction

import (
	"context"
	"fmt"
	"slices"
	"time"

	"stayledger/domain/ledger"
	"stayledger/domain/listing"
	"stayledger/domain/operation"
	"stayledger/domain/reservation"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/job"
)

// refreshChunk is how many transactions are derived together; it bounds memory.
const refreshChunk = 500

// Handlers are the tasks that derive the journals of transactions, and of all that is booked on a listing.
func Handlers() map[string]job.Handler {
	return map[string]job.Handler{
		listing.RefreshKind:        operation.Outside(10*time.Minute, refreshListingTask).InBulk(),
		ledger.RefreshTransactions: operation.Outside(10*time.Minute, refreshTask).InBulk(),
		RunKind:                    operation.Work(10*time.Minute, runTask),
	}
}

func refreshListingTask(ctx context.Context, d *db.DB, scope db.Scope, _ operation.Run, args listing.RefreshArgs) (db.Work, error) {
	return deriving(ctx, d, scope, func(ctx context.Context, tx *db.Tx) (int, error) {
		return refreshListings(ctx, tx, []id.ID{args.ListingID})
	})
}

func refreshTask(ctx context.Context, d *db.DB, scope db.Scope, _ operation.Run, args ledger.RefreshArgs) (db.Work, error) {
	return deriving(ctx, d, scope, func(ctx context.Context, tx *db.Tx) (int, error) {
		_, left, err := refresh(ctx, tx, args.IDs, ledger.Lenience{SkipLocked: !args.Strict})
		return left, err
	})
}

// deriving does what it can in one transaction. What it cannot derive makes the operation fail afterwards, so that nobody takes the rest for
// all.
func deriving(ctx context.Context, d *db.DB, scope db.Scope, do func(ctx context.Context, tx *db.Tx) (left int, err error)) (db.Work, error) {
	var left int
	err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		left, err = do(ctx, tx)
		return err
	})
	if err == nil && left > 0 {
		err = operation.FailAs(operation.OperationFailed, fmt.Errorf("the journals of %d transactions cannot be derived", left))
	}
	return nil, err
}

// OfListings is what a change of the owners of listings does about the journals booked on them.
func OfListings() listing.Journals {
	return listing.Journals{Derive: RefreshListings, Outdate: outdateListings}
}

// outdateListings marks as stale what RefreshListings derives, because the owners of the listings changed.
func outdateListings(ctx context.Context, tx *db.Tx, listingIDs []id.ID) error {
	for _, v := range listingIDs {
		o := ledger.Outdated{Reason: ledger.OwnershipChanged, Cause: operation.Resource{Type: operation.Listing, ID: v}}
		var err error
		if o.Transactions, err = ofListings(ctx, tx, []id.ID{v}); err != nil {
			return err
		}
		o.Reservations, err = db.Select[id.ID](ctx, tx, `select id from reservation where team_id = @team and listing_id = @listing`,
			db.Args{"team": tx.Team, "listing": v})
		if err != nil {
			return fmt.Errorf("find the reservations of a listing: %w", err)
		}
		if err := ledger.MarkStale(ctx, tx, o); err != nil {
			return err
		}
	}
	return nil
}

// ofListings are the active transactions with a line on some listings.
func ofListings(ctx context.Context, tx *db.Tx, listingIDs []id.ID) ([]id.ID, error) {
	ids, err := db.Select[id.ID](ctx, tx, `
		select t.id from transaction t where t.team_id = @team and t.status = 'active' and exists (
			select from transaction_line l where l.team_id = @team and l.transaction_id = t.id and l.listing_id = any(@listings))
		order by t.id`, db.Args{"team": tx.Team, "listings": listingIDs})
	if err != nil {
		return nil, fmt.Errorf("find the transactions of listings: %w", err)
	}
	return ids, nil
}

// RefreshListings derives the journals of every reservation of some listings, and of every transaction with a line on them, save those that
// a lock holds.
func RefreshListings(ctx context.Context, tx *db.Tx, listingIDs []id.ID) error {
	_, err := refreshListings(ctx, tx, listingIDs)
	return err
}

func refreshListings(ctx context.Context, tx *db.Tx, listingIDs []id.ID) (left int, err error) {
	ids, err := ofListings(ctx, tx, listingIDs)
	if err != nil {
		return 0, err
	}
	// Transactions come first: a change of one locks it before the reservations that it names.
	if _, left, err = refresh(ctx, tx, ids, ledger.Lenience{SkipLocked: true}); err != nil {
		return 0, err
	}
	return left, reservation.RefreshListings(ctx, tx, listingIDs)
}

// Refresh derives the journals of these transactions anew and stores what differs. A transaction whose journal cannot be derived any
// more, because its listing lost its ownership period or an account its assignment, keeps the one it has, counts as skipped and is marked as
// failed. Lines that wait for a reservation get it when it is there.
func Refresh(ctx context.Context, tx *db.Tx, ids []id.ID, l ledger.Lenience) (ledger.Change, error) {
	change, left, err := refresh(ctx, tx, ids, l)
	change.Skipped += left
	return change, err
}

// refresh is Refresh; left are the transactions whose journal cannot be derived.
func refresh(ctx context.Context, tx *db.Tx, ids []id.ID, l ledger.Lenience) (total ledger.Change, left int, err error) {
	ordered := slices.Clone(ids)
	slices.SortFunc(ordered, id.ID.Compare)
	for chunk := range slices.Chunk(slices.Compact(ordered), refreshChunk) {
		change, underived, err := refreshSome(ctx, tx, chunk, l)
		if err != nil {
			return ledger.Change{}, 0, err
		}
		total, left = total.Plus(change), left+underived
	}
	return total, left, nil
}

func refreshSome(ctx context.Context, tx *db.Tx, ids []id.ID, l ledger.Lenience) (change ledger.Change, left int, err error) {
	if _, err := tx.Exec(ctx, `select from transaction where team_id = @team and id = any(@ids) order by id for update`,
		db.Args{"team": tx.Team, "ids": ids}); err != nil {
		return change, 0, fmt.Errorf("lock transactions: %w", err)
	}
	linked, err := linkLines(ctx, tx, ids)
	if err != nil {
		return change, 0, err
	}
	stored, err := byIDs(ctx, tx, ids)
	if err != nil {
		return change, 0, err
	}
	t, err := loadTerms(ctx, tx)
	if err != nil {
		return change, 0, err
	}
	drafts := make([]*draft, len(stored))
	for i := range stored {
		drafts[i] = &draft{Transaction: stored[i]}
	}
	r, err := t.load(ctx, tx, drafts)
	if err != nil {
		return change, 0, err
	}
	var postings []ledger.Posting
	var sources, failed []id.ID
	for _, d := range drafts {
		derived, err := Journal(&d.Transaction, &r.facts)
		if err != nil {
			failed = append(failed, d.ID)
			continue
		}
		postings, sources = append(postings, derived...), append(sources, d.ID)
	}
	if err = ledger.MarkFailed(ctx, tx, "transaction", failed); err != nil {
		return change, 0, err
	}
	if change, err = ledger.Replace(ctx, tx, sources, postings, l); err != nil {
		return change, 0, fmt.Errorf("book transactions: %w", err)
	}
	stays := idSet{}
	for _, r := range linked {
		stays.add(r)
	}
	return change, len(failed), refreshStays(ctx, tx, stays, l)
}
