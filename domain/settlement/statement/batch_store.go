package statement

import (
	"context"
	"encoding/json"
	"fmt"

	"stayledger/domain/record/operation"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// batchItem is a statement of a batch that has not been changed yet.
type batchItem struct {
	Position int
	key
}

// insertBatch inserts a batch with its items in the order of their change: months forward, or backward when
// statements are returned to draft.
func insertBatch(ctx context.Context, tx *db.Tx, run id.ID, b *Batch, at []key) error {
	periods, currencies, starts := columns(at)

	// A statement can be saved only after the earlier ones, and returned to draft only before them.
	order := "k.start_at"
	if b.Status == Draft {
		order = "k.start_at desc"
	}

	args := db.Args{"team": tx.Team, "run": run}

	// The part follows from the ownership period, so that all months of a period are changed in order by one
	// worker.
	err := tx.Pipeline(ctx,
		db.Stmt{SQL: `insert into statement_batch (team_id, operation_id, status, email_delivery, created_at) values (@team, @run, @status, @email, @now)`, Args: db.Args{
			"team": tx.Team, "run": run, "status": string(b.Status), "email": b.EmailDelivery, "now": tx.Now,
		}},
		db.Stmt{SQL: `
			insert into statement_batch_item (team_id, operation_id, position, part, ownership_period_id, currency, start_at)
			select @team, @run, row_number() over (order by ` + order + `, k.period, k.currency), (hashtext(k.period::text) & 1023) % @parts, k.period, k.currency, k.start_at
			from unnest(@periods::uuid[], @currencies::text[], @starts::date[]) k (period, currency, start_at)`, Args: db.Args{
			"team":       args["team"],
			"run":        args["run"],
			"parts":      batchParts,
			"periods":    periods,
			"currencies": currencies,
			"starts":     starts,
		}})
	if err != nil {
		return fmt.Errorf("keep batch of statements: %w", err)
	}

	return nil
}

// storedBatch is a batch as it is stored, with the state of its operation.
type storedBatch struct {
	Status        Status
	EmailDelivery bool
	State         operation.Status
}

// loadBatch loads a batch. In a dry run there is no operation yet and the state is empty. It fails with
// apierr.NotFound.
func loadBatch(ctx context.Context, tx *db.Tx, run id.ID) (*storedBatch, error) {
	b, err := db.One[storedBatch](ctx, tx, apierr.NotFound, `
		select b.status, b.email_delivery, coalesce(o.status, '') as state
		from statement_batch b left join operation o on o.team_id = b.team_id and o.id = b.operation_id
		where b.team_id = @team and b.operation_id = @run`, db.Args{"team": tx.Team, "run": run})
	if err != nil {
		return nil, fmt.Errorf("read batch of statements: %w", err)
	}

	return &b, nil
}

// loadNextItems loads the next waiting statements of a part, all of one month: the outcome of this month decides what
// can be done with the next one.
func loadNextItems(ctx context.Context, tx *db.Tx, run id.ID, part int) ([]batchItem, error) {
	items, err := db.Select[batchItem](ctx, tx, `
		with next as (
			select position, ownership_period_id, currency, start_at from statement_batch_item
			where team_id = @team and operation_id = @run and part = @part and outcome is null order by position limit @chunk)
		select position, ownership_period_id, currency, start_at from next
		where start_at = (select start_at from next order by position limit 1) order by position`,
		db.Args{"team": tx.Team, "run": run, "part": part, "chunk": batchChunk})
	if err != nil {
		return nil, fmt.Errorf("read batch of statements: %w", err)
	}

	return items, nil
}

// updateItems saves the outcomes of the items. An item without one was not found any more and counts as unchanged.
func updateItems(ctx context.Context, tx *db.Tx, run id.ID, items []batchItem, came map[key]outcome) error {
	type settled struct {
		Position int `json:"position"`
		outcome
	}

	// Number the outcomes by position, which is the key of an item within its batch.
	rows := make([]settled, len(items))
	for i := range items {
		o, there := came[items[i].key]
		if !there {
			o.Outcome = Unchanged
		}

		rows[i] = settled{Position: items[i].Position, outcome: o}
	}

	document, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("encode outcomes: %w", err)
	}

	// An item that has an outcome already keeps it, so a repeated step changes nothing.
	_, err = tx.Exec(ctx, `
		update statement_batch_item i set outcome = r.outcome, error = r.error, issues = coalesce(nullif(r.issues, 'null'), '[]')
		from jsonb_to_recordset(@rows::jsonb) as r (position integer, outcome text, error jsonb, issues jsonb)
		where i.team_id = @team and i.operation_id = @run and i.position = r.position and i.outcome is null`,
		db.Args{"team": tx.Team, "run": run, "rows": string(document)})
	if err != nil {
		return fmt.Errorf("keep outcomes: %w", err)
	}

	return nil
}

