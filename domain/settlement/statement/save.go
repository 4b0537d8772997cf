package statement

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/domain/settlement/chain"
	"stayledger/domain/settlement/layout"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
	"stayledger/platform/ptr"
)

// move is the kind of a change of status.
type move int

const (
	stay move = iota
	create
	publish
	// From a saved state back to draft.
	withdraw
	// From published to review.
	reopen
)

// moveTo returns the move from one status to another.
func moveTo(from, to Status) move {
	switch {
	case from == to:
		return stay
	case from == Draft:
		return create
	case to == Draft:
		return withdraw
	case to == Published:
		return publish
	default:
		return reopen
	}
}

// lockPeriods locks ownership periods, all of the team's when none is named, and returns those that exist, in the
// order of the locks. Changes of statements over a period, and postings to it, wait for each other.
func lockPeriods(ctx context.Context, tx *db.Tx, periods []id.ID) ([]id.ID, error) {
	// Locking in the order of ids keeps two requests from waiting for each other.
	locked, err := db.Select[id.ID](ctx, tx, `
		select id from listing_ownership_period where team_id = @team and (@all::boolean or id = any(@periods::uuid[])) order by id for update`,
		db.Args{"team": tx.Team, "all": len(periods) == 0, "periods": periods})
	if err != nil {
		return nil, fmt.Errorf("lock ownership periods: %w", err)
	}

	return locked, nil
}

// statementTable has the columns of a saved statement. The designs of layouts are sent once each, in the argument
// designs, because thousands of statements share a few. A statement that stays published keeps its date of publication.
var statementTable = db.NewTable[storedRow]("statement", `
	id uuid key, short_ref text fixed, unique_ref text fixed, imported boolean fixed, ownership_period_id uuid, listing_id uuid, status text, currency text,
	start_at date, end_at date, balance_start bigint, net_revenue bigint, expenses bigint, payouts bigint, balance_end bigint, reserve bigint,
	shares bigint[] fixed, design int sent, email_delivery boolean fixed, layout jsonb computed, published_at timestamptz computed, created_at now fixed, updated_at now`).
	Compute("layout", "@designs::jsonb -> r.design - 1").
	Compute("published_at", "case when r.status = 'published' then @now::timestamptz end").
	Merge(
		"published_at",
		"case when excluded.status = 'published' then coalesce(statement.published_at, excluded.published_at) end",
	)

// storedRow is a statement as it is saved.
type storedRow struct {
	Imported
	ShortRef   string
	IsImported bool `db:"imported"`
	// Shares are the members' parts of the available balance, in their order; none if the statement was imported.
	Shares []money.Cents
	// Design is the place of its layout among the designs, from 1.
	Design        int64
	EmailDelivery bool
}

// designs collects the designs that are to be frozen.
type designs struct {
	list  []*layout.Design
	place map[*layout.Design]int
}

// at returns the place of a design in the list, from 1. It adds the design if it is not there yet.
func (d *designs) at(design *layout.Design) int64 {
	if d.place[design] == 0 {
		d.list = append(d.list, design)
		d.place[design] = len(d.list)
	}

	return int64(d.place[design])
}

// freeze adds the designs to a statement that saves owner statements.
func (d *designs) freeze(s db.Stmt) (db.Stmt, error) {
	layouts, err := json.Marshal(d.list)
	if err != nil {
		return s, fmt.Errorf("encode layouts: %w", err)
	}

	s.Args["designs"] = string(layouts)

	return s, nil
}

