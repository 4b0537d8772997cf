package reservation

import (
	"context"
	"fmt"
	"slices"

	"stayledger/domain/activity/mapping"
	"stayledger/domain/books/account"
	"stayledger/domain/books/ledger"
	"stayledger/domain/property/contact"
	"stayledger/domain/record/intake"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// row is a reservation in the form in which one statement reads all that it shows, but for its lines and for what is
// rare.
type row struct {
	Reservation
	depositRows
	aroundRow

	ReferenceVersion int64
}

var (
	rowColumns = columns + ", " + depositColumns + ", " + aroundColumns + ", " + db.VersionSQL + " as reference_version"
	rowTables  = tables + depositTables + aroundTables
)

// rowArgs are the arguments of rowColumns and rowTables.
func rowArgs(tx *db.Tx) db.Args { return db.Args{"team": tx.Team, "reader": tx.Actor.User} }

// show loads a reservation with all that the API shows of it in one round trip, or fails with apierr.NotFound.
func show(ctx context.Context, tx *db.Tx, reservationID id.ID) (*Reservation, error) {
	args := rowArgs(tx)
	args["id"] = reservationID

	var (
		r     row
		lines map[id.ID][]Line
	)

	err := tx.Together(ctx, func(ctx context.Context, tx *db.Tx) (err error) {
		r, err = db.One[row](ctx, tx, apierr.NotFound, `select `+rowColumns+` from `+rowTables+` where r.team_id = @team and r.id = @id`, args)
		return err
	}, db.LoadBy(&lines, loadLines, []id.ID{reservationID}))
	if err != nil {
		return nil, err
	}

	all, err := fillRows(ctx, tx, []row{r}, lines, true)
	if err != nil {
		return nil, err
	}

	return &all[0], nil
}

// fillRows returns the reservations of rows with the fields that are in no column.
func fillRows(ctx context.Context, tx *db.Tx, rows []row, lines map[id.ID][]Line, withLines bool) ([]Reservation, error) {
	out := make([]Reservation, len(rows))
	if len(rows) == 0 {
		return out, nil
	}

	tx.SeeVersion(rows[0].ReferenceVersion)

	var (
		own   = ownRecords{lines: lines, deposits: make(map[id.ID]deposits, len(rows))}
		found = make(map[id.ID]*aroundRow, len(rows))
		a     around
	)

	settings, err := loadSettings(ctx, tx)
	if err != nil {
		return nil, err
	}

	books, err := account.LoadBooks(ctx, tx)
	if err != nil {
		return nil, err
	}

	for i := range rows {
		own.deposits[rows[i].ID], found[rows[i].ID] = rows[i].sum(books), &rows[i].aroundRow
	}

	err = tx.Together(ctx, db.LoadBy(&a, loadAround, found), db.LoadBy(&own.adjustments, loadAdjustments, adjusted(found)))
	if err != nil {
		return nil, err
	}

	for i := range rows {
		out[i] = rows[i].Reservation
		own.attach(&out[i])
		a.fill(&out[i])
		out[i].finish(settings.mappings, own, withLines)
	}

	return out, nil
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

// loadAround loads what is around reservations of which the rows have been read. It sends nothing for those that
// have nothing rare.
func loadAround(ctx context.Context, tx *db.Tx, found map[id.ID]*aroundRow) (a around, err error) {
	states := make(map[id.ID]*ledger.StateRow, len(found))
	a.sources = make(map[id.ID]*contact.Source, len(found))

	for v, n := range found {
		states[v], a.sources[v] = &n.StateRow, n.AppSource
	}

	return a, tx.Together(ctx,
		func(ctx context.Context, tx *db.Tx) (err error) {
			a.states, err = ledger.Reservations.States(ctx, tx, states)
			return err
		},
		db.LoadBy(&a.ownerless, loadOwnerless, having(found, func(n *aroundRow) bool { return n.IsOwnerless })),
		db.LoadBy(&a.unposted, loadUnposted, having(found, func(n *aroundRow) bool { return n.IsUnposted })),
		db.LoadBy(&a.duplicates, loadDuplicates, having(found, func(n *aroundRow) bool { return n.IsContested })),
		db.LoadBy(&a.issues, intake.LoadIssues, having(found, func(n *aroundRow) bool { return n.IsQuestioned })),
	)
}

// fill completes a reservation from the records around it. While nothing of it is posted because of what the books leave
// out, it is shown as inactive.
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

// aroundRow has the columns of a reservation about the records around it: the state of its journal, its record at an
// app, and whether it has what most have none of: adjustments, a part that the books leave out, sums of no owner,
// something to be looked at about its records, and another booked reservation on its nights that a second system has
// brought. To ask costs a look at an index for each kind; to read what is not there would cost a statement for each.
type aroundRow struct {
	ledger.StateRow

	AppSource    *contact.Source
	IsAdjusted   bool
	IsUnposted   bool
	IsOwnerless  bool
	IsQuestioned bool
	IsContested  bool
}

var (
	aroundColumns = ledger.Reservations.StateColumns("r.id") + `, ` + contact.SourceSQL("r") + ` as app_source,
		` + isAdjusted + `,
		exists (select from reservation_unposted u where u.team_id = @team and u.reservation_id = r.id) as is_unposted,
		exists (select from ledger_entry e where e.team_id = @team and e.reservation_id = r.id and ` + ownerlessSQL + `) as is_ownerless,
		` + intake.HasIssuesSQL("@team", "r.id") + ` as is_questioned,
		r.status = 'booked' and ` + hasSeveralSources + ` and exists (select from reservation o
			where o.team_id = @team and o.listing_id = r.listing_id and o.check_out > r.check_in and o.check_in < r.check_out
				and o.connection_id is distinct from r.connection_id and o.status = 'booked') as is_contested`
	aroundTables = ledger.StateTables("r.id")
)

// isAdjusted is the column that says whether a reservation r has adjustments.
const isAdjusted = `exists (select from reservation_adjustment a where a.team_id = @team and a.reservation_id = r.id) as is_adjusted`

// loadAroundRow loads what is around a reservation.
func loadAroundRow(ctx context.Context, tx *db.Tx, reservationID id.ID) (*aroundRow, error) {
	n, err := db.Get[aroundRow](ctx, tx, `select `+aroundColumns+` from reservation r`+aroundTables+` where r.team_id = @team and r.id = @id`,
		db.Args{"team": tx.Team, "reader": tx.Actor.User, "id": reservationID})
	if err != nil {
		return nil, fmt.Errorf("read what is around a reservation: %w", err)
	}

	return &n, nil
}

// adjusted returns the reservations with adjustments.
func adjusted(found map[id.ID]*aroundRow) []id.ID {
	return having(found, func(n *aroundRow) bool { return n.IsAdjusted })
}

// having returns the reservations that have something, in the order of their ids; nil for none.
func having(found map[id.ID]*aroundRow, it func(*aroundRow) bool) (ids []id.ID) {
	for v, n := range found {
		if it(n) {
			ids = append(ids, v)
		}
	}

	slices.SortFunc(ids, id.ID.Compare)

	return ids
}
