package cutover

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"stayledger/domain/activity/reservation"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/ledger"
	"stayledger/domain/exchange/merge"
	"stayledger/domain/exchange/pms"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// joining is a target listing that becomes a source listing.
type joining struct {
	ref  id.ID
	from *id.ID // its present listing here, nil for none
	to   id.ID
}

// plan has everything that a cutover does.
type plan struct {
	source, target *connection.Connection
	request        *Cutover
	joinings       []joining
	separate       []id.ID // target listings that are not bound yet and become new listings
	busy           []id.ID // replaced listings with owners, fees and the like

	recognition *reservation.Recognition

	pairs []pair
	// retired are source reservations from the day on which leave the books or have left them before; matches are the
	// equal target reservations.
	retired  []reservation.Stay
	matches  map[id.ID]*id.ID
	arriving []reservation.Stay // all target reservations
	moved    []id.ID            // reservations on replaced listings, of any origin

	stays     ImpactedReservations
	listings  ListingContinuity
	locked    []id.ID     // reservations that must not change
	held      ledger.Held // locked journals that would move
	differing []ReservationPair
}

// plan finds out what a cutover does, and checks that it is possible (CUT-50..CUT-58). What blocks it is part of the
// plan.
func (m *Movers) plan(ctx context.Context, tx *db.Tx, c *Cutover) (*plan, error) {
	p := &plan{request: c, matches: map[id.ID]*id.ID{}}

	if err := m.checkConnections(ctx, tx, p); err != nil {
		return nil, err
	}

	found, err := pms.Compare(ctx, tx, c.SourceConnectionID, c.TargetConnectionID)
	if err != nil {
		return nil, err
	}

	if err := p.decideListings(found); err != nil {
		return nil, err
	}

	if err := p.checkListings(ctx, tx); err != nil {
		return nil, err
	}

	if err := p.loadStays(ctx, tx); err != nil {
		return nil, err
	}

	return p, p.countChanges(ctx, tx)
}

// checkConnections loads the connections of a cutover. It fails for connections that cannot be used. If both can be
// used, it fails with an issue for each reason why nothing can move on the day, as errStartMissing if the source has
// no accounting start.
func (m *Movers) checkConnections(ctx context.Context, tx *db.Tx, p *plan) error {
	c := p.request

	var issues []apierr.Issue

	if c.SourceConnectionID == c.TargetConnectionID {
		return apierr.BadRequest.At(apierr.IssueContradiction.InBody("targetConnectionId"))
	}

	for _, of := range []struct {
		id   id.ID
		at   string
		into **connection.Connection
	}{
		{c.SourceConnectionID, "sourceConnectionId", &p.source},
		{c.TargetConnectionID, "targetConnectionId", &p.target},
	} {
		found, err := connection.Get(ctx, tx, of.id)

		switch {
		case errors.Is(err, apierr.NotFound):
			issues = append(issues, apierr.IssueNotFound.InBody(of.at))
		case err != nil:
			return err
		case !pms.IsSystem(found.AppID):
			issues = append(issues, apierr.IssueContradiction.InBody(of.at))
		case found.Status != connection.Active:
			issues = append(issues, apierr.IssueInactive.InBody(of.at))
		}

		*of.into = found
	}

	if issues != nil {
		return apierr.BadRequest.At(issues...)
	}

	// A target with an accounting window is in the books already.
	if p.target.AccountingStartAt != nil || p.target.AccountingEndAt != nil {
		issues = append(issues, apierr.IssueContradiction.InBody("targetConnectionId"))
	}

	late, err := m.checkDay(ctx, tx, p)
	if err != nil {
		return err
	}

	switch issues = append(issues, late...); {
	case p.source.AccountingStartAt == nil:
		return errStartMissing.At(append(issues, apierr.IssueContradiction.InBody("sourceConnectionId"))...)
	case issues != nil:
		return apierr.BadRequest.At(issues...)
	}

	return nil
}