// loadBatchRefused reports whether a statement of a part was refused.
func loadBatchRefused(ctx context.Context, tx *db.Tx, run id.ID, part int) (bool, error) {
	refused, err := db.Get[bool](ctx, tx, `select exists (select from statement_batch_item
		where team_id = @team and operation_id = @run and outcome = 'refused' and part = @part)`, db.Args{"team": tx.Team, "run": run, "part": part})
	if err != nil {
		return false, fmt.Errorf("read outcomes: %w", err)
	}

	return refused, nil
}

// loadBatchCounts counts the statements of a batch by outcome.
func loadBatchCounts(ctx context.Context, tx *db.Tx, run id.ID) (BatchCounts, error) {
	c, err := db.Get[BatchCounts](ctx, tx, `
		select count(*)::int as total, count(*) filter (where outcome is null)::int as waiting, count(*) filter (where outcome = 'changed')::int as changed,
			count(*) filter (where outcome = 'unchanged')::int as unchanged, count(*) filter (where outcome = 'refused')::int as refused
		from statement_batch_item where team_id = @team and operation_id = @run`, db.Args{"team": tx.Team, "run": run})
	if err != nil {
		return c, fmt.Errorf("count outcomes: %w", err)
	}

	return c, nil
}

// loadBatchPage loads a page of the statements of a batch, in the order in which they were changed: those with one of
// the given outcomes, or all of them when none is given.
func loadBatchPage(
	ctx context.Context,
	tx *db.Tx,
	run id.ID,
	with []Outcome,
	p page.Params,
) (*page.Page[BatchStatement], error) {
	type stored struct {
		key
		SavedID id.ID
		Outcome Outcome
		Error   json.RawMessage
		Issues  json.RawMessage
	}

	// The statement is joined by its key, since a draft that was saved meanwhile has a row now.
	q := page.Query{
		Columns: "i.ownership_period_id, i.currency, i.start_at, s.id as saved_id, " +
			"coalesce(i.outcome, 'waiting') as outcome, i.error, i.issues",
		From: `statement_batch_item i left join statement s on s.team_id = i.team_id and s.ownership_period_id = i.ownership_period_id
			and s.currency = i.currency and s.start_at = i.start_at`,
		Where: []string{"i.team_id = @team", "i.operation_id = @run"}, Args: db.Args{"team": tx.Team, "run": run},
		Sorts: page.Sorts{{Name: "position", Expr: "i.position"}}, Default: "position", ID: "i.position",
	}
	q.Narrow("coalesce(i.outcome, 'waiting') = any(?)", with)

	found, err := page.List[stored](ctx, tx, q, p, "")
	if err != nil {
		return nil, err
	}

	// The stored JSON goes into the fields of the answer.
	out := &page.Page[BatchStatement]{Data: make([]BatchStatement, len(found.Data)), Pagination: found.Pagination}
	for i := range found.Data {
		r, of := &found.Data[i], &out.Data[i]
		if r.Error != nil {
			if err := json.Unmarshal(r.Error, &of.BatchRefusal); err != nil {
				return nil, fmt.Errorf("read refusal: %w", err)
			}
		}

		if err := json.Unmarshal(r.Issues, &of.Issues); err != nil {
			return nil, fmt.Errorf("read findings: %w", err)
		}

		// A draft has no row and shows the id that is derived from its key.
		of.Outcome, of.PeriodID, of.StartAt, of.Currency = r.Outcome, r.OwnershipPeriodID, r.StartAt, r.Currency
		if of.StatementID = r.SavedID; of.StatementID.IsZero() {
			of.StatementID = r.ID()
		}
	}

	return out, nil
}
