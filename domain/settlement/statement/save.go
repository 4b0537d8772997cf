package statement

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"stayledger/domain/activity/transaction"
	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/domain/settlement/layout"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/money"
)

// move is what a change of status amounts to.
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

// moveTo decides what leads from one status to another.
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

// lockPeriods makes changes of statements over the same ownership periods, and postings to them, take turns; it gives
// the periods there are, in the order in which it locked them. All of the team's when none is named.
func lockPeriods(ctx context.Context, tx *db.Tx, periods []id.ID) ([]id.ID, error) {
	locked, err := db.Select[id.ID](ctx, tx, `
		select id from listing_ownership_period where team_id = @team and (@all::boolean or id = any(@periods::uuid[])) order by id for update`,
		db.Args{"team": tx.Team, "all": len(periods) == 0, "periods": periods})
	if err != nil {
		return nil, fmt.Errorf("lock ownership periods: %w", err)
	}

	return locked, nil
}

// storedRow carries a row to the database; all of them travel as one JSON document.
type storedRow struct {
	ID                id.ID       `json:"id"`
	ShortRef          string      `json:"short_ref"`
	OwnershipPeriodID id.ID       `json:"ownership_period_id"`
	ListingID         id.ID       `json:"listing_id"`
	Currency          string      `json:"currency"`
	StartAt           day.Day     `json:"start_at"`
	EndAt             day.Day     `json:"end_at"`
	BalanceStart      money.Cents `json:"balance_start"`
	NetRevenue        money.Cents `json:"net_revenue"`
	Expenses          money.Cents `json:"expenses"`
	Payouts           money.Cents `json:"payouts"`
	BalanceEnd        money.Cents `json:"balance_end"`
	Reserve           money.Cents `json:"reserve"`
	// Shares are the members' parts of the available balance, in their order.
	Shares []money.Cents `json:"shares"`
	Design int           `json:"design"`
}

// The designs are told once each: thousands of statements share a few.
const insertSQL = `
	insert into statement (team_id, id, short_ref, ownership_period_id, listing_id, status, currency, start_at, end_at, balance_start,
		net_revenue, expenses, payouts, balance_end, reserve, shares, layout, published_at, email_delivery, created_at, updated_at)
	select @team, id, short_ref, ownership_period_id, listing_id, @status::text, currency, start_at, end_at, balance_start,
		net_revenue, expenses, payouts, balance_end, reserve, shares, d.layout,
		case when @status::text = 'published' then @now::timestamptz end, @email::boolean and @status::text = 'published',
		@now::timestamptz, @now::timestamptz
	from jsonb_to_recordset(@rows::jsonb) as r (id uuid, short_ref text, ownership_period_id uuid, listing_id uuid, currency text, start_at date,
		end_at date, balance_start bigint, net_revenue bigint, expenses bigint, payouts bigint, balance_end bigint, reserve bigint, shares bigint[], design bigint)
	join jsonb_array_elements(@designs::jsonb) with ordinality d (layout, place) on d.place = r.design`

// designs collects those that are to be frozen.
type designs struct {
	list  []*layout.Design
	place map[*layout.Design]int
}

// at is the place of a design in the list, from 1.
func (d *designs) at(design *layout.Design) int {
	if d.place[design] == 0 {
		d.list = append(d.list, design)
		d.place[design] = len(d.list)
	}

	return d.place[design]
}

// store saves drafts with the figures that they have now and attaches their entries. The caller holds the ownership
// periods.
func store(ctx context.Context, tx *db.Tx, drafts []row, in intent) error {
	if err := draw(ctx, tx, drafts); err != nil {
		return err
	}

	histories, err := historiesOf(ctx, tx, periodsOf(drafts))
	if err != nil {
		return err
	}

	rows, ids, frozen := make([]storedRow, len(drafts)), idsOf(drafts), designs{place: map[*layout.Design]int{}}
	for i := range drafts {
		d, f := &drafts[i], drafts[i].financials()
		h := histories.of(d.OwnershipPeriodID, d.Currency)
		rows[i] = storedRow{
			ID: ids[i], ShortRef: ids[i].ShortRef(), OwnershipPeriodID: d.OwnershipPeriodID, ListingID: d.ListingID, Currency: d.Currency,
			StartAt: d.StartAt, EndAt: d.EndAt, BalanceStart: f.BalanceStart, NetRevenue: f.NetRevenue, Expenses: f.Expenses,
			Payouts: f.Payouts, BalanceEnd: f.BalanceEnd, Reserve: f.Reserve, Shares: h.divide(f.Available, d.EndAt, false)[:len(h.owners)], Design: frozen.at(d.design),
		}
	}

	document, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("encode statements: %w", err)
	}

	layouts, err := json.Marshal(frozen.list)
	if err != nil {
		return fmt.Errorf("encode layouts: %w", err)
	}

	stmts := []db.Stmt{
		{SQL: insertSQL, Args: db.Args{
			"team": tx.Team, "status": string(in.to), "email": in.email, "now": tx.Now, "rows": string(document), "designs": string(layouts),
		}},
		ledger.Attach(tx, ids),
	}
	if in.to == Published {
		stmts = append(stmts, keepWords(tx, ids))
	}

	err = tx.Pipeline(ctx, stmts...)
	if db.Constraint(err) == "statement_once" {
		return ErrExists.Because(err)
	}

	if err != nil {
		return fmt.Errorf("save statements: %w", err)
	}

	return nil
}

