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
	"stayledger/platform/ptr"
)

// Source describes to the ledger how the journals of reservations are found and derived.
func Source() *ledger.Source { return SourceKnowing(Known{}) }

// Known are inputs of journals that a transaction has read already and does not change; nil if it has not read them.
type Known struct {
	// Periods are the ownership periods of some listings.
	Periods map[id.ID][]listing.Period
}

// SourceKnowing returns the Source for a transaction that has read some of the inputs.
func SourceKnowing(known Known) *ledger.Source {
	return &ledger.Source{
		Noun: ledger.Reservations, Touched: loadTouched, Derive: known.derive, Replaces: replaces,
		Operation: operation.ReservationJournal, Resource: operation.Reservation, Group: "listing_id", Having: "true",
	}
}

// Refresh derives the journals of reservations and stores what changed. The reservations stay locked until the
// transaction ends; ids that name none are left out. Line types that have no mapping yet become unmapped mappings.
//
// Errors: requiredAccountMissing when a posting needs an assignment that the team has not made, BAD_REQUEST when
// amounts exceed the safe range, and the locks of ledger.CheckLocks.
func Refresh(ctx context.Context, tx *db.Tx, ids []id.ID, l ledger.Lenience) (ledger.Change, error) {
	return Source().Book(ctx, tx, ids, l)
}

// derive locks reservations and derives their journals from the stored records. Line types that are not mapped yet
// become unmapped mappings on the way.
func (known Known) derive(ctx context.Context, tx *db.Tx, ids []id.ID) (*ledger.Derived, error) {
	if err := settleDerived(ctx, tx, ids); err != nil {
		return nil, err
	}

	loaded, err := known.load(ctx, tx, ids)
	if err != nil {
		return nil, err
	}

	derived, left := journals(loaded)
	if err := mapping.AddUnmapped(ctx, tx, findUnmapped(loaded)); err != nil {
		return nil, err
	}

	switched, err := saveUnposted(ctx, tx, derived.Sources, left)
	if err != nil {
		return nil, err
	}

	return derived, relinkSwitched(ctx, tx, loaded, switched)
}

// settleDerived settles the pairs of reservations about to be derived, and restores reservations that a cutover has
// retired: the accounting window of a connection or the team's settings can have changed. The other reservation of a
// pair is derived afterwards.
func settleDerived(ctx context.Context, tx *db.Tx, ids []id.ID) error {
	restored, waiting, err := restore(ctx, tx, ids)
	if err != nil {
		return err
	}

	if err := StartRelink(ctx, tx, restored, waiting); err != nil {
		return err
	}

	s, err := SettlePairs(ctx, tx, ids)
	if err != nil || len(s.Reservations) == 0 {
		return err
	}

	_, err = ledger.Outdate(ctx, tx, ledger.Outdated{
		Sources: map[ledger.Noun][]id.ID{ledger.Reservations: s.Reservations},
		Reason:  ledger.MappingChanged, Cause: operation.Resource{Type: operation.Reservation, ID: s.Reservations[0]},
	})
	if err != nil {
		return err
	}

	return StartRelink(ctx, tx, s.Reservations, s.Transactions)
}

// journals derives the journals of loaded reservations, and the parts left out. A journal that fails its check is left
// out with its error.
func journals(loaded []Input) (*ledger.Derived, []unposted) {
	out := &ledger.Derived{Failed: map[id.ID]error{}}

	var left []unposted

	for i := range loaded {
		reservationID := loaded[i].Reservation.ID

		derived := Journal(&loaded[i])
		if err := derived.check(&loaded[i]); err != nil {
			out.Failed[reservationID] = err
			continue
		}

		out.Sources, out.Postings = append(out.Sources, reservationID), append(out.Postings, derived.Postings...)
		if u := derived.Unposted; u.Reason != "" {
			u.ReservationID = reservationID
			left = append(left, u)
		}
	}

	return out, left
}

// loadTouched loads the reservations affected by a change to records their journals depend on: reservations on the
// listings, reservations from a connection with another accounting window, reservations with entries decided by the
// assignments, and all reservations if the team's settings move their dates.
func loadTouched(ctx context.Context, tx *db.Tx, b ledger.Basis) ([]id.ID, error) {
	if b.Settings {
		return ledger.ListAll(ctx, tx, ledger.Reservations)
	}

	if b.Connection != nil {
		return loadIDsByConnection(ctx, tx, *b.Connection)
	}

	found, err := loadIDsByListing(ctx, tx, b.Listings)
	if err != nil {
		return nil, err
	}

	// The assignments that Journal uses, see Input.Assigned.
	assigned, err := ledger.ListByAssignments(
		ctx, tx, ledger.Reservations, b.Assignments,
		string(account.AccountsReceivable), string(account.DepositCoHostPayout), string(account.DeferredRevenue),
		string(account.CancellationRevenue), string(account.ExpenseSalesTax),
	)
	if err != nil {
		return nil, err
	}

	// Fees charge the costs of deposits on, so a reservation may depend on an account that its own journal does not
	// name.
	charged, err := loadByCostAccounts(ctx, tx, b.Assignments)

	return slices.Concat(found, assigned, charged), err
}

// check returns an error for a mistake of the caller: an assignment that is missing, or amounts that no entry and
// no total can hold.
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

	// Entries with a missing assignment have no account, so postings are checked only after this.
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

