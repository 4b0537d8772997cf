package statement

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"stayledger/domain/ledger"
	"stayledger/domain/operation"
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

// Blocking names the statement in the way of a change. Rules STM-07 to STM-10.
type Blocking struct {
	ID         id.ID   `json:"blockingStatementId"`
	StartAt    day.Day `json:"blockingStatementStartAt"`
	Status     Status  `json:"blockingStatementStatus"`
	NextAction string  `json:"nextAction" db:"-"`
}

// lockPeriods makes changes of statements over the same ownership periods, and postings to them, take turns; it gives the periods there
// are, in the order in which it locked them. All of the team's when none is named.
func lockPeriods(ctx context.Context, tx *db.Tx, periods []id.ID) ([]id.ID, error) {
	locked, err := db.Select[id.ID](ctx, tx, `
		select id from listing_ownership_period where team_id = @team and (@all::boolean or id = any(@periods::uuid[])) order by id for update`,
		db.Args{"team": tx.Team, "all": len(periods) == 0, "periods": periods})
	if err != nil {
		return nil, fmt.Errorf("lock ownership periods: %w", err)
	}
	return locked, nil
}

// mayChange refuses a change of statements while a later one of their ownership period is saved. Of several the latest blocks: it is the
// one that can be returned to draft first. Rules STM-02 to STM-06.
func mayChange(ctx context.Context, tx *db.Tx, at []key) error {
	periods, _, starts := columns(at)
	later, err := db.Select[Blocking](ctx, tx, `
		select s.id, s.start_at, s.status from unnest(@periods::uuid[], @starts::date[]) k (period, start_at)
		join statement s on s.team_id = @team and s.ownership_period_id = k.period and s.start_at > k.start_at
		order by s.start_at desc, s.id limit 1`,
		db.Args{"team": tx.Team, "periods": periods, "starts": starts})
	if err != nil {
		return fmt.Errorf("find later statements: %w", err)
	}
	if len(later) == 0 {
		return nil
	}
	later[0].NextAction = "returnStatementsToDraft"
	return errFuture.With(later[0])
}

// mayPublish refuses to publish statements while an earlier month of their chain is not published, be it in review or a draft with entries.
// Months before the team's statements begin do not count, and neither do months without entries. Rule RSN-43.
func mayPublish(ctx context.Context, tx *db.Tx, at []key) error {
	terms, err := termsOf(ctx, tx)
	if err != nil {
		return err
	}
	since := day.Month{Year: 1, Month: time.January}.First()
	if terms.StatementStartAt != nil {
		since = terms.StatementStartAt.FirstOfMonth()
	}
	type open struct {
		ID id.ID
		key
		Status Status
	}
	periods, currencies, starts := columns(at)
	found, err := db.Select[open](ctx, tx, `
		select o.id, k.period as ownership_period_id, k.currency, o.start_at, o.status
		from unnest(@periods::uuid[], @currencies::text[], @starts::date[]) k (period, currency, start_at)
		cross join lateral (
			select s.id, s.start_at, s.status from statement s
			where s.team_id = @team and s.ownership_period_id = k.period and s.currency = k.currency and s.status = 'inReview'
				and s.start_at < k.start_at and s.start_at >= @since
			union all
			(select null, date_trunc('month', e.txn_at::timestamp)::date, 'draft' from ledger_entry e
			where `+ownersEntry+` and e.ownership_period_id = k.period and e.currency = k.currency and e.statement_id is null
				and e.txn_at < k.start_at and e.txn_at >= @since and not exists (
					select from statement s where s.team_id = @team and s.ownership_period_id = k.period and s.currency = k.currency
						and e.txn_at between s.start_at and s.end_at)
			order by e.txn_at limit 1)
		) o order by o.start_at, k.period, k.currency limit 1`,
		db.Args{"team": tx.Team, "periods": periods, "currencies": currencies, "starts": starts, "since": since})
	if err != nil {
		return fmt.Errorf("find earlier statements: %w", err)
	}
	if len(found) == 0 {
		return nil
	}
	first := found[0]
	if first.ID.IsZero() {
		first.ID = first.key.ID()
	}
	return errOpen.With(Blocking{ID: first.ID, StartAt: first.StartAt, Status: first.Status, NextAction: "publishPreviousStatements"})
}

// mayReopen refuses to reopen or remove a statement that payouts are linked to. The row is locked first, so that no payout is linked
// meanwhile.
func mayReopen(ctx context.Context, tx *db.Tx, statement id.ID) error {
	if _, err := tx.Exec(ctx, `select 1 from statement where team_id = @team and id = @id for update`, db.Args{"team": tx.Team, "id": statement}); err != nil {
		return fmt.Errorf("lock statement: %w", err)
	}
	payouts, err := db.Select[id.ID](ctx, tx, `
		select distinct transaction_id from transaction_line where team_id = @team and statement_id = @id order by transaction_id`,
		db.Args{"team": tx.Team, "id": statement})
	if err != nil {
		return fmt.Errorf("find linked payouts: %w", err)
	}
	if len(payouts) > 0 {
		return errPaid.With(map[string]any{"statementIds": []id.ID{statement}, "transactionIds": payouts})
	}
	return nil
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
}

const insertSQL = `
	insert into statement (team_id, id, short_ref, ownership_period_id, listing_id, status, currency, start_at, end_at, balance_start,
		net_revenue, expenses, payouts, balance_end, reserve, published_at, created_at, updated_at)
	select @team, id, short_ref, ownership_period_id, listing_id, @status::text, currency, start_at, end_at, balance_start,
		net_revenue, expenses, payouts, balance_end, reserve, case when @status::text = 'published' then @now::timestamptz end, @now::timestamptz, @now::timestamptz
	from jsonb_to_recordset(@rows::jsonb) as r (id uuid, short_ref text, ownership_period_id uuid, listing_id uuid, currency text, start_at date,
		end_at date, balance_start bigint, net_revenue bigint, expenses bigint, payouts bigint, balance_end bigint, reserve bigint)`

