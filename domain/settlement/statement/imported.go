package statement

import (
	"context"
	"encoding/json"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/domain/record/operation"
	"stayledger/domain/settlement/chain"
	"stayledger/domain/settlement/layout"
	"stayledger/platform/apierr"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// Imported is a statement of an earlier system as package historic brings it: its figures are given, not computed.
// Amounts are owner-facing.
type Imported struct {
	ID                id.ID
	UniqueRef         *string
	OwnershipPeriodID id.ID
	ListingID         id.ID
	Status            Status
	Currency          string
	StartAt           day.Day
	EndAt             day.Day
	BalanceStart      money.Cents
	NetRevenue        money.Cents
	Expenses          money.Cents
	Payouts           money.Cents
	BalanceEnd        money.Cents
	Reserve           money.Cents
	// Layout is frozen with the statement.
	Layout *layout.Design `db:"-"`
	// Replaces is the stored statement that this one replaces, nil for a new one.
	Replaces *Referenced `db:"-"`
}

// Referenced is a stored statement that has the reference of an import.
type Referenced struct {
	Imported
	Live bool // it was not imported
	Paid bool // payouts are linked to it
}

// reopens reports whether a published statement is replaced by one that is not published.
func (i *Imported) reopens() bool {
	return i.Replaces.Reopens(i.Status)
}

// Reopens reports whether the stored statement is published and would not be with the new status. It is false for
// nil.
func (r *Referenced) Reopens(to Status) bool {
	return r != nil && r.Status == Published && to != Published
}

// The triggers of imported entries name the figure of the statement that they belong to.
const (
	TriggerHistoricRevenue = "historicalRevenue"
	TriggerHistoricExpense = "historicalExpense"
	TriggerHistoricPayout  = "historicalPayout"
)

// UnfinishedImport is the SQL condition that an operation o of the team imports statements and has not settled.
const UnfinishedImport = `o.team_id = @team and o.status in ('queued', 'running') and o.type in ('` +
	string(operation.HistoricalStatements) + `', '` + string(operation.LegacyStatementImport) + `')`

// ErrRef refuses a reference that another statement has.
var ErrRef = apierr.New(
	apierr.CodeConflict,
	apierr.ReasonDuplicateUniqueRef,
	"Another owner statement has this reference",
)

// LockByReference locks and loads the statements that have the references.
func LockByReference(ctx context.Context, tx *db.Tx, refs []string) (map[string]*Referenced, error) {
	// Lock in the order of ids, so that two imports cannot wait for each other.
	args := db.Args{"team": tx.Team, "refs": refs}
	if _, err := tx.Exec(ctx, `select from statement where team_id = @team and unique_ref = any(@refs) order by id for update`, args); err != nil {
		return nil, fmt.Errorf("lock imported statements: %w", err)
	}

	// Read after the lock: the rows may have changed while we waited.
	rows, err := db.Select[Referenced](ctx, tx, `
		select s.id, s.unique_ref, not s.imported as live, s.listing_id, s.status, s.ownership_period_id, s.currency, s.start_at, s.end_at,
			s.balance_start, s.net_revenue, s.expenses, s.payouts, s.balance_end, s.reserve,
			exists (select from transaction_line n where n.team_id = @team and n.statement_id = s.id) as paid
		from statement s where s.team_id = @team and s.unique_ref = any(@refs)`, args)
	if err != nil {
		return nil, fmt.Errorf("read imported statements: %w", err)
	}

	out := make(map[string]*Referenced, len(rows))
	for i := range rows {
		out[*rows[i].UniqueRef] = &rows[i]
	}

	return out, nil
}

// Park moves imported statements out of their places, so that they can take each other's. Until they are stored,
// their currency is their id, which no other statement can have.
func Park(ctx context.Context, tx *db.Tx, moving []id.ID) error {
	if len(moving) == 0 {
		return nil
	}

	_, err := tx.Exec(ctx, `update statement set currency = id::text where team_id = @team and id = any(@ids)`, db.Args{"team": tx.Team, "ids": moving})
	if err != nil {
		return fmt.Errorf("move imported statements: %w", err)
	}

	return nil
}

// SaveImported saves statements and their entries in place of those of an earlier import. It fails with ErrExists
// or ErrRef when another request took the place or the reference meanwhile. The caller holds the locks of their
// ownership periods. Rules HST-33, HST-44, HST-45.
func SaveImported(ctx context.Context, tx *db.Tx, all []Imported, entries *ledger.Imported) error {
	// First, in memory: the rows, and which statements are replaced or reopened by them.
	rows, frozen := make([]*storedRow, len(all)), designs{place: map[*layout.Design]int{}}
	replaced, reopened := []id.ID{}, []id.ID{}

	for i := range all {
		s := &all[i]

		rows[i] = &storedRow{
			Imported: *s, ShortRef: s.ID.ShortRef(), IsImported: true, Shares: []money.Cents{},
			Design: frozen.at(s.Layout),
		}
		if s.Replaces != nil {
			replaced = append(replaced, s.ID)
		}

		if s.reopens() {
			reopened = append(reopened, s.ID)
		}
	}

	upserts, err := frozen.freeze(statementTable.Upsert(tx, rows...))
	if err != nil {
		return err
	}

	// Save the versions that owners saw before they are overwritten.
	if len(reopened) > 0 {
		if err := insertVersions(ctx, tx, reopened); err != nil {
			return err
		}
	}

	// Then the writes in one round trip: old entries out, statements and new entries in.
	var stmts []db.Stmt
	if len(replaced) > 0 {
		stmts = append(stmts, ledger.RemoveImported(tx, replaced))
	}

	stmts = append(stmts, upserts)
	stmts = append(stmts, entries.Insert(tx)...)

	// An import of many has its statements planned afresh, which costs more than it brings where the rows are given.
	err = db.Kept(db.Send(stmts...))(ctx, tx)

	// The unique constraints decide races with other requests.
	switch db.Constraint(err) {
	case "statement_once":
		return ErrExists.Because(err)
	case "statement_unique_ref":
		return ErrRef.Because(err)
	}

	if err != nil {
		return fmt.Errorf("store imported statements: %w", err)
	}

	noteImported(tx, all)

	return saveImportedKept(ctx, tx, all)
}

// noteImported writes an audit event for each imported statement, with the values before and after.
func noteImported(tx *db.Tx, all []Imported) {
	// The events count as migration and not as the work of a person.
	audit.From(tx, audit.Migration)

	for i := range all {
		s := &all[i]

		var before any
		if s.Replaces != nil {
			before = s.Replaces.auditValues()
		}

		audit.Note(tx,
			audit.Imported,
			audit.Statement,
			s.ID,
			before,
			s.auditValues(),
			audit.Ref(audit.RoleListing, audit.Listing, s.ListingID),
			audit.Ref(audit.RoleParent, audit.OwnershipPeriod, s.OwnershipPeriodID),
		)
	}
}

// auditValues returns the values of an imported statement in its audit event.
func (i *Imported) auditValues() any {
	type financials struct {
		CentBalanceStart money.Cents `json:"centBalanceStart"`
		CentBalanceEnd   money.Cents `json:"centBalanceEnd"`
		CentTotal        money.Cents `json:"centTotal"`
		CentExpenses     money.Cents `json:"centExpenses"`
		CentNetRevenue   money.Cents `json:"centNetRevenue"`
		CentTransfer     money.Cents `json:"centTransfer"`
	}

	return struct {
		ListingID  id.ID      `json:"listingId"`
		Status     Status     `json:"status"`
		Currency   string     `json:"currency"`
		StartAt    day.Day    `json:"startAt"`
		EndAt      day.Day    `json:"endAt"`
		Financials financials `json:"financials"`
	}{
		i.ListingID, i.Status, i.Currency, i.StartAt, i.EndAt,
		financials{i.BalanceStart, i.BalanceEnd, i.NetRevenue + i.Expenses, i.Expenses, i.NetRevenue, i.Payouts},
	}
}

// saveImportedKept saves the names that published statements keep, and the members' parts of the available balance of
// imported statements. The payouts that came in with the statements so far decide these.
func saveImportedKept(ctx context.Context, tx *db.Tx, all []Imported) error {
	type memberShares struct {
		ID     id.ID         `json:"id"`
		Shares []money.Cents `json:"shares"`
	}

	ids, periods := make([]id.ID, len(all)), make([]id.ID, len(all))
	rows := make([]memberShares, 0, len(all))

	for i := range all {
		ids[i], periods[i] = all[i].ID, all[i].OwnershipPeriodID
	}

	// Load the histories after the write: they contain the new statements and payouts.
	histories, err := chain.LoadHistories(ctx, tx, id.Distinct(periods))
	if err != nil {
		return err
	}

	// Payouts that came in now may change the parts of statements of this import only; others keep theirs.
	for i := range all {
		h := histories.Chain(chain.Chain{OwnershipPeriodID: all[i].OwnershipPeriodID, Currency: all[i].Currency})
		if b := h.Balance(all[i].ID); b != nil {
			rows = append(rows, memberShares{b.ID, h.Shares(b.Available, b.EndAt, true)})
		}
	}

	// All shares travel as one JSON document.
	document, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("encode shares: %w", err)
	}

	if err := tx.Pipeline(ctx, updateKeptSQL(tx, ids, string(document))); err != nil {
		return fmt.Errorf("store names and shares: %w", err)
	}

	return nil
}