// load locks reservations and loads the records that their journals depend on.
func (known Known) load(ctx context.Context, tx *db.Tx, ids []id.ID) ([]Input, error) {
	found, err := lockAndLoad(ctx, tx, ids)
	if err != nil || len(found) == 0 {
		return nil, err
	}

	loaded, _, err := known.inputs(ctx, tx, found)

	return loaded, err
}

// inputs loads, for all reservations at once, the records that their journals depend on. It also returns the
// records that belong to the reservations.
func (known Known) inputs(ctx context.Context, tx *db.Tx, found []Reservation) ([]Input, ownRecords, error) {
	var (
		own ownRecords
		b   basis
	)
	if err := tx.Together(
		ctx, db.LoadBy(&own, loadOwnRecords, collectIDs(found)), db.LoadBy(&b, known.basis, collectListings(found)),
	); err != nil {
		return nil, own, err
	}

	// Then put the inputs of each reservation together, in memory.
	out := make([]Input, len(found))
	for i := range found {
		own.attach(&found[i])
		out[i] = b.input(&found[i], own)
	}

	return out, own, nil
}

// ownRecords has the records that belong to reservations, by reservation.
type ownRecords struct {
	lines       map[id.ID][]Line
	adjustments map[id.ID][]Adjustment
	deposits    map[id.ID]deposits
}

// loadOwnRecords loads the lines and deposits of reservations in one round trip, and the adjustments of those that have
// some in a second one.
func loadOwnRecords(ctx context.Context, tx *db.Tx, ids []id.ID) (o ownRecords, err error) {
	if len(ids) == 0 {
		return ownRecords{}, nil
	}

	err = tx.Together(ctx, db.LoadBy(&o.lines, loadLines, ids), func(ctx context.Context, tx *db.Tx) (err error) {
		var adjusted []id.ID
		if o.deposits, adjusted, err = loadDeposits(ctx, tx, ids); err != nil {
			return err
		}

		o.adjustments, err = loadAdjustments(ctx, tx, adjusted)

		return err
	})

	return o, err
}

// attach gives a reservation its lines and adjustments.
func (o *ownRecords) attach(r *Reservation) {
	r.Lines, r.Adjustments = o.lines[r.ID], o.adjustments[r.ID]
}

// basis has the records that journals depend on apart from the reservations and the records that belong to them.
type basis struct {
	settings *settings
	books    *account.Books
	periods  map[id.ID][]listing.Period
	fees     map[id.ID][]fee.Subscription
}

// basis loads the basis of the journals of reservations on some listings, except what the transaction has read
// already.
func (known Known) basis(ctx context.Context, tx *db.Tx, listings []id.ID) (b basis, err error) {
	b.periods = known.Periods
	works := []db.Work{
		db.Load(&b.settings, loadSettings), db.Load(&b.books, account.LoadBooks), db.LoadBy(&b.fees, fee.ListSubscriptions, listings),
	}

	// Periods are read again if one of the listings was not among those read before.
	if slices.ContainsFunc(listings, func(v id.ID) bool { return b.periods[v] == nil }) {
		works = append(works, db.LoadBy(&b.periods, listing.Periods, listings))
	}

	return b, tx.Together(ctx, works...)
}

// input returns the input of a reservation's journal.
func (b *basis) input(r *Reservation, o ownRecords) Input {
	return Input{
		Reservation: *r, Mappings: b.settings.mappings, Assigned: b.books.Assigned, Recognition: b.settings.DefaultRevenueRecognition,
		LongTermStayNights: b.settings.LongTermStayNights, Window: b.window(r), NoLedger: b.settings.NoLedger,
		FirstDay: b.settings.FirstDay,
		Periods:  b.periods[r.ListingID], Fees: b.fees[r.ListingID],
		MerchantFee: o.deposits[r.ID].MerchantFee, ChannelFee: o.deposits[r.ID].ChannelFee,
	}
}

// window returns the accounting window of the connection that a reservation came over.
func (b *basis) window(r *Reservation) Window {
	if r.ConnectionID == nil {
		return Window{}
	}

	return b.settings.Windows[*r.ConnectionID]
}

// collectListings returns the listings of reservations, each once.
func collectListings(rs []Reservation) []id.ID {
	ids := make([]id.ID, len(rs))
	for i := range rs {
		ids[i] = rs[i].ListingID
	}

	return id.Distinct(ids)
}

// collectIDs returns the ids of reservations.
func collectIDs(rs []Reservation) []id.ID {
	ids := make([]id.ID, len(rs))
	for i := range rs {
		ids[i] = rs[i].ID
	}

	return ids
}

// orEmpty returns the list, an empty one for nil, so that the API answers with [] and not with null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}

	return list
}

// findUnmapped returns the lines without an account of their own and of a type that has no row in the mappings. A team
// without a general ledger needs none.
func findUnmapped(loaded []Input) (lines []mapping.UnmappedLine) {
	for i := range loaded {
		r := &loaded[i].Reservation
		for j := range r.Lines {
			if l := &r.Lines[j]; !loaded[i].NoLedger && l.AccountID == nil && l.Type != Retained &&
				!loaded[i].Mappings.Knows(r.AppID, r.BookingPlatform, l.Type) {
				lines = append(lines, mapping.UnmappedLine{AppID: ptr.Value(r.AppID), LineType: l.Type})
			}
		}
	}

	return lines
}
