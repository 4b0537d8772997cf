package reservation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"stayledger/domain/books/ledger"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/page"
)

// unposted is the part of a reservation that the books leave out because of its dates: entries before the first day of
// the books, or everything if its accounting date is outside the window of its connection or the team has no books.
type unposted struct {
	ReservationID id.ID
	Reason        InactiveReason
	// Whole says that nothing at all is posted.
	Whole bool
	// CentTotal is the sum of lines and financial adjustments that is not earned in the books, FeeCentTotal the fees
	// and fee adjustments that are not charged there.
	CentTotal    money.Cents
	FeeCentTotal money.Cents
	// DeferredCentTotal is the revenue that the opening balance of deferred revenue has to hold for the reservation:
	// what is recognised in the books and was deferred before them.
	DeferredCentTotal money.Cents
	FirstDay          *day.Day
	// HasEntries says that entries of the reservation are in the books nevertheless, since a lock holds them.
	HasEntries bool
}

// leaveOut adds the entries of a posting that is dated before the first day of the books.
func (u *unposted) leaveOut(first day.Day, lines []ledger.Line) {
	u.Reason, u.FirstDay = BeforeStart, &first

	for i := range lines {
		l := &lines[i]

		switch {
		case l.Trigger == ledger.TriggerDeferredRevenue, strings.HasPrefix(l.Ref, "deferred:"):
			u.DeferredCentTotal -= l.CentTotal
		case strings.HasPrefix(l.Ref, "line:"):
			u.CentTotal -= l.CentTotal
		case l.Ref != "debit":
			// The other side of lines and fees would count them twice.
		case l.Party == ledger.NoParty && l.RecurringFeeID.IsZero():
			u.CentTotal += l.CentTotal
		default:
			u.FeeCentTotal += l.CentTotal
		}
	}
}

// finding returns the finding about a reservation of which a part is before the first day of the books.
func (u *unposted) finding(currency string) finding.Finding {
	return finding.Finding{Code: string(BeforeStart), Severity: finding.Warning, Context: map[string]any{
		"centTotal": u.CentTotal, "feeCentTotal": u.FeeCentTotal, "deferredCentTotal": u.DeferredCentTotal,
		"currency":         currency,
		"statementStartAt": u.FirstDay,
	}}
}

// stored returns the reservation with the general ledger status of its row, not the status that the API shows.
func (r *Reservation) stored() Reservation {
	out := *r
	if r.LedgerInactiveReason != nil {
		out.GeneralLedgerStatus, out.LedgerInactiveReason = LedgerActive, nil
	}

	return out
}

// hasEntries is the SQL condition that entries of a row u are in the books.
const hasEntries = `exists (select from ledger_entry e where e.team_id = u.team_id and e.source_id = u.reservation_id and e.status = 'active')`

// keptOut is the SQL condition that nothing of a reservation r is posted because of its dates.
const keptOut = `exists (select from reservation_unposted u where u.team_id = r.team_id and u.reservation_id = r.id and u.whole and not ` + hasEntries + `)`

// narrowByLedgerStatus narrows a list to the reservations that are shown with a general ledger status, "" for any.
func narrowByLedgerStatus(q *page.Query, s LedgerStatus) {
	switch s {
	case LedgerActive:
		q.And("r.general_ledger_status = 'active' and not "+keptOut, nil)
	case LedgerInactive:
		q.And("(r.general_ledger_status = 'inactive' or "+keptOut+")", nil)
	}
}

// loadUnposted loads what the books leave out of reservations. One that is posted as a whole is absent.
func loadUnposted(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]*unposted, error) {
	if len(ids) == 0 {
		return nil, nil
	}

	rows, err := db.Select[unposted](ctx, tx, `
		select u.reservation_id, u.reason, u.whole, u.cent_total, u.fee_cent_total, u.deferred_cent_total, u.first_day,
			u.whole and `+hasEntries+` as has_entries
		from reservation_unposted u where u.team_id = @team and u.reservation_id = any(@ids)`, db.Args{"team": tx.Team, "ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read what is left out of the books: %w", err)
	}

	out := make(map[id.ID]*unposted, len(rows))
	for i := range rows {
		out[rows[i].ReservationID] = &rows[i]
	}

	return out, nil
}

