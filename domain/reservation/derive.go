package reservation

import (
	"context"
	"slices"

	"stayledger/domain/account"
	"stayledger/domain/fee"
	"stayledger/domain/ledger"
	"stayledger/domain/listing"
	"stayledger/domain/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// refreshChunk is how many reservations are derived together; it bounds memory and is the size of a task.
const refreshChunk = 500

// Refresh derives the journals of reservations and stores what changed. The reservations stay locked until the transaction ends; ids that
// name none are passed over.
//
// Errors: requiredAccountMissing when a posting needs an assignment that the team has not made, BAD_REQUEST when amounts exceed the safe
// range, and the locks of ledger.Locked.
func Refresh(ctx context.Context, tx *db.Tx, ids []id.ID, l ledger.Lenience) (ledger.Change, error) {
	ordered := slices.Clone(ids)
	slices.SortFunc(ordered, id.ID.Compare)
	ordered = slices.Compact(ordered)
	var total ledger.Change
	for chunk := range slices.Chunk(ordered, refreshChunk) {
		loaded, err := load(ctx, tx, chunk)
		if err != nil {
			return ledger.Change{}, err
		}
		sources := make([]id.ID, len(loaded))
		var wanted []ledger.Posting
		for i := range loaded {
			sources[i] = loaded[i].Reservation.ID
			postings := Journal(&loaded[i])
			if err := check(&loaded[i], postings); err != nil {
				return ledger.Change{}, err
			}
			wanted = append(wanted, postings...)
		}
		change, err := ledger.Replace(ctx, tx, sources, wanted, l)
		if err != nil {
			return ledger.Change{}, err
		}
		total = total.Plus(change)
	}
	return total, nil
}

// RefreshListings derives the journals of every reservation of some listings, and of the whole team for nil, save those that a lock holds.
func RefreshListings(ctx context.Context, tx *db.Tx, listingIDs []id.ID) error {
	ids, err := ofListings(ctx, tx, listingIDs)
	if err != nil {
		return err
	}
	_, err = Refresh(ctx, tx, ids, ledger.Lenience{SkipLocked: true})
	return err
}

// check tells the caller's mistakes from defects: an assignment that is missing, and amounts that no entry can hold.
func check(in *Input, postings []ledger.Posting) error {
	for i := range postings {
		p := &postings[i]
		for k := range p.Lines {
			if p.Lines[k].AccountID.IsZero() {
				return account.Require(in.Assigned, receivableOf(listing.Covering(in.Periods, p.TxnAt)))
			}
		}
		if err := p.Check(); err != nil {
			return errAmountRange.Because(err)
		}
	}
	return nil
}

// load locks reservations and reads what their journals depend on.
func load(ctx context.Context, tx *db.Tx, ids []id.ID) ([]Input, error) {
	if err := hold(ctx, tx, ids); err != nil {
		return nil, err
	}
	found, err := lockAll(ctx, tx, ids)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return inputs(ctx, tx, found)
}

// inputs reads, set-based, what the journals of these reservations depend on.
func inputs(ctx context.Context, tx *db.Tx, found []Reservation) ([]Input, error) {
	ids := make([]id.ID, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	lines, err := linesOf(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	deposits, err := depositsOf(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	settings, err := settingsOf(ctx, tx)
	if err != nil {
		return nil, err
	}
	assigned, err := account.Assigned(ctx, tx)
	if err != nil {
		return nil, err
	}
	listingIDs := make([]id.ID, 0, len(found))
	for i := range found {
		listingIDs = append(listingIDs, found[i].ListingID)
	}
	slices.SortFunc(listingIDs, id.ID.Compare)
	listingIDs = slices.Compact(listingIDs)
	periods, err := listing.Periods(ctx, tx, listingIDs)
	if err != nil {
		return nil, err
	}
	fees, err := fee.Subscribed(ctx, tx, listingIDs)
	if err != nil {
		return nil, err
	}
	out := make([]Input, len(found))
	for i := range found {
		r := found[i]
		r.Lines = lines[r.ID]
		out[i] = Input{
			Reservation: r, Mappings: settings.Mappings, Assigned: assigned, Recognition: settings.DefaultRevenueRecognition,
			LongTermStayNights: settings.LongTermStayNights, Periods: periods[r.ListingID], Fees: fees[r.ListingID],
			MerchantFee: deposits[r.ID].MerchantFee, ChannelFee: deposits[r.ID].ChannelFee,
		}
	}
	return out, nil
}

// complete fills in what reservations show beside their own row. Lines are dropped again unless they are asked for.
func complete(ctx context.Context, tx *db.Tx, rs []Reservation, withLines bool) error {
	ids := make([]id.ID, len(rs))
	for i := range rs {
		ids[i] = rs[i].ID
	}
	lines, err := linesOf(ctx, tx, ids)
	if err != nil {
		return err
	}
	deposits, err := depositsOf(ctx, tx, ids)
	if err != nil {
		return err
	}
	settings, err := settingsOf(ctx, tx)
	if err != nil {
		return err
	}
	locks, err := ledger.LocksOf(ctx, tx, ids)
	if err != nil {
		return err
	}
	touched := slices.Clone(ids)
	for i := range rs {
		touched = append(touched, rs[i].ListingID)
	}
	pending, err := operation.PendingJournals(ctx, tx, touched)
	if err != nil {
		return err
	}
	for i := range rs {
		r := &rs[i]
		own := lines[r.ID]
		r.settle(own, deposits[r.ID].Paid)
		r.Issues, r.JournalStatus = issues(own, settings.Mappings), journalStatus(pending.Of(r.ID, r.ListingID))
		var locked bool
		if r.Lock, locked = locks[r.ID]; !locked {
			r.Lock = ledger.Unlocked()
		}
		if withLines {
			if r.Lines = own; own == nil {
				r.Lines = []Line{}
			}
		}
	}
	return nil
}
