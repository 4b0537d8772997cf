package payout

import (
	"context"
	"fmt"

	"stayledger/domain/record/operation"
	"stayledger/platform/db"
	"stayledger/platform/finding"
	"stayledger/platform/id"
)

// resultTable has the columns of the result of a statement in an operation.
var resultTable = db.NewTable[resultRow]("payout_result",
	"operation_id uuid key, position int key, statement_id uuid fixed, status text, cause text, payouts jsonb, issues jsonb")

// resultRow is the result of a statement at its position in an operation.
type resultRow struct {
	OperationID id.ID
	Position    int
	StatementID id.ID
	Status      Status
	Cause       cause
	Payouts     []Payout
	Issues      []finding.Finding
}

// row returns the plan as it is stored.
func (p *plan) row() resultRow {
	return resultRow{
		Position:    p.at,
		StatementID: p.id,
		Status:      p.status,
		Cause:       p.cause,
		Payouts:     p.payouts,
		Issues:      p.issues,
	}
}

// insertResults inserts the results of an operation at the end of the transaction, because the operation itself is
// inserted there.
func insertResults(tx *db.Tx, of id.ID, rows []resultRow) {
	for i := range rows {
		rows[i].OperationID = of
	}

	tx.AtEnd(resultTable.Insert(tx, db.Refs(rows)...))
}

// insertExpected inserts results that say that the operation has not handled its statements yet.
func insertExpected(tx *db.Tx, of id.ID, statements []id.ID) {
	rows := make([]resultRow, len(statements))
	for i, v := range statements {
		rows[i] = resultRow{
			Position:    i,
			StatementID: v,
			Status:      Failed,
			Cause:       causeUnfinished,
			Payouts:     []Payout{},
			Issues:      []finding.Finding{},
		}
	}

	insertResults(tx, of, rows)
}

// updateResults saves the results of the statements that an operation has handled.
func updateResults(ctx context.Context, tx *db.Tx, of id.ID, plans []*plan) error {
	rows := make([]resultRow, len(plans))
	for i, p := range plans {
		rows[i] = p.row()
		rows[i].OperationID = of
	}

	err := tx.Pipeline(ctx, resultTable.Update(tx, db.Refs(rows)...))
	if err != nil {
		return fmt.Errorf("keep payout results: %w", err)
	}

	return nil
}

// lockResults reports whether an earlier attempt of the operation has handled its statements, which all settle
// together, and how many of them failed. It locks the results, so two attempts at a time wait for each other.
func lockResults(ctx context.Context, tx *db.Tx, of id.ID) (done bool, failed int, err error) {
	rows, err := db.Select[resultRow](ctx, tx, `
		select operation_id, position, statement_id, status, cause, '[]'::jsonb as payouts, '[]'::jsonb as issues from payout_result
		where team_id = @team and operation_id = @operation order by position for update`, db.Args{"team": tx.Team, "operation": of})
	if err != nil {
		return false, 0, fmt.Errorf("read payout results: %w", err)
	}

	for i := range rows {
		done = done || rows[i].Cause != causeUnfinished
		if rows[i].Status == Failed {
			failed++
		}
	}

	return done, failed, nil
}

// storedResult is a stored result with the states of its payments.
type storedResult struct {
	StatementID id.ID
	Status      Status
	Cause       cause
	Payouts     []Payout
	Issues      []finding.Finding
	Payments    []string
}

// loadResults loads the results of an operation's statements.
func loadResults(ctx context.Context, tx *db.Tx, of id.ID) ([]Entry, error) {
	// The states of payments are those of now; a canceled payment counts as rejected if its approval was.
	rows, err := db.Select[storedResult](ctx, tx, `
		select r.statement_id, r.status, r.cause, r.payouts, r.issues, array(
			select distinct case when p.status = 'canceled' and exists (select from payment_approval a
				where a.team_id = p.team_id and a.id = p.approval_id and a.status = 'rejected') then 'rejected' else p.status end from jsonb_array_elements(r.payouts) o
			join payment p on p.team_id = @team and p.id = (o ->> 'paymentId')::uuid order by 1) as payments
		from payout_result r where r.team_id = @team and r.operation_id = @operation order by r.position`,
		db.Args{"team": tx.Team, "operation": of})
	if err != nil {
		return nil, fmt.Errorf("read payout results: %w", err)
	}

	out := make([]Entry, len(rows))
	for i := range rows {
		out[i] = rows[i].entry()
	}

	return out, nil
}

// sourceResources returns the statements as resources of an operation.
func sourceResources(statements []id.ID) []operation.Resource {
	out := make([]operation.Resource, len(statements))
	for i, v := range statements {
		out[i] = operation.Resource{Type: operation.Statement, ID: v, Role: operation.Source}
	}

	return out
}
