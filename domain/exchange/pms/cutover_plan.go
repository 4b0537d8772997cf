package pms

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"stayledger/domain/activity/reservation"
	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/ledger"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/plain"
	"stayledger/platform/ptr"
)

// pairs are the listings of two systems, and which of the source those of the target are or could be.
type pairs struct {
	source []place
	refs   []ref
	found  []suggestion // of each ref
}

// loadPairs compares the listings of two systems.
func loadPairs(ctx context.Context, tx *db.Tx, source, target id.ID) (*pairs, error) {
	here, err := db.Select[place](ctx, tx, `
		select l.id, l.name, l.address from listing l where l.team_id = @team and exists (
			select from listing_connection r where r.team_id = @team and r.listing_id = l.id and r.connection_id = @source)
		order by l.name, l.id`, db.Args{"team": tx.Team, "source": source})
	if err != nil {
		return nil, fmt.Errorf("read the listings of a source: %w", err)
	}

	refs, err := loadRefs(ctx, tx, target)
	if err != nil {
		return nil, err
	}

	out := &pairs{source: here, refs: refs, found: make([]suggestion, len(refs))}
	out.compare()

	return out, nil
}

// compare finds out which listing of the source each one of the target is or could be. One that another listing of the
// target is already is no candidate, and one that several could be is ambiguous.
func (p *pairs) compare() {
	shared := map[id.ID]bool{}

	for i := range p.refs {
		if p.refs[i].ListingID != nil {
			shared[*p.refs[i].ListingID] = true
		}
	}

	free, isSource := places{}, map[id.ID]bool{}
	for _, l := range p.source {
		if isSource[l.ID] = true; !shared[l.ID] {
			free[plain.Text(l.Name)] = append(free[plain.Text(l.Name)], l)
		}
	}

	wanted := map[id.ID]int{}

	for i := range p.refs {
		r := &p.refs[i]
		if r.ListingID != nil && isSource[*r.ListingID] {
			p.found[i] = suggestion{status: alreadyShared}
			continue
		}

		if p.found[i] = r.suggest(free); p.found[i].listing != nil {
			wanted[p.found[i].listing.ID]++
		}
	}

	for i := range p.found {
		if l := p.found[i].listing; l != nil && wanted[l.ID] > 1 {
			p.found[i] = suggestion{status: ambiguous}
		}
	}
}

// view returns the listings as callers see them.
func (p *pairs) view() *CutoverListings {
	out := &CutoverListings{SourceListings: p.source, TargetListings: make([]CutoverTarget, len(p.refs))}
	if out.SourceListings == nil {
		out.SourceListings = []place{}
	}

	for i := range p.refs {
		r := &p.refs[i]
		out.TargetListings[i] = CutoverTarget{
			TargetListingConnectionID: r.ID, UniqueRef: r.ExternalID, Name: r.Name, Address: r.Address, ListingID: r.ListingID,
			Status: p.found[i].status, SuggestedListing: p.found[i].listing,
		}
	}

	return out
}

// merge is a listing of the target that becomes one of the source.
type merge struct {
	ref  id.ID
	from *id.ID // the listing here that it is now, nil for none
	to   id.ID
}

// plan is what a cutover does.
type plan struct {
	source, target *connection.Connection
	request        *Cutover
	merges         []merge

	// retired are the reservations of the source from the day on, and matches those of the target that are the same.
	retired  []reservation.Stay
	matches  map[id.ID]*id.ID
	arriving []reservation.Stay // all of the target
	moved    []id.ID            // those on listings that become others, of whatever origin

	stays    ImpactedReservations
	listings ListingContinuity
	held     ledger.Held // what would move although it must not
}

// plan finds out what a cutover does, and checks that it can be done (CUT-50..CUT-58). Blockers are part of the plan.
func (s *Systems) plan(ctx context.Context, tx *db.Tx, c *Cutover) (*plan, error) {
	p := &plan{request: c, matches: map[id.ID]*id.ID{}}

	if err := s.checkConnections(ctx, tx, p); err != nil {
		return nil, err
	}

	found, err := loadPairs(ctx, tx, c.SourceConnectionID, c.TargetConnectionID)
	if err != nil {
		return nil, err
	}

	if err := p.decide(found); err != nil {
		return nil, err
	}

	before, err := reservation.ListStays(ctx, tx, c.SourceConnectionID, c.CutoverAt)
	if err != nil {
		return nil, err
	}

	if p.arriving, err = reservation.ListStays(ctx, tx, c.TargetConnectionID, c.CutoverAt); err != nil {
		return nil, err
	}

	for _, r := range before {
		if r.OnOrAfter {
			p.retired = append(p.retired, r)
		}
	}

	p.match()

	return p, p.count(ctx, tx)
}

