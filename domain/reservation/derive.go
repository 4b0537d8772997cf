package reservation

import (
	"context"
	"slices"

	"stayledger/domain/account"
	"stayledger/domain/fee"
	"stayledger/domain/ledger"
	"stayledger/domain/listing"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// refreshChunk is how many reservations are derived together; it bounds memory and is the size of a task.
const refreshChunk = 500

// Refresh derives the journals of reservations and stores what changed. The reservations stay locked until the transaction ends; ids that
// name none are passed over. Line types that nobody has mapped become unmapped mappings.
//
// Errors: requiredAccountMissing when a posting needs an assignment that the team has not made, BAD_REQUEST when amounts exceed the safe
// range, and the locks of ledger.Locked.
func Refresh(ctx context.Context, tx *db.Tx, ids []id.ID, l ledger.Lenience) (ledger.Change, error) {
	return refreshAs(ctx, tx, ids, policy{Full, l})
}

func refreshAs(ctx context.Context, tx *db.Tx, ids []id.ID, by policy) (total ledger.Change, err error) {
	ordered := slices.Clone(ids)
	slices.SortFunc(ordered, id.ID.Compare)
	for chunk := range slices.Chunk(slices.Compact(ordered), refreshChunk) {
		loaded, err := load(ctx, tx, chunk)
		if err != nil {
			return ledger.Change{}, err
		}
		change, err := store(ctx, tx, loaded, by)
		if err != nil {
			return ledger.Change{}, err
		}
		total = total.Plus(change)
	}
	return total, nil
}

// store derives loaded reservations and stores the postings that the policy replaces.
func store(ctx context.Context, tx *db.Tx, loaded []Input, by policy) (ledger.Change, error) {
	sources := make([]id.ID, len(loaded))
	var wanted []ledger.Posting
	for i := range loaded {
		sources[i] = loaded[i].Reservation.ID
		derived := Journal(&loaded[i])
		if err := derived.check(&loaded[i]); err != nil {
			return ledger.Change{}, err
		}
		wanted = append(wanted, derived.Postings...)
	}
	if err := noteUnknown(ctx, tx, loaded); err != nil {
		return ledger.Change{}, err
	}
	if by.mode == Full {
		return ledger.Replace(ctx, tx, sources, wanted, by.locks)
	}
	return replaceIn(ctx, tx, sources, wanted, by)
}

// RefreshListings derives the journals of every reservation of some listings, save those that a lock holds.
func RefreshListings(ctx context.Context, tx *db.Tx, listingIDs []id.ID) error {
	ids, err := ofListings(ctx, tx, listingIDs)
	if err != nil {
		return err
	}
	_, err = Refresh(ctx, tx, ids, ledger.Lenience{SkipLocked: true})
	return err
}

// check tells the caller's mistakes from defects: an assignment that is missing, and amounts that no entry and no total can hold.
func (d *Derived) check(in *Input) error {
	var size money.Reach
	for i := range in.Reservation.Lines {
		size.Add(in.Reservation.Lines[i].Amount)
	}
	for i := range in.Reservation.Adjustments {
		size.Add(in.Reservation.Adjustments[i].Amount)
	}
	if !size.Valid() {
		return errAmountRange
	}
	if len(d.Missing) > 0 {
		return account.Require(in.Assigned, d.Missing...)
	}
	for i := range d.Postings {
		if err := d.Postings[i].Check(); err != nil {
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
	found, err := readAll(ctx, tx, ids)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return inputs(ctx, tx, found)
}

// inputs reads, set-based, what the journals of these reservations depend on.
func inputs(ctx context.Context, tx *db.Tx, found []Reservation) ([]Input, error) {
	deposits, err := attach(ctx, tx, found)
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
	listingIDs := make([]id.ID, len(found))
	for i := range found {
		listingIDs[i] = found[i].ListingID
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
	mappings := NewMappings(settings.Mappings)
	out := make([]Input, len(found))
	for i := range found {
		r := found[i]
		out[i] = Input{
			Reservation: r, Mappings: mappings, Assigned: assigned, Recognition: settings.DefaultRevenueRecognition,
			LongTermStayNights: settings.LongTermStayNights, Periods: periods[r.ListingID], Fees: fees[r.ListingID],
			MerchantFee: deposits[r.ID].MerchantFee, ChannelFee: deposits[r.ID].ChannelFee,
		}
	}
	return out, nil
}

// attach gives reservations their lines and adjustments, and reads what their deposits brought in.
func attach(ctx context.Context, tx *db.Tx, rs []Reservation) (map[id.ID]deposits, error) {
	ids := idsOf(rs)
	lines, err := linesOf(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	adjustments, err := adjustmentsOf(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	for i := range rs {
		rs[i].Lines, rs[i].Adjustments = lines[rs[i].ID], adjustments[rs[i].ID]
	}
	return depositsOf(ctx, tx, ids)
}

func idsOf(rs []Reservation) []id.ID {
	ids := make([]id.ID, len(rs))
	for i := range rs {
		ids[i] = rs[i].ID
	}
	return ids
}

// complete fills in what reservations show beside their own row. Lines and adjustments are dropped again unless they are asked for.
func complete(ctx context.Context, tx *db.Tx, rs []Reservation, withLines bool) error {
	if len(rs) == 0 {
		return nil
	}
	deposits, err := attach(ctx, tx, rs)
	if err != nil {
		return err
	}
	settings, err := settingsOf(ctx, tx)
	if err != nil {
		return err
	}
	locks, err := ledger.LocksOf(ctx, tx, idsOf(rs))
	if err != nil {
		return err
	}
	subjects := make([]ledger.Subject, len(rs))
	for i := range rs {
		subjects[i] = ledger.Subject{ID: rs[i].ID, Also: []id.ID{rs[i].ListingID}}
	}
	statuses, err := ledger.StatusOf(ctx, tx, subjects)
	if err != nil {
		return err
	}
	nobodys, err := ownerless(ctx, tx, idsOf(rs))
	if err != nil {
		return err
	}
	mappings := NewMappings(settings.Mappings)
	for i := range rs {
		r := &rs[i]
		r.settle(mappings, deposits[r.ID].Paid)
		r.Issues, r.JournalStatus = r.issues(mappings, nobodys[r.ID]), statuses[r.ID]
		r.Lock = locks[r.ID]
		if !withLines {
			r.Lines, r.Adjustments = nil, nil
			continue
		}
		r.Lines, r.Adjustments = orEmpty(r.Lines), orEmpty(r.Adjustments)
	}
	return nil
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
