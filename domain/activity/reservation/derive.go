package reservation

import (
	"context"
	"slices"

	"stayledger/domain/activity/fee"
	"stayledger/domain/activity/mapping"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/listing"
	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Source says how the journals of reservations are found and derived.
func Source() *ledger.Source {
	return &ledger.Source{
		Noun: ledger.Reservations, Touched: touched, Derive: derive, Replaces: replaces,
		Operation: operation.ReservationJournal, Resource: operation.Reservation, Group: "listing_id", Having: "true", Around: around,
	}
}

// Refresh derives the journals of reservations and stores what changed. The reservations stay locked until the transaction ends; ids that
// name none are passed over. Line types that nobody has mapped become unmapped mappings.
//
// Errors: requiredAccountMissing when a posting needs an assignment that the team has not made, BAD_REQUEST when amounts exceed the safe
// range, and the locks of ledger.Locked.
func Refresh(ctx context.Context, tx *db.Tx, ids []id.ID, l ledger.Lenience) (ledger.Change, error) {
	return Source().Book(ctx, tx, ids, l)
}

// derive locks reservations and derives their journals from what is stored.
func derive(ctx context.Context, tx *db.Tx, ids []id.ID) (*ledger.Derived, error) {
	loaded, err := load(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	return journals(ctx, tx, loaded)
}

// journals derives the journals of loaded reservations.
func journals(ctx context.Context, tx *db.Tx, loaded []Input) (*ledger.Derived, error) {
	out := &ledger.Derived{Failed: map[id.ID]error{}}
	for i := range loaded {
		reservationID := loaded[i].Reservation.ID
		derived := Journal(&loaded[i])
		if err := derived.check(&loaded[i]); err != nil {
			out.Failed[reservationID] = err
			continue
		}
		out.Sources, out.Postings = append(out.Sources, reservationID), append(out.Postings, derived.Postings...)
	}
	return out, mapping.AddUnmapped(ctx, tx, unmapped(loaded))
}

// touched are the reservations that a change of what their journals depend on touches: those of the listings, those whose entries the assignments
// decide on, and all of them when the team's settings move their dates.
func touched(ctx context.Context, tx *db.Tx, b ledger.Basis) ([]id.ID, error) {
	if b.Settings {
		return ledger.All(ctx, tx, ledger.Reservations)
	}
	found, err := ofListings(ctx, tx, b.Listings)
	if err != nil {
		return nil, err
	}
	assigned, err := ledger.TouchedByAssignments(ctx, tx, ledger.Reservations, b.Assignments, string(account.AccountsReceivable), string(account.DepositCoHostPayout),
		string(account.DeferredRevenue), string(account.CancellationRevenue), string(account.ExpenseSalesTax))
	if err != nil {
		return nil, err
	}
	charged, err := chargedOn(ctx, tx, b.Assignments)
	return slices.Concat(found, assigned, charged), err
}

// around are reservations with their listings, whose operations derive their journals too.
func around(ctx context.Context, tx *db.Tx, ids []id.ID) ([]ledger.Subject, error) {
	return db.Select[ledger.Subject](ctx, tx, `select id, array[listing_id] as also from reservation where team_id = @team and id = any(@ids)`,
		db.Args{"team": tx.Team, "ids": ids})
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
	mappings := mapping.NewSet(settings.Mappings)
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
	mappings := mapping.NewSet(settings.Mappings)
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

// unmapped are the types of lines that no row of the mappings names.
func unmapped(loaded []Input) (lines []mapping.UnmappedLine) {
	for i := range loaded {
		r := &loaded[i].Reservation
		for j := range r.Lines {
			if l := &r.Lines[j]; l.AccountID == nil && !loaded[i].Mappings.Knows(r.AppID, r.BookingPlatform, l.Type) {
				lines = append(lines, mapping.UnmappedLine{AppID: deref(r.AppID), LineType: l.Type})
			}
		}
	}
	return lines
}