// saveUnposted replaces the rows of unposted parts after journals were derived: rows of stored reservations that are
// not in left are deleted. It returns the stored reservations that begin or cease to be posted.
func saveUnposted(ctx context.Context, tx *db.Tx, stored []id.ID, left []unposted) ([]id.ID, error) {
	// Nearly all reservations are posted as a whole, before and after: one statement is enough for them.
	if len(left) == 0 {
		return deleteUnposted(ctx, tx, stored)
	}

	var out []id.ID

	err := tx.Together(ctx,
		func(ctx context.Context, tx *db.Tx) (err error) {
			out, err = loadSwitched(ctx, tx, stored, left)
			return err
		},
		func(ctx context.Context, tx *db.Tx) error { return upsertUnposted(ctx, tx, stored, left) },
	)

	return out, err
}

// deleteUnposted deletes the rows of reservations that are now posted as a whole, and returns those that had nothing
// posted before.
func deleteUnposted(ctx context.Context, tx *db.Tx, stored []id.ID) ([]id.ID, error) {
	if len(stored) == 0 {
		return nil, nil
	}

	switched, err := db.Select[id.ID](ctx, tx, `
		with gone as (delete from reservation_unposted where team_id = @team and reservation_id = any(@ids) returning reservation_id, whole)
		select reservation_id from gone where whole order by reservation_id`, db.Args{"team": tx.Team, "ids": stored})
	if err != nil {
		return nil, fmt.Errorf("delete what was left out of the books: %w", err)
	}

	return switched, nil
}

// loadSwitched returns the stored reservations that lose their whole posting, or gain one after having none.
func loadSwitched(ctx context.Context, tx *db.Tx, stored []id.ID, left []unposted) ([]id.ID, error) {
	if len(stored) == 0 {
		return nil, nil
	}

	was, err := db.Select[id.ID](ctx, tx, `select reservation_id from reservation_unposted where team_id = @team and reservation_id = any(@ids) and whole`,
		db.Args{"team": tx.Team, "ids": stored})
	if err != nil {
		return nil, fmt.Errorf("read what was left out of the books: %w", err)
	}

	// What is in one of the lists alone has changed.
	differ := map[id.ID]bool{}
	for _, reservationID := range was {
		differ[reservationID] = true
	}

	for i := range left {
		if u := &left[i]; u.Whole {
			differ[u.ReservationID] = !differ[u.ReservationID]
		}
	}

	var out []id.ID

	for _, reservationID := range stored {
		if differ[reservationID] {
			out = append(out, reservationID)
		}
	}

	return out, nil
}

// relinkSwitched starts the operation that links transactions again after reservations entered or left the books:
// transactions linked to one, and transactions that wait because several reservations had their code.
func relinkSwitched(ctx context.Context, tx *db.Tx, loaded []Input, switched []id.ID) error {
	if len(switched) == 0 {
		return nil
	}

	var codes, guests []string

	for i := range loaded {
		if r := &loaded[i].Reservation; slices.Contains(switched, r.ID) {
			code, guest := r.matchKeys()
			codes, guests = append(codes, code), append(guests, guest)
		}
	}

	waiting, err := loadUnlinkedTransactions(ctx, tx, codes, guests)
	if err != nil {
		return err
	}

	linked, err := loadNaming(ctx, tx, switched)
	if err != nil {
		return err
	}

	return StartRelink(ctx, tx, switched, id.Distinct(append(waiting, linked...)))
}

// unpostedTable has the columns of what the books leave out of a reservation.
var unpostedTable = db.NewTable[unposted]("reservation_unposted", `
	reservation_id uuid key, reason text, whole boolean, cent_total bigint, fee_cent_total bigint, deferred_cent_total bigint, first_day date`)

// upsertUnposted upserts the rows of unposted parts, and deletes rows of stored reservations that are posted as a
// whole.
func upsertUnposted(ctx context.Context, tx *db.Tx, stored []id.ID, left []unposted) error {
	var (
		stmts []db.Stmt
		ids   = make([]id.ID, len(left))
	)

	for i := range left {
		ids[i] = left[i].ReservationID
	}

	if len(stored) > 0 {
		stmts = append(stmts, db.Stmt{
			SQL:  `delete from reservation_unposted where team_id = @team and reservation_id = any(@stored) and reservation_id <> all(@ids::uuid[])`,
			Args: db.Args{"team": tx.Team, "stored": stored, "ids": ids},
		})
	}

	// Rows are written in one order, so that two transactions cannot wait for each other in a ring.
	if len(left) > 0 {
		left = slices.SortedFunc(slices.Values(left), func(a, b unposted) int {
			return a.ReservationID.Compare(b.ReservationID)
		})
		stmts = append(stmts, unpostedTable.Upsert(tx, db.Refs(left)...))
	}

	if err := tx.Pipeline(ctx, stmts...); err != nil {
		return fmt.Errorf("keep what is left out of the books: %w", err)
	}

	return nil
}