// saveDrafts saves drafts with the figures that they have now and attaches their entries. It fails with ErrExists if
// another request saved one of them meanwhile, and with ErrRef if another statement has the reference. The caller
// holds the locks of the ownership periods.
func saveDrafts(ctx context.Context, tx *db.Tx, drafts []row, in intent) error {
	if err := loadDraftData(ctx, tx, drafts); err != nil {
		return err
	}

	// The members' shares are stored with the statement, so that later payouts do not change them.
	histories, err := chain.LoadHistories(ctx, tx, periodIDs(drafts))
	if err != nil {
		return err
	}

	// First build the rows in memory. Ids are those of the drafts, so links to a draft stay valid.
	rows, ids, frozen := make([]*storedRow, len(drafts)), rowIDs(drafts), designs{place: map[*layout.Design]int{}}
	for i := range drafts {
		d, f := &drafts[i], drafts[i].financials()
		h := histories.Chain(d.chain())
		rows[i] = &storedRow{
			Imported: Imported{
				ID:                ids[i],
				UniqueRef:         in.ref,
				OwnershipPeriodID: d.OwnershipPeriodID,
				ListingID:         d.ListingID,
				Status:            in.to,
				Currency:          d.Currency,
				StartAt:           d.StartAt,
				EndAt:             d.EndAt,
				BalanceStart:      f.BalanceStart,
				NetRevenue:        f.NetRevenue,
				Expenses:          f.Expenses,
				Payouts:           f.Payouts,
				BalanceEnd:        f.BalanceEnd,
				Reserve:           f.Reserve,
			},
			ShortRef:      ids[i].ShortRef(),
			Shares:        h.Shares(f.Available, d.EndAt, false),
			Design:        frozen.at(d.design),
			EmailDelivery: in.email && in.to == Published,
		}
	}

	inserts, err := frozen.freeze(statementTable.Insert(tx, rows...))
	if err != nil {
		return err
	}

	// Insert the statements, then attach the entries, which locks them.
	stmts := []db.Stmt{
		inserts,
		ledger.AttachSQL(tx, ids),
	}

	// The names are kept last: they include those of the accounts and stays of the attached entries.
	if in.to == Published {
		stmts = append(stmts, updateWordsSQL(tx, ids))
	}

	err = tx.Pipeline(ctx, stmts...)

	switch db.Constraint(err) {
	case "statement_once":
		return ErrExists.Because(err)
	case "statement_unique_ref":
		return ErrRef.Because(err)
	}

	if err != nil {
		return fmt.Errorf("save statements: %w", err)
	}

	return nil
}

// deleteSaved returns saved statements to draft: their entries are released. Imported statements are deleted with their
// entries and versions. It fails with ErrPaid if a payout is still linked.
func deleteSaved(ctx context.Context, tx *db.Tx, ids []id.ID) error {
	// Archived payouts may still name the statements.
	if err := transaction.Unlink(ctx, tx, ids); err != nil {
		return err
	}

	// The entries go before the rows that they name.
	args := db.Args{"team": tx.Team, "ids": ids}

	err := tx.Pipeline(ctx,
		ledger.RemoveImported(tx, ids),
		ledger.ReleaseSQL(tx, ids),
		db.Stmt{SQL: `delete from statement_version v using statement s where s.team_id = @team and s.id = any(@ids) and s.imported
			and v.team_id = @team and v.statement_id = s.id`, Args: args},
		db.Stmt{SQL: `delete from statement where team_id = @team and id = any(@ids)`, Args: args})
	if db.Constraint(err) == "transaction_line_statement" {
		return ErrPaid.Because(err)
	}

	if err != nil {
		return fmt.Errorf("remove statements: %w", err)
	}

	return nil
}

// updateStatus moves saved statements between review and published. Their figures and entries stay. When they are
// published, they keep the names of now.
func updateStatus(ctx context.Context, tx *db.Tx, ids []id.ID, in intent) error {
	// updateWordsSQL reads the new status, so it comes second.
	err := tx.Pipeline(ctx, db.Stmt{
		SQL: `
		update statement set status = @status::text, published_at = case when @status::text = 'published' then @now::timestamptz end, collected = null,
			email_delivery = @email::boolean and @status::text = 'published', updated_at = @now::timestamptz
		where team_id = @team and id = any(@ids)`,
		Args: db.Args{"team": tx.Team, "ids": ids, "status": string(in.to), "email": in.email, "now": tx.Now},
	}, updateWordsSQL(tx, ids))
	if err != nil {
		return fmt.Errorf("change statements: %w", err)
	}

	return nil
}