// checkDay returns the issues of the day of a cutover.
func (m *Movers) checkDay(ctx context.Context, tx *db.Tx, p *plan) (issues []apierr.Issue, err error) {
	at := p.request.CutoverAt

	// The day must be inside the window of the source: an ended window is not extended.
	start, end := p.source.AccountingStartAt, p.source.AccountingEndAt
	if start != nil && !start.Before(at) || end != nil && end.Before(at) {
		issues = append(issues, apierr.IssueDateOrder.InBody("cutoverAt"))
	}

	books, err := ledger.LoadClosing(ctx, tx)
	if err != nil {
		return nil, err
	}

	if books.BooksClosedAt != nil && at.Before(*books.BooksClosedAt) {
		issues = append(issues, apierr.IssueRange.InBody("cutoverAt"))
	}

	// Two systems in the books at once would count stays twice.
	others, err := m.apps.ListWindows(ctx, tx, at, p.source.ID, p.target.ID)
	if len(others) > 0 {
		issues = append(issues, apierr.IssueContradiction.InBody("cutoverAt"))
	}

	return issues, err
}

// decideListings decides which source listing each target listing becomes: as requested, else as suggested. It fails
// with an issue for each impossible mapping.
func (p *plan) decideListings(found *pms.CutoverListings) error {
	isSource, known := map[id.ID]bool{}, map[id.ID]*pms.CutoverTarget{}
	for i := range found.SourceListings {
		isSource[found.SourceListings[i].ID] = true
	}

	for i := range found.TargetListings {
		known[found.TargetListings[i].TargetListingConnectionID] = &found.TargetListings[i]
	}

	// First check the requested mappings.
	var issues []apierr.Issue

	given, taken := map[id.ID]*id.ID{}, map[id.ID]bool{}

	for i, m := range p.request.ListingMappings {
		target := known[m.TargetListingConnectionID]
		_, twice := given[m.TargetListingConnectionID]

		switch {
		case target == nil:
			issues = append(issues, apierr.IssueNotFound.InBody("listingMappings", i, "targetListingConnectionId"))
		case twice:
			issues = append(issues, apierr.IssueUnique.InBody("listingMappings", i, "targetListingConnectionId"))
		case m.SourceListingID != nil && !isSource[*m.SourceListingID]:
			issues = append(issues, apierr.IssueNotFound.InBody("listingMappings", i, "sourceListingId"))
		case m.SourceListingID != nil && taken[*m.SourceListingID],
			m.SourceListingID == nil && target.Status == pms.AlreadyShared:
			issues = append(issues, apierr.IssueContradiction.InBody("listingMappings", i, "sourceListingId"))
		}

		if given[m.TargetListingConnectionID] = m.SourceListingID; m.SourceListingID != nil {
			taken[*m.SourceListingID] = true
		}
	}

	if issues != nil {
		return apierr.BadRequest.At(issues...)
	}

	// Then decide about all target listings; a suggestion that the request has given away does not count.
	for i := range found.TargetListings {
		t := &found.TargetListings[i]
		to, says := given[t.TargetListingConnectionID]

		if suggested := t.SuggestedListing; !says && suggested != nil && !taken[suggested.ID] {
			to = &suggested.ID
		}

		p.addTarget(t, to, says)
	}

	return nil
}

// addTarget adds a target listing to the plan. If the request decides about it, its status no longer matters.
func (p *plan) addTarget(t *pms.CutoverTarget, to *id.ID, says bool) {
	switch {
	case t.Status == pms.AlreadyShared && (to == nil || *to == *t.ListingID):
		p.listings.AlreadySharedCount++
	case to != nil:
		p.listings.MatchedCount++
		p.joinings = append(p.joinings, joining{t.TargetListingConnectionID, t.ListingID, *to})
	case says || t.Status != pms.Ambiguous:
		p.listings.UnmappedCount++

		if t.ListingID == nil {
			p.separate = append(p.separate, t.TargetListingConnectionID)
		}
	default:
		p.listings.AmbiguousCount++
	}
}