// checkConnections loads the connections of a cutover. It fails with an issue for each cause why nothing can be moved
// between them on the day.
func (s *Systems) checkConnections(ctx context.Context, tx *db.Tx, p *plan) error {
	c := p.request

	var issues []apierr.Issue

	if c.SourceConnectionID == c.TargetConnectionID {
		return apierr.BadRequest.At(apierr.IssueContradiction.InBody("targetConnectionId"))
	}

	for _, of := range []struct {
		id   id.ID
		at   string
		into **connection.Connection
	}{{c.SourceConnectionID, "sourceConnectionId", &p.source}, {c.TargetConnectionID, "targetConnectionId", &p.target}} {
		found, err := connection.Get(ctx, tx, of.id)

		switch {
		case errors.Is(err, apierr.NotFound):
			issues = append(issues, apierr.IssueNotFound.InBody(of.at))
		case err != nil:
			return err
		case find(found.AppID) == nil:
			issues = append(issues, apierr.IssueContradiction.InBody(of.at))
		case found.Status != connection.Active:
			issues = append(issues, apierr.IssueInactive.InBody(of.at))
		}

		*of.into = found
	}

	if issues != nil {
		return apierr.BadRequest.At(issues...)
	}

	if p.target.AccountingStartAt != nil || p.target.AccountingEndAt != nil {
		issues = append(issues, apierr.IssueContradiction.InBody("targetConnectionId"))
	}

	late, err := s.checkDay(ctx, tx, p)
	if err != nil {
		return err
	}

	switch issues = append(issues, late...); {
	case p.source.AccountingStartAt == nil:
		return errStartMissing.At(append(issues, apierr.IssueRequired.InBody("sourceConnectionId"))...)
	case issues != nil:
		return apierr.BadRequest.At(issues...)
	}

	return nil
}

// checkDay returns what is wrong with the day of a cutover.
func (s *Systems) checkDay(ctx context.Context, tx *db.Tx, p *plan) (issues []apierr.Issue, err error) {
	at := p.request.CutoverAt

	if start := p.source.AccountingStartAt; start != nil && !start.Before(at) {
		issues = append(issues, apierr.IssueDateOrder.InBody("cutoverAt"))
	}

	books, err := ledger.LoadClosing(ctx, tx)
	if err != nil {
		return nil, err
	}

	if books.BooksClosedAt != nil && at.Before(*books.BooksClosedAt) {
		issues = append(issues, apierr.IssueRange.InBody("cutoverAt"))
	}

	others, err := s.Apps().ListWindows(ctx, tx, at, p.source.ID, p.target.ID)
	if len(others) > 0 {
		issues = append(issues, apierr.IssueContradiction.InBody("cutoverAt"))
	}

	return issues, err
}

// decide finds out which listings of the target become which of the source: what the request says, and else what is
// suggested. It fails with an issue for each mapping that cannot be.
func (p *plan) decide(found *pairs) error {
	given, isSource := map[id.ID]*id.ID{}, map[id.ID]bool{}
	for _, l := range found.source {
		isSource[l.ID] = true
	}

	known := map[id.ID]bool{}
	for i := range found.refs {
		known[found.refs[i].ID] = true
	}

	var issues []apierr.Issue

	taken := map[id.ID]bool{}

	for i, m := range p.request.ListingMappings {
		_, twice := given[m.TargetListingConnectionID]

		switch {
		case !known[m.TargetListingConnectionID]:
			issues = append(issues, apierr.IssueNotFound.InBody("listingMappings", i, "targetListingConnectionId"))
		case twice:
			issues = append(issues, apierr.IssueUnique.InBody("listingMappings", i, "targetListingConnectionId"))
		case m.SourceListingID != nil && !isSource[*m.SourceListingID]:
			issues = append(issues, apierr.IssueNotFound.InBody("listingMappings", i, "sourceListingId"))
		case m.SourceListingID != nil && taken[*m.SourceListingID]:
			issues = append(issues, apierr.IssueContradiction.InBody("listingMappings", i, "sourceListingId"))
		}

		if given[m.TargetListingConnectionID] = m.SourceListingID; m.SourceListingID != nil {
			taken[*m.SourceListingID] = true
		}
	}

	if issues != nil {
		return apierr.BadRequest.At(issues...)
	}

	for i := range found.refs {
		r, said := &found.refs[i], found.found[i]
		to, says := given[r.ID]

		if !says && said.listing != nil && !taken[said.listing.ID] {
			to = &said.listing.ID
		}

		p.sort(r, said.status, to, says)
	}

	return nil
}

