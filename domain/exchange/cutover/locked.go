package cutover

import (
	"context"

	"stayledger/domain/activity/reservation"
	"stayledger/domain/books/ledger"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/ptr"
)

// mostTried is the number of stays with held entries up to which a plan derives what other dates would change of them.
const mostTried = 200

// isMoved returns true for a stay that gets other dates.
func isMoved(s *reservation.Stay, to *reservation.Dates) bool {
	equal := ptr.Equal(s.BookedAt, to.BookedAt) && ptr.Equal(s.GeneralLedgerPostingAt, to.GeneralLedgerPostingAt)
	return !equal || s.CheckIn != to.CheckIn || s.CheckOut != to.CheckOut
}

// lookout collects the stays that locks concern, a pair once.
type lookout struct {
	stays  []id.ID
	listed map[id.ID]bool
	twin   map[id.ID]id.ID // of targets, those of the source
}

// add adds a stay.
func (l *lookout) add(stay id.ID) {
	if source, is := l.twin[stay]; is {
		stay = source
	}

	if !l.listed[stay] {
		l.listed[stay] = true
		l.stays = append(l.stays, stay)
	}
}

// arrival is where and when a stay comes into the books.
type arrival struct {
	ledger.Dated

	stay    id.ID
	rehomed bool
}

// countLocked finds the reservations that statements or closed books keep from leaving the books, from coming to other listings, and
// from coming to other dates where that changes an entry.
func (p *plan) countLocked(ctx context.Context, tx *db.Tx) error {
	found := &lookout{listed: map[id.ID]bool{}, twin: map[id.ID]id.ID{}}
	for i := range p.pairs {
		found.twin[p.pairs[i].target.ID] = p.pairs[i].source.ID
	}

	leaving, coming := p.listMoves()

	held, err := ledger.ListHeld(ctx, tx, leaving)
	if err != nil {
		return err
	}

	for _, v := range held {
		found.add(v)
	}

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

	if err := p.tryDates(ctx, tx, found); err != nil {
		return err
	}

	p.locked, p.stays.LockedCount = found.stays, int64(len(found.stays))

	return nil
}

// listMoves returns the stays that leave the books, and those of the target that come into them.
func (p *plan) listMoves() (leaving []id.ID, coming []arrival) {
	leaving = ids(p.retired)
	paired, listing := map[id.ID]*pair{}, p.joined()

	for i := range p.pairs {
		paired[p.pairs[i].target.ID] = &p.pairs[i]
	}

	// comes adds a stay that comes to a date on a listing.
	comes := func(s *reservation.Stay, d *reservation.Dates) {
		in, moves := listing[s.ListingID]
		if !moves {
			in = s.ListingID
		}

		if s.Status == reservation.Booked && (moves || !s.IsPosted || isMoved(s, d)) {
			coming = append(coming, arrival{ledger.Dated{ListingID: in, Currency: s.Currency, At: p.recognition.FirstDate(d)}, s.ID, moves})
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
			leaving = append(leaving, t.ID) // before the window of the target, which has had none
		}
	}

	return leaving, coming
}

// tryDates adds the stays of the source that count with other dates than now, or come back, where that would change what is held: of
// those under a lock now or then their journals are derived to see.
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
			dated = append(dated, ledger.Dated{ListingID: s.ListingID, Currency: s.Currency, At: p.recognition.FirstDate(&one.dates)})
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
