package cutover

import (
	"context"
	"slices"

	"stayledger/domain/activity/reservation"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// pair is a stay that both systems have.
type pair struct {
	source, target *reservation.Stay
	// dates are the dates after the cutover: the dates of the target, except days that people have moved at the
	// source.
	dates reservation.Dates
	// counts says which reservation is in the books then.
	counts side
}

// listPairs returns the ids of pairs.
func listPairs(pairs []pair) []reservation.Pair {
	out := make([]reservation.Pair, len(pairs))
	for i := range pairs {
		out[i] = reservation.Pair{SourceID: pairs[i].source.ID, TargetID: pairs[i].target.ID}
	}

	return out
}

// loadStays loads the stays of both systems, pairs each stay of the target with an equal one of the source or one
// entered here, and decides and counts which are in the books afterwards (CUT-13, CUT-42): a stay alone by its own
// accounting date, a pair by the dates of the target. Days that people have edited on the source win, and the source
// fills in dates that the target lacks.
func (p *plan) loadStays(ctx context.Context, tx *db.Tx) error {
	var source, target []reservation.Stay

	err := tx.Together(ctx,
		db.LoadBy(&source, reservation.ListStays, p.source.ID),
		db.LoadBy(&target, reservation.ListStays, p.target.ID),
		db.Load(&p.recognition, reservation.LoadRecognition),
	)
	if err != nil {
		return err
	}

	// Inactive stays of the target never enter the books.
	for i := range target {
		if target[i].Status != reservation.Inactive {
			p.arriving = append(p.arriving, target[i])
		}
	}

	p.addPairs(source)

	// Stays that people have entered are matched with the target stays that are left.
	typed, err := reservation.ListCandidates(ctx, tx, nil, p.listArrivals(), ids(p.arriving))
	if err != nil {
		return err
	}

	p.addPairs(typed)

	// Decide which of each pair counts, and look pairs up by both sides.
	paired := map[id.ID]*pair{}

	p.settlePairs()

	for i := range p.pairs {
		one := &p.pairs[i]
		paired[one.source.ID], paired[one.target.ID] = one, one
	}

	// From the day on, source stays leave the books, unless they count for their pair.
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

	// The counts of the preview.
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

// listArrivals returns the listings of target stays, before and after the cutover.
func (p *plan) listArrivals() []id.ID {
	out, listing := []id.ID{}, p.mapMoves()

	for i := range p.arriving {
		in := p.arriving[i].ListingID
		if out = append(out, in); !listing[in].IsZero() {
			out = append(out, listing[in])
		}
	}

	return id.Distinct(out)
}

// isAfter reports whether these dates are accounted for on the day of the cutover or later.
func (p *plan) isAfter(d *reservation.Dates) bool {
	return !p.recognition.AccountingDate(d).Before(p.request.CutoverAt)
}

// mapMoves returns the replacement of each replaced listing.
func (p *plan) mapMoves() map[id.ID]id.ID {
	out := map[id.ID]id.ID{}

	from, to := p.moves(nil)
	for i := range from {
		out[from[i]] = to[i]
	}

	return out
}

// settlePairs decides which reservation of each pair counts, and drops pairs that people have set inactive.
func (p *plan) settlePairs() {
	for i := range p.pairs {
		p.pairs[i].settle(p.isAfter)
	}

	p.pairs = slices.DeleteFunc(p.pairs, pair.isPutAway)
}

// settle sets the dates of a pair, and which reservation counts.
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

// isPutAway reports whether the source would count although a person has set it inactive.
func (p pair) isPutAway() bool {
	// The source system or an earlier cutover may have set it inactive instead.
	isByPerson := !p.source.IsGone && p.source.RetiredStatus == nil

	return p.counts == sourceSide && p.source.Status == reservation.Inactive && isByPerson
}

// addPairs pairs these stays with the equal target stays that are not paired yet.
func (p *plan) addPairs(source []reservation.Stay) {
	taken := map[id.ID]bool{}
	for i := range p.pairs {
		taken[p.pairs[i].target.ID] = true
	}

	isTaken := func(t *reservation.Stay) bool { return taken[t.ID] }
	for _, one := range reservation.Alike(pointers(source), slices.DeleteFunc(pointers(p.arriving), isTaken), p.mapMoves()) {
		p.pairs = append(p.pairs, pair{source: one.Source, target: one.Target})
	}
}

// pointers returns pointers to stays.
func pointers(stays []reservation.Stay) []*reservation.Stay {
	out := make([]*reservation.Stay, len(stays))
	for i := range stays {
		out[i] = &stays[i]
	}

	return out
}

// describePairs sets, as the API shows them, the pairs with different data and the pairs with stays that people have
// entered.
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
		dateAtSource := p.recognition.AccountingDate(&one.source.Dates)
		isDatedElse := dateAtSource != p.recognition.AccountingDate(&one.target.Dates)

		if one.source.IsTyped || one.hasOtherDays() || isDatedElse || totals[one.source.ID] != totals[one.target.ID] {
			p.differing = append(p.differing, ReservationPair{
				one.target.ConfirmationCode, view(one.source), view(one.target), one.counts,
			})
		}
	}

	return nil
}

// hasOtherDays reports whether the days or statuses of a pair differ.
func (p *pair) hasOtherDays() bool {
	s, t := p.source, p.target

	return s.CheckIn != t.CheckIn || s.CheckOut != t.CheckOut || s.Status != t.Status
}