// sort notes what becomes of a listing of the target. A status that the request has decided does not count any more.
func (p *plan) sort(r *ref, status mappingStatus, to *id.ID, says bool) {
	switch {
	case status == alreadyShared && (to == nil || *to == *r.ListingID):
		p.listings.AlreadySharedCount++
	case to != nil:
		p.listings.MatchedCount++
		p.merges = append(p.merges, merge{r.ID, r.ListingID, *to})
	case says || status != ambiguous:
		p.listings.UnmappedCount++
	default:
		p.listings.AmbiguousCount++
	}
}

// moves returns the listings that become others.
func (p *plan) moves() (from, to []id.ID) {
	from, to = []id.ID{}, []id.ID{}

	for _, m := range p.merges {
		if m.from != nil {
			from, to = append(from, *m.from), append(to, m.to)
		}
	}

	return from, to
}

// match finds the reservation of the target that each retired one is, in the listing that it will be in: by its
// confirmation code, else by days and guest. Several that could be it are none.
func (p *plan) match() {
	from, to := p.moves()

	listing := map[id.ID]id.ID{}
	for i := range from {
		listing[from[i]] = to[i]
	}

	type key struct {
		listing id.ID
		text    string
	}

	byCode, byGuest := map[key][]id.ID{}, map[key][]id.ID{}

	for i := range p.arriving {
		r := &p.arriving[i]

		in := r.ListingID
		if moved, is := listing[in]; is {
			in = moved
		}

		if code := plain.Text(ptr.Value(r.ConfirmationCode)); code != "" {
			k := key{in, code}
			byCode[k] = append(byCode[k], r.ID)
		}

		k := key{in, guestKey(r)}
		byGuest[k] = append(byGuest[k], r.ID)
	}

	for i := range p.retired {
		r := &p.retired[i]

		var found []id.ID
		if code := plain.Text(ptr.Value(r.ConfirmationCode)); code != "" {
			found = byCode[key{r.ListingID, code}]
		}

		if len(found) == 0 && r.GuestName != nil {
			found = byGuest[key{r.ListingID, guestKey(r)}]
		}

		if len(found) == 1 {
			p.matches[r.ID] = &found[0]
		}
	}
}

// guestKey returns what two reservations without a code have in common: days and the name of the guest.
func guestKey(r *reservation.Stay) string {
	name := ""
	if r.GuestName != nil {
		name = plain.Text(*r.GuestName)
	}

	return r.CheckIn.String() + " " + r.CheckOut.String() + " " + name
}

// count counts what a plan changes and what must not change (CUT-09..CUT-11, CUT-35, CUT-38).
func (p *plan) count(ctx context.Context, tx *db.Tx) error {
	leaving := ids(p.retired)

	for _, r := range p.arriving {
		if r.OnOrAfter {
			p.stays.TargetCount++
		} else {
			leaving = append(leaving, r.ID) // before the window of the target, which has had none
		}
	}

	p.stays.SourceCount = int64(len(p.retired))

	locked, err := ledger.CountHeld(ctx, tx, leaving, nil)
	if err != nil {
		return err
	}

	p.stays.LockedCount = locked.Sources

	from, _ := p.moves()

	p.moved, err = db.Select[id.ID](ctx, tx, `select id from reservation where team_id = @team and listing_id = any(@from)`,
		db.Args{"team": tx.Team, "from": from})
	if err != nil {
		return fmt.Errorf("find reservations to move: %w", err)
	}

	p.stays.JournalRefreshCount = int64(len(p.outdated()))

	lines, err := transaction.CountLines(ctx, tx, from)
	if err != nil {
		return err
	}

	touched, err := transaction.ListByListing(ctx, tx, from)
	if err != nil {
		return err
	}

	p.listings.TargetReservationCount, p.listings.PaymentLineCount, p.listings.TransactionLineCount = int64(len(p.moved)), lines.Payments, lines.Others
	p.held, err = ledger.CountHeld(ctx, tx, slices.Concat(p.moved, touched), from)
	p.listings.LockedCount = p.held.Sources

	return err
}

// outdated returns the reservations whose journals differ after the cutover, each once.
func (p *plan) outdated() []id.ID {
	return id.Distinct(slices.Concat(ids(p.retired), ids(p.arriving), p.moved))
}
