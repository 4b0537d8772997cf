package cutover

import (
	"context"

	"stayledger/domain/activity/reservation"
	"stayledger/domain/books/ledger"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/ptr"
)

// mostTried is the largest number of stays with held entries for which a plan derives the effect of new dates.
const mostTried = 200

// isMoved reports whether a stay gets other dates.
func isMoved(s *reservation.Stay, to *reservation.Dates) bool {
	equal := ptr.Equal(s.BookedAt, to.BookedAt) && ptr.Equal(s.GeneralLedgerPostingAt, to.GeneralLedgerPostingAt)
	return !equal || s.CheckIn != to.CheckIn || s.CheckOut != to.CheckOut
}

// lookout collects stays under locks, each pair once.
type lookout struct {
	stays  []id.ID
	listed map[id.ID]bool
	twin   map[id.ID]id.ID // source stays by target stay
}

// add adds a stay, under the id of the source if it belongs to a pair.
func (l *lookout) add(stay id.ID) {
	if source, is := l.twin[stay]; is {
		stay = source
	}

	if !l.listed[stay] {
		l.listed[stay] = true
		l.stays = append(l.stays, stay)
	}
}

// arrival is the listing and date at which a stay enters the books.
type arrival struct {
	ledger.Dated

	stay    id.ID
	rehomed bool
}

// countLocked finds reservations that a statement or closed books keep from leaving the books, from moving to another
// listing, or from changing dates where this changes an entry.
func (p *plan) countLocked(ctx context.Context, tx *db.Tx) error {
	found := &lookout{listed: map[id.ID]bool{}, twin: map[id.ID]id.ID{}}
	for i := range p.pairs {
		found.twin[p.pairs[i].target.ID] = p.pairs[i].source.ID
	}

	leaving, coming := p.listMoves()

	// Entries under a lock cannot leave the books …
	held, err := ledger.ListHeld(ctx, tx, leaving)
	if err != nil {
		return err
	}

	for _, v := range held {
		found.add(v)
	}

	// … no entry can come under a lock …
	dated := make([]ledger.Dated, len(coming))
	for i := range coming {
		dated[i] = coming[i].Dated
	}

	under, err := ledger.UnderLock(ctx, tx, dated)
	if err != nil {
		return err
	}

	for i, isLocked := range under {
		switch {
		case isLocked && coming[i].rehomed:
			p.held.Covered++
		case isLocked:
			found.add(coming[i].stay)
		}
	}

	// … and stays in the books cannot change locked entries.
	if err := p.tryDates(ctx, tx, found); err != nil {
		return err
	}

	p.locked, p.stays.LockedCount = found.stays, int64(len(found.stays))

	return nil
}

// listMoves returns the stays that leave the books, and the target stays that enter them.
func (p *plan) listMoves() (leaving []id.ID, coming []arrival) {
	leaving = ids(p.retired)
	paired, listing := map[id.ID]*pair{}, p.mapMoves()

	for i := range p.pairs {
		paired[p.pairs[i].target.ID] = &p.pairs[i]
	}

	// comes adds a stay that enters the books on a date and listing.
	comes := func(s *reservation.Stay, d *reservation.Dates) {
		in, moves := listing[s.ListingID]
		if !moves {
			in = s.ListingID
		}

		if s.Status == reservation.Booked && (moves || !s.IsPosted || isMoved(s, d)) {
			dated := ledger.Dated{ListingID: in, Currency: s.Currency, At: p.recognition.FirstDate(d)}
			coming = append(coming, arrival{dated, s.ID, moves})
		}
	}

	for i := range p.arriving {
		t := &p.arriving[i]

		switch one := paired[t.ID]; {
		case one != nil && one.counts == targetSide:
			comes(t, &one.dates)
		case one == nil && p.isAfter(&t.Dates):
			comes(t, &t.Dates)
		default:
			leaving = append(leaving, t.ID) // it is before the accounting window of the target
		}
	}

	return leaving, coming
}

// tryDates adds source stays that go on to count with other dates, or come back, if this would change a locked entry.
// It derives the journals of stays under a lock now or then to find out.
func (p *plan) tryDates(ctx context.Context, tx *db.Tx, found *lookout) error {
	var (
		moved    []*pair
		sources  []id.ID
		dated    []ledger.Dated
		doubtful []*pair
	)

	for i := range p.pairs {
		one := &p.pairs[i]
		if s := one.source; one.counts == sourceSide && (isMoved(s, &one.dates) || s.Status == reservation.Inactive) {
			moved, sources = append(moved, one), append(sources, s.ID)
			dated = append(dated, ledger.Dated{
				ListingID: s.ListingID, Currency: s.Currency, At: p.recognition.FirstDate(&one.dates),
			})
		}
	}

	held, err := ledger.ListHeld(ctx, tx, sources)
	if err != nil {
		return err
	}

	under, err := ledger.UnderLock(ctx, tx, dated)
	if err != nil {
		return err
	}

	// Only stays near a lock need a trial.
	isHeld := map[id.ID]bool{}
	for _, v := range held {
		isHeld[v] = true
	}

	for i, one := range moved {
		if under[i] || isHeld[one.source.ID] {
			doubtful = append(doubtful, one)
		}
	}

	for i, one := range doubtful {
		// Too many to try: refuse rather than change a locked entry.
		isLocked := i >= mostTried

		if !isLocked {
			as := reservation.Twins{Source: one.source, Target: one.target}
			if isLocked, err = reservation.IsHeldBack(ctx, tx, &as, &one.dates); err != nil {
				return err
			}
		}

		if isLocked {
			found.add(one.source.ID)
		}
	}

	return nil
}