// checkListings fails with an issue for joined listings in different currencies, and like a merge for owners and fees
// that differ.
func (p *plan) checkListings(ctx context.Context, tx *db.Tx) error {
	from, to := p.moves(nil)

	differ, err := db.Get[bool](ctx, tx, `
		select exists (select from unnest(@from::uuid[], @to::uuid[]) g (from_id, to_id)
			join listing a on a.team_id = @team and a.id = g.from_id join listing b on b.team_id = @team and b.id = g.to_id
			where a.default_currency <> b.default_currency)`, db.Args{"team": tx.Team, "from": from, "to": to})
	if err != nil {
		return fmt.Errorf("compare the currencies of listings: %w", err)
	}

	if differ {
		return apierr.BadRequest.At(apierr.IssueCurrencyMismatch.InBody("listingMappings"))
	}

	if p.busy, err = merge.ListBusy(ctx, tx, from); err != nil {
		return err
	}

	for i := range from {
		if !slices.Contains(p.busy, from[i]) {
			continue
		}

		if err := merge.CheckListings(ctx, tx, from[i], to[i]); err != nil {
			return relocateIssues(err)
		}
	}

	return nil
}

// relocateIssues returns the refusal of a merge with its issue at the field where a cutover names listings.
func relocateIssues(err error) error {
	if errors.Is(err, apierr.BadRequest) && len(apierr.From(err).Issues()) > 0 {
		return apierr.BadRequest.At(apierr.IssueContradiction.InBody("listingMappings"))
	}

	return err
}

// moves returns the replaced listings and their replacements, with some exceptions.
func (p *plan) moves(except []id.ID) (from, to []id.ID) {
	from, to = []id.ID{}, []id.ID{}

	for _, j := range p.joinings {
		if j.from != nil && !slices.Contains(except, *j.from) {
			from, to = append(from, *j.from), append(to, j.to)
		}
	}

	return from, to
}

// countChanges counts what a plan changes and what locks forbid (CUT-09..CUT-11, CUT-35, CUT-38).
func (p *plan) countChanges(ctx context.Context, tx *db.Tx) error {
	from, to := p.moves(nil)

	var err error

	p.moved, err = db.Select[id.ID](ctx, tx, `select id from reservation where team_id = @team and listing_id = any(@from)`,
		db.Args{"team": tx.Team, "from": from})
	if err != nil {
		return fmt.Errorf("find reservations to move: %w", err)
	}

	p.stays.JournalRefreshCount = int64(len(p.listOutdated()))

	lines, err := transaction.CountLines(ctx, tx, from)
	if err != nil {
		return err
	}

	touched, err := transaction.ListByListing(ctx, tx, from)
	if err != nil {
		return err
	}

	p.listings.TargetReservationCount = int64(len(p.moved))
	p.listings.PaymentLineCount, p.listings.TransactionLineCount = lines.Payments, lines.Others

	// A lock may hold these journals where they are, or forbid them where they go.
	if p.held, err = ledger.CountHeld(ctx, tx, slices.Concat(p.moved, touched), from); err != nil {
		return err
	}

	if p.held.Covered, err = ledger.CountUnderStatements(ctx, tx, touched, from, to); err != nil {
		return err
	}

	if err := p.countLocked(ctx, tx); err != nil {
		return err
	}

	p.listings.LockedCount = p.held.Sources + p.held.Covered

	return nil
}

// listOutdated returns, each once, the reservations with other journals after the cutover.
func (p *plan) listOutdated() []id.ID {
	out := slices.Concat(ids(p.retired), ids(p.arriving), p.moved)
	for i := range p.pairs {
		out = append(out, p.pairs[i].source.ID)
	}

	return id.Distinct(out)
}

// ids returns the ids of stays.
func ids(stays []reservation.Stay) []id.ID {
	out := make([]id.ID, len(stays))
	for i := range stays {
		out[i] = stays[i].ID
	}

	return out
}

// bindings returns the bindings of target listings after the cutover.
func (p *plan) bindings() *pms.Bindings {
	out := &pms.Bindings{Refs: []id.ID{}, Listings: []*id.ID{}}

	for i := range p.joinings {
		out.Refs, out.Listings = append(out.Refs, p.joinings[i].ref), append(out.Listings, &p.joinings[i].to)
	}

	for _, ref := range p.separate {
		out.Refs, out.Listings = append(out.Refs, ref), append(out.Listings, nil)
	}

	out.Moves.From, out.Moves.To = p.moves(nil)

	return out
}