// updateRef gives a saved statement another reference, or none. It fails with ErrRef if another statement has it.
func updateRef(ctx context.Context, tx *db.Tx, r *row, ref *string) error {
	if ptr.Equal(ref, r.UniqueRef) {
		return nil
	}

	_, err := tx.Exec(ctx, `update statement set unique_ref = @unique_ref, updated_at = @now where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": r.ID, "unique_ref": ref, "now": tx.Now})
	if db.Constraint(err) == "statement_unique_ref" {
		return ErrRef.Because(err)
	}

	if err != nil {
		return fmt.Errorf("change reference of statement: %w", err)
	}

	type view struct {
		UniqueRef *string `json:"uniqueRef"`
	}
	audit.Note(tx, audit.Updated, audit.Statement, r.id(), view{r.UniqueRef}, view{ref}, references(r)...)

	return nil
}

// keepCollected keeps with statements that are published what guests have paid of their available balance by now.
func keepCollected(ctx context.Context, tx *db.Tx, rows []row) error {
	owed, err := loadUncollected(ctx, tx, rows)
	if err != nil {
		return err
	}

	ids, cents := rowIDs(rows), make([]money.Cents, len(rows))
	for i, v := range ids {
		cents[i] = owed[v]
	}

	_, err = tx.Exec(ctx, `
		update statement s set collected = s.balance_end - s.reserve - o.owed from unnest(@ids::uuid[], @owed::bigint[]) o (id, owed)
		where s.team_id = @team and s.id = o.id`, db.Args{"team": tx.Team, "ids": ids, "owed": cents})
	if err != nil {
		return fmt.Errorf("keep what was collected: %w", err)
	}

	return nil
}

// change applies the intent to one statement unless a rule refuses it. The caller holds the lock of its ownership
// period.
func change(ctx context.Context, tx *db.Tx, r *row, in intent) error {
	rows := []row{*r}
	if err := refuse(ctx, tx, rows, in); err != nil {
		return err
	}

	return apply(ctx, tx, rows, in)
}

// apply moves statements that no rule refuses, and leaves those alone that have the status already. The caller
// holds the locks of their ownership periods.
func apply(ctx context.Context, tx *db.Tx, rows []row, in intent) error {
	// First sort the rows by what must be done with them.
	by := map[move][]row{}

	for i := range rows {
		m := in.move(&rows[i])
		by[m] = append(by[m], rows[i])
	}

	// Drafts are stored with their figures, as inReview or published.
	if drafts := by[create]; len(drafts) > 0 {
		if err := saveDrafts(ctx, tx, drafts, in); err != nil {
			return err
		}

		for i := range drafts {
			noteSaved(tx, &drafts[i], in)
		}
	}

	// Before published statements are reopened, save what their owners saw.
	if seen := collectPublished(slices.Concat(by[reopen], by[withdraw])); len(seen) > 0 {
		if err := insertVersions(ctx, tx, seen); err != nil {
			return err
		}
	}

	// Statements that stay saved only change their status.
	if saved := slices.Concat(by[publish], by[reopen]); len(saved) > 0 {
		if err := updateStatus(ctx, tx, rowIDs(saved), in); err != nil {
			return err
		}

		for i := range saved {
			what := audit.Reopened
			if in.to == Published {
				what = audit.Published
			}

			noteMoved(tx, what, &saved[i], in.to)
		}
	}

	// What was collected is kept, and e-mails go out, for those that became published now.
	if published := slices.Concat(by[create], by[publish]); in.to == Published && len(published) > 0 {
		if err := keepCollected(ctx, tx, published); err != nil {
			return err
		}

		if in.email {
			if err := queueMails(ctx, tx, rowIDs(published)); err != nil {
				return err
			}
		}
	}

	// Last, statements that return to draft lose their row.
	withdrawn := by[withdraw]
	if len(withdrawn) == 0 {
		return nil
	}

	if err := deleteSaved(ctx, tx, rowIDs(withdrawn)); err != nil {
		return err
	}

	for i := range withdrawn {
		what := audit.Updated
		if withdrawn[i].Status == Published {
			what = audit.Reopened
		}

		noteMoved(tx, what, &withdrawn[i], Draft)
	}

	// Their entries are free again, so the journals that they held back are derived again.
	return ledger.RetryReleased(ctx, tx, rowIDs(withdrawn), listingIDs(withdrawn))
}

// noteSaved writes the audit event of a draft that was saved, with its figures.
func noteSaved(tx *db.Tx, r *row, in intent) {
	what := audit.Created
	if in.to == Published {
		what = audit.Published
	}

	audit.Note(tx, what, audit.Statement, r.id(), nil, map[string]any{
		"status": in.to, "uniqueRef": in.ref, "startAt": r.StartAt, "endAt": r.EndAt, "currency": r.Currency,
		"financials": r.financials(),
	}, references(r)...)
}

// noteMoved writes the audit event of a saved statement that has another status.
func noteMoved(tx *db.Tx, what audit.Type, r *row, to Status) {
	type view struct {
		Status Status `json:"status"`
	}
	audit.Note(tx, what, audit.Statement, r.id(), view{r.Status}, view{to}, references(r)...)
}

// references returns the listing and the ownership period of a statement for its audit events.
func references(r *row) []audit.Reference {
	return []audit.Reference{
		audit.Ref(audit.RoleListing, audit.Listing, r.ListingID),
		audit.Ref(audit.RoleParent, audit.OwnershipPeriod, r.OwnershipPeriodID),
	}
}
