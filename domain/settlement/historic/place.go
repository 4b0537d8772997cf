package historic

import (
	"context"
	"slices"

	"stayledger/domain/books/account"
	"stayledger/domain/property/listing"
	"stayledger/domain/settlement/layout"
	"stayledger/domain/settlement/statement"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// arrival is a statement on its way in. Its lines may be elsewhere.
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

// arrivals are the statements of one import. Shared says that live postings to their ownership periods go on meanwhile,
// which suits an import that takes a while.
type arrivals struct {
	all          []*arrival
	shared       bool
	distribution id.ID // the account of payouts
}

// find notes statements that are wrong for their listing.
func (s *arrivals) find(f *findings, wrong func(*arrival) bool, code apierr.IssueCode) {
	for _, a := range s.all {
		if wrong(a) {
			f.add(code, a.path, "listingId")
		}
	}
}

func (s *arrivals) refs() []string {
	out := make([]string, len(s.all))
	for i, a := range s.all {
		out[i] = a.UniqueRef
	}

	return out
}

// moved reports whether a replaced statement leaves its place in the chain.
func (a *arrival) moved() bool {
	k := a.replaces
	return k != nil && (k.OwnershipPeriodID != a.period.ID || k.Currency != a.Currency || k.StartAt != a.StartAt)
}

// reopens reports whether a replaced statement is published no more.
func (a *arrival) reopens() bool {
	return a.replaces.Reopens(statement.Status(a.Status))
}

// place finds where the statements go and refuses those that cannot. It locks the ownership periods and what is
// replaced until the transaction ends. Failures in order: an unknown listing; no single ownership period over the
// range; payouts without members or without an account for them; no layout; a reference of a live statement or of
// another listing's; payouts that would lose their statement; the order rule; an overlap.
func (s *arrivals) place(ctx context.Context, tx *db.Tx) error {
	if err := s.findPeriods(ctx, tx); err != nil {
		return err
	}

	if err := s.findMoney(ctx, tx); err != nil {
		return err
	}

	if err := s.findLayouts(ctx, tx); err != nil {
		return err
	}

	if err := s.findKnown(ctx, tx); err != nil {
		return err
	}

	if err := s.keepOrder(ctx, tx); err != nil {
		return err
	}

	return s.keepApart(ctx, tx)
}

func (s *arrivals) listings() []id.ID {
	out := make([]id.ID, len(s.all))
	for i, a := range s.all {
		out[i] = a.ListingID
	}

	return id.Distinct(out)
}

// findPeriods gives each statement the ownership period that covers all of its days.
func (s *arrivals) findPeriods(ctx context.Context, tx *db.Tx) error {
	listings := s.listings()

	known, err := lockListings(ctx, tx, listings, s.shared)
	if err != nil {
		return err
	}

	periods, err := listing.Periods(ctx, tx, listings) // read under the lock
	if err != nil {
		return err
	}

	var f findings
	s.find(&f, func(a *arrival) bool { return !known[a.ListingID] }, apierr.IssueNotFound)

	if err := f.err(); err != nil {
		return err
	}

	s.find(&f, func(a *arrival) bool {
		a.period = listing.Covering(periods[a.ListingID], a.StartAt)
		return a.period == nil || !a.period.Covers(a.EndAt)
	}, apierr.IssueOwnershipPeriodMissing)

	return f.err()
}

// findMoney makes sure that payouts have somebody to go to and an account. Rules HST-28 and HST-30.
func (s *arrivals) findMoney(ctx context.Context, tx *db.Tx) error {
	var f findings
	s.find(&f, func(a *arrival) bool { return a.payouts && len(a.period.Members) == 0 }, apierr.IssueOwnershipMembersMissing)

	if err := f.err(); err != nil {
		return err
	}

	if !slices.ContainsFunc(s.all, func(a *arrival) bool { return a.payouts }) {
		return nil
	}

	assigned, err := account.Assigned(ctx, tx)
	if err != nil {
		return err
	}

	s.distribution = assigned[account.PayoutDistribution]

	return account.Require(assigned, account.PayoutDistribution)
}

// findLayouts takes the layout of each listing, or the default, as it is now. Rules HST-31 and HST-32.
func (s *arrivals) findLayouts(ctx context.Context, tx *db.Tx) error {
	layouts, err := layout.Stored(ctx, tx, s.listings())
	if err != nil {
		return err
	}

	var f findings
	s.find(&f, func(a *arrival) bool {
		a.layout = layouts[a.ListingID]
		return a.layout == nil
	}, apierr.IssueStatementLayoutMissing)

	return f.err()
}

// findKnown tells replacements from new statements. Rules HST-44 and HST-47.
func (s *arrivals) findKnown(ctx context.Context, tx *db.Tx) error {
	known, err := statement.ByReference(ctx, tx, s.refs())
	if err != nil {
		return err
	}

	var foreign findings

	for _, a := range s.all {
		k := known[a.UniqueRef]
		if k == nil {
			a.id = tx.NewID()
			continue
		}

		switch {
		case k.Live:
			foreign.add(apierr.IssueDuplicateUniqueRef, a.path, "uniqueRef")
		case k.ListingID != a.ListingID:
			foreign.add(apierr.IssueDuplicateUniqueRef, a.path, "uniqueRef")
		}

		a.id, a.replaces = k.ID, k
	}

	if len(foreign) > 0 {
		return statement.ErrRef.At(foreign...)
	}

	for _, a := range s.all {
		k := a.replaces
		if k != nil && k.Paid && (a.reopens() || a.period.ID != k.OwnershipPeriodID || a.Currency != k.Currency) {
			return statement.ErrPaid.With(map[string]any{"statementIds": []id.ID{k.ID}})
		}
	}

	return nil
}

// keepOrder refuses a statement in front of a live one that is saved: the live ones rest on what came before them.
// Imported ones tell their own balances and come in any order, and one that is replaced keeps its place; it is reopened
// or published as any other is, after the live ones. Rules STM-03 and STM-04.
func (s *arrivals) keepOrder(ctx context.Context, tx *db.Tx) error {
	var at []*arrival

	for _, a := range s.all {
		if a.replaces == nil || a.moved() || a.replaces.Status != statement.Status(a.Status) {
			at = append(at, a)
		}
	}

	if len(at) == 0 {
		return nil
	}

	later, err := liveAfter(ctx, tx, at)
	if err != nil || later == nil {
		return err
	}

	later.NextAction = "returnStatementsToDraft"

	return statement.ErrFuture.With(*later)
}

// park makes way for replaced statements that take the places of each other.
func (s *arrivals) park(ctx context.Context, tx *db.Tx) error {
	var moving []id.ID

	for _, a := range s.all {
		if a.moved() {
			moving = append(moving, a.id)
		}
	}

	return statement.Park(ctx, tx, moving)
}

// keepApart refuses days that another statement of the ownership period and currency has, saved or in the same import.
// Rule HST-49.
func (s *arrivals) keepApart(ctx context.Context, tx *db.Tx) error {
	var f findings

	byDay := slices.SortedFunc(slices.Values(s.all), func(a, b *arrival) int { return a.StartAt.Compare(b.StartAt) })
	last := map[statement.Chain]*arrival{}

	for _, a := range byDay {
		c := statement.Chain{OwnershipPeriodID: a.period.ID, Currency: a.Currency}

		before := last[c]
		if before != nil && !a.StartAt.After(before.EndAt) {
			f.add(apierr.IssueStatementExists, a.path, "startAt")
		}

		if before == nil || a.EndAt.After(before.EndAt) {
			last[c] = a
		}
	}

	clashes, err := overlapping(ctx, tx, s.all)
	if err != nil {
		return err
	}

	ids := []id.ID{}

	for _, c := range clashes {
		f.add(apierr.IssueStatementExists, s.all[c.At-1].path, "startAt")
		ids = append(ids, c.ID)
	}

	if len(f) == 0 {
		return nil
	}

	return statement.ErrExists.With(map[string]any{"statementIds": ids}).At(f...)
}