const attachSQL = `
	update ledger_entry e set statement_id = s.id from statement s
	where s.team_id = @team and s.id = any(@ids) and ` + ownersEntry + ` and e.ownership_period_id = s.ownership_period_id
		and e.currency = s.currency and e.txn_at between s.start_at and s.end_at and e.statement_id is null`

// store saves drafts with the figures that they have now and attaches their entries. The caller holds the ownership periods.
func store(ctx context.Context, tx *db.Tx, drafts []row, status Status) error {
	added, err := draftSums(ctx, tx, drafts)
	if err != nil {
		return err
	}
	t := told{sums: added}
	rows, ids := make([]storedRow, len(drafts)), make([]id.ID, len(drafts))
	for i := range drafts {
		d, f := &drafts[i], t.financials(&drafts[i])
		ids[i] = d.id()
		rows[i] = storedRow{
			ID: ids[i], ShortRef: ids[i].ShortRef(), OwnershipPeriodID: d.OwnershipPeriodID, ListingID: d.ListingID, Currency: d.Currency,
			StartAt: d.StartAt, EndAt: d.StartAt.LastOfMonth(), BalanceStart: f.BalanceStart, NetRevenue: f.NetRevenue, Expenses: f.Expenses,
			Payouts: f.Payouts, BalanceEnd: f.BalanceEnd, Reserve: f.Reserve,
		}
	}
	document, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("encode statements: %w", err)
	}
	err = tx.Pipeline(ctx,
		db.Stmt{SQL: insertSQL, Args: db.Args{"team": tx.Team, "status": string(status), "now": tx.Now, "rows": string(document)}},
		db.Stmt{SQL: attachSQL, Args: db.Args{"team": tx.Team, "ids": ids}})
	if db.Constraint(err) == "statement_once" {
		return errExists.Because(err)
	}
	if err != nil {
		return fmt.Errorf("save statements: %w", err)
	}
	return nil
}

// remove returns a saved statement to draft: its entries are free again.
func remove(ctx context.Context, tx *db.Tx, statement id.ID) error {
	args := db.Args{"team": tx.Team, "id": statement}
	err := tx.Pipeline(ctx,
		db.Stmt{SQL: `update ledger_entry set statement_id = null where team_id = @team and statement_id = @id`, Args: args},
		db.Stmt{SQL: `delete from statement where team_id = @team and id = @id`, Args: args})
	if db.Constraint(err) == "transaction_line_statement" {
		return errPaid.Because(err)
	}
	if err != nil {
		return fmt.Errorf("remove statement: %w", err)
	}
	return nil
}

// mark moves a saved statement between review and published; its figures and entries stay.
func mark(ctx context.Context, tx *db.Tx, statement id.ID, status Status) error {
	_, err := tx.Exec(ctx, `
		update statement set status = @status::text, published_at = case when @status::text = 'published' then @now::timestamptz end,
			updated_at = @now::timestamptz
		where team_id = @team and id = @id`,
		db.Args{"team": tx.Team, "id": statement, "status": string(status), "now": tx.Now})
	if err != nil {
		return fmt.Errorf("change statement: %w", err)
	}
	return nil
}

// mayFinalize refuses to save or publish statements while journals under them are not current. Repeating the request as it is does not help
// before the operations have settled, so it does not invite to. Journals that only locks keep from changing are final as they are. Rules ERR-59 and ERR-63 to ERR-66.
func mayFinalize(ctx context.Context, tx *db.Tx, drafts []row) error {
	statuses, err := ledger.StatusOfListings(ctx, tx, listingsOf(drafts))
	if err != nil {
		return err
	}
	blocking := ledger.Blocking(statuses)
	if blocking == nil {
		return nil
	}
	return errRecalculating.With(map[string]any{
		"journalStatus": blocking.Status, "journalReason": blocking.Reason, "journalAction": blocking.Action, "operationIds": blocking.OperationIDs,
	})
}

// change moves one statement to a status. The caller holds its ownership period.
func change(ctx context.Context, tx *db.Tx, r *row, to Status) error {
	m := moveTo(r.Status, to)
	if m == stay {
		return nil
	}
	at := []key{r.key()}
	if err := mayChange(ctx, tx, at); err != nil {
		return err
	}
	if m == create || m == publish {
		if err := mayFinalize(ctx, tx, []row{*r}); err != nil {
			return err
		}
	}
	switch m {
	case stay:
		return nil
	case create:
		if to == Published {
			if err := mayPublish(ctx, tx, at); err != nil {
				return err
			}
		}
		return store(ctx, tx, []row{*r}, to)
	case publish:
		if err := mayPublish(ctx, tx, at); err != nil {
			return err
		}
		return mark(ctx, tx, r.ID, to)
	case withdraw:
		if err := mayReopen(ctx, tx, r.ID); err != nil {
			return err
		}
		if err := remove(ctx, tx, r.ID); err != nil {
			return err
		}
		return ledger.RetryLocked(ctx, tx, operation.Resource{Type: operation.Listing, ID: r.ListingID}, []id.ID{r.ListingID})
	case reopen:
		if err := mayReopen(ctx, tx, r.ID); err != nil {
			return err
		}
		return mark(ctx, tx, r.ID, to)
	}
	return nil
}
