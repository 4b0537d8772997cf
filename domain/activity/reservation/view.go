package reservation

import (
	"context"
	"fmt"

	"stayledger/domain/activity/mapping"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/contact"
	"stayledger/domain/record/intake"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// viewData has everything that reservations show in addition to their own rows.
type viewData struct {
	own      ownRecords
	mappings mapping.Set
	around   around
}

// loadViewData loads everything that reservations show apart from their own rows: in one round trip, and a second one
// for those that have something rare.
func loadViewData(ctx context.Context, tx *db.Tx, ids []id.ID) (b viewData, err error) {
	var (
		s settings
		r rare
	)

	err = tx.Together(ctx,
		db.LoadBy(&b.own.lines, loadLines, ids),
		db.LoadBy(&b.own.deposits, loadDeposits, ids),
		db.Load(&s, loadSettings),
		db.LoadBy(&b.around.states, ledger.Reservations.LoadStates, ids),
		db.LoadBy(&r, findRare, ids),
	)
	if err != nil {
		return b, err
	}

	b.mappings, b.around.sources = mapping.NewSet(s.Mappings), r.sources
	works := append(b.around.works(&r), db.LoadBy(&b.own.adjustments, loadAdjustments, r.adjusted))

	return b, tx.Together(ctx, works...)
}

// fill gives a reservation the loaded records and the fields computed from them.
func (b *viewData) fill(r *Reservation, withLines bool) {
	b.own.attach(r)
	b.around.fill(r)
	r.finish(b.mappings, b.own, withLines)
}

// fillAll fills in the fields of reservations that are not in their own rows, for all reservations at once.
func fillAll(ctx context.Context, tx *db.Tx, rs []Reservation, withLines bool) error {
	if len(rs) == 0 {
		return nil
	}

	b, err := loadViewData(ctx, tx, collectIDs(rs))
	if err != nil {
		return err
	}

	for i := range rs {
		b.fill(&rs[i], withLines)
	}

	return nil
}

// around is what reservations show of the books and of where they came from, by reservation: the state of their
// journals, the sums credited to owners although the stay has none, what is left out of the books, their records at
// apps, the reservations of other systems that are the same stays, and what is to be looked at about the records of
// their sources.
type around struct {
	states     map[id.ID]ledger.State
	ownerless  map[id.ID]*money.Cents
	unposted   map[id.ID]*unposted
	sources    map[id.ID]*contact.Source
	duplicates map[id.ID][]id.ID
	issues     map[id.ID][]finding.Finding
}

// loadAround loads what is around reservations.
func loadAround(ctx context.Context, tx *db.Tx, ids []id.ID) (a around, err error) {
	var r rare

	err = tx.Together(ctx, db.LoadBy(&a.states, ledger.Reservations.LoadStates, ids), db.LoadBy(&r, findRare, ids))
	if err != nil {
		return a, err
	}

	a.sources = r.sources

	return a, tx.Together(ctx, a.works(&r)...)
}

// works returns the work of loading what is rare, which sends nothing for reservations that have none of it.
func (a *around) works(r *rare) []db.Work {
	return []db.Work{
		db.LoadBy(&a.ownerless, loadOwnerless, r.ownerless),
		db.LoadBy(&a.unposted, loadUnposted, r.unposted),
		db.LoadBy(&a.duplicates, loadDuplicates, r.contested),
		db.LoadBy(&a.issues, intake.LoadIssues, r.questioned),
	}
}

// fill gives a reservation what is around it. While nothing of it is posted because of what the books leave out, it is
// shown as inactive.
func (a *around) fill(r *Reservation) {
	state := a.states[r.ID]
	r.Lock, r.JournalStatus, r.ownerless = state.Lock, state.Status, a.ownerless[r.ID]
	r.Source, r.duplicates, r.outside = a.sources[r.ID], a.duplicates[r.ID], a.issues[r.ID]

	r.unposted = a.unposted[r.ID]
	if u := r.unposted; u != nil && u.Whole && !u.HasEntries && r.posts() {
		r.GeneralLedgerStatus, r.LedgerInactiveReason = LedgerInactive, &u.Reason
	}
}

// finish computes the remaining fields once all else is loaded: financials, payment and issues. Without lines, the
// lines and adjustments that these were computed from are dropped.
func (r *Reservation) finish(mappings mapping.Set, o ownRecords, withLines bool) {
	r.settle(mappings, o.deposits[r.ID].Paid)

	r.Issues = r.issues(mappings)
	if withLines {
		r.Lines, r.Adjustments = orEmpty(r.Lines), orEmpty(r.Adjustments)
	} else {
		r.Lines, r.Adjustments = nil, nil
	}
}

// rare are the reservations, among some, with what most have none of: adjustments, a part that the books leave out, sums
// of no owner, something to be looked at about their records, and another booked reservation on their nights that a
// second system has brought. It also has the sources of those with a connection.
type rare struct {
	adjusted, unposted, ownerless, questioned, contested []id.ID
	sources                                              map[id.ID]*contact.Source
}

// findRare looks for what is rare about reservations. It costs a look at an index for each kind; to read what is not
// there would cost a statement for each.
func findRare(ctx context.Context, tx *db.Tx, ids []id.ID) (rare, error) {
	type row struct {
		ID           id.ID
		Source       *contact.Source
		IsAdjusted   bool
		IsUnposted   bool
		IsOwnerless  bool
		IsQuestioned bool
		IsContested  bool
	}

	rows, err := db.Select[row](ctx, tx, `
		select r.id, `+contact.SourceSQL("r")+` as source,
			exists (select from reservation_adjustment a where a.team_id = @team and a.reservation_id = r.id) as is_adjusted,
			exists (select from reservation_unposted u where u.team_id = @team and u.reservation_id = r.id) as is_unposted,
			exists (select from ledger_entry e where e.team_id = @team and e.reservation_id = r.id and `+ownerlessSQL+`) as is_ownerless,
			`+intake.HasIssuesSQL("@team", "r.id")+` as is_questioned,
			r.status = 'booked' and `+hasSeveralSources+` and exists (select from reservation o
				where o.team_id = @team and o.listing_id = r.listing_id and o.check_out > r.check_in and o.check_in < r.check_out
					and o.connection_id is distinct from r.connection_id and o.status = 'booked') as is_contested
		from reservation r where r.team_id = @team and r.id = any(@ids)`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return rare{}, fmt.Errorf("look for what is rare about reservations: %w", err)
	}

	out := rare{sources: make(map[id.ID]*contact.Source, len(rows))}

	for i := range rows {
		r := &rows[i]
		if r.Source != nil {
			out.sources[r.ID] = r.Source
		}

		for _, kind := range []struct {
			is bool
			of *[]id.ID
		}{
			{r.IsAdjusted, &out.adjusted},
			{r.IsUnposted, &out.unposted},
			{r.IsOwnerless, &out.ownerless},
			{r.IsQuestioned, &out.questioned},
			{r.IsContested, &out.contested},
		} {
			if kind.is {
				*kind.of = append(*kind.of, r.ID)
			}
		}
	}

	return out, nil
}