// remove takes saved statements back: their entries are free again, and those of imported ones are gone with them.
func remove(ctx context.Context, tx *db.Tx, ids []id.ID) error {
	if err := transaction.Unlink(ctx, tx, ids); err != nil {
		return err
	}

	args := db.Args{"team": tx.Team, "ids": ids}

	err := tx.Pipeline(ctx,
		ledger.RemoveImported(tx, ids),
		ledger.Release(tx, ids),
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

// mark moves saved statements between review and published; their figures and entries stay, their words are those of
// now when they are published.
func mark(ctx context.Context, tx *db.Tx, ids []id.ID, in intent) error {
	err := tx.Pipeline(ctx, db.Stmt{
		SQL: `
		update statement set status = @status::text, published_at = case when @status::text = 'published' then @now::timestamptz end,
			email_delivery = @email::boolean and @status::text = 'published', updated_at = @now::timestamptz
		where team_id = @team and id = any(@ids)`,
		Args: db.Args{"team": tx.Team, "ids": ids, "status": string(in.to), "email": in.email, "now": tx.Now},
	}, keepWords(tx, ids))
	if err != nil {
		return fmt.Errorf("change statements: %w", err)
	}

	return nil
}

// change does to one statement what is intended unless a rule refuses it. The caller holds its ownership period.
func change(ctx context.Context, tx *db.Tx, r *row, in intent) error {
	rows := []row{*r}
	if err := refuse(ctx, tx, rows, in); err != nil {
		return err
	}

	return apply(ctx, tx, rows, in)
}

// apply moves statements that nothing refuses, and leaves alone those that have the status already. The caller holds
// their ownership periods.
func apply(ctx context.Context, tx *db.Tx, rows []row, in intent) error {
	by := map[move][]row{}

	for i := range rows {
		m := in.move(&rows[i])
		by[m] = append(by[m], rows[i])
	}

	if drafts := by[create]; len(drafts) > 0 {
		if err := store(ctx, tx, drafts, in); err != nil {
			return err
		}

		for i := range drafts {
			noteSaved(tx, &drafts[i], in.to)
		}
	}

	if told := publishedOf(slices.Concat(by[reopen], by[withdraw])); len(told) > 0 {
		if err := keepVersions(ctx, tx, told); err != nil {
			return err
		}
	}

	if saved := slices.Concat(by[publish], by[reopen]); len(saved) > 0 {
		if err := mark(ctx, tx, idsOf(saved), in); err != nil {
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

	if published := slices.Concat(by[create], by[publish]); in.email && in.to == Published && len(published) > 0 {
		if err := mail(ctx, tx, idsOf(published)); err != nil {
			return err
		}
	}

	withdrawn := by[withdraw]
	if len(withdrawn) == 0 {
		return nil
	}

	if err := remove(ctx, tx, idsOf(withdrawn)); err != nil {
		return err
	}

	for i := range withdrawn {
		what := audit.Updated
		if withdrawn[i].Status == Published {
			what = audit.Reopened
		}

		noteMoved(tx, what, &withdrawn[i], Draft)
	}

	return ledger.RetryReleased(ctx, tx, idsOf(withdrawn), listingsOf(withdrawn))
}

// noteSaved notes that a draft was saved, with the figures that it says now.
func noteSaved(tx *db.Tx, r *row, to Status) {
	what := audit.Created
	if to == Published {
		what = audit.Published
	}

	audit.Note(tx, what, audit.Statement, r.id(), nil, map[string]any{
		"status": to, "startAt": r.StartAt, "endAt": r.EndAt, "currency": r.Currency, "financials": r.financials(),
	}, references(r)...)
}

// noteMoved notes that a saved statement has another status; back in draft it says what its entries come to.
func noteMoved(tx *db.Tx, what audit.Type, r *row, to Status) {
	type view struct {
		Status Status `json:"status"`
	}
	audit.Note(tx, what, audit.Statement, r.id(), view{r.Status}, view{to}, references(r)...)
}

// references are what a statement concerns.
func references(r *row) []audit.Reference {
	return []audit.Reference{audit.Ref(audit.RoleListing, audit.Listing, r.ListingID), audit.Ref(audit.RoleParent, audit.OwnershipPeriod, r.OwnershipPeriodID)}
}
