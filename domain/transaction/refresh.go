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

// handlers are the tasks that derive the journals of transactions, and make those that recur.
func handlers() map[job.Kind]job.Handler {
	return map[job.Kind]job.Handler{
		ledger.RefreshTransactions: operation.Outside(10*time.Minute, refreshTask).InBulk(),
		RunKind:                    operation.Work(10*time.Minute, runTask),
	}
}

// RefreshListing derives the journals around a listing some at a time, so that no change of the team waits for all of them. Transactions come
// first, as in RefreshListings.
func RefreshListing(ctx context.Context, d *db.DB, scope db.Scope, listingID id.ID) error {
	var transactions, stays []id.ID
	err := d.Read(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		if transactions, err = ofListings(ctx, tx, []id.ID{listingID}); err != nil {
			return err
		}
		stays, err = staysOf(ctx, tx, listingID)
		return err
	})
	if err != nil {
		return err
	}
	underived := 0
	for some := range slices.Chunk(transactions, refreshChunk) {
		left := 0
		err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
			_, left, err = refresh(ctx, tx, some, ledger.Lenience{SkipLocked: true})
			return err
		})
		if err != nil {
			return err
		}
		underived += left
	}
	for some := range slices.Chunk(stays, refreshChunk) {
		err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) error {
			_, err := reservation.Refresh(ctx, tx, some, ledger.Lenience{SkipLocked: true})
			return err
		})
		if err != nil {
			return err
		}
	}
	return failUnderived(underived)
}

// staysOf are the reservations of a listing, in the order of their ids.
func staysOf(ctx context.Context, tx *db.Tx, listingID id.ID) ([]id.ID, error) {
	ids, err := db.Select[id.ID](ctx, tx, `select id from reservation where team_id = @team and listing_id = @listing order by id`,
		db.Args{"team": tx.Team, "listing": listingID})
	if err != nil {
		return nil, fmt.Errorf("find the reservations of a listing: %w", err)
	}
	return ids, nil
}

func refreshTask(ctx context.Context, d *db.DB, scope db.Scope, _ operation.Run, args ledger.RefreshArgs) (db.Work, error) {
	left := 0
	err := d.Write(ctx, scope, func(ctx context.Context, tx *db.Tx) (err error) {
		_, left, err = refresh(ctx, tx, args.IDs, ledger.Lenience{SkipLocked: !args.Strict})
		return err
	})
	if err != nil {
		return nil, err
	}
	return nil, failUnderived(left)
}

// failUnderived makes an operation fail for what could not be derived, after the rest was, so that nobody takes the rest for all.
func failUnderived(left int) error {
	if left == 0 {
		return nil
	}
	return operation.FailAs(operation.OperationFailed, fmt.Errorf("the journals of %d transactions cannot be derived", left))
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
		if o.Reservations, err = staysOf(ctx, tx, v); err != nil {
			return err
		}
		o.Journals, err = db.Select[id.ID](ctx, tx, `
			select distinct journal_id from journal_line where team_id = @team and party = 'owners' and listing_id = @listing`,
			db.Args{"team": tx.Team, "listing": v})
		if err != nil {
			return fmt.Errorf("find the journals of a listing: %w", err)
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
	ids, err := ofListings(ctx, tx, listingIDs)
	if err != nil {
		return err
	}
	// Transactions come first: a change of one locks it before the reservations that it names.
	if _, _, err = refresh(ctx, tx, ids, ledger.Lenience{SkipLocked: true}); err != nil {
		return err
	}
	return reservation.RefreshListings(ctx, tx, listingIDs)
}

// Refresh derives the journals of these transactions anew and stores what differs. A transaction whose journal cannot be derived any
// more, because its listing lost its ownership period or an account its assignment, keeps the one it has, counts as skipped and is marked as
// failed. Lines that wait for a reservation get it when it is there, and lines that have their listing from one follow it.
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
	if err := followStays(ctx, tx, ids); err != nil {
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
