package historic

import (
	"context"
	"slices"

	"stayledger/domain/books/account"
	"stayledger/domain/property/listing"
	"stayledger/domain/settlement/chain"
	"stayledger/domain/settlement/layout"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// arrival is a statement that is being imported. Its lines may not be loaded.
type arrival struct {
	*Import
	path    []any // in the request
	payouts bool  // there is a payout among the lines

	id       id.ID
	replaces *statement.Referenced
	period   *listing.Period
	layout   *layout.Design
	figures  Financials
	entries  int
}

// arrivals are the statements of one import. With shared, live postings to their ownership periods continue during
// the import, because it may take a while.
type arrivals struct {
	all          []*arrival
	shared       bool
	distribution id.ID // the account of payouts
}

// addIssues adds an issue for each statement that wrong reports.
func (s *arrivals) addIssues(f *findings, wrong func(*arrival) bool, code apierr.IssueCode) {
	for _, a := range s.all {
		if wrong(a) {
			f.add(code, a.path, "listingId")
		}
	}
}

// refs returns the references of the statements.
func (s *arrivals) refs() []string {
	out := make([]string, len(s.all))
	for i, a := range s.all {
		out[i] = a.UniqueRef
	}

	return out
}

// isMoved reports whether a replaced statement leaves its place in the chain.
func (a *arrival) isMoved() bool {
	k := a.replaces
	return k != nil && (k.OwnershipPeriodID != a.period.ID || k.Currency != a.Currency || k.StartAt != a.StartAt)
}

// reopens reports whether a published statement is replaced by one that is not published.
func (a *arrival) reopens() bool {
	return a.replaces.Reopens(statement.Status(a.Status))
}

// findPlaces finds the places of the statements and refuses those that have none. It locks the ownership periods and
// the replaced statements until the transaction ends. Failures in order: an unknown listing; no single ownership period
// over the range; payouts without members or without an account for them; no layout; a reference of a live statement or
// of another listing's; payouts that would lose their statement; the order rule; an overlap.
func (s *arrivals) findPlaces(ctx context.Context, tx *db.Tx) error {
	// The periods come first, because they are locked and all else depends on them.
	if err := s.findPeriods(ctx, tx); err != nil {
		return err
	}

	if err := s.checkPayouts(ctx, tx); err != nil {
		return err
	}

	if err := s.findLayouts(ctx, tx); err != nil {
		return err
	}

	if err := s.findReplaced(ctx, tx); err != nil {
		return err
	}

	// Last the rules about neighbours, which need to know what is replaced.
	if err := s.checkOrder(ctx, tx); err != nil {
		return err
	}

	return s.checkOverlaps(ctx, tx)
}

// listings returns the listings of the statements, each once.
func (s *arrivals) listings() []id.ID {
	out := make([]id.ID, len(s.all))
	for i, a := range s.all {
		out[i] = a.ListingID
	}

	return id.Distinct(out)
}

// findPeriods sets the ownership period of each statement, which must cover all of its days.
func (s *arrivals) findPeriods(ctx context.Context, tx *db.Tx) error {
	listings := s.listings()

	exists, err := lockListings(ctx, tx, listings, s.shared)
	if err != nil {
		return err
	}

	periods, err := listing.LoadOwnPeriods(ctx, tx, listings) // read under the lock; statements of a group are its own
	if err != nil {
		return err
	}

	// Unknown listings are reported before missing periods.
	var f findings
	s.addIssues(&f, func(a *arrival) bool { return !exists[a.ListingID] }, apierr.IssueNotFound)

	if err := f.err(); err != nil {
		return err
	}

	s.addIssues(&f, func(a *arrival) bool {
		a.period = listing.Covering(periods[a.ListingID], a.StartAt)
		return a.period == nil || !a.period.Covers(a.EndAt)
	}, apierr.IssueOwnershipPeriodMissing)

	return f.err()
}

// checkPayouts checks that payouts have members to go to and an account. Rules HST-28 and HST-30.
func (s *arrivals) checkPayouts(ctx context.Context, tx *db.Tx) error {
	var f findings
	s.addIssues(&f, func(a *arrival) bool {
		return a.payouts && len(a.period.Members) == 0
	}, apierr.IssueOwnershipMembersMissing)

	if err := f.err(); err != nil {
		return err
	}

	// The account is only needed if there are payouts.
	if !slices.ContainsFunc(s.all, func(a *arrival) bool { return a.payouts }) {
		return nil
	}

	assigned, err := account.LoadAssigned(ctx, tx)
	if err != nil {
		return err
	}

	s.distribution = assigned[account.PayoutDistribution]

	return account.Require(assigned, account.PayoutDistribution)
}

// findLayouts sets the layout of each statement: that of its listing, or the default one, as it is now. Rules
// HST-31 and HST-32.
func (s *arrivals) findLayouts(ctx context.Context, tx *db.Tx) error {
	layouts, err := layout.LoadStored(ctx, tx, s.listings())
	if err != nil {
		return err
	}

	var f findings
	s.addIssues(&f, func(a *arrival) bool {
		a.layout = layouts[a.ListingID]
		return a.layout == nil
	}, apierr.IssueStatementLayoutMissing)

	return f.err()
}

// findReplaced finds out which statements are new and which replace an import. It fails with ErrRef if a reference
// belongs to a live statement or to another listing's, and with ErrPaid if payouts would lose their statement.
// Rules HST-44 and HST-47.
func (s *arrivals) findReplaced(ctx context.Context, tx *db.Tx) error {
	stored, err := statement.LockByReference(ctx, tx, s.refs())
	if err != nil {
		return err
	}

	var (
		foreign findings
		holder  id.ID
	)

	// A replaced statement keeps its id.
	for _, a := range s.all {
		k := stored[a.UniqueRef]
		if k == nil {
			a.id = tx.NewID()
			continue
		}

		if k.Live || k.ListingID != a.ListingID {
			foreign.add(apierr.IssueDuplicateUniqueRef, a.path, "uniqueRef")

			holder = k.ID
		}

		a.id, a.replaces = k.ID, k
	}

	if len(foreign) > 0 {
		return statement.ErrRef.At(foreign...).With(apierr.Duplicate{ID: holder})
	}

	// Payouts pay a published statement of one ownership period and currency.
	for _, a := range s.all {
		k := a.replaces
		if k != nil && k.Paid && (a.reopens() || a.period.ID != k.OwnershipPeriodID || a.Currency != k.Currency) {
			return statement.ErrPaid.With(map[string]any{"statementIds": []id.ID{k.ID}})
		}
	}

	return nil
}

// checkOrder refuses a statement before a saved live one, because live ones build on everything before them.
// Imported statements have their own balances and come in any order, and one that is replaced keeps its place. It
// is reopened or published in the same order as any other: after the live ones. Rules STM-03 and STM-04.
func (s *arrivals) checkOrder(ctx context.Context, tx *db.Tx) error {
	// Only new places and changes of status matter.
	var at []*arrival

	for _, a := range s.all {
		if a.replaces == nil || a.isMoved() || a.replaces.Status != statement.Status(a.Status) {
			at = append(at, a)
		}
	}

	if len(at) == 0 {
		return nil
	}

	later, err := loadLiveAfter(ctx, tx, at)
	if err != nil || later == nil {
		return err
	}

	// The caller must return the live statements to draft first.
	later.NextAction = "returnStatementsToDraft"

	return statement.ErrFuture.With(*later)
}

// park moves replaced statements out of their places, so that they can take each other's.
func (s *arrivals) park(ctx context.Context, tx *db.Tx) error {
	var moving []id.ID

	for _, a := range s.all {
		if a.isMoved() {
			moving = append(moving, a.id)
		}
	}

	return statement.Park(ctx, tx, moving)
}

// checkOverlaps refuses days that another statement of the ownership period and currency has, saved or in the same
// import. Rule HST-49.
func (s *arrivals) checkOverlaps(ctx context.Context, tx *db.Tx) error {
	var f findings

	// First compare the statements of the import with each other, by day. The one that reaches furthest so far is
	// enough to compare with.
	byDay := slices.SortedFunc(slices.Values(s.all), func(a, b *arrival) int { return a.StartAt.Compare(b.StartAt) })
	last := map[chain.Chain]*arrival{}

	for _, a := range byDay {
		c := chain.Chain{OwnershipPeriodID: a.period.ID, Currency: a.Currency}

		before := last[c]
		if before != nil && !a.StartAt.After(before.EndAt) {
			f.add(apierr.IssueStatementExists, a.path, "startAt")
		}

		if before == nil || a.EndAt.After(before.EndAt) {
			last[c] = a
		}
	}

	// Then compare them with the saved ones.
	clashes, err := loadOverlapping(ctx, tx, s.all)
	if err != nil {
		return err
	}

	ids := []id.ID{}

	for _, c := range clashes {
		f.add(apierr.IssueStatementExists, s.all[c.At-1].path, "startAt")
		ids = append(ids, c.ID)
	}

	// The error names the saved statements, and the paths name those of the import.
	if len(f) == 0 {
		return nil
	}

	return statement.ErrExists.With(map[string]any{"statementIds": ids}).At(f...)
}
