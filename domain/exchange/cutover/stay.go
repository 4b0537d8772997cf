package cutover

import (
	"context"
	"slices"

	"stayledger/domain/activity/reservation"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// pair is one stay that both systems have.
type pair struct {
	source, target *reservation.Stay
	// dates are those that both have after the cutover: of the target's, unless people have moved the source's.
	dates reservation.Dates
	// counts says which of the two is in the books then.
	counts side
}

// pairsOf returns pairs as reservations know them.
func pairsOf(pairs []pair) []reservation.Pair {
	out := make([]reservation.Pair, len(pairs))
	for i := range pairs {
		out[i] = reservation.Pair{SourceID: pairs[i].source.ID, TargetID: pairs[i].target.ID}
	}

	return out
}

// loadStays loads the stays of both systems, pairs those that are the same, and decides which are in the books afterwards
// (CUT-13, CUT-42): a stay of one system alone by its own accounting date, one that both have by the dates of the target.
func (p *plan) loadStays(ctx context.Context, tx *db.Tx) error {
	source, err := reservation.ListStays(ctx, tx, p.source.ID)
	if err != nil {
		return err
	}

	target, err := reservation.ListStays(ctx, tx, p.target.ID)
	if err != nil {
		return err
	}

	if p.recognition, err = reservation.LoadRecognition(ctx, tx); err != nil {
		return err
	}

	for i := range target {
		if target[i].Status != reservation.Inactive {
			p.arriving = append(p.arriving, target[i])
		}
	}

	p.pair(source)

	// What no system has brought is compared with what those of the source have left.
	typed, err := reservation.ListCandidates(ctx, tx, nil, p.listArrivals(), ids(p.arriving))
	if err != nil {
		return err
	}

	p.pair(typed)

	paired := map[id.ID]*pair{}

	p.settlePairs()

	for i := range p.pairs {
		one := &p.pairs[i]
		paired[one.source.ID], paired[one.target.ID] = one, one
	}

	former := slices.Concat(source, typed)
	for i := range former {
		s := &former[i]
		one := paired[s.ID]

		switch isLeft := !s.IsTyped && (s.Status != reservation.Inactive || s.HasMoney); {
		case one == nil && isLeft && p.isAfter(&s.Dates):
			p.retired = append(p.retired, *s)
		case one != nil && one.counts == targetSide:
			p.retired, p.matches[s.ID] = append(p.retired, *s), &one.target.ID
		}
	}

	for i := range p.retired {
		if p.retired[i].Status != reservation.Inactive {
			p.stays.SourceCount++
		}
	}

	for i := range p.arriving {
		t := &p.arriving[i]
		if one := paired[t.ID]; one != nil && one.counts == targetSide || one == nil && p.isAfter(&t.Dates) {
			p.stays.TargetCount++
		}
	}

	return p.describePairs(ctx, tx)
}

// listArrivals returns the listings that the stays of the target are on, before the cutover and after it.
func (p *plan) listArrivals() []id.ID {
	out, listing := []id.ID{}, p.joined()

	for i := range p.arriving {
		in := p.arriving[i].ListingID
		if out = append(out, in); !listing[in].IsZero() {
			out = append(out, listing[in])
		}
	}

	return id.Distinct(out)
}

// isAfter returns true for dates that are accounted for on the day of the cutover or later.
func (p *plan) isAfter(d *reservation.Dates) bool {
	return !p.recognition.AccountingDate(d).Before(p.request.CutoverAt)
}

// joined returns the listings that become others, with those.
func (p *plan) joined() map[id.ID]id.ID {
	out := map[id.ID]id.ID{}

	from, to := p.moves(nil)
	for i := range from {
		out[from[i]] = to[i]
	}

	return out
}

// settlePairs decides which of each pair counts, and leaves out those that people have put away.
func (p *plan) settlePairs() {
	for i := range p.pairs {
		p.pairs[i].settle(p.isAfter)
	}

	p.pairs = slices.DeleteFunc(p.pairs, pair.isPutAway)
}

// settle sets the dates of a pair and which of the two counts.
func (p *pair) settle(isAfter func(*reservation.Dates) bool) {
	s, t := &p.source.Dates, &p.target.Dates
	p.dates = *t

	if p.source.HasEditedDays {
		p.dates.CheckIn, p.dates.CheckOut = s.CheckIn, s.CheckOut
	}

	if t.BookedAt == nil {
		p.dates.BookedAt = s.BookedAt
	}

	if t.GeneralLedgerPostingAt == nil {
		p.dates.GeneralLedgerPostingAt = s.GeneralLedgerPostingAt
	}

	if p.counts = sourceSide; isAfter(&p.dates) {
		p.counts = targetSide
	}
}

// isPutAway returns true for a pair of which the source would count although a person has made it inactive.
func (p pair) isPutAway() bool {
	return p.counts == sourceSide && p.source.Status == reservation.Inactive && !p.source.IsGone && p.source.RetiredStatus == nil
}

// pair adds the stays of the source, or those that no system has brought, that are one with stays of the target, of those that are not taken yet.
func (p *plan) pair(source []reservation.Stay) {
	taken := map[id.ID]bool{}
	for i := range p.pairs {
		taken[p.pairs[i].target.ID] = true
	}

	isTaken := func(t *reservation.Stay) bool { return taken[t.ID] }
	for _, one := range reservation.Alike(point(source), slices.DeleteFunc(point(p.arriving), isTaken), p.joined()) {
		p.pairs = append(p.pairs, pair{source: one.Source, target: one.Target})
	}
}

// point returns pointers to stays.
func point(stays []reservation.Stay) []*reservation.Stay {
	out := make([]*reservation.Stay, len(stays))
	for i := range stays {
		out[i] = &stays[i]
	}

	return out
}

// describePairs sets the pairs in which the two differ, and those that people have entered, as callers see them.
func (p *plan) describePairs(ctx context.Context, tx *db.Tx) error {
	var both []id.ID
	for i := range p.pairs {
		both = append(both, p.pairs[i].source.ID, p.pairs[i].target.ID)
	}

	totals, err := reservation.Totals(ctx, tx, both)
	if err != nil {
		return err
	}

	view := func(s *reservation.Stay) PairedStay {
		return PairedStay{s.ID, s.CheckIn, s.CheckOut, s.Status, totals[s.ID], s.Currency}
	}

	for i := range p.pairs {
		one := &p.pairs[i]
		isDatedElse := p.recognition.AccountingDate(&one.source.Dates) != p.recognition.AccountingDate(&one.target.Dates)

		if one.source.IsTyped || one.differs() || isDatedElse || totals[one.source.ID] != totals[one.target.ID] {
			p.differing = append(p.differing, ReservationPair{one.target.ConfirmationCode, view(one.source), view(one.target), one.counts})
		}
	}

	return nil
}

// differs returns true for a pair with other days or statuses.
func (p *pair) differs() bool {
	return p.source.CheckIn != p.target.CheckIn || p.source.CheckOut != p.target.CheckOut || p.source.Status != p.target.Status
}
